"""The tutorial: its commands are run in their order, and print what it shows, no more and no less. And the README's demo."""
import os
import re
import shutil
import subprocess
import unittest

from cli_test_case import PROGRAM, PROJECT, CliTestCase

PAGE = PROJECT / "docs" / "tutorial.md"
# A block of commands, and the block of output that follows it at once, if there is one.
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```\n(2 000 loan.*?)^```\n", re.MULTILINE | re.DOTALL)


class Tutorial(CliTestCase):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "ellice").symlink_to(PROGRAM)
        (self.folder / "work").mkdir()
        shutil.copy(PROJECT / "docs" / "tutorial" / "applications.csv", self.folder / "work")

    def run_block(self, commands):
        environment = os.environ | {"COLUMNS": "100", "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        run = subprocess.run(["bash", "-eo", "pipefail", "-c", commands], cwd=self.folder / "work", env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=100)
        return run.returncode, run.stdout.decode()

    def test_prints_what_it_shows(self):
        blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(blocks), 10)
        for commands, shown in blocks:
            status, printed = self.run_block(commands)
            self.assertEqual(status, 0, commands + printed)
            self.assertEqual(printed, shown, commands)

    def test_every_block_is_run(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        shown = sum(bool(output) for _, output in blocks)
        self.assertEqual(len(re.findall("^```", text, re.MULTILINE)), 2 * (len(blocks) + shown))
        for verb in ("schema", "train", "explain", "verify"):
            self.assertTrue(any(f"ellice {verb} " in commands for commands, _ in blocks), verb)


class Readme(CliTestCase):
    def test_shows_lines_of_the_demo(self):
        """Some of them, in their order, as they are."""
        shown = SHOWN.search((PROJECT / "README.md").read_text(encoding="utf-8"))[1].splitlines()
        self.assertGreater(len(shown), 10)
        printed = iter(self.ellice("demo", "--quiet").splitlines())
        for line in shown:
            self.assertTrue(line in printed, f"the demo does not print this line, or earlier: {line}")


if __name__ == "__main__":
    unittest.main()
