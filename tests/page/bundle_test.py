"""The page that is part of the program is made from the sources beside it."""
import gzip
import re
import unittest

import page_build
from page_build import FOLDER, PAGE, run


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        page_build.prepare()

    def test_is_what_the_sources_and_the_lock_file_make(self) -> None:
        run("node", "build.mjs", FOLDER / "again")
        for name in ("page.html", "verify.html"):
            self.assertEqual((PAGE / "dist" / name).read_bytes(), (FOLDER / "again" / name).read_bytes(),
                             f"page/dist/{name} is not what its sources make: run `npm ci && npm run build` in page/")

    def test_sources_have_no_faults_of_type(self) -> None:
        run("npm", "run", "--silent", "check")


class Files(unittest.TestCase):
    def test_are_small_and_load_nothing(self) -> None:
        for name in ("page.html", "verify.html"):
            page = (PAGE / "dist" / name).read_text(encoding="utf-8")
            self.assertLessEqual(len(gzip.compress(page.encode())), 100_000)
            self.assertEqual(re.findall(r"<(?:link|img|iframe|object|embed)\b|@import|@font-face|\ssrc=", page.split("<script type=\"module\">")[0]), [])
            self.assertIn("default-src 'none'", page)
            self.assertNotRegex(page, r"unsafe-inline'|unsafe-eval'")
            # What CMake would take for a variable.
            self.assertEqual(re.findall(r"@\w+@", page), [])

    def test_lock_file_names_no_host(self) -> None:
        lock = (PAGE / "package-lock.json").read_text(encoding="utf-8")
        self.assertNotRegex(lock, r"https?:|\"resolved\"")
        self.assertIn("\"integrity\"", lock)


if __name__ == "__main__":
    unittest.main()
