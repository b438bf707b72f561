"""Files with one fault each: every value of the golden files replaced by what does not belong there, and every key left
out or added. Whatever is wrong with a file, the status is that of bad input, or the file is still a good one, or `verify`
finds that it does not hold; never an internal failure, never wrong usage, never a signal.

ELLICE_MUTATIONS says how many of the faults are tried (they are drawn with ELLICE_SEED); `all` tries every one.
"""
import concurrent.futures
import contextlib
import copy
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import tempfile
import unittest

from cli_test_case import BAD_INPUT, DONE, NOT_CERTIFIED, PROGRAM, PROJECT

GOLDEN = PROJECT / "tests" / "golden"
DEFAULT_MUTATIONS = 600

ABSENT = object()
ADDED = object()
INSTEAD = (ABSENT, ADDED, None, True, "", "\u001b[31mred", "nothing of the kind", -1, 0, 0.5, 99, 1e154, 1e308, -1e308,
           9007199254740993, [], [None], [[]], {}, {"format": 0})

CONSTRAINTS = {"lock": ["purpose"], "bounds": {"income": [20000, 50000], "debt": [None, 9]},
               "direction": {"debt": "decrease"}, "queries": {"1": {"lock": ["income"], "bounds": {"debt": [0, 1]}}}}
CODES = {"age": {"code": "07", "text": "Length of credit history"}, "debt": {"too_high": {"code": "12", "text": "Debts"}},
         "income": {"code": "20", "too_low": {"code": "21"}}, "purpose": {"levels": {"boat": {"code": "31"}}}}

PLAN = """
name: small
variant: corrected
folds: {count: 4, run: [1]}
rows: {tuning: 4, test: 4}
target_epsilon: [10%]
evaluators: {retrain: 2, ellipsoid: 1}
experiments:
  continuous:
    datasets: [lending]
    models: [linear]
    methods:
      exact: {method: auto, grid: [0.002, 0.02]}
"""


def places(value, path=()):
    """The paths of all values; of long lists those of the first and the last one."""
    yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, (*path, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1} & set(range(len(value)))):
            yield from places(value[index], (*path, index))


def mutated(document, path, instead):
    """The document with another value at the path; None where that is no change."""
    if not path:
        return instead if instead is not ABSENT and instead is not ADDED else None
    document = copy.deepcopy(document)
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    if instead is ABSENT:
        del parent[path[-1]]
    elif instead is ADDED:
        if isinstance(parent, dict):
            parent["surplus"] = parent[path[-1]]
        else:
            parent.append(parent[path[-1]])
    elif parent[path[-1]] == instead and type(parent[path[-1]]) is type(instead):
        return None
    else:
        parent[path[-1]] = instead
    return document


def golden(name):
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def model_of(recourse):
    """The name of the model for which a recourse file was made."""
    names = sorted((path.stem for path in (GOLDEN / "models").iterdir()), key=len, reverse=True)
    digest = golden(recourse)["model_sha256"]
    for name in names:
        if recourse.split("/")[-1].startswith(name) and digest:
            return name
    return None


