#!/usr/bin/env python3
"""Commands whose input files were altered (docs/reliability.md).

Takes the golden files, alters one of a command's inputs (bytes, lines, numbers, JSON values and keys) and runs the
command. It must end by itself with status 0, 3 (bad input) or, of verify and compare, 4; an output file is there whole or not at all.

    ELLICE_MUTATIONS   runs (default 150)
    ELLICE_SEED        added to the seed (default 0)
"""
import collections
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ["ELLICE_PROGRAM"]
FAILURES = pathlib.Path(PROGRAM).resolve().parent / "failures"  # where things are built, and not where one stands
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
COUNT = int(os.environ.get("ELLICE_MUTATIONS", "150"))
SEED = int(os.environ.get("ELLICE_SEED", "0"))
SECONDS = 60

DONE, FAILURE, WRONG_USAGE, BAD_INPUT, NOT_CERTIFIED = range(5)

# Faults that are known and are being mended elsewhere, by words of a finding; each with its reason. To be empty.
KNOWN = {}

# A command, and the inputs that may be altered.
COMMANDS = [
    ("schema inputs/loans.csv --target approved --favourable yes", ["inputs/loans.csv"]),
    ("train inputs/loans.csv --schema inputs/loans.yaml --folds 0", ["inputs/loans.csv", "inputs/loans.yaml"]),
    ("train inputs/loans.csv --schema inputs/implications.yaml --folds 0", ["inputs/implications.yaml"]),
    ("explain models/implications.json people/implications.csv --epsilon 1% --format json",
     ["models/implications.json", "people/implications.csv"]),
    ("explain models/loans.json people/loans.csv --epsilon 1% --constraints inputs/per-query.yaml --format json",
     ["inputs/per-query.yaml", "models/loans.json"]),
    ("explain models/loans.json people/applicant.csv --epsilon 1% --reason-codes inputs/codes.yaml --format html",
     ["inputs/codes.yaml"]),
    ("explain models/squared.json people/applicant.csv --epsilon 1% --set true --data inputs/loans.csv --format csv",
     ["models/squared.json", "inputs/loans.csv"]),
    ("explain models/iris3-network.json people/iris3.csv --epsilon 1% --max-iterations 3 --discrete-nodes 3",
     ["models/iris3-network.json", "people/iris3.csv"]),
    ("verify models/implications.json recourse/implications.json", ["recourse/implications.json"]),
    ("verify models/implications.json recourse/implications-infeasible.json",
     ["recourse/implications-infeasible.json", "models/implications.json"]),
    ("verify models/squared.json recourse/squared-true.json --data inputs/loans.csv", ["recourse/squared-true.json"]),
    ("verify models/lending.json certificates/last-layer.json", ["certificates/last-layer.json"]),
    ("evaluate models/loans.json recourse/loans.json --evaluators ellipsoid --resamples 100",
     ["recourse/loans.json", "models/loans.json"]),
    ("evaluate models/loans.json inputs/theirs.csv --queries people/loans.csv --evaluators ellipsoid --missing not-found",
     ["inputs/theirs.csv", "people/loans.csv"]),
    ("frontier models/implications.json people/implications.csv --epsilons 1%,5% --format json",
     ["models/implications.json", "people/implications.csv"]),
    ("import inputs/imported.json --schema inputs/imported.yaml", ["inputs/imported.json", "inputs/imported.yaml"]),
    ("explain models/imported.json people/imported.csv --format json", ["models/imported.json"]),
    ("study plan.yaml -o results --report-only", ["plan.yaml"]),
    ("train inputs/loans.csv --schema inputs/binned.yaml --model additive --l2 0.02 --folds 0",
     ["inputs/loans.csv", "inputs/binned.yaml"]),
    ("train inputs/loans.csv --schema inputs/loans.yaml --model nam --hidden 2 --folds 0 --epochs 20", ["inputs/loans.csv"]),
    ("explain models/binned.json people/binned.csv --epsilon 1% --format json", ["models/binned.json", "people/binned.csv"]),
    ("explain models/loans-nam.json people/loans.csv --epsilon 0.001 --format json", ["models/loans-nam.json"]),
    ("explain models/lending.json people/lending-ids.csv --epsilon 2% --id id --on-error skip --letters letters --lender Bank --date 2026-01-31"
     " --letter-template letter/letter.html --letter-messages letter/fr.yaml",
     ["people/lending-ids.csv", "letter/letter.html", "letter/fr.yaml"]),
    ("verify models/binned.json recourse/binned.json --queries people/binned.csv",
     ["recourse/binned.json", "models/binned.json", "people/binned.csv"]),
    ("verify models/loans-nam.json recourse/loans-nam-last.json", ["recourse/loans-nam-last.json", "models/loans-nam.json"]),
    ("verify models/imported.json recourse/imported.jsonl", ["recourse/imported.jsonl", "models/imported.json"]),
    ("verify models/lending.json recourse/lending-safe.csv", ["recourse/lending-safe.csv"]),
    ("verify models/iris3.json recourse/iris3-plans.json", ["recourse/iris3-plans.json", "models/iris3.json"]),
    ("compare models/lending.json models/lending-other.json recourse/lending.json",
     ["models/lending-other.json", "recourse/lending.json"]),
    ("shapes models/binned.json --epsilon 1% --format json", ["models/binned.json"]),
    ("epsilon models/loans.json --epsilons 0,1% --people 2", ["models/loans.json"]),
    ("calibrate models/loans.json --threat dropout --dropout 3 --people 3 --levels 3", ["models/loans.json"]),
    ("import onnx/columns_12.onnx --data onnx/rows.csv --l2 0.01 --schema onnx/all.yaml",
     ["onnx/columns_12.onnx", "onnx/rows.csv", "onnx/all.yaml"]),
    ("import onnx/torch_relu_18.onnx --data onnx/rows.csv --l2 0.01 --schema onnx/numbers.yaml", ["onnx/torch_relu_18.onnx"]),
    ("import --scorecard scorecard/loans.csv --pdo 20 --score 600 --odds 50 --data inputs/loans.csv --schema inputs/words.yaml",
     ["scorecard/loans.csv", "inputs/loans.csv", "inputs/words.yaml"]),
]
# Where inputs come from that are no golden files, by their folders.
ELSEWHERE = {"onnx": GOLDEN.parent / "model" / "onnx", "letter": GOLDEN.parent / "fuzz" / "corpus" / "letter",
             "scorecard": pathlib.Path(__file__).resolve().parent}

