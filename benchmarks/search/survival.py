#!/usr/bin/env python3
"""Measures survival under retraining against its prediction, on data with every column numeric.

Each data set is balanced and encoded by `ellice train`, and its encoded columns are taken as numeric features, as the
paper treats them; then `ellice epsilon --check` runs on the model of these. Prints the tables of docs/survival.md.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import tempfile

DATASETS = ["diabetes", "german", "compas", "wine", "fico"]


def numeric_model(program, name, folder):
    """The model of the encoded columns; returns its file, the data and the numbers of rows and parameters."""
    encoded, data, schema, model = (folder / f"{name}{end}" for end in ("-encoded.json", ".csv", ".yaml", ".json"))
    subprocess.run([program, "train", "--dataset", name, "--balance", "--store-rows", "--folds", "0", "--quiet", "-o", encoded],
                   check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(encoded.read_text(encoding="utf-8"))["rows"]
    columns = len(rows["encoded"][0])
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{j}" for j in range(columns)] + ["outcome"])
        for row, label in zip(rows["encoded"], rows["labels"]):
            writer.writerow([*map(repr, row), "yes" if label else "no"])
    schema.write_text('target: {column: outcome, favourable: "yes"}\nfeatures:\n' +
                      "".join(f"  x{j}: {{kind: numeric}}\n" for j in range(columns)), encoding="utf-8")
    subprocess.run([program, "train", data, "--schema", schema, "--folds", "0", "--quiet", "-o", model],
                   check=True, stdout=subprocess.DEVNULL)
    return model, data, len(rows["labels"]), columns + 1


def table(results, kind):
    """Markdown; one row per data set."""
    lines = ["| data set | rows | parameters | 90 % | 95 % | 99 % |", "|---|---|---|---|---|---|"]
    for name, (rows, parameters, check) in results.items():
        cells = []
        for wanted in (0.9, 0.95, 0.99):
            level = next((l for l in check[kind] if l["wanted"] == wanted), None)
            if level is None:
                cells.append("no answer")
                continue
            predicted = f"{100 * level['predicted']:.1f}"
            if "corrected" in level:
                predicted += f" (corrected {100 * level['corrected']:.1f})"
            cells.append(f"{predicted} → **{100 * level['measured']:.1f}** ± {100 * level['standard_error']:.1f}")
        lines.append(f"| {name} | {rows} | {parameters} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default="./ellice")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--refits", default="200")
    parser.add_argument("--splits", default="20")
    arguments = parser.parse_args()
    program = os.path.abspath(arguments.program)
    results = {}
    with tempfile.TemporaryDirectory() as name_of_folder:
        for name in arguments.datasets:
            model, data, rows, parameters = numeric_model(program, name, pathlib.Path(name_of_folder))
            run = subprocess.run([program, "epsilon", model, "--data", data, "--check", "--format", "json", "--quiet",
                                  "--refits", arguments.refits, "--splits", arguments.splits],
                                 check=True, stdout=subprocess.PIPE)
            results[name] = rows, parameters, json.loads(run.stdout)["check"]
            print(f"{name}: done", flush=True)
    for kind in ("same", "fresh"):
        print(f"\n{kind}\n\n{table(results, kind)}")


if __name__ == "__main__":
    main()