class Mutations(unittest.TestCase):
    """Each test draws its share of the faults of one kind of file."""

    def run_all(self, documents, statuses, share=1.0, top=True):
        """documents: (name, document, command with @ for the mutated file); top: also instead of the whole document."""
        wanted = os.environ.get("ELLICE_MUTATIONS", str(DEFAULT_MUTATIONS))
        faults = [(name, document, path, instead, command) for name, document, command in documents
                  for path in places(document) for instead in INSTEAD if path or top]
        self.assertGreater(len(faults), 100)
        if wanted != "all":
            generator = random.Random(int(os.environ.get("ELLICE_SEED", "1")))
            faults = generator.sample(faults, min(len(faults), int(int(wanted) * share)))
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name in ("models", "people", "inputs", "recourse"):
                (pathlib.Path(folder) / name).symlink_to(GOLDEN / name)
            found = list(pool.map(lambda fault: self.try_fault(folder, statuses, *fault), faults))
        wrong = [text for text in found if text]
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} of {len(found)}", *wrong]))

    def try_fault(self, folder, statuses, name, document, path, instead, command):
        changed = mutated(document, path, instead)
        if changed is None and path:
            return None
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder, encoding="utf-8") as file:
            json.dump(changed, file)
            file.flush()
            words = [file.name if word == "@" else word for word in command.split()]
            try:
                run = subprocess.run([PROGRAM, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                                     check=False, timeout=60)
                status, said = run.returncode, run.stderr.decode(errors="replace").strip()
            except subprocess.TimeoutExpired:
                status, said = "no end", ""
        shown = {id(ABSENT): "left out", id(ADDED): "doubled"}.get(id(instead), repr(instead))
        place = f"{name}: {'.'.join(map(str, path))} = {shown}"
        if status not in statuses:
            return f"{place}: status {status}: {said[-300:]}"
        if status == BAD_INPUT and (not said.startswith("ellice: ") or "\x1b" in said):
            return f"{place}: says {said!r}"
        return None

    def test_models(self):
        people = {"lending-other": "lending", "squared": "applicant", "loans": "applicant", "iris3-network": "iris3",
                  "loans-network": "applicant"}
        documents = []
        for path in sorted((GOLDEN / "models").iterdir()):
            persons = people.get(path.stem, path.stem)
            options = "0.001" if path.stem in ("diabetes", "loans-network") else "1%"
            if path.stem in ("german", "fico"):
                options += " --node-limit 30"
            documents.append((path.name, golden(f"models/{path.name}"),
                              f"explain @ people/{persons}.csv --format json --epsilon {options}"))
        self.run_all(documents, {DONE, BAD_INPUT})

    def test_models_that_are_only_read(self):
        documents = [(name, golden(f"models/{name}"), "verify @ recourse/loans.json") for name in
                     ("loans.json", "diabetes.json", "iris3.json")]
        self.run_all(documents, {BAD_INPUT, NOT_CERTIFIED, DONE}, 0.3)

    def test_recourse_files(self):
        documents = []
        for path in sorted((GOLDEN / "recourse").glob("*.json")):
            name = model_of(f"recourse/{path.name}")
            true = "true" in path.stem
            data = {"lending": "--dataset lending", "squared": "--data inputs/loans.csv"}.get(name, "") if true else ""
            if name is None or (true and name not in ("lending", "squared", "loans", "loans-network")):
                continue
            if "ensemble" in path.stem:
                data = "--ensemble models/lending-other.json"
            documents.append((path.name, golden(f"recourse/{path.name}"), f"verify models/{name}.json @ {data}"))
        self.assertGreater(len(documents), 20)
        self.run_all(documents, {DONE, BAD_INPUT, NOT_CERTIFIED})

    def test_answers_to_be_judged(self):
        documents = [(name, golden(f"recourse/{name}"),
                      "evaluate models/loans.json @ --evaluators retrain --retrain-models 2 --resamples 100 --format json")
                     for name in ("loans.json", "loans-plans.json", "loans-lock.json")]
        self.run_all(documents, {DONE, BAD_INPUT}, 0.3, top=False)  # what is no object is a table

    def test_certificates(self):
        models = {"classes-either": "iris3", "classes": "iris3", "damping": "loans", "full": "diabetes",
                  "isotropic": "lending", "last-layer": "lending"}
        documents = [(f"{stem}.json", golden(f"certificates/{stem}.json"), f"verify models/{model}.json @")
                     for stem, model in models.items()]
        self.run_all(documents, {DONE, BAD_INPUT, NOT_CERTIFIED}, 0.5)

    def test_schemas(self):
        documents = [(stem, golden(f"models/{stem}.json")["schema"],
                      "train inputs/loans.csv --schema @ --l2 0.02 --folds 0 -o - --quiet")
                     for stem in ("loans", "implications")]
        self.run_all(documents, {DONE, BAD_INPUT}, 0.5)

    def test_constraints_and_codes(self):
        command = "explain models/loans.json people/loans.csv --epsilon 1% --format json"
        self.run_all([("constraints", CONSTRAINTS, f"{command} --constraints @"),
                      ("codes", CODES, f"{command} --reason-codes @")], {DONE, BAD_INPUT}, 0.5)


    def test_results_of_a_study(self):
        """The store of a finished study with one value of a record replaced; the tables are drawn from it."""
        wanted = os.environ.get("ELLICE_MUTATIONS", str(DEFAULT_MUTATIONS))
        generator = random.Random(int(os.environ.get("ELLICE_SEED", "1")))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
            study = [PROGRAM, "study", "plan.yaml", "-o", "out", "--quiet"]
            subprocess.run(study, cwd=folder, check=True, capture_output=True)
            store = (folder / "out" / "results.sqlite").read_bytes()
            with contextlib.closing(sqlite3.connect(folder / "out" / "results.sqlite")) as database:
                records = [(key, json.loads(body)) for key, body in database.execute("SELECT name, body FROM record")]
            faults = [(key, document, path, instead) for key, document in records for path in places(document)
                      for instead in INSTEAD]
            if wanted != "all":
                faults = generator.sample(faults, min(len(faults), int(wanted) // 4))
            (folder / "other").mkdir()
            for key, document, path, instead in faults:
                changed = mutated(document, path, instead)
                (folder / "other" / "results.sqlite").write_bytes(store)
                with contextlib.closing(sqlite3.connect(folder / "other" / "results.sqlite")) as database:
                    database.execute("UPDATE record SET body = ? WHERE name = ?", (json.dumps(changed), key))
                    database.commit()
                for command in ([*study[:4], "other", "--report-only", "--quiet"], [PROGRAM, "study", "compare", "out", "other"]):
                    run = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
                    self.assertIn(run.returncode, (DONE, BAD_INPUT), f"{key}: {path} = {instead!r}: {run.stderr}")


if __name__ == "__main__":
    unittest.main()
