"""Results that cannot be written: status 1, the place and the reason, and no half file."""
import os
import pathlib
import stat
import unittest

from cli_test_case import FAILURE, CliTestCase

FULL = "/dev/full"


class Output(CliTestCase):
    def setUp(self):
        super().setUp()
        self.write_loans()

    def commands(self, output):
        """Every verb that writes a file, asked to write this one."""
        return (("schema", "loans.csv", "--target", "approved", "--favourable", "yes", "-o", output),
                ("train", "loans.csv", "--schema", "loans.yaml", "-o", output))

    def expect_unwritable(self, output, reason):
        for command in self.commands(output):
            self.expect_failure(FAILURE, [f"cannot write {output}: {reason}"], *command)

    def test_into_a_folder_that_is_not_there(self):
        self.expect_unwritable("nowhere/out", "No such file or directory")

    def test_over_a_folder(self):
        self.expect_unwritable("/", "Is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_into_a_folder_that_is_read_only(self):
        locked = self.folder.parent / (self.folder.name + "-locked")
        locked.mkdir()
        self.addCleanup(locked.rmdir)
        locked.chmod(0o555)
        self.expect_unwritable(str(locked / "out"), "Permission denied")
        self.assertEqual(list(locked.iterdir()), [])

    @unittest.skipUnless(pathlib.Path(FULL).exists(), "there is no " + FULL)
    def test_onto_a_full_device(self):
        self.expect_unwritable(FULL, "No space left on device")
        self.assertTrue(stat.S_ISCHR(os.stat(FULL).st_mode))

    @unittest.skipUnless(pathlib.Path(FULL).exists(), "there is no " + FULL)
    def test_onto_a_full_standard_output(self):
        for command in (*self.commands("-"), ("options",)):
            with open(FULL, "wb") as full:
                run = self.run_ellice(*command, "--quiet", stdout=full) if command != ("options",) else \
                    self.run_ellice(*command, stdout=full)
            self.assertEqual(run.returncode, FAILURE)
            self.assertIn("cannot write standard output: No space left on device", run.stderr)

    def test_keeps_a_link_and_the_permissions_of_the_user(self):
        self.write("m.json", "old")
        (self.folder / "link.json").symlink_to("m.json")
        self.ellice(*self.commands("link.json")[1])
        self.assertTrue((self.folder / "link.json").is_symlink())
        self.assertEqual(self.read_json("m.json")["format"], "ellice.model")
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE((self.folder / "m.json").stat().st_mode), 0o666 & ~mask)


if __name__ == "__main__":
    unittest.main()
