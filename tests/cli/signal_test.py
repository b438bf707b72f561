"""Signals: a long run ends soon, keeps what is finished where its format allows it, leaves no temporary file, and says by
its status which signal it was."""
import csv
import io
import json
import signal
import subprocess
import time
import unittest

from cli_test_case import PROGRAM, LendingTestCase

# Far more than it takes to end, far less than the work would take.
SOON = 20


class Signals(LendingTestCase):
    PEOPLE = 1000

    def setUp(self):
        super().setUp()
        header, *rows = self.stored["people.csv"].splitlines(keepends=True)
        # Work for minutes on any machine: no run may end before its signal.
        self.write("people.csv", b"".join([header, *rows * 200]))

    def interrupt(self, *arguments, sent=signal.SIGINT, after=1.5, stdout=subprocess.PIPE):
        """The finished process, which was sent a signal in the midst of its work."""
        with subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE) as process:
            time.sleep(after)
            self.assertIsNone(process.poll(), "it ended before the signal: give it more to do")
            process.send_signal(sent)
            output, said = process.communicate(timeout=SOON)
        self.assertEqual(process.returncode, 128 + sent, said.decode())
        self.assertIn("interrupted", said.decode())
        leftovers = [path.name for path in self.folder.iterdir() if path.suffix and len(path.suffix) == 7]
        self.assertEqual(leftovers, [])
        return output

    SLOW = ("explain", "m.json", "people.csv", "--epsilon", "1%", "--set", "true", "--plans", "5")

    # Work for as long, whose answers are verified in a moment: they claim no optimum.
    PLAIN = ("explain", "m.json", "people.csv", "--epsilon", "1%", "--method", "gradient")

    def test_explain_keeps_whole_answers(self):
        whole = None
        # Later only where the machine is so busy that nothing was finished sooner.
        for sent, after in ((signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 4)):
            if after > 1 and whole is not None:
                break
            self.write("plans.json", "older")
            self.interrupt(*self.PLAIN, "--format", "json", "-o", "plans.json", sent=sent, after=after)
            if (self.folder / "plans.json").read_bytes() == b"older":
                continue  # nothing was finished: what was there stays
            kept = self.read_json("plans.json")
            self.assertIs(kept["interrupted"], True)
            self.assertTrue(kept["results"])
            self.assertEqual(kept["explained"], len({one["query_index"] for one in kept["results"]}))
            self.ellice("verify", "m.json", "plans.json")
            whole = kept
        self.assertIsNotNone(whole, "no run finished an answer: wait longer")
        # What is kept is what a whole run says.
        first = whole["results"][0]
        rows = (self.folder / "people.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        self.write("one.csv", rows[0] + rows[1 + first["query_index"]])
        again = json.loads(self.ellice(*("one.csv" if word == "people.csv" else word for word in self.PLAIN),
                                       "--format", "json"))
        self.assertNotIn("interrupted", again)
        self.assertEqual({**again["results"][0], "query_index": first["query_index"], "sha256": first["sha256"]}, first)

    def test_explain_keeps_whole_rows_and_lines(self):
        lines = self.interrupt(*self.SLOW, "--format", "jsonl", after=4).decode().splitlines(keepends=True)
        for line in lines:
            self.assertTrue(line.endswith("\n"))
            self.assertIn("status", json.loads(line))
        rows = list(csv.reader(io.StringIO(self.interrupt(*self.SLOW, "--format", "csv", after=4).decode())))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertGreater(len(lines) + len(rows), 1)

    def test_a_page_is_written_whole_or_not_at_all(self):
        self.interrupt(*self.SLOW, "--format", "html", "-o", "plans.html")
        self.assertFalse((self.folder / "plans.html").exists())

    def test_training_of_a_network(self):
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupt("train", "--dataset", "lending", "--model", "mlp", "--hidden", "32", "--epochs", "1000000",
                           "--patience", "0", "-o", "n.json", sent=sent)
            self.assertFalse((self.folder / "n.json").exists())

    def test_frontier_epsilon_and_calibrate(self):
        self.interrupt("frontier", "m.json", "people.csv", "--set", "true", "--format", "json", "-o", "f.json", after=3)
        if (self.folder / "f.json").exists():
            kept = self.read_json("f.json")
            self.assertIs(kept["interrupted"], True)
            self.assertTrue(all(one["points"] for one in kept["results"]))
        self.interrupt("epsilon", "m.json", "--dataset", "lending", "--check", "--splits", "500", after=2)
        before = (self.folder / "m.json").read_bytes()
        self.interrupt("calibrate", "m.json", "--dataset", "lending", "--dropout", "1000000", after=2,
                       sent=signal.SIGTERM)
        self.assertEqual((self.folder / "m.json").read_bytes(), before)

    def test_programs_that_another_solver_solves(self):
        self.ellice("train", "--dataset", "lending", "--model", "mlp", "--hidden", "8", "--epochs", "60", "-o", "n.json")
        for after in (0.7, 1.1, 1.5, 1.9):
            self.interrupt("explain", "n.json", "people.csv", "--epsilon", "0.001", "--method", "proplace", "--delta",
                           "0.01", "--dataset", "lending", "--format", "json", "-o", "p.json", after=after)

    def test_a_program_that_waits_for_input(self):
        with subprocess.Popen([PROGRAM, "explain", "m.json", "-", "--epsilon", "1%"], cwd=self.folder,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=SOON)
            self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_an_ignored_signal_stays_ignored(self):
        with subprocess.Popen([PROGRAM, "explain", "m.json", "-", "--epsilon", "1%", "--format", "jsonl"], cwd=self.folder,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
            time.sleep(0.5)
            process.send_signal(signal.SIGHUP)
            rows = (self.folder / "people.csv").read_bytes().splitlines(keepends=True)
            output, said = process.communicate(b"".join(rows[:3]), timeout=60)
            self.assertEqual(process.returncode, 0, said.decode())
            self.assertEqual(len(output.splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
