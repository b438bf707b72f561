#!/usr/bin/env python3
"""What a person without an answer costs against one with an answer: the table «People without an answer» of docs/reliability.md.

On each of the nine data sets, up to 100 declined people spread evenly. ε is the median of the largest ε at which they have an
answer: those who have one at nine tenths of it are asked there, and those who have none at eleven tenths, there. Times are
processor time of `explain` on one thread per person, what the program needs for the first person left out.
"""
import argparse
import csv
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

NAMES = ["australian", "banknote", "compas", "diabetes", "fico", "german", "iris", "parkinsons", "wine"]
HAVE = {"optimal", "certified", "already_robust"}


def run(program, folder, *arguments):
    """Processor seconds; people without an answer are no failure."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *arguments, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spread(rows, most):
    return [rows[k * len(rows) // most] for k in range(most)] if len(rows) > most else rows


class DataSet:
    def __init__(self, program, folder, name, most, choice):
        self.program, self.folder, self.name, self.choice = program, pathlib.Path(folder), name, choice
        run(program, folder, "train", "--dataset", name, "-o", f"{name}.json")
        table = pathlib.Path(os.environ["ELLICE_DATA"]) / ("iris_extended.csv" if name == "iris" else f"{name}.csv")
        with open(table, newline="", encoding="utf-8") as file:
            self.header, *rows = list(csv.reader(file))
        rows = spread(rows, 4 * most)
        results = self.explain(rows, "0")[1]
        self.people = spread([rows[r["query_index"]] for r in results if r["status"] != "already_robust"], most)

    def explain(self, people, epsilon):
        with open(self.folder / "people.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([self.header, *people])
        extra = ["--set", "true", "--dataset", self.name] if self.choice == "true" and epsilon != "0" else []
        seconds = run(self.program, self.folder, "explain", f"{self.name}.json", "people.csv", "--epsilon", epsilon, "--threads", "1",
                      "-o", "answers.json", *extra)
        return seconds, json.loads((self.folder / "answers.json").read_text(encoding="utf-8"))["results"]

    def per_person(self, people, epsilon):
        """Milliseconds, the least of three."""
        if len(people) < 2:
            return None
        whole = min(self.explain(people, epsilon)[0] for _ in range(3))
        first = min(self.explain(people[:1], epsilon)[0] for _ in range(3))
        return 1000 * (whole - first) / (len(people) - 1)

    def line(self):
        def largest(results):
            return [r["infeasible"]["max_epsilon"] for r in results if "infeasible" in r]
        found = []
        for epsilon in ("10", "1", "0.1"):
            found = found or largest(self.explain(self.people, epsilon)[1])
        if not found:
            return f"| {self.name} | {len(self.people)} | everybody has an answer at ε = 10 | | | |"
        middle = statistics.median(found)
        groups, times = [], []
        for share, wanted in ((0.9, HAVE), (1.1, {"infeasible"})):
            results = self.explain(self.people, repr(share * middle))[1]
            groups.append(sorted({r["query_index"] for r in results if r["status"] in wanted}))
            times.append(self.per_person([self.people[i] for i in groups[-1]], repr(share * middle)))
        text = ["-" if time is None else f"{time:.2f}" for time in times]
        ratio = "-" if None in times or times[0] <= 0 else f"{times[1] / times[0]:.1f}"
        return f"| {self.name} | {len(groups[0])} + {len(groups[1])} | {middle:.3g} | {text[0]} | {text[1]} | {ratio} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--binary", required=True, help="the program, release")
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--set", choices=["last-layer", "true"], default="last-layer")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    print("| data set | people with + without | ε | ms with an answer | ms without | ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            print(DataSet(os.path.abspath(options.binary), folder, name, options.people, options.set).line(), flush=True)


if __name__ == "__main__":
    main()
