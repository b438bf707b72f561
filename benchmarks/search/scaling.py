#!/usr/bin/env python3
"""How the cost of an answer grows: a table of cost curves with their exponents.

    benchmarks/search/scaling.py --binary PROGRAM [--large] [NAME …]

Invented data: standard normal columns, a label by a noisy score of them. Times are processor time of `explain` on one thread, for
declined people, the least of two runs, less that for one person. The exponent of a row is that of its size from the row before: the
logarithm of the ratio of costs over that of the ratio of sizes. Memory is the largest that the process had. --large goes to d = 500
and 10⁶ rows. NAME is a part of a curve's name.
"""
import argparse
import csv
import dataclasses
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import time
import typing

LEAST_SECONDS = 2e-3  # below it the clock counts in ticks


@dataclasses.dataclass(frozen=True)
class Case:
    """Rows that a model is trained on, how many people, and what `explain` is told beside ε."""
    columns: int = 20
    rows: int = 2000
    levels: int = 0
    people: int = 500
    explain: tuple = ()
    ending: str = "csv"


@dataclasses.dataclass(frozen=True)
class Curve:
    name: str
    sizes: tuple
    large: tuple
    case: typing.Callable  # of a size
    per_person: bool = True


CURVES = [
    Curve("numbers, d columns", (8, 16, 32, 64, 128), (256, 500), lambda d: Case(d, people=500 if d < 200 else 100)),
    Curve("numbers by l1, d columns", (8, 16, 32, 64, 128), (256, 500),
          lambda d: Case(d, people=300 if d < 200 else 30, explain=("--cost", "l1"))),
    Curve("true set, n training rows", (1000, 10000, 100000), (1000000,),
          lambda n: Case(rows=n, people=20, explain=("--set", "true"))),
    Curve("one feature of L levels beside numbers", (2, 10, 100), (1000,), lambda n: Case(10, levels=n, rows=5000, people=100)),
    Curve("people as CSV", (1000, 10000, 100000), (1000000,), lambda n: Case(people=n), False),
    Curve("people as JSON Lines", (1000, 10000, 100000), (1000000,), lambda n: Case(people=n, ending="jsonl"), False),
    Curve("people as JSON", (1000, 10000, 100000), (1000000,), lambda n: Case(people=n, ending="json"), False),
]


def peak_memory(process):
    """In MB, 0 where the process is gone; what wait4 says counts this program's own memory, too."""
    try:
        lines = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0)


def run(arguments, folder):
    """Processor seconds and the largest memory in MB."""
    process = subprocess.Popen([*arguments, "--quiet", "--threads", "1"], cwd=folder, stdout=subprocess.DEVNULL)
    memory = 0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        memory = max(memory, peak_memory(process))
        time.sleep(0.002)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, arguments))} failed")
    return used.ru_utime + used.ru_stime, memory


class Invented:
    """A model of a case in a folder, and its people."""

    def __init__(self, program, folder, case):
        self.program, self.folder, self.case = program, folder, case
        self.random = random.Random(7)
        self.weights = [self.random.gauss(0, 1) / math.sqrt(case.columns) for _ in range(case.columns)]
        self.effects = [self.random.gauss(0, 0.5) for _ in range(case.levels)]
        self.header = [f"x{j}" for j in range(case.columns)] + (["level"] if case.levels else [])
        self.write("rows.csv", [[*row, label] for row, label in (self.row() for _ in range(case.rows))], [*self.header, "label"])
        features = "".join(f"  x{j}: {{kind: numeric}}\n" for j in range(case.columns))
        if case.levels:
            features += f"  level: {{kind: categorical, levels: [{', '.join(f'v{k}' for k in range(case.levels))}]}}\n"
        (folder / "schema.yaml").write_text(f"target: {{column: label, favourable: 1}}\nfeatures:\n{features}", encoding="utf-8")
        run([program, "train", "rows.csv", "--schema", "schema.yaml", "--folds", "0", "-o", "model.json"], folder)

    def row(self):
        x = [self.random.gauss(0, 1) for _ in range(self.case.columns)]
        score = sum(a * b for a, b in zip(self.weights, x))
        row = [f"{value:.4f}" for value in x]
        if self.case.levels:
            k = self.random.randrange(self.case.levels)
            score += self.effects[k]
            row.append(f"v{k}")
        return row, int(score + self.random.gauss(0, 0.5) > 0)

    def write(self, name, rows, header):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    def declined(self):
        """Rows that the model declines: drawn until there are enough, beyond 2 000 repeated."""
        wanted = min(self.case.people, 2000)
        drawn = [self.row()[0] for _ in range(4 * wanted + 40)]
        self.write("people.csv", drawn, self.header)
        run([self.program, "explain", "model.json", "people.csv", "--epsilon", "0", "--declined", "-o", "declined.jsonl"], self.folder)
        with open(self.folder / "declined.jsonl", encoding="utf-8") as file:
            places = sorted({record["query_index"] for record in map(json.loads, file) if "query_index" in record})
        found = [drawn[i] for i in places[:wanted]]
        return [found[i % len(found)] for i in range(self.case.people)]

    def explain(self, people):
        self.write("people.csv", people, self.header)
        rows = ["--data", "rows.csv"] if "true" in self.case.explain else []
        arguments = [self.program, "explain", "model.json", "people.csv", "--epsilon", "1%", *self.case.explain, *rows]
        results = [run([*arguments, "-o", f"answers.{self.case.ending}"], self.folder) for _ in range(2)]
        return min(seconds for seconds, _ in results), max(memory for _, memory in results)


def curve_rows(program, curve, sizes):
    before = None
    for size in sizes:
        case = curve.case(size)
        with tempfile.TemporaryDirectory() as folder:
            data = Invented(program, pathlib.Path(folder), case)
            people = data.declined()
            whole, memory = data.explain(people)
            alone, _ = data.explain(people[:1])
        cost = max(whole - alone, LEAST_SECONDS) / (len(people) - 1)
        grown = cost if curve.per_person else cost * len(people)
        exponent = f"{math.log(grown / before[1]) / math.log(size / before[0]):.2f}" if before else ""
        before = size, grown
        yield f"| {curve.name} | {size} | {1e6 * cost:.1f} | {exponent} | {memory:.0f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True, help="a program, release")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    program = os.path.abspath(options.binary)
    print("| curve | size | µs per person | exponent | memory, MB |\n|---|---|---|---|---|", flush=True)
    for curve in CURVES:
        if options.names and not any(name in curve.name for name in options.names):
            continue
        for row in curve_rows(program, curve, curve.sizes + (curve.large if options.large else ())):
            print(row, flush=True)


if __name__ == "__main__":
    main()
