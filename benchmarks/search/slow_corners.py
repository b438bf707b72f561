#!/usr/bin/env python3
"""What an answer costs where answers are dear: the second table of docs/performance.md.

Each corner is a model and a way of asking, with up to so many declined people spread evenly over the rows. Times are processor
time of `explain` on one thread per person, the least of --runs, what the program needs for the first person left out, with
rows of CSV as output. Several programs, e.g. an old one and a new one, answer the same people in turn; the models are
the first one's. Beside the times stand how many answers were proved nearest and how many are certified otherwise, people
without one left out, and in how many the last program's answer is cheaper or dearer than the first one's.
"""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import resource
import subprocess
import tempfile

ANSWERED = ("optimal", "certified")


@dataclasses.dataclass(frozen=True)
class Corner:
    name: str
    data: str  # a built-in data set, with own kinds; "NAME numeric": every column a number
    explain: tuple
    goal: str  # ms
    train: tuple = ()
    people: int = 100


def network(hidden):
    return ("--model", "mlp", "--hidden", hidden, "--refit")


TRUE = ("--set", "true")
FULL = ("--set", "full")
LAST = ("--set", "last-layer")
CORNERS = [
    Corner("FICO, own kinds, 1 %", "fico", ("--epsilon", "1%"), "0.6"),
    Corner("German, own kinds, 0.01", "german", ("--epsilon", "0.01"), "0.6"),
    Corner("German, own kinds, 5 %", "german", ("--epsilon", "5%"), "4"),
    Corner("FICO, own kinds, 0.01, l1", "fico", ("--epsilon", "0.01", "--cost", "l1"), "4"),
    Corner("FICO, own kinds, 0.01, at most 5 changes", "fico", ("--epsilon", "0.01", "--max-changes", "5"), "5"),
    Corner("German numeric, d = 67, 1 %", "german numeric", ("--epsilon", "1%"), "0.05", people=1000),
    Corner("lending, 1 %", "lending", ("--epsilon", "1%"), "0.15", people=1000),
    Corner("FICO numeric, d = 20, l1, 1 %", "fico numeric", ("--epsilon", "1%", "--cost", "l1"), "0.03", people=1000),
    Corner("true set, FICO, own kinds, 1 %", "fico", ("--epsilon", "1%", *TRUE), "50", people=12),
    Corner("true set, Diabetes numeric, 1 %", "diabetes numeric", ("--epsilon", "1%", *TRUE), "0.5"),
    Corner("true set, FICO numeric, 1 %", "fico numeric", ("--epsilon", "1%", *TRUE), "2"),
    Corner("true set, nobody has an answer: Parkinsons, 10 %", "parkinsons numeric", ("--epsilon", "10%", *TRUE), "2", people=40),
    Corner("network 32,32, full set, Wine, 0.01", "wine", ("--epsilon", "0.01", *FULL), "3", network("32,32"), 40),
    Corner("network 32,32, full set, Parkinsons, 0.01", "parkinsons", ("--epsilon", "0.01", *FULL), "8", network("32,32"), 40),
    Corner("network 32,32, last layer, Wine, 0.01", "wine", ("--epsilon", "0.01", *LAST), "0.3", network("32,32")),
    Corner("network 32,32, last layer, FICO numeric, 0.01", "fico numeric", ("--epsilon", "0.01", *LAST), "0.5", network("32,32")),
    Corner("network 16, last layer, German numeric, 0.01", "german numeric", ("--epsilon", "0.01", *LAST), "0.2", network("16")),
    Corner("network 32,32, COMPAS numeric, 10 % (`reduced`)", "compas numeric", ("--epsilon", "10%", *LAST), "2", network("32,32"), 40),
]


