"""What tests share: the embedded data, a model of it, and the command line that made it."""

import os
import pathlib
import subprocess

import pandas as pd
import pytest

import ellice_recourse as el


def ellice(*arguments):
    """Runs the command line, the oracle of bytes."""
    program = os.environ["ELLICE_CLI"]
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lending")


@pytest.fixture(scope="session")
def model_path(folder) -> pathlib.Path:
    ellice("train", "--dataset", "lending", "-o", folder / "m.json", "--quiet")
    return folder / "m.json"


@pytest.fixture(scope="session")
def model(model_path):
    return el.load(model_path)


@pytest.fixture(scope="session")
def people_path(folder) -> pathlib.Path:
    ellice("demo", "--people", 60, "--csv", folder / "people.csv", "-o", folder / "demo.html", "--quiet")
    return folder / "people.csv"


@pytest.fixture(scope="session")
def people(people_path):
    return pd.read_csv(people_path)


@pytest.fixture(scope="session")
def explainer(model):
    return el.Explainer(model, epsilon="1%")
