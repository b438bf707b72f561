"""The command line is a shell over the library: its file, asked again in C++, comes out byte for byte."""
import os
import pathlib
import re
import subprocess
import unittest

from cli_test_case import WRONG_USAGE, CliTestCase

FRONT_DOOR = pathlib.Path(os.environ["ELLICE_FRONT_DOOR"]).resolve()

THREE_CLASSES = """x,y,grade
""" + "".join(f"{(7 * i) % 10},{(3 * i) % 11},{('low', 'mid', 'high')[((7 * i) % 10 + i % 3) // 4]}\n" for i in range(60))
CLASS_SCHEMA = """target: {column: grade, favourable: high, classes: [low, mid, high]}
features:
  x: {kind: numeric}
  y: {kind: numeric}
"""


class FrontDoor(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()

    def expect_same(self, *options, model="m.json", rows=None, people="loans.csv", epsilon="1%"):
        self.ellice("explain", model, people, "--epsilon", epsilon, "--format", "json", "-o", "plans.json", *options)
        file = (self.folder / "plans.json").read_bytes()
        run = subprocess.run([FRONT_DOOR, model, "plans.json", people, *([rows] if rows else [])], cwd=self.folder,
                             capture_output=True, check=False, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr.decode())
        self.assertEqual(run.stdout, file)
        self.assertIn(b'"certificate"', file)

    def test_gives_the_bytes_of_the_command_line(self):
        self.expect_same()
        self.expect_same("--plans", 2, "--max-changes", 2, "--cost", "l1", "--threshold", "p=0.6")
        self.expect_same("--lock", "purpose", "--bounds", "debt=:9", "--direction", "income=increase", "--range", "off")
        self.expect_same("--damping", "0.05", "--seed", 9, "--method", "gumbel", "--temperature", "0.7")
        self.write("c.yaml", "queries:\n  2: {lock: [debt]}\n")
        self.expect_same("--constraints", "c.yaml")

    def test_gives_them_with_training_rows(self):
        data = ("--data", "loans.csv")
        self.expect_same("--set", "true", *data, rows="loans.csv")
        self.expect_same("--method", "data", "--plans", 2, *data, rows="loans.csv")
        self.expect_same("--method", "trex", "--tau", "0.5", *data, rows="loans.csv")
        self.expect_same("--retrain", "fresh:9", *data, rows="loans.csv", epsilon="survival:60%")

    def test_gives_them_for_several_classes(self):
        self.write("grades.csv", THREE_CLASSES)
        self.write("grades.yaml", CLASS_SCHEMA)
        self.ellice("train", "grades.csv", "--schema", "grades.yaml", "--model", "softmax", "-o", "c.json")
        for options in ((), ("--target", "mid,high"), ("--margin", "0.1")):
            self.expect_same(*options, model="c.json", people="grades.csv", epsilon="0.1%")

    def test_says_flags_where_the_library_names_fields(self):
        for flags, options in (("--set true", ("--set", "true")), ("--data FILE.csv", ("--method", "data")),
                               ("--node-limit", ("--method", "gradient", "--node-limit", "5")),
                               ("--method exact", ("--method", "gradient", "--trade-off")),
                               ("--tau", ("--method", "trex")), ("--preset", ("--variant", "published")),
                               ("--ensemble", ("--set", "ensemble"))):
            run = self.run_ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", *options)
            self.assertEqual(run.returncode, WRONG_USAGE, run.stderr)
            self.assertIn(flags, run.stderr)
            self.assertIsNone(re.search("`[a-z_]+(: [^`]*)?`", run.stderr), run.stderr)


if __name__ == "__main__":
    unittest.main()