def run(arguments, folder):
    """Processor seconds; people without an answer are no failure."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*arguments, "--quiet", "--threads", "1"], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, arguments))} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    return header, rows


def write_rows(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def spread(rows, most):
    return [rows[k * len(rows) // most] for k in range(most)] if len(rows) > most else rows


def numeric_table(name, header, rows):
    """The columns of a data set as numbers with the target 0 or 1 last, as the paper prepares them."""
    targets = {"german": "y", "fico": "PoorRiskPerformance", "diabetes": "Outcome", "compas": "two_year_recid", "parkinsons": "motor_UPDRS"}
    dropped = {"fico": ["MSinceMostRecentDelq", "NetFractionInstallBurden", "MSinceMostRecentInqexcl7days"],
               "parkinsons": ["subject#", "test_time", "total_UPDRS"]}.get(name, [])
    target = header.index(targets[name])
    columns = [i for i, column in enumerate(header) if column and i != target and column not in dropped]
    labels = [float(row[target]) for row in rows]
    if name == "parkinsons":
        ordered = sorted(labels)
        middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
        labels = [float(label > middle) for label in labels]
    table = []
    for row, label in zip(rows, labels):
        cells = [row[i] for i in columns]
        if name == "fico":
            missing = [float(cell) in (-7, -8, -9) for cell in cells]
            if sum(missing) > 0.4 * len(cells):
                continue
            cells = ["-1" if is_missing else cell for is_missing, cell in zip(missing, cells)]
        table.append([*cells, str(int(label))])
    return [header[i] for i in columns] + ["label"], table


class Source:
    """A data set as it is trained on: the arguments of `train`, those that give `explain` the rows, and the people."""

    def __init__(self, program, folder, data):
        name, _, kinds = data.partition(" ")
        if name == "lending":
            run([program, "demo", "--people", "1000", "-o", "demo.html", "--csv", "lending.csv"], folder)
            self.header, self.rows = read_rows(folder / "lending.csv")
            self.train = self.explain = ["--dataset", name]
            return
        table = pathlib.Path(os.environ["ELLICE_DATA"]) / f"{name}.csv"
        self.header, self.rows = read_rows(table)
        self.train = self.explain = ["--dataset", name]
        if not kinds:
            return
        self.header, self.rows = numeric_table(name, self.header, self.rows)
        write_rows(folder / f"{name}_numeric.csv", self.header, self.rows)
        features = "".join(f'  "{column}": {{kind: numeric}}\n' for column in self.header[:-1])
        (folder / f"{name}_numeric.yaml").write_text(f"target: {{column: label, favourable: 1}}\nfeatures:\n{features}", encoding="utf-8")
        self.train = [f"{name}_numeric.csv", "--schema", f"{name}_numeric.yaml", "--balance"]
        self.explain = ["--data", f"{name}_numeric.csv"]


class Bench:
    def __init__(self, programs, folder, runs):
        self.programs, self.folder, self.runs = programs, folder, runs
        self.sources, self.models = {}, {}

    def model_of(self, corner):
        """Its file, and the people whom the model itself declines."""
        key = (corner.data, corner.train)
        if key in self.models:
            return self.models[key]
        if corner.data not in self.sources:
            self.sources[corner.data] = Source(self.programs[0], self.folder, corner.data)
        source = self.sources[corner.data]
        name = f"model{len(self.models)}.json"
        run([self.programs[0], "train", *source.train, *corner.train, "--folds", "0", "-o", name], self.folder)
        rows = spread(source.rows, 4000)
        write_rows(self.folder / "people.csv", source.header, rows)
        run([self.programs[0], "explain", name, "people.csv", "--epsilon", "0", "--declined", "-o", "declined.jsonl"], self.folder)
        with open(self.folder / "declined.jsonl", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        declined = sorted({record["query_index"] for record in records if "query_index" in record})
        self.models[key] = name, [rows[i] for i in declined]
        return self.models[key]

    def explain(self, program, corner, people, output):
        source = self.sources[corner.data]
        name, _ = self.model_of(corner)
        write_rows(self.folder / "people.csv", source.header, people)
        rows = source.explain if "true" in corner.explain else []
        return run([program, "explain", name, "people.csv", *corner.explain, *rows, "-o", output], self.folder)

    def results(self, program, corner, people):
        self.explain(program, corner, people, "answers.jsonl")
        with open(self.folder / "answers.jsonl", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        return {record["query_index"]: record for record in records if "query_index" in record}

    def line(self, corner):
        _, declined = self.model_of(corner)
        people = spread(declined, corner.people)
        whole, first = [[] for _ in self.programs], [[] for _ in self.programs]
        for _ in range(self.runs):
            for k, program in enumerate(self.programs):
                whole[k].append(self.explain(program, corner, people, "answers.csv"))
                first[k].append(self.explain(program, corner, people[:1], "answers.csv"))
        cells, found = [], []
        for k, program in enumerate(self.programs):
            ms = 1000 * (min(whole[k]) - min(first[k])) / (len(people) - 1)
            found.append(self.results(program, corner, people))
            statuses = [result["status"] for result in found[-1].values()]
            cells.append(f"{ms:.3g} | {statuses.count('optimal')} + {statuses.count('certified')} of {len(people)}")
        return f"| {corner.name} | {' | '.join(cells)} | {self.compare(found[0], found[-1])} | {corner.goal} |"

    @staticmethod
    def compare(old, new):
        cheaper = dearer = lost = 0
        for index, before in old.items():
            after = new[index]
            if before["status"] not in ANSWERED:
                continue
            if after["status"] not in ANSWERED:
                lost += 1
                continue
            a, b = before["distance"]["weighted"], after["distance"]["weighted"]
            cheaper += b < a * (1 - 1e-9)
            dearer += b > a * (1 + 1e-9)
        return f"{cheaper}, {dearer}, {lost}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True, action="append", help="a program, release; several are compared")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", help="folder for models and answers, kept")
    parser.add_argument("names", nargs="*", help="parts of the names of corners; all where none is given")
    options = parser.parse_args()
    programs = [os.path.abspath(binary) for binary in options.binary]
    heads = "".join(f" ms per person ({k}) | proved + certified ({k}) |" for k in range(1, len(programs) + 1))
    print(f"| corner |{heads} cheaper, dearer, lost | goal |\n|{'---|' * (2 * len(programs) + 3)}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(programs, folder, options.runs)
        for corner in CORNERS:
            if not options.names or any(name in corner.name for name in options.names):
                print(bench.line(corner), flush=True)


if __name__ == "__main__":
    main()
