#!/usr/bin/env python3
"""Additive models on bins and neural additive models against logistic regression and networks: prints the tables of docs/additive.md.

    studies/additive/measure.py PROGRAM [FOLDER]

PROGRAM is the built command, data are found as everywhere (ELLICE_DATA, or ../shared/datasets). For each table a schema is
drafted with and without bins, models are fitted to three quarters of the rows, the same for all, and the first declined people are
explained one after another on one thread; networks over the set last-layer. Every file of answers is verified.
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
NETWORK = ("--learning-rate", "0.005", "--epochs", "200", "--batch-size", "256", "--refit", "--no-full-curvature")
# What it is called, options of the draft, options of training, options of explain.
MODELS = [("numbers", (), (), ()),
          ("bins 5", ("--bins", 5), ("--model", "additive"), ()),
          ("mlp 16", (), ("--model", "mlp", "--hidden", "16", *NETWORK), ("--set", "last-layer")),
          ("nam 16,8", (), ("--model", "nam", "--hidden", "16,8", *NETWORK), ("--set", "last-layer"))]


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

    def fit(self, kind, draft, how):
        schema, model = f"{self.name}-{kind}.yaml", f"{self.name}-{kind}.json"
        self.run("schema", self.data, "--target", self.target, "--favourable", self.favourable, *draft, "-o", schema)
        trained = json.loads(self.run("train", self.data, "--schema", schema, *how, "--holdout", "0.25", "--seed", "7",
                                      "--format", "json", "-o", model))
        return model, trained["accuracy"], trained["columns"], trained["objective"]

    def explain(self, model, *options):
        people = f"{self.name}-people.csv"
        with open(self.data, encoding="utf-8") as source:
            lines = source.read().splitlines()
        (self.folder / people).write_text("\n".join(lines[: PEOPLE + 1]) + "\n", encoding="utf-8")
        answers = f"{self.name}-answers.json"
        self.run("explain", model, people, "--declined", "--timings", "--threads", "1", "--format", "json", "-o", answers, *options)
        self.run("verify", model, answers)
        return json.loads((self.folder / answers).read_text(encoding="utf-8"))["results"]


def row(name, kind, fitted, answers):
    _, accuracy, columns, objective = fitted
    seconds = sorted(1000 * one["seconds"] for one in answers if "seconds" in one) or [0]
    count = lambda *status: sum(one["status"] in status for one in answers)
    print(f"| {name} | {kind} | {columns} | {100 * accuracy['holdout']:.1f} % | {100 * accuracy['train']:.1f} % |"
          f" {objective:.4f} | {len(answers)} | {count('optimal', 'already_robust')} | {count('certified')} | {count('infeasible')} |"
          f" {count('not_found', 'reduced')} | {seconds[len(seconds) // 2]:.1f} | {seconds[int(0.99 * (len(seconds) - 1))]:.1f} |", flush=True)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary).resolve()
        print("| table | model | columns | accuracy held out | on its rows | objective | declined | proved nearest | certified |"
              " proved none | other | ms median | ms p99 |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        for table in TABLES:
            trial = Trial(program, folder, table)
            for kind, draft, how, options in MODELS:
                fitted = trial.fit(kind.replace(" ", "").replace(",", "-"), draft, how)
                row(table[0], kind, fitted, trial.explain(fitted[0], "--epsilon", "1%", *options))


if __name__ == "__main__":
    main()
