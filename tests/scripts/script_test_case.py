"""A test case with a tree of its own, over which it runs one of the project's check scripts."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


class ScriptTestCase(unittest.TestCase):
    script = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def check(self, *arguments):
        """The script's exit status and the lines it printed."""
        run = subprocess.run([sys.executable, SCRIPTS / self.script, "--root", self.root, *arguments],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout.splitlines()
