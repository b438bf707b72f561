"""kill -9 at any moment: what was there stays whole, or is replaced by what is whole; a study goes on where it was.

ELLICE_KILLS=N in the environment kills each verb N times instead of a few; ELLICE_SEED draws other moments.
"""
import os
import random
import signal
import subprocess
import time
import unittest

from cli_test_case import PROGRAM, LendingTestCase
from study_test import PLAN

KILLS = int(os.environ.get("ELLICE_KILLS", "4"))
SEED = int(os.environ.get("ELLICE_SEED", "0"))


class Kills(LendingTestCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)

    def duration(self, arguments):
        start = time.monotonic()
        self.ellice(*arguments)
        return time.monotonic() - start

    def kill(self, arguments, after):
        """Whether it was still running."""
        with subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(after)
            process.send_signal(signal.SIGKILL)
        return process.returncode == -signal.SIGKILL

    def expect_whole(self, name, arguments):
        """Kills a command at moments from its first to its last; its output is what it was before or what it is after."""
        lasting = self.duration(arguments)
        after = (self.folder / name).read_bytes()
        before = b'{"older": true}\n'
        killed = 0
        for _ in range(KILLS):
            self.write(name, before)
            killed += self.kill(arguments, self.random.uniform(0, 1.1) * lasting)
            found = (self.folder / name).read_bytes()
            self.assertIn(found, (before, after), f"{name} is neither what it was nor what it becomes")
        self.assertGreater(killed, 0, "every run had ended before it was killed")

    def test_explain(self):
        for form in ("json", "csv", "jsonl", "html"):
            self.expect_whole(f"out.{form}", ("explain", "m.json", "people.csv", "--epsilon", "1%", "--format", form, "-o",
                                              f"out.{form}", "--quiet"))

    def test_train(self):
        self.expect_whole("n.json", ("train", "--dataset", "lending", "--folds", "3", "-o", "n.json", "--quiet"))

    def test_evaluate(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "-o", "plans.json", "--quiet")
        self.expect_whole("e.json", ("evaluate", "m.json", "plans.json", "--dataset", "lending", "--format", "json", "-o",
                                     "e.json", "--retrain-models", "5", "--quiet"))

    def test_study(self):
        self.write("plan.yaml", PLAN)
        whole = ("study", "plan.yaml", "-o", "whole", "--quiet", "--threads", "1")
        lasting = self.duration(whole)
        tables = self.tables("whole")
        cut = ("study", "plan.yaml", "-o", "cut", "--quiet", "--threads", "1")
        killed = 0
        for _ in range(KILLS):  # one study, killed again and again
            killed += self.kill(cut, self.random.uniform(0, 1.1) * lasting / min(KILLS, 10))
        self.assertGreater(killed, 0)
        self.ellice(*cut)
        self.assertEqual(self.tables("cut"), tables)

    def tables(self, folder):
        """All tables but those of times."""
        files = (self.folder / folder / "tables").iterdir()
        return {path.name: path.read_bytes() for path in files if not path.name.startswith("runtime")}


if __name__ == "__main__":
    unittest.main()
