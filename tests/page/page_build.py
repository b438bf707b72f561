"""Where the page's tools are: installed by `npm ci` from the lock file, once for all tests of a build folder."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PAGE = SOURCE / "page"
# Beside the build, so that nothing is written into the sources.
FOLDER = Path(os.environ["ELLICE_PAGE_FOLDER"])


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run([str(part) for part in command], cwd=FOLDER, env={**os.environ, **environment},
                          text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-6000:]}")
    return done.stdout


def prepare() -> None:
    """The sources of the page with the packages of the lock file; skips where there is no npm."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise unittest.SkipTest(f"no {tool}: scripts/setup installs it")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = FOLDER / ".installed", hashlib.sha256((PAGE / "package-lock.json").read_bytes()).hexdigest()
        for name in ("package.json", "package-lock.json", ".npmrc", "tsconfig.json", "build.mjs"):
            shutil.copyfile(PAGE / name, FOLDER / name)
        for name in ("src", "tests"):
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            shutil.copytree(PAGE / name, FOLDER / name)
        if not stamp.exists() or stamp.read_text() != wanted:
            run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
            stamp.write_text(wanted)
