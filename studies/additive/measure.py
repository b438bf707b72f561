#!/usr/bin/env python3
"""Additive models on bins against logistic regression on numbers: prints the tables of docs/additive.md.

    studies/additive/measure.py PROGRAM [FOLDER]

PROGRAM is the built command, data are found as everywhere (ELLICE_DATA, or ../shared/datasets). For each table a schema is
drafted with and without bins, models are fitted and cross-validated, and the first declined people are explained one after
another on one thread.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(os.environ.get("ELLICE_DATA", PROJECT.parent / "shared" / "datasets"))
TABLES = [("german", "y", "0"), ("fico", "PoorRiskPerformance", "0")]
PEOPLE = 200


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

    def explain(self, model, *options):
        people = f"{self.name}-people.csv"
        with open(self.data, encoding="utf-8") as source:
            lines = source.read().splitlines()
        (self.folder / people).write_text("\n".join(lines[: PEOPLE + 1]) + "\n", encoding="utf-8")
        answers = json.loads(self.run("explain", model, people, "--declined", "--timings", "--threads", "1", "--format", "json", *options))
        return answers["results"]


def row(name, kind, fitted, answers):
    _, _, accuracy, columns, objective = fitted
    seconds = [1000 * one["seconds"] for one in answers if "seconds" in one]
    count = lambda *status: sum(one["status"] in status for one in answers)
    print(f"| {name} | {kind} | {columns} | {100 * accuracy['cross_validated']:.1f} % | {100 * accuracy['train']:.1f} % |"
          f" {objective:.4f} | {len(answers)} | {count('optimal', 'already_robust')} | {count('infeasible')} | {count('certified', 'not_found')} |"
          f" {sum(seconds) / max(1, len(seconds)):.1f} |")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary).resolve()
        print("| table | model | columns | accuracy, 5 folds | on its rows | objective | declined | proved nearest | proved none |"
              " other | ms mean |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for table in TABLES:
            trial = Trial(program, folder, table)
            for kind, options in [("numbers", ()), ("bins 5", ("--bins", 5))]:
                fitted = trial.fit(kind.replace(" ", ""), *options)
                row(table[0], kind, fitted, trial.explain(fitted[1], "--epsilon", "1%"))


if __name__ == "__main__":
    main()
