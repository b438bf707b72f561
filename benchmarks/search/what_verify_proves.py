#!/usr/bin/env python3
"""What `verify` says of honest answers, on every data set, over every set, by every method.

    ELLICE_DATA=FOLDER benchmarks/search/what_verify_proves.py PROGRAM [--people 12] [--only german] [--proof]

Of each way of asking stands how many answers there are, how many were refused (none may be), in how many something was neither
confirmed nor refuted, what that was of the first of them, and the processor time of `explain` and of `verify` in milliseconds per answer.
With --proof `explain` writes what its proofs rest on. The exit status is 1 where an honest file was refused.
"""
import argparse
import collections
import json
import os
import pathlib
import tempfile

from same_answers import DATA_SETS, LINEAR, NETWORK, Sweep, run

# Beside what is asked of two programs there: who gets no answer, and what is bounded.
MORE = {
    "exact, 10 %": ("--epsilon", "10%"),
    "exact, largest epsilon": ("--epsilon", "30%"),
    "exact, l1+l2": ("--cost", "l1+l2"),
    "exact, ranges off": ("--range", "off"),
    "exact, survival": ("--epsilon", "survival:90%"),
    "true, 10 %": ("--set", "true", "--epsilon", "10%"),
    "true, 3 plans": ("--set", "true", "--plans", "3"),
    "exact, trade-off": ("--trade-off",),
}


def processor_time():
    times = os.times()
    return times.children_user + times.children_system


class Survey(Sweep):
    def __init__(self, given, folder):
        super().__init__(given, folder)
        self.open = collections.Counter()

    def line(self, title, model, people, asked):
        answered = self.folder / "answers.json"
        epsilon = () if "--epsilon" in asked else ("--epsilon", "0.01")
        proof = ("--proof",) if self.given.proof else ()
        began = processor_time()
        status, said = run(self.given.new, "explain", model, people, *asked, *epsilon, *proof, "--seed", "1", "--format", "json", "-o", answered)
        explained = processor_time() - began
        if status not in (0, 1):
            print(f"| {title} | refused: {said[0]} | | | | | |", flush=True)
            return
        rows = asked[asked.index("--dataset") :][:2] if "--dataset" in asked else ()
        verdicts = self.folder / "verdicts.json"
        began = processor_time()
        run(self.given.new, "verify", model, answered, *rows, "--queries", people, "--format", "json", "-o", verdicts)
        verified = processor_time() - began
        found = json.loads(verdicts.read_text(encoding="utf-8"))
        results = found["results"]
        statuses = collections.Counter(result["status"] for result in results)
        open_ones = [result for result in results if result["unverified"]]
        for result in open_ones:
            for what in result["unverified"]:
                self.open[what] += 1
        failed = [result for result in results if result["failures"]]
        self.failed |= bool(failed or found["failures"])
        first = (found["failures"] + [text for result in failed for text in result["failures"]] or [""])[0]
        what = first or (open_ones[0]["unverified"][0] if open_ones else "")
        made_of = ", ".join(f"{count} {name}" for name, count in statuses.most_common())
        n = max(1, len(results))
        print(
            f"| {title} | {made_of} | {len(failed) + len(found['failures'])} | {len(open_ones)} | {1000 * explained / n:.1f} "
            f"| {1000 * verified / n:.1f} | {what} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("new", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--only", action="append", choices=DATA_SETS)
    parser.add_argument("--proof", action="store_true")
    given = parser.parse_args()
    given.old = given.new
    LINEAR.update(MORE)
    NETWORK["full, 10 %"] = ("--set", "full", "--epsilon", "10%")
    print("| asked | answers | refused | left open | explain, ms | verify, ms | first of these |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        survey = Survey(given, pathlib.Path(folder))
        for name in given.only or DATA_SETS:
            survey.data_set(name)
    print("\nLeft open, in all:")
    for what, count in survey.open.most_common():
        print(f"{count:6} {what}")
    return 1 if survey.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
