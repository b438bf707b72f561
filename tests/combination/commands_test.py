#!/usr/bin/env python3
"""Random combinations through the command line (docs/reliability.md).

The program `combination` writes cases as files with their commands; each command is run, with further options that
are drawn from what `ellice explain --help` says of them, so that a new option is tried without a line here. Every exit
status must be one that the command may have, nothing may end by a signal, and what explain wrote verify must accept.

    ELLICE_COMMANDS   cases (default 40)
    ELLICE_SEED       added to their seeds (default 0)
"""
import collections
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ["ELLICE_PROGRAM"]
COMBINATION = os.environ["ELLICE_COMBINATION"]
FAILURES = pathlib.Path(COMBINATION).resolve().parent / "failures"  # where things are built, and not where one stands
COUNT = int(os.environ.get("ELLICE_COMMANDS", "40"))
SEED = 1 + int(os.environ.get("ELLICE_SEED", "0"))
SECONDS = 120

DONE, FAILURE, WRONG_USAGE, BAD_INPUT, NOT_CERTIFIED = range(5)

# Faults that are known and are being mended elsewhere, by words of a finding; each with its reason. To be empty.
KNOWN = {}

# Given with every command, or of other tests.
LEFT_OUT = {"output", "help", "help-all", "dataset", "letter-messages"}
WITH_EQUALS = {"F=LO:HI", "F=W", "F=DIRECTION", "T|p=P"}
FILES = {"data": "rows.csv", "ensemble": "model.json", "constraints": "constraints.yaml", "reason-codes": "codes.yaml",
         "letter-template": "letter.html"}
REFITTED = "refitted.json"
TEMPLATE = "<html><body>{{person}} {{#changes}}{{name}} {{to}}{{/changes}}</body></html>\n"


class Option:
    """One line of --help: a name, a type, and a range in the words that follow."""

    LINE = re.compile(r"^  (?:-\w,)?--(?P<name>[\w-]+)(?P<no>,--no-[\w-]+)?(?:\{\w+\})?(?P<type>[ =]\S.*?)?(?:\s{2,}(?P<text>.*))?$")

    def __init__(self, name, kind, text):
        self.name, self.kind, self.text = name, kind, text

    @staticmethod
    def all_of(help_text):
        found = []
        for line in help_text.splitlines():
            match = Option.LINE.match(line)
            if match:
                kind = "" if match["no"] or not match["type"] else match["type"].strip().split()[0]
                if kind not in WITH_EQUALS:  # else what follows is the default
                    kind = kind.split("=")[0]
                found.append(Option(match["name"], kind, match["text"] or ""))
            elif found and line.startswith(" " * 20):
                found[-1].text += line.strip()
        return [option for option in found if option.name not in LEFT_OUT]

    def draw(self, dice, case):
        """A value as people may write it; None where there is nothing to give."""
        if not self.kind:
            return []
        choices = re.search(r"\{(.*)\}", self.kind)
        if choices:
            return [dice.choice(choices[1].split(","))]
        kind = self.kind
        if kind in ("INT", "UINT"):
            least = re.search(r"\(>= (\d+)\)", self.text)
            return [str(int(least[1] if least else 0) + dice.choice([0, 0, 1, 2, 7, -1]))]
        if kind == "FLOAT":
            return [dice.choice(["0", "1e-9", "0.01", "0.5", "1", "30", "1e6", "-1"])]
        values = {
            "E": ["0", "1%", "5%", "auto", "survival:90%", "accuracy:5%", "1e99", "x"],
            "M": ["0", "0.1", "-1"],
            "TIME": ["12 months", "1 year", "soon"],
            "P%": ["20%", "0%", "x"],
            "T|p=P": ["0", "0.2", "p=0.7", "p=2"],
            "same|fresh:N": ["same", "fresh:20", "fresh:0"],
            "CLASS,...": ["granted", "later", "nobody"],
            "FOLDER": ["letters"],
            "NAME": ["Bank of Ellice", ""],
            "YYYY-MM-DD": ["2026-05-31", "2026-02-30", "soon"],
            "COLUMN": [dice.choice(case.columns), "nothing"],
            "F,...": [dice.choice(case.columns), ",".join(case.columns[:3])],
            "F=LO:HI": [f"{dice.choice(case.columns)}=0:{dice.choice(['1', '1e9', '-1', ''])}"],
            "F=W": [f"{dice.choice(case.columns)}={dice.choice(['0.25', '4', '0', 'much'])}"],
            "RULE": [f"{dice.choice(case.columns)} <= {dice.choice(['1', '-1', '1e9', dice.choice(case.columns)])}", "if"],
            "F=DIRECTION": [f"{dice.choice(case.columns)}={dice.choice(['increase', 'decrease', 'any', 'up'])}"],
        }.get(kind)
        if self.name == "refit":
            return [REFITTED]
        if kind.startswith("FILE"):
            name = FILES.get(self.name)
            return [name] if name and (case.folder / name).exists() else None
        if values is None:
            raise AssertionError(f"--{self.name} has the type {self.kind}, which this test does not know how to draw")
        return [dice.choice(values)]


