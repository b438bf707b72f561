#!/usr/bin/env python3
"""Whether a newer program gives the answers of an older one, on every data set, over every set, by every method.

    ELLICE_DATA=FOLDER benchmarks/search/same_answers.py OLD NEW [--people 12] [--only german]

The older program trains the models, linear ones and networks, and both explain the same people who are declined. Of each way of asking
stands how many answers are the same (status, and cost to a billionth), cheaper, dearer, proved where they were not, and otherwise
different in status, with an example. Dearer answers, and answers that are gone, are what somebody should look at; the exit status is 1
where there is one that the older program had proved.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

DATA_SETS = ("australian", "banknote", "compas", "diabetes", "fico", "german", "iris", "parkinsons", "wine", "iris3", "wine-grades", "lending")
CLASSES = ("iris3", "wine-grades")
LINEAR = {
    "exact": (),
    "exact, l1": ("--cost", "l1"),
    "exact, sparse": ("--sparse",),
    "exact, at most 3": ("--max-changes", "3"),
    "exact, 3 plans": ("--plans", "3"),
    "data": ("--method", "data"),
    "gradient": ("--method", "gradient"),
    "greedy": ("--method", "greedy"),
    "gumbel": ("--method", "gumbel"),
    "true": ("--set", "true"),
    "true, l1": ("--set", "true", "--cost", "l1"),
    "true, at most 3": ("--set", "true", "--max-changes", "3"),
}
NETWORK = {
    "last layer": ("--set", "last-layer"),
    "full": ("--set", "full"),
    "isotropic": ("--set", "isotropic"),
    "true": ("--set", "true"),
    "data": ("--set", "last-layer", "--method", "data"),
}
ROWS = ("true", "data", "gradient", "greedy", "gumbel")  # what may start at, or ask, the training rows
ANSWERED = ("optimal", "certified", "already_robust", "reduced")


def run(*arguments):
    done = subprocess.run([*map(str, arguments), "--quiet"], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip().splitlines()[-1:] or [""]


def answers(program, model, people, asked, output):
    status, said = run(program, "explain", model, people, *asked, "--epsilon", "0.01", "--seed", "1", "--format", "json", "-o", output)
    if status not in (0, 1):
        return None, said[0]
    file = json.loads(output.read_text(encoding="utf-8"))
    return {(record["query_index"], record.get("plan", 0)): record for record in file["results"]}, ""


def cost(record):
    return record["distance"]["weighted"] if record["status"] in ANSWERED else None


def compare(old, new):
    """Counts by kind, and the first of each kind that somebody should look at."""
    counts = dict.fromkeys(("same", "cheaper", "proved", "dearer", "other"), 0)
    worrying = []
    for key, before in old.items():
        after = new.get(key, {"status": "missing"})
        a, b = cost(before), cost(after)
        kind = "other"
        if a is not None and b is not None and abs(a - b) <= 1e-9 * max(a, 1e-300):
            kind = "same" if before["status"] == after["status"] else "proved" if after["status"] == "optimal" else "other"
        elif a is not None and b is not None:
            kind = "cheaper" if b < a else "dearer"
        elif before["status"] == after["status"]:
            kind = "same"
        elif b is not None:
            kind = "cheaper"  # an answer where there was none
        counts[kind] += 1
        if kind in ("dearer", "other"):
            worrying.append((before["status"] == "optimal", f"{key}: {before['status']} {a} -> {after['status']} {b}"))
    return counts, sorted(worrying, reverse=True)


class Sweep:
    def __init__(self, given, folder):
        self.given, self.folder, self.failed = given, folder, False

    def people_of(self, name, model):
        """Declined ones, spread over the rows."""
        source = self.folder / f"{name}.csv"
        if name == "lending":
            run(self.given.new, "demo", "--people", "400", "-o", self.folder / "demo.html", "--csv", source)
        else:
            file = {"iris": "iris_extended", "iris3": "iris_extended", "wine-grades": "wine"}.get(name, name)
            source = pathlib.Path(os.environ["ELLICE_DATA"]) / f"{file}.csv"
        header, *rows = source.read_text(encoding="utf-8-sig").splitlines()
        rows = rows[:: max(1, len(rows) // 400)]
        people = self.folder / "people.csv"
        people.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        found = self.folder / "declined.json"
        run(self.given.new, "explain", model, people, "--epsilon", "0", "--declined", "--format", "json", "-o", found)
        declined = sorted({record["query_index"] for record in json.loads(found.read_text(encoding="utf-8"))["results"]})
        declined = declined[:: max(1, len(declined) // self.given.people)][: self.given.people]
        people.write_text("\n".join([header, *(rows[i] for i in declined)]) + "\n", encoding="utf-8")
        return people

    def line(self, title, model, people, asked):
        old, _ = answers(self.given.old, model, people, asked, self.folder / "old.json")
        new, said = answers(self.given.new, model, people, asked, self.folder / "new.json")
        if old is None or new is None:
            print(f"| {title} | {'refused by both' if old is None and new is None else 'answers only of the ' + ('new' if old is None else 'OLD: ' + said)} | | | | | |", flush=True)
            self.failed |= new is None and old is not None
            return
        counts, worrying = compare(old, new)
        self.failed |= any(is_proved for is_proved, _ in worrying)
        print(f"| {title} | {' | '.join(map(str, counts.values()))} | {worrying[0][1] if worrying else ''} |", flush=True)

    def data_set(self, name):
        kinds = {"softmax" if name in CLASSES else "linear": ((), LINEAR)}
        if name not in CLASSES:
            kinds["network"] = (("--model", "mlp", "--hidden", "8", "--refit"), NETWORK)
        for kind, (options, ways) in kinds.items():
            options = ("--model", "softmax") if kind == "softmax" else options
            model = self.folder / f"{name}-{kind}.json"
            status, said = run(self.given.old, "train", "--dataset", name, *options, "--folds", "0", "-o", model)
            if status != 0:
                print(f"| {name}, {kind} | not trained: {said[0]} | | | | | |", flush=True)
                continue
            people = self.people_of(name, model)
            for way, asked in ways.items():
                rows = ("--dataset", name) if way.split(",")[0] in ROWS else ()
                self.line(f"{name}, {kind}: {way}", model, people, (*asked, *rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--only", action="append", choices=DATA_SETS)
    given = parser.parse_args()
    print("| asked | same | cheaper | proved | dearer | other | first of these |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(given, pathlib.Path(folder))
        for name in given.only or DATA_SETS:
            sweep.data_set(name)
    return 1 if sweep.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
