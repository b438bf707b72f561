"""The same bytes by every kernel that this processor has, by any number of threads, and on other processors."""
import hashlib
import os
import shutil
import subprocess
import unittest
from unittest import mock

from cli_test_case import PROGRAM, CliTestCase

KERNELS = ("avx512", "avx2", "plain")
LINEAR = ("train", "--dataset", "lending")
NETWORK = (*LINEAR, "--model", "mlp", "--hidden", "12,5", "--epochs", "20", "--refit")


EMULATOR = shutil.which("qemu-x86_64")
PROCESSORS = ("Haswell", "EPYC")  # with AVX2, and other caches


class Processors(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("demo", "--people", "4", "-o", "demo.html", "--csv", "people.csv")

    def available(self):
        """Those kernels that the program accepts."""
        found = []
        for kernel in KERNELS:
            with mock.patch.dict(os.environ, ELLICE_KERNEL=kernel):
                if self.run_ellice(*LINEAR, "-o", "probe.json").returncode == 0:
                    found.append(kernel)
        return found

    def hashes(self, train, kernel, threads):
        with mock.patch.dict(os.environ, ELLICE_KERNEL=kernel):
            self.ellice(*train, "--threads", threads, "-o", "m.json")
            self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.001", "--threads", threads, "--format", "json",
                        "-o", "a.json")
        return [hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in ("m.json", "a.json")]

    def test_models_and_answers_are_the_same_bytes(self):
        kernels = self.available()
        self.assertIn("plain", kernels)
        for train in (LINEAR, NETWORK):
            expected = self.hashes(train, "plain", "1")
            for kernel in kernels:
                for threads in ("1", "3"):
                    with self.subTest(train=train, kernel=kernel, threads=threads):
                        self.assertEqual(self.hashes(train, kernel, threads), expected)

    @unittest.skipUnless("ELLICE_EMULATE" in os.environ, "skipped: this build cannot be emulated")
    @unittest.skipUnless(EMULATOR, "skipped: no qemu-x86_64")
    def test_other_processors_give_the_same_bytes(self):
        # An emulator takes fifty times as long.
        commands = ((*LINEAR, "--model", "mlp", "--hidden", "6", "--epochs", "1", "-o", "m.json"), ("explain", "m.json", "people.csv", "--epsilon", "0.001", "--format",
                                                  "json", "-o", "a.json"))
        for command in commands:
            self.ellice(*command)
        expected = [(self.folder / name).read_bytes() for name in ("m.json", "a.json")]
        for processor in PROCESSORS:
            for command in commands:
                subprocess.run([EMULATOR, "-cpu", processor, PROGRAM, *command], cwd=self.folder, check=True,
                               capture_output=True, timeout=120)
            with self.subTest(processor=processor):
                self.assertEqual([(self.folder / name).read_bytes() for name in ("m.json", "a.json")], expected)

    def test_an_unknown_kernel_is_refused(self):
        with mock.patch.dict(os.environ, ELLICE_KERNEL="abacus"):
            run = self.run_ellice(*LINEAR, "-o", "m.json")
        self.assertNotEqual(run.returncode, 0)
        for word in ("ELLICE_KERNEL", "abacus", "plain"):
            self.assertIn(word, run.stderr)


if __name__ == "__main__":
    unittest.main()
