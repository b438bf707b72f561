"""A test case with a folder of its own, in which it runs the built program."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["ELLICE_PROGRAM"]).resolve()
PROJECT = pathlib.Path(__file__).resolve().parents[2]

DONE, FAILURE, WRONG_USAGE, BAD_INPUT, NOT_CERTIFIED = range(5)

# Two features of each class overlap, so that the classes cannot be separated.
LOANS = """income,debt,purpose,city,approved
52000,4.5,car,Köln,yes
48000,7.25,home,Bonn,yes
31000,9,car,Köln,no
27500,3.5,boat,Bonn,no
61000,12,home,Köln,yes
35500,2,boat,Bonn,yes
29000,6.5,car,Köln,no
44000,11,home,Bonn,no
38000,1.25,home,Köln,yes
33000,5,boat,Bonn,no
"""
LOANS_SCHEMA = """target: {column: approved, favourable: "yes"}
features:
  income:  {kind: numeric, min: 0, direction: increase, unit: EUR/year}
  debt:    {kind: numeric, min: 0}
  purpose: {kind: categorical, levels: [boat, car, home]}
  city:    {kind: binary, levels: [Bonn, Köln], immutable: true}
"""


class CliTestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        """Writes text, bytes or a JSON document."""
        if isinstance(content, dict):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        (self.folder / name).write_bytes(content)

    def write_loans(self):
        self.write("loans.csv", LOANS)
        self.write("loans.yaml", LOANS_SCHEMA)

    def page_data(self, page):
        """What a page holds: the model file, the recourse file, and what else it shows."""
        texts = (re.search(f'<script type="application/json" id="ellice-{name}">(.*?)</script>', page, re.S)[1]
                 for name in ("model", "recourse", "page"))
        return tuple(json.loads(text) for text in texts)

    def read_json(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def run_ellice(self, *arguments, stdin=b"", stdout=subprocess.PIPE):
        """The finished process; its output is text."""
        run = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, input=stdin, stdout=stdout,
                             stderr=subprocess.PIPE, check=False, timeout=60)
        run.stdout = (run.stdout or b"").decode()
        run.stderr = run.stderr.decode()
        return run

    def ellice(self, *arguments, stdin=b""):
        """The standard output of a run that must succeed."""
        run = self.run_ellice(*arguments, stdin=stdin)
        self.assertEqual(run.returncode, DONE, run.stderr)
        return run.stdout

    def train_loans(self, output="m.json", *options):
        """Trains on the loans and returns the report."""
        self.write_loans()
        return json.loads(self.ellice("train", "loans.csv", "--schema", "loans.yaml", "--format", "json",
                                      "-o", output, *options))

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def expect_failure(self, status, words, *arguments, stdin=b""):
        """The program ends with this status, says all these words in one message, and leaves no trace."""
        before = self.files()
        run = self.run_ellice(*arguments, stdin=stdin)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertTrue(run.stderr.startswith("ellice: "), run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertEqual(self.files(), before)


class LendingTestCase(CliTestCase):
    """In every folder a model with its rows and people whom it declines; made once for all tests of a class."""

    PEOPLE = 200

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = CliTestCase("ellice")
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        case.ellice("train", "--dataset", "lending", "--folds", "0", "--store-rows", "-o", "m.json")
        # A page takes far longer than its people do: some of them, again and again.
        case.ellice("demo", "--people", "20", "--csv", "people.csv", "-o", "page.html", "--quiet")
        header, *rows = (case.folder / "people.csv").read_text(encoding="utf-8").splitlines()
        case.write("people.csv", "\n".join([header] + [rows[i % len(rows)] for i in range(cls.PEOPLE)]) + "\n")
        cls.stored = {name: (case.folder / name).read_bytes() for name in ("m.json", "people.csv")}

    def setUp(self):
        super().setUp()
        for name, content in self.stored.items():
            self.write(name, content)
