#!/usr/bin/env python3
"""What drafts of schemas are worth as they are: prints the tables of docs/drafts.md.

    studies/drafts/measure.py PROGRAM [FOLDER]

PROGRAM is the built command. The tables (tables.py) are written into FOLDER, by default one that is removed afterwards, and
each is drafted, trained on and explained without a line of its schema being read. `held` below is what a careful person
would have held: written by hand, and not known to the program.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from tables import TABLES  # noqa: E402  (beside this file)

DECIDED = ("--missing", "NA,n/a,-,?", "--merge-levels")  # what the doubts of the export's draft ask for
HELD = {
    "voice": set(),
    "credit": {"age", "dependents", "credit_history", "personal_status_and_sex", "foreign_worker"},
    "export": {"Kundennummer", "Name", "PLZ", "Geburtsdatum", "Alter", "Geschlecht", "Staatsangehörigkeit", "Antragsdatum", "Zinssatz",
               "Unterhaltspflichtige Kinder", "Bemerkung", "Filiale"},
}
HEAD = re.compile(r"^query \d+ .*· (\d+) changes? · distance", re.MULTILINE)


class Trial:
    """One table, drafted in one way, through to its plans."""

    def __init__(self, program, folder, table, options=()):
        self.program, self.folder, self.options = program, folder, options
        self.name, _, self.target, self.favourable = table

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"ellice {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout.decode()

    def draft(self):
        arguments = ("schema", f"{self.name}.csv", "--target", self.target, "--favourable", self.favourable, *self.options)
        self.document = json.loads(self.run(*arguments, "--format", "json"))
        self.run(*arguments, "-o", "s.yaml")

    def answer(self):
        self.run("train", f"{self.name}.csv", "--schema", "s.yaml", "-o", "m.json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = self.run("explain", "m.json", f"{self.name}.csv", "--declined", "--threads", "1")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.run("explain", "m.json", f"{self.name}.csv", "--declined", "-o", "plans.json")
        nearest = json.loads((self.folder / "plans.json").read_text(encoding="utf-8"))["results"]
        self.people = len({answer["query_index"] for answer in nearest})
        self.changes = sorted(map(int, HEAD.findall(shown)))
        self.changed = dict(re.findall(r"^(\S.*?) {2,}(\d+) +[\d.]+ %  (?:raised|lowered|to) ", shown, re.MULTILINE))
        self.nearest = [{change["feature"] for change in answer.get("changes", ())} for answer in nearest]

    def marked(self):
        """Features that the draft itself holds."""
        return {name for name, feature in self.document["schema"]["features"].items()
                if feature.get("immutable") or feature.get("protected")}

    def breaches(self, held):
        """Plans, shown and nearest, that change one of these."""
        return (sum(int(count) for name, count in self.changed.items() if name in held)
                + sum(bool(changed & held) for changed in self.nearest))

    def row(self):
        features = self.document["schema"]["features"]
        median = self.changes[len(self.changes) // 2]
        nearest = sorted(map(len, self.nearest))
        return (f"| {self.name}{' *' if self.options else ''} | {len(features)} | {self.people} | {len(self.changes)} | "
                f"{median} ({self.changes[-1]}) | {nearest[len(nearest) // 2]} ({nearest[-1]}) | {self.breaches(self.marked())} | "
                f"{self.breaches(HELD[self.name])} | {self.seconds / self.people * 1e3:.0f} ms |")


def guesses(trial):
    """The draft's table of guesses in Markdown, long texts cut."""
    yield "| column | guess | why |"
    yield "|---|---|---|"
    for guess in trial.document["guesses"]:
        why = guess["why"] if len(guess["why"]) <= 120 else guess["why"][:119] + "…"
        why = why.replace("|", "\\|").replace("<", "&lt;")
        yield f"| {guess['column']} | {guess['guess']}{' ?' if guess['doubtful'] else ''} | {why} |"
    silent = sorted(set(trial.document["schema"]["features"]) - {guess["column"] for guess in trial.document["guesses"]})
    if silent:
        names = ", ".join(silent) if len(silent) <= 15 else f"all {len(silent)} columns"
        yield f"\nFree, and nothing guessed: {names}."


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        os.makedirs(folder, exist_ok=True)
        trials = []
        for table in TABLES:
            table[1](folder / f"{table[0]}.csv")
            trials.append(Trial(program, folder, table))
        trials.append(Trial(program, folder, TABLES[-1], DECIDED))
        for trial in trials:
            trial.draft()
            trial.answer()
    print("| table | features | declined | with a plan | changes shown first | nearest plan | change what the draft holds | "
          "change what a person would hold | time per person |")
    print("|---|---|---|---|---|---|---|---|---|")
    for trial in trials:
        print(trial.row())
    for trial in trials[:3]:
        print(f"\n### {trial.name}\n")
        print("\n".join(guesses(trial)))


if __name__ == "__main__":
    main()