NUMBERS = ["0", "-1", "1e308", "-1e308", "1e-320", "999999999999999999999", "0.1", "1e16", "nan", "inf", "0x1", "1,5", ""]
VALUES = [None, True, 0, -1, 1e308, 5e-324, 2**63, "", "\x1b[31m", "=1+1", [], {}, [None], {"a": 1}, "é" * 300]


def alter_json(value, dice):
    """One value somewhere in the document becomes another, or a key or an entry goes or comes twice."""
    places = []

    def visit(node):
        if isinstance(node, dict) and node:
            places.append(node)
            for child in node.values():
                visit(child)
        elif isinstance(node, list) and node:
            places.append(node)
            for child in node:
                visit(child)

    visit(value)
    if not places:
        return dice.choice(VALUES)
    node = dice.choice(places)
    key = dice.choice(list(node)) if isinstance(node, dict) else dice.randrange(len(node))
    action = dice.randrange(5)
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node[key], (int, float)):
        node[key] = node[key] * dice.choice([-1, 0, 2, 1e9, 1 + 1e-9])
    elif action == 2 and isinstance(node, list):
        node.append(node[key])
    elif action == 3 and isinstance(node, dict):
        node[dice.choice(["x", "format", "version", "status", key + " "])] = node[key]
    else:
        node[key] = dice.choice(VALUES)
    return value


