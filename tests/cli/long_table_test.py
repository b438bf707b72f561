"""Tables of many blocks: read, answered and written by several threads at once, the rows stay in order and the bytes the same."""
import csv
import io
import itertools
import json
import random
import signal
import subprocess
import threading
import time
import unittest

from cli_test_case import BAD_INPUT, PROGRAM, CliTestCase

# More than a block of all threads together has.
ROWS = 9000
THREADS = (1, 2, 3, 7)
SCHEMA = """target: {column: label, favourable: 1}
missing: median
features:
  a: {kind: numeric}
  b: {kind: numeric}
  c: {kind: numeric, min: -3, max: 3}
"""


class LongTables(CliTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = random.Random(11)
        case = CliTestCase("ellice")
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        rows = ["a,b,c,label"]
        for _ in range(300):
            x = [draw.gauss(0, 1) for _ in range(3)]
            rows.append(",".join(f"{value:.3f}" for value in x) + f",{int(x[0] - x[1] + draw.gauss(0, 1) > 0)}")
        case.write("rows.csv", "\n".join(rows) + "\n")
        case.write("schema.yaml", SCHEMA)
        case.ellice("train", "rows.csv", "--schema", "schema.yaml", "--folds", "0", "-o", "m.json")
        cls.model = (case.folder / "m.json").read_bytes()
        cls.people = [f"P{i},{','.join(f'{draw.gauss(0, 1):.3f}' for _ in range(3))}" for i in range(ROWS)]

    def setUp(self):
        super().setUp()
        self.write("m.json", self.model)

    def write_people(self, changed=None, name="people.csv"):
        """The people, some lines of whom, counted from 0, are others."""
        lines = list(self.people)
        for row, line in (changed or {}).items():
            lines[row] = line
        self.write(name, "\n".join(["id,a,b,c", *lines]) + "\n")

    def explain(self, *options, threads=1, source="people.csv", stdin=b""):
        return self.run_ellice("explain", "m.json", source, "--epsilon", "1%", "--id", "id", "--threads", threads, *options,
                               stdin=stdin)

    def expect_the_same(self, *options):
        """What all numbers of threads say, and write to standard output."""
        one, *others = [self.explain(*options, threads=threads) for threads in THREADS]
        for other in others:
            self.assertEqual(other.returncode, one.returncode, other.stderr)
            self.assertEqual(other.stderr, one.stderr)
            self.assertEqual(other.stdout, one.stdout)
        return one

    def test_bytes_do_not_depend_on_threads(self):
        # Empty and far cells, identifiers that repeat, rows that cannot be read, the last one as well.
        self.write_people({5: "P5,,1,1", 1023: "P1023,900,1,1", 1024: "P1,1,,1", 2048: ",1,1,1", 4000: "P4000,x,1,1",
                           5000: "P5000,1", 7167: "P7167,1,1,", 7168: "P3,1,1,800", ROWS - 1: "P,1,1,x"})
        for form in ("csv", "jsonl", "json"):
            run = self.expect_the_same("--on-error", "skip", "--format", form)
            self.assertIn("P" + str(ROWS - 2), run.stdout)
            for word in (":7: column \"a\" as", ":1025: column \"a\" is 900", "row 2049 is empty", "rows 1025, 7169 have"):
                with self.subTest(form=form, word=word):
                    self.assertIn(word, run.stderr)
            if form == "csv":
                rows = list(csv.DictReader(io.StringIO(run.stdout)))
            elif form == "jsonl":
                rows = [json.loads(line) for line in run.stdout.splitlines()]
            else:
                rows = json.loads(run.stdout)["results"]
            self.assertEqual([int(row["query_index"]) for row in rows], list(range(ROWS)))
            self.assertEqual([int(row["query_index"]) for row in rows if row["status"] == "invalid"], [4000, 5000, ROWS - 1])

    def test_the_first_row_that_cannot_be_read_is_named(self):
        self.write("out.csv", "older")
        cases = [({8500: "P,x,1,1", 8999: "P,y,1,1"}, ":8502"),
                 ({1500: "P,1", 1490: "P,1,1,z"}, ":1492"),          # within a block: first refused as a row, then as a cell
                 ({4100: "P,\"1,1,1", 4095: "P,1,w,1"}, ":4097"),    # a quote that never closes: nothing can be read behind it
                 ({4095: "P,\"1,1,1", 4100: "P,1,w,1"}, "4097"),
                 ({ROWS - 1: "P,1,1"}, str(ROWS + 1))]
        for changed, place in cases:
            self.write_people(changed)
            run = self.expect_the_same("-o", "out.csv")
            self.assertEqual(run.returncode, BAD_INPUT)
            self.assertIn(place, run.stderr)
            self.assertEqual((self.folder / "out.csv").read_bytes(), b"older")
            self.assertEqual(len(self.files()), 3)

    def test_constraints_of_nobody_are_found_at_the_end(self):
        self.write_people()
        self.write("limits.yaml", f"queries:\n  {ROWS}: {{lock: [a]}}\n")
        run = self.expect_the_same("--constraints", "limits.yaml", "-o", "out.csv")
        self.assertEqual(run.returncode, BAD_INPUT, run.stderr)
        self.assertIn(str(ROWS), run.stderr)

    def test_a_whole_number_of_blocks(self):
        for rows in (1, 1024, 2048, 4096):
            self.write("people.csv", "\n".join(["id,a,b,c", *self.people[:rows]]) + "\n")
            run = self.expect_the_same("--format", "csv")
            self.assertEqual(len(run.stdout.splitlines()), rows + 1)

    def test_nobody_at_all(self):
        self.write("people.csv", "id,a,b,c\n")
        run = self.expect_the_same("--format", "csv")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("no rows", run.stderr)

    def test_a_pipe_gives_the_bytes_of_a_file(self):
        self.write_people()
        text = (self.folder / "people.csv").read_bytes()
        expected = self.explain("--format", "jsonl", "--quiet").stdout
        for threads in THREADS:
            run = self.explain("--format", "jsonl", "--quiet", threads=threads, source="-", stdin=text)
            self.assertEqual(run.stdout, expected)

    def interrupt(self, threads, form, sent):
        """A run over people without end, which is sent a signal in the midst of its work."""
        with subprocess.Popen([PROGRAM, "explain", "m.json", "-", "--epsilon", "1%", "--id", "id", "--threads", str(threads), "-o",
                               f"out.{form}"], cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                              bufsize=0) as process:
            def feed():
                try:
                    process.stdin.write(b"id,a,b,c\n")
                    for lines in itertools.repeat("\n".join([*self.people, ""]).encode()):
                        process.stdin.write(lines)
                except BrokenPipeError:
                    pass
            feeder = threading.Thread(target=feed)
            feeder.start()
            time.sleep(1)
            self.assertIsNone(process.poll())
            start = time.monotonic()
            process.send_signal(sent)
            said = process.stderr.read().decode()
            status = process.wait()
            lasted = time.monotonic() - start
            feeder.join()
        self.assertEqual(status, 128 + sent, said)
        self.assertIn("finished", said)
        return lasted

    def test_a_stop_keeps_what_is_finished(self):
        for threads, form, sent in ((1, "jsonl", signal.SIGINT), (2, "csv", signal.SIGTERM), (2, "json", signal.SIGINT),
                                    (7, "jsonl", signal.SIGTERM)):
            with self.subTest(threads=threads, form=form):
                lasted = self.interrupt(threads, form, sent)
                self.assertLess(lasted, 10)  # half a second, where others leave it the machine
                text = (self.folder / f"out.{form}").read_text(encoding="utf-8")
                if form == "json":
                    kept = json.loads(text)
                    self.assertIs(kept["interrupted"], True)
                    indices = [one["query_index"] for one in kept["results"]]
                    self.assertEqual(kept["explained"], len(indices))
                    self.ellice("verify", "m.json", f"out.{form}")
                elif form == "jsonl":
                    self.assertTrue(text.endswith("\n"))
                    indices = [json.loads(line)["query_index"] for line in text.splitlines()]
                else:
                    self.assertTrue(text.endswith("\n"))
                    rows = list(csv.reader(io.StringIO(text)))
                    self.assertEqual({len(row) for row in rows}, {len(rows[0])})
                    indices = [int(row[0]) for row in rows[1:]]
                self.assertGreater(len(indices), 1000)
                self.assertEqual(indices, sorted(set(indices)))
                self.assertEqual(indices[:1000], list(range(1000)))

    def test_a_stop_is_heard_while_nothing_comes(self):
        # More than is read at a time.
        lines = "\n".join(["id,a,b,c", *self.people * 3]) + "\n"
        for threads in (1, 2):
            with subprocess.Popen([PROGRAM, "explain", "m.json", "-", "--epsilon", "1%", "--id", "id", "--threads", str(threads),
                                   "-o", "out.jsonl"], cwd=self.folder, stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdin.write(lines.encode())
                process.stdin.flush()  # and the pipe stays open
                time.sleep(2)
                process.send_signal(signal.SIGTERM)
                said = process.stderr.read().decode()
                self.assertEqual(process.wait(), 128 + signal.SIGTERM, said)
            kept = (self.folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
            self.assertGreater(len(kept), 1000)
            self.assertEqual([json.loads(line)["query_index"] for line in kept], list(range(len(kept))))


if __name__ == "__main__":
    unittest.main()
