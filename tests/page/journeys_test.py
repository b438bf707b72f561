"""People's ways through the page, in Chromium: page/tests/journeys.test.mjs, served.test.mjs and honest.test.mjs."""
import os
import re
import shutil
import tempfile
import unittest

import page_build
from page_build import PAGE, SOURCE, run


class Journeys(unittest.TestCase):
    def go(self, name: str, least: int) -> None:
        page_build.prepare()
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            self.skipTest("no chromium: scripts/setup installs it")
        with tempfile.TemporaryDirectory() as folder:
            said = run("node", "--test", "--test-reporter=tap", f"tests/{name}.test.mjs", ELLICE=os.environ["ELLICE_PROGRAM"],
                       CHROMIUM=chromium, VERIFY=str(PAGE / "dist" / "verify.html"), GOLDEN=str(SOURCE / "tests" / "golden"), WORK=folder)
        self.assertRegex(said, r"# fail 0\b")
        self.assertGreaterEqual(int(re.search(r"# pass (\d+)", said).group(1)), least)

    def test_of_a_file_lead_where_people_want_to_go(self) -> None:
        self.go("journeys", 15)

    def test_of_the_service_lead_there_too(self) -> None:
        self.go("served", 5)

    def test_say_no_more_than_is_so(self) -> None:
        self.go("honest", 12)


if __name__ == "__main__":
    unittest.main()