class Case:
    def __init__(self, folder):
        self.folder = folder
        (folder / "letter.html").write_text(TEMPLATE, encoding="utf-8")
        self.columns = (folder / "people.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
        self.commands = [shlex.split(line)[1:] for line in
                         (folder / "command.txt").read_text(encoding="utf-8").splitlines() if line.startswith("ellice ")]


class Campaign:
    def __init__(self):
        self.findings = []
        self.seen = collections.Counter()
        self.options = Option.all_of(subprocess.run([PROGRAM, "explain", "--help-all"], capture_output=True, text=True,
                                                    check=True).stdout)
        assert len(self.options) > 40, [option.name for option in self.options]

    def run(self, case, arguments, allowed):
        """The exit status, or None where the run is a finding."""
        try:
            run = subprocess.run([PROGRAM, *arguments], cwd=case.folder, capture_output=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.find(case, arguments, "does not end", "")
            return None
        self.seen[f"{arguments[0]}: exit status {run.returncode}"] += 1
        message = (run.stderr + b"\n" + run.stdout[:3000]).decode(errors="replace")
        if run.returncode not in allowed or "internal failure" in run.stderr.decode(errors="replace"):
            self.find(case, arguments, f"exit status {run.returncode}", message)
            return None
        return run.returncode

    def find(self, case, arguments, what, message):
        text = f"{case.folder.name}: {what}: ellice {shlex.join(arguments)}\n  {message.strip()[:2000]}"
        for words, reason in KNOWN.items():
            if words in text:
                self.seen[f"known: {reason}"] += 1
                return
        self.findings.append(text)

    def explain(self, case, arguments):
        shutil.rmtree(case.folder / "letters", ignore_errors=True)
        allowed = {DONE, WRONG_USAGE, BAD_INPUT} | ({NOT_CERTIFIED} if "--strict" in arguments else set())
        status = self.run(case, arguments, allowed)
        if status not in (DONE, NOT_CERTIFIED):
            return
        if "json" not in arguments:
            return
        model = REFITTED if f"--refit={REFITTED}" in arguments else "model.json"
        verify = ["verify", model, "answers.json", "--data", "rows.csv"]
        if (case.folder / "member.json").exists():
            verify += ["--ensemble", "member.json"]
        self.run(case, verify, {DONE})
        self.run(case, ["evaluate", model, "answers.json", "--data", "rows.csv", "--rows", "all", "--evaluators",
                        "ellipsoid,dropout", "--dropout-models", "2", "--resamples", "100"],
                 {DONE, WRONG_USAGE, BAD_INPUT})

    def with_options(self, arguments, case, dice):
        """Some options more, or other values of those that are there."""
        drawn = list(arguments)
        for option in dice.sample(self.options, 3):
            value = option.draw(dice, case)
            flag = f"--{option.name}"
            if value is None or flag in drawn:
                continue
            drawn[1:1] = [flag] if not value else [f"{flag}={value[0]}"]
        return drawn

    def try_case(self, folder, seed):
        case = Case(folder)
        if not (folder / "model.json").exists():
            return
        for arguments in case.commands:
            if arguments[0] != "explain":
                continue
            self.explain(case, arguments)
            self.explain(case, self.with_options(arguments, case, random.Random(seed)))


def main():
    campaign = Campaign()
    with tempfile.TemporaryDirectory() as folder:
        alone = {name: value for name, value in os.environ.items() if name != "ELLICE_SEED"}  # which would be added again
        subprocess.run([COMBINATION, "--show", "--seed", str(SEED), "--count", str(COUNT), "--out", folder], check=True,
                       env=alone)
        for seed in range(SEED, SEED + COUNT):
            before = len(campaign.findings)
            campaign.try_case(pathlib.Path(folder) / str(seed), seed)
            if len(campaign.findings) > before:
                kept = FAILURES / f"commands-{seed}"
                shutil.copytree(pathlib.Path(folder) / str(seed), kept, dirs_exist_ok=True)
                print(f"files in {kept}")
            shutil.rmtree(pathlib.Path(folder) / str(seed))
    for what, times in sorted(campaign.seen.items()):
        print(f"{times:9d}  {what}")
    for finding in campaign.findings:
        print("FAILED", finding)
    enough = campaign.seen["explain: exit status 0"] > COUNT / 4 and campaign.seen["verify: exit status 0"] > COUNT / 8
    if not enough:
        print("FAILED: too few commands did anything")
    return 1 if campaign.findings or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