def alter_text(text, dice):
    """Bytes flipped, cut or doubled, lines moved, numbers replaced."""
    for _ in range(dice.choice([1, 1, 1, 3, 10])):
        if not text:
            return bytes([dice.randrange(256)])
        at = dice.randrange(len(text))
        to = min(len(text), at + dice.choice([1, 1, 5, 100]))
        action = dice.randrange(6)
        if action == 0:
            text = text[:at] + bytes([dice.randrange(256)]) + text[at + 1:]
        elif action == 1:
            text = text[:at] + text[to:]
        elif action == 2:
            text = text[:to] + text[at:]
        elif action == 3:
            lines = text.split(b"\n")
            dice.shuffle(lines)
            text = b"\n".join(lines) if dice.randrange(4) == 0 else b"\n".join(sorted(lines))
        elif action == 4:
            text = text[:at] + dice.choice([b",", b"{", b"[", b"\"", b"'", b":", b"\n", b"\0", b"- ", b"&a ", b"*a"]) + text[at:]
        else:
            digits = [k for k in range(len(text)) if text[k:k + 1].isdigit()]
            if digits:
                at = dice.choice(digits)
                to = at
                while to < len(text) and text[to:to + 1] in b"0123456789.e-+":
                    to += 1
                text = text[:at] + dice.choice(NUMBERS).encode() + text[to:]
    return text


def alter(path, dice):
    if path.suffix == ".json" and dice.randrange(4) > 0:
        document = json.loads(path.read_text(encoding="utf-8"))
        for _ in range(dice.choice([1, 1, 2, 4])):
            document = alter_json(document, dice)
        path.write_text(json.dumps(document), encoding="utf-8")
    else:
        path.write_bytes(alter_text(path.read_bytes(), dice))


def is_whole(path):
    """Whether an output is a whole one."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        json.loads(text)
    return text.endswith("\n")


def try_one(seed, folder):
    """What was asked, the exit status, and what is wrong with it if anything is."""
    dice = random.Random(seed)
    command, inputs = dice.choice(COMMANDS)
    names = [word for word in command.split() if "/" in word] + (["plan.yaml"] if "plan.yaml" in command else [])
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        place, _, rest = name.partition("/")
        source = ELSEWHERE[place] / rest if place in ELSEWHERE else GOLDEN / name
        shutil.copy(source if name != "plan.yaml" else GOLDEN.parents[1] / "studies" / "quick.yaml", folder / name)
    altered = dice.choice(inputs)
    alter(folder / altered, dice)
    arguments = command.split()
    output = folder / ("out.json" if "json" in command.split() else "out.txt")
    if arguments[0] != "study":
        arguments += ["-o", output.name]
    shown = f"seed {seed}: ellice {shlex.join(arguments)} ({altered} altered)"
    try:
        run = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return shown, "no end", f"{shown}: does not end"
    message = run.stderr.decode(errors="replace")
    allowed = {DONE, BAD_INPUT} | ({NOT_CERTIFIED} if arguments[0] in ("verify", "compare") else set())
    if run.returncode not in allowed:
        return shown, run.returncode, f"{shown}: exit status {run.returncode}\n  {message.strip()[:600]}"
    if run.returncode == BAD_INPUT and not message.strip():
        return shown, run.returncode, f"{shown}: refused without a word"
    if run.returncode == BAD_INPUT and output.exists():
        return shown, run.returncode, f"{shown}: refused, but there is an output"
    if output.exists() and not is_whole(output):
        return shown, run.returncode, f"{shown}: the output is not whole"
    return shown, run.returncode, None


def main():
    seen = collections.Counter()
    findings = []
    for seed in range(SEED + 1, SEED + 1 + COUNT):
        with tempfile.TemporaryDirectory() as folder:
            shown, status, finding = try_one(seed, pathlib.Path(folder))
            seen[f"{shown.split('ellice ')[1].split()[0]}: exit status {status}"] += 1
            reason = finding and next((why for words, why in KNOWN.items() if words in finding), None)
            if reason:
                seen[f"known: {reason}"] += 1
            elif finding:
                findings.append(finding)
                shutil.copytree(folder, FAILURES / f"mutations-{seed}", dirs_exist_ok=True)
                print("FAILED", finding, flush=True)
    for what, times in sorted(seen.items()):
        print(f"{times:9d}  {what}")
    refused = sum(times for what, times in seen.items() if what.endswith("status 3"))
    print(f"{COUNT} runs, {len(findings)} findings")
    return 1 if findings or not 0 < refused < COUNT else 0


if __name__ == "__main__":
    sys.exit(main())
