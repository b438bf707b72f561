#!/usr/bin/env python3
"""Additive models on bins and neural additive models against logistic regression and networks: prints the tables of docs/additive.md.

    studies/additive/measure.py PROGRAM [--people N] [--epsilon E] [--tables german,fico]

PROGRAM is the built command, data are found as everywhere (ELLICE_DATA, or ../shared/datasets). For each table a schema is
drafted with and without bins, models are fitted to three quarters of the rows, the same for all, and each declined person among
the first N is explained by a run of its own on one thread, networks over the set last-layer; every answer is verified. Times
are processor time of these runs, less that of a run for somebody who is accepted.
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
NETWORK = ("--learning-rate", "0.005", "--epochs", "200", "--batch-size", "256", "--refit", "--no-full-curvature")
# What it is called, options of the draft, options of training, options of explain.
MODELS = [("numbers", (), (), ()),
          ("bins 5", ("--bins", 5), ("--model", "additive"), ()),
          ("mlp 16", (), ("--model", "mlp", "--hidden", "16", *NETWORK), ("--set", "last-layer")),
          ("nam 16,8", (), ("--model", "nam", "--hidden", "16,8", *NETWORK), ("--set", "last-layer"))]


class Trial:
    """One table, in a folder of its own."""

    def __init__(self, program, folder, table):
        self.program, self.folder = program, folder
        self.name, self.target, self.favourable = table
        self.data = SOURCES / f"{self.name}.csv"

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
        return done.stdout

    def fit(self, kind, draft, how):
        schema, model = f"{self.name}-{kind}.yaml", f"{self.name}-{kind}.json"
        self.run("schema", self.data, "--target", self.target, "--favourable", self.favourable, *draft, "-o", schema)
        trained = json.loads(self.run("train", self.data, "--schema", schema, *how, "--holdout", "0.25", "--seed", "7",
                                      "--format", "json", "-o", model))
        return model, trained["accuracy"], trained["columns"], trained["objective"]

    def seconds_of(self, *arguments):
        """Processor time of a run."""
        with subprocess.Popen([self.program, *map(str, arguments)], cwd=self.folder, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 4):
            sys.exit(f"{' '.join(map(str, arguments))}: exit {process.returncode}")
        return usage.ru_utime + usage.ru_stime

    def explain(self, model, count, *options):
        with open(self.data, encoding="utf-8") as source:
            lines = source.read().splitlines()
        answers, times, idle = [], [], []
        for line in lines[1: count + 1]:
            (self.folder / "person.csv").write_text(f"{lines[0]}\n{line}\n", encoding="utf-8")
            seconds = self.seconds_of("explain", model, "person.csv", "--declined", "--threads", "1", "--format", "json",
                                      "-o", "plan.json", *options)
            found = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))["results"]
            (times if found else idle).append(seconds)
            if found:
                self.run("verify", model, "plan.json")
            answers += found
        least = statistics.median(idle) if idle else 0
        return answers, sorted(max(0.0, 1000 * (seconds - least)) for seconds in times)


def row(name, kind, fitted, answers, times):
    _, accuracy, columns, objective = fitted
    count = lambda *status: sum(one["status"] in status for one in answers)
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))] if times else 0
    print(f"| {name} | {kind} | {columns} | {100 * accuracy['holdout']:.1f} % | {100 * accuracy['train']:.1f} % |"
          f" {objective:.4f} | {len(answers)} | {count('optimal', 'already_robust')} | {count('certified')} | {count('infeasible')} |"
          f" {count('not_found', 'reduced')} | {at(0.5):.0f} | {at(0.99):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--epsilon", default="1%")
    parser.add_argument("--tables", default="german,fico")
    asked = parser.parse_args()
    program = str(pathlib.Path(asked.program).resolve())
    with tempfile.TemporaryDirectory() as temporary:
        print("| table | model | columns | accuracy held out | on its rows | objective | declined | proved nearest | certified |"
              " proved none | other | ms median | ms p99 |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        for table in TABLES:
            if table[0] not in asked.tables.split(","):
                continue
            trial = Trial(program, pathlib.Path(temporary), table)
            for kind, draft, how, options in MODELS:
                fitted = trial.fit(kind.replace(" ", "").replace(",", "-"), draft, how)
                row(table[0], kind, fitted, *trial.explain(fitted[0], asked.people, "--epsilon", asked.epsilon, *options))


if __name__ == "__main__":
    main()
