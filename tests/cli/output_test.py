"""Results that cannot be written: status 1, the place and the reason, and no half file."""
import os
import pathlib
import stat
import subprocess
import unittest

from cli_test_case import DONE, FAILURE, PROGRAM, CliTestCase

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

    def run_with(self, command, stderr):
        return subprocess.run([PROGRAM, *command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=stderr, check=False, timeout=60)

    @unittest.skipUnless(pathlib.Path(FULL).exists(), "there is no " + FULL)
    def test_a_message_that_cannot_be_written_changes_no_status(self):
        """Every command ends with the same status and the same result, whoever listens."""
        commands = [*self.commands("out"), *self.commands("-"), ("options",), ("--help",), ("--version",), (),
                    ("train", "loans.csv"), ("train", "nowhere.csv", "--schema", "loans.yaml", "-o", "out"),
                    ("verify", "loans.csv", "loans.csv"), ("demo", "--people", "2"), ("nothing",),
                    *self.commands("nowhere/out")]
        for command in commands:
            heard = self.run_with(command, subprocess.PIPE)
            with open(FULL, "wb") as full:
                self.assertEqual(self.run_with(command, full).returncode, heard.returncode, command)
            closed = subprocess.run([PROGRAM, *command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    check=False, timeout=60, preexec_fn=lambda: os.close(2))
            self.assertEqual((closed.returncode, closed.stdout), (heard.returncode, heard.stdout), command)

    def test_closed_streams_do_not_end_up_in_files(self):
        for closed in ((2,), (0, 2), (0, 1, 2)):
            def close(closed=closed):
                for stream in closed:
                    os.close(stream)
            run = subprocess.run([PROGRAM, "schema", "loans.csv", "--target", "approved", "--favourable", "yes", "-o", "out"],
                                 cwd=self.folder, check=False, timeout=60, preexec_fn=close)
            self.assertEqual(run.returncode, DONE)
            self.assertEqual((self.folder / "out").read_text(encoding="utf-8"),
                             self.ellice("schema", "loans.csv", "--target", "approved", "--favourable", "yes"))

    def test_a_closed_standard_output_is_a_write_failure(self):
        run = subprocess.run([PROGRAM, "options"], cwd=self.folder, check=False, timeout=60, stderr=subprocess.PIPE,
                             preexec_fn=lambda: os.close(1))
        self.assertEqual(run.returncode, FAILURE)
        self.assertIn(b"cannot write standard output", run.stderr)

    def test_writes_through_a_link_to_a_file_that_is_not_there_yet(self):
        (self.folder / "place").mkdir()
        (self.folder / "link").symlink_to("place/step")
        (self.folder / "place" / "step").symlink_to("out")
        for command in self.commands("link"):
            self.ellice(*command)
            self.assertTrue((self.folder / "link").is_symlink())
            self.assertTrue((self.folder / "place" / "step").is_symlink())
            self.assertTrue((self.folder / "place" / "out").is_file())
            (self.folder / "place" / "out").unlink()
        for link, target, reason in (("far", "nowhere/out", "No such file or directory"),
                                     ("round", "round", "Too many levels of symbolic links")):
            (self.folder / link).symlink_to(target)
            for command in self.commands(link):
                run = self.run_ellice(*command)
                self.assertEqual(run.returncode, FAILURE)
                self.assertIn(f"cannot write {link}: {reason}", run.stderr)
                self.assertTrue((self.folder / link).is_symlink())

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
