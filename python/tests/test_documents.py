"""Notebooks run and show what they hold, the reference is that of the docstrings, and importing the package brings no other with it."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))


def run(*arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_four_notebooks():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_they_hold(path):
    run("scripts/notebooks", "--check", path)


def test_the_reference_is_up_to_date():
    run("scripts/python_reference", "--check")


def test_the_package_brings_no_other_with_it():
    code = ("import sys, ellice_recourse; "
            "assert not {'numpy', 'pandas', 'sklearn', 'matplotlib', 'polars', 'pyarrow'} & set(sys.modules), sys.modules.keys()")
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
