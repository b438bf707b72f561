"""Golden files: how they are made again, and how two of them are compared."""
import csv
import dataclasses
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
PROJECT = FOLDER.parents[1]

# What a command may read, by the names that the table of cases uses.
INPUTS = ("models", "people", "inputs", "recourse")

# Numbers agree to this share of the larger one, or to what is nothing beside numbers of order 1; README.md says why.
TOLERANCE = 1e-7
NOTHING = 1e-12
# What is left above a threshold, or of a gap, is the small difference of numbers of order 1.
LEFT_OVER = {"robust_logit": 1e-8, "predicted_logit": 1e-8, "encoded": 1e-8, "gap": 1e-9}

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


@dataclasses.dataclass(frozen=True)
class Case:
    """A file and the command that prints it."""
    file: str
    command: str  # @MODEL:PEOPLE stands for the two files, @NAME for those of the same name
    tolerance: float = TOLERANCE
    why: str = ""  # reason of another tolerance
    again: bool = True  # False: the file is read by other cases, but not made again

    def arguments(self):
        """The command line after `ellice`."""
        words = []
        for word in shlex.split(self.command):
            if word[0] == "@":
                model, _, people = word[1:].partition(":")
                words += [f"models/{model}.json", f"people/{people or model}.csv"]
            else:
                words.append(word)
        return words

    def option(self, name):
        """The values given to an option, in order."""
        words = self.arguments()
        return [value for flag, value in zip(words, words[1:]) if flag == name]

    @property
    def verb(self):
        return self.arguments()[0]

    @property
    def needs_data(self):
        """Whether it reads a data set that is not inside the program."""
        return any(name != "lending" for name in self.option("--dataset"))


@dataclasses.dataclass(frozen=True)
class Extract:
    """The certificate of one record of a recourse file, as a file of its own."""
    file: str
    recourse: str
    record: int


class Unavailable(Exception):
    """A case cannot be run here, for want of data or of a library."""


class Failed(Exception):
    """A case ended with another status than it should."""


class Program:
    """A built command line, run in a folder of its own in which the stored files can be read."""

    def __init__(self, binary):
        self.binary = pathlib.Path(binary).resolve()
        self.folder = tempfile.TemporaryDirectory()
        for name in INPUTS:
            (pathlib.Path(self.folder.name) / name).symlink_to(FOLDER / name)
        self.environment = dict(os.environ)
        # The program looks for ../shared/datasets from where it is run, which is elsewhere here.
        beside = PROJECT.parent / "shared" / "datasets"
        if "ELLICE_DATA" not in self.environment and beside.is_dir():
            self.environment["ELLICE_DATA"] = str(beside)

    def close(self):
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, *arguments):
        """The finished process; its output is text."""
        return subprocess.run([self.binary, *map(str, arguments)], cwd=self.folder.name, env=self.environment,
                              capture_output=True, encoding="utf-8", check=False)

    def make(self, case):
        """What the command of a case prints today."""
        form = pathlib.PurePath(case.file).suffix[1:]
        extra = ["-o", "-"] if case.verb in ("train", "import") else ["--format", form]
        threads = [] if case.verb == "import" else ["--threads", "1"]
        run = self.run(*case.arguments(), *extra, *threads, "--quiet")
        if run.returncode != 0:
            if case.needs_data and "scripts/get-datasets" in run.stderr:
                raise Unavailable(f"skipped: no data at {self.environment.get('ELLICE_DATA', '../shared/datasets')}")
            if "coinor-libcbc-dev" in run.stderr:
                raise Unavailable("skipped: this program was built without CBC")
            raise Failed(f"exit status {run.returncode}: {run.stderr.strip() or 'no message'}")
        return run.stdout

    def verify(self, case, file):
        """The finished check of a file that a case of `explain` made."""
        arguments = case.arguments()
        needed = ["--ensemble", *(["--data", "--dataset"] if "true" in case.option("--set") else [])]
        options = [word for name in needed for value in case.option(name) for word in (name, value)]
        return self.run("verify", arguments[1], FOLDER / file, *options, "--quiet")


def certificate_text(recourse, record):
    """One certificate out of the text of a recourse file, in our form of JSON."""
    certificate = json.loads(recourse)["results"][record]["certificate"]
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in certificate.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parse(text, file):
    """The document in a file, by the ending of its name."""
    if file.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    if file.endswith(".csv"):
        return [{name: cell_value(cell) for name, cell in row.items()} for row in csv.DictReader(io.StringIO(text))]
    return json.loads(text)


def number(text):
    return float(text) if re.search("[.e]", text) else int(text)


def cell_value(cell):
    return number(cell) if NUMBER.fullmatch(cell) else cell


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def near(old, new, tolerance, path=""):
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    key = path.rpartition(".")[2].partition("[")[0]
    return abs(old - new) <= tolerance * max(abs(old), abs(new)) + LEFT_OVER.get(key, NOTHING)


def same_text(old, new, tolerance):
    """The same words around numbers that agree: a claim names its epsilon with all digits."""
    if old == new:
        return True
    if NUMBER.sub("0", old) != NUMBER.sub("0", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new))
    return all(near(number(a), number(b), tolerance) for a, b in pairs)


def differences(old, new, tolerance=TOLERANCE, path=""):
    """(path, old, new) of everything in which two documents differ; None stands for what is not there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}.{key}" if path else key
            if key not in old or key not in new:
                yield place, old.get(key), new.get(key)
            elif key == "sha256":
                continue  # of the rest, down to its last digits; the verifier recomputes it
            else:
                yield from differences(old[key], new[key], tolerance, place)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{path}.length", len(old), len(new)
        for index, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, tolerance, f"{path}[{index}]")
    elif is_number(old) and is_number(new):
        if not near(old, new, tolerance, path):
            yield path, old, new
    elif isinstance(old, str) and isinstance(new, str):
        if not same_text(old, new, tolerance):
            yield path, old, new
    elif type(old) is not type(new) or old != new:
        yield path, old, new
