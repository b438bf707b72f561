#!/usr/bin/env python3
"""Additive models on bins and neural additive models against logistic regression and networks: prints the tables of docs/additive.md.

    studies/additive/measure.py PROGRAM [FOLDER]

PROGRAM is the built command, data are found as everywhere (ELLICE_DATA, or ../shared/datasets). For each table a schema is
drafted with and without bins, models are fitted to three quarters of the rows, the same for all, and the first declined people are
explained; networks over the set last-layer. Every file of answers is verified. Times are processor times of one more person: those of
a run for two people, always the same first one, less that of a run for the first alone.
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(os.environ.get("ELLICE_DATA", PROJECT.parent / "shared" / "datasets"))
# Name, target, favourable label, and how many rows are asked about: bins of FICO take a second each.
TABLES = [("german", "y", "0", 200), ("fico", "PoorRiskPerformance", "0", 60)]
NETWORK = ("--learning-rate", "0.005", "--epochs", "200", "--batch-size", "256", "--refit", "--no-full-curvature")
# What it is called, options of the draft, options of training, options of explain.
MODELS = [("numbers", (), (), ()),
          ("bins 5", ("--bins", 5), ("--model", "additive"), ()),
          ("mlp 16", (), ("--model", "mlp", "--hidden", "16", *NETWORK), ("--set", "last-layer")),
          ("nam 16,8", (), ("--model", "nam", "--hidden", "16,8", *NETWORK), ("--set", "last-layer"))]


class Trial:
    def __init__(self, program, folder, table):
        self.program, self.folder = program, folder
        self.name, self.target, self.favourable, self.count = table
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

    def people(self, lines, name):
        with open(self.data, encoding="utf-8") as source:
            rows = source.read().splitlines()
        (self.folder / name).write_text("\n".join([rows[0], *(rows[1 + k] for k in lines)]) + "\n", encoding="utf-8")
        return name

    def explain(self, model, people, *options):
        answers = f"{self.name}-answers.json"
        self.run("explain", model, people, "--declined", "--threads", "1", "--format", "json", "-o", answers, *options)
        return answers, json.loads((self.folder / answers).read_text(encoding="utf-8"))["results"]

    def milliseconds(self, model, lines, *options):
        """Of this process's children: they run one after another."""
        people = self.people(lines, f"{self.name}-some.csv")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.explain(model, people, *options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def judge(self, model, *options):
        """The answers of all who are declined, and the milliseconds of each but the first."""
        answers, results = self.explain(model, self.people(range(self.count), f"{self.name}-people.csv"), *options)
        self.run("verify", model, answers)
        first, *others = (one["query_index"] for one in results)
        alone = statistics.median(self.milliseconds(model, [first], *options) for _ in range(9))
        return results, sorted(self.milliseconds(model, [first, k], *options) - alone for k in others)


def row(name, kind, fitted, answers, times):
    _, accuracy, columns, objective = fitted
    count = lambda *status: sum(one["status"] in status for one in answers)
    print(f"| {name} | {kind} | {columns} | {100 * accuracy['holdout']:.1f} % | {100 * accuracy['train']:.1f} % |"
          f" {objective:.4f} | {len(answers)} | {count('optimal', 'already_robust')} | {count('certified')} | {count('infeasible')} |"
          f" {count('not_found', 'reduced')} | {times[len(times) // 2]:.1f} | {times[round(0.99 * (len(times) - 1))]:.1f} |", flush=True)


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
                row(table[0], kind, fitted, *trial.judge(fitted[0], "--epsilon", "1%", *options))


if __name__ == "__main__":
    main()
