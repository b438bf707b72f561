"""The command ``ellice`` of the wheel: the program that lies beside the package."""

from __future__ import annotations

import os
import pathlib
import sys


def main() -> None:
    """Becomes the program."""
    program = pathlib.Path(__file__).parent / "bin" / "ellice"
    if not program.exists():
        sys.exit("ellice: this installation of ellice-recourse has no command; install its wheel")
    os.execv(program, [str(program), *sys.argv[1:]])
