"""The browser's verifier against the program, page/tests/verify.test.mjs, and against forgers, forged.test.mjs."""
import os
import tempfile
import unittest

import page_build
from page_build import FOLDER, SOURCE, run


class Verifier(unittest.TestCase):
    def go(self, name: str) -> None:
        page_build.prepare()
        bundle = FOLDER / "verifier.mjs"
        run(FOLDER / "node_modules" / ".bin" / "esbuild", "src/verify/index.ts", "--bundle", "--format=esm",
            f"--outfile={bundle}", "--log-level=error")
        with tempfile.TemporaryDirectory() as folder:
            said = run("node", "--test", "--test-reporter=tap", f"tests/{name}.test.mjs", ELLICE=os.environ["ELLICE_PROGRAM"],
                       VERIFIER=str(bundle), GOLDEN=str(SOURCE / "tests" / "golden"), WORK=folder)
        self.assertRegex(said, r"# fail 0\b")
        self.assertRegex(said, r"# pass [1-9]")

    def test_agrees_with_the_program(self) -> None:
        self.go("verify")

    def test_refuses_what_was_forged(self) -> None:
        self.go("forged")


if __name__ == "__main__":
    unittest.main()
