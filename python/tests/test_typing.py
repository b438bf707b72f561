"""Types are complete, and what is generated is as it would be generated again."""

import os
import pathlib
import subprocess
import sys

import ellice_recourse as el

PACKAGE = pathlib.Path(el.__file__).parent
SOURCES = pathlib.Path(__file__).parent.parent


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False,
                          cwd=PACKAGE.parent, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_generated_options_are_up_to_date():
    assert (SOURCES / "ellice_recourse" / "_options.py").read_text() == el.options.generated(), (
        "run python -m ellice_recourse.options > python/ellice_recourse/_options.py")


def test_the_package_is_strictly_typed(tmp_path):
    run("mypy", "--config-file", str(SOURCES / "pyproject.toml"), "--cache-dir", str(tmp_path), str(PACKAGE))


def test_the_stub_is_that_of_the_extension(tmp_path):
    # Functions of nanobind are none to stubtest, whatever their signature; that they are all there is looked at below. The
    # two methods of the classifier are made by scikit-learn when it is imported.
    (tmp_path / "allowed").write_text("ellice_recourse\\._core\\..*\n.*RobustLogisticClassifier\\.set_(fit|score)_request\n")
    run("mypy.stubtest", "--mypy-config-file", str(SOURCES / "pyproject.toml"), "--allowlist", str(tmp_path / "allowed"),
        "--ignore-unused-allowlist", "ellice_recourse")
    stub = (PACKAGE / "_core.pyi").read_text()
    for name in (name for name in dir(el._core) if not name.startswith("_")):
        assert f"def {name}(" in stub or f"class {name}:" in stub or f"{name}: " in stub, name


def test_keywords_are_known_to_type_checkers(tmp_path):
    (tmp_path / "use.py").write_text(
        "import ellice_recourse as el\nel.Explainer(el.load('m'), max_changes=3, cost='l1')\n"
        "el.Explainer(el.load('m'), max_chnges=3)\nel.Explainer(el.load('m'), cost='l7')\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(tmp_path / "use.py")],
                          capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    lines = [line for line in done.stdout.splitlines() if "use.py" in line and "error" in line]
    assert len(lines) == 2 and "use.py:3" in lines[0] and "use.py:4" in lines[1], done.stdout
