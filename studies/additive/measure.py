#!/usr/bin/env python3
"""Additive models on bins against logistic regression on numbers: prints the tables of docs/additive.md.

    studies/additive/measure.py PROGRAM [--people N] [--epsilon E] [--tables german,fico]

PROGRAM is the built command, data are found as everywhere (ELLICE_DATA, or ../shared/datasets). For each table a schema is
drafted with and without bins, models are fitted and cross-validated, and each declined person among the first N is explained
by a run of its own on one thread. Times are processor time of these runs, less that of a run for somebody who is accepted.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(os.environ.get("ELLICE_DATA", PROJECT.parent / "shared" / "datasets"))
TABLES = [("german", "y", "0"), ("fico", "PoorRiskPerformance", "0")]


class Trial:
    def __init__(self, program, folder, table):
        self.program, self.folder = program, folder
        self.name, self.target, self.favourable = table
        self.data = str(SOURCES / f"{self.name}.csv")

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def fit(self, kind, *options):
        schema, model = f"{self.name}-{kind}.yaml", f"{self.name}-{kind}.json"
        self.run("schema", self.data, "--target", self.target, "--favourable", self.favourable, *options, "-o", schema)
        how = ("--model", "additive") if kind != "numbers" else ()
        trained = json.loads(self.run("train", self.data, "--schema", schema, *how, "--format", "json", "-o", model))
        return schema, model, trained["accuracy"], trained["columns"], trained["objective"]

    def seconds_of(self, *arguments):
        """Processor time of a run, and what it wrote."""
        with subprocess.Popen([self.program, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 4):
            sys.exit(f"{' '.join(map(str, arguments))}: exit {process.returncode}")
        return usage.ru_utime + usage.ru_stime, json.loads(text)

    def explain(self, model, count, *options):
        with open(self.data, encoding="utf-8") as source:
            lines = source.read().splitlines()
        answers, times, idle = [], [], []
        for line in lines[1: count + 1]:
            (self.folder / "person.csv").write_text(f"{lines[0]}\n{line}\n", encoding="utf-8")
            seconds, found = self.seconds_of("explain", model, "person.csv", "--declined", "--threads", "1", "--format", "json", *options)
            (times if found["results"] else idle).append(seconds)
            answers += found["results"]
        least = statistics.median(idle) if idle else 0
        return answers, [max(0.0, 1000 * (seconds - least)) for seconds in times]


def row(name, kind, fitted, answers, times):
    _, _, accuracy, columns, objective = fitted
    count = lambda *status: sum(one["status"] in status for one in answers)

    def at(share, *status):
        of = sorted(time for one, time in zip(answers, times) if one["status"] in status)
        return f"{of[min(len(of) - 1, int(share * len(of)))]:.0f}" if of else "–"

    found = ("optimal", "certified", "already_robust", "reduced")
    print(f"| {name} | {kind} | {columns} | {100 * accuracy['cross_validated']:.1f} % | {100 * accuracy['train']:.1f} % |"
          f" {objective:.4f} | {len(answers)} | {count('optimal', 'already_robust')} | {count('infeasible')} | {count('certified', 'not_found')} |"
          f" {at(0.5, *found)} | {at(0.99, *found)} | {at(0.5, 'infeasible')} | {at(0.99, 'infeasible')} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--epsilon", default="1%")
    parser.add_argument("--tables", default="german,fico")
    asked = parser.parse_args()
    program = str(pathlib.Path(asked.program).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        print("| table | model | columns | accuracy, 5 folds | on its rows | objective | declined | proved nearest | proved none |"
              " other | ms with a plan, median | p99 | ms without, median | p99 |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        for table in TABLES:
            if table[0] not in asked.tables.split(","):
                continue
            trial = Trial(program, pathlib.Path(temporary), table)
            for kind, options in [("numbers", ()), ("bins 5", ("--bins", 5))]:
                fitted = trial.fit(kind.replace(" ", ""), *options)
                row(table[0], kind, fitted, *trial.explain(fitted[1], asked.people, "--epsilon", asked.epsilon))


if __name__ == "__main__":
    main()
