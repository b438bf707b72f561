#!/usr/bin/env python3
"""Holds the true set of softmax regression against its ellipsoid: the table «Several classes» of docs/true_set.md.

Iris by species and Wine with its quality in three grades (up to 5, 6, from 7), all rows, no ranges. For each class, 60
people spread evenly over those to whom the model gives another one. Times are processor time of `explain` on one
thread, reading the files included.
"""
import argparse
import csv
import json
import os
import pathlib
import resource
import subprocess
import tempfile

PEOPLE = 60
ANSWERED = {"optimal", "certified", "already_robust"}


def graded(row):
    quality = int(row.pop("quality"))
    return "low" if quality <= 5 else "middle" if quality == 6 else "high"


DATASETS = {
    "iris": ("iris_extended.csv", lambda row: row.pop("species"), ["sepal_length", "sepal_width", "petal_length", "petal_width"]),
    "wine": ("wine.csv", graded, None),
}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = os.path.abspath(path), folder

    def run(self, *arguments):
        """Runs in the folder; returns processor seconds. People without an answer are no failure."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run = subprocess.run([self.path, *arguments, "--quiet", "--threads", "1"], cwd=self.folder, stdout=subprocess.DEVNULL, check=False)
        if run.returncode not in (0, 1):
            raise SystemExit(f"{arguments}: exit status {run.returncode}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def results(self, name):
        return json.loads((self.folder / name).read_text(encoding="utf-8"))["results"]


def write_rows(path, columns, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def train(program, name, source):
    file, label, columns = DATASETS[name]
    with (source / file).open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        row["class"] = label(row)
    columns = columns or [column for column in rows[0] if column not in ("class", "type")]
    write_rows(program.folder / f"{name}.csv", [*columns, "class"], rows)
    schema = f'target: {{column: class, favourable: {rows[0]["class"]}}}\nfeatures:\n' + "".join(f'  "{column}": {{kind: numeric}}\n' for column in columns)
    (program.folder / f"{name}.yaml").write_text(schema, encoding="utf-8")
    program.run("train", f"{name}.csv", "--schema", f"{name}.yaml", "--model", "softmax", "--folds", "0", "-o", f"{name}.json")
    return rows, columns, json.loads((program.folder / f"{name}.json").read_text(encoding="utf-8"))


def given_class(model, row):
    encoder, head = model["encoder"], model["network"]["layers"][-1]
    z = [(float(row[c]) - mean) / scale for c, mean, scale in zip(encoder["columns"], encoder["mean"], encoder["scale"])]
    scores = [sum(w * v for w, v in zip(weights, z)) + bias for weights, bias in zip(head["weights"], head["bias"])]
    return model["decision"]["classes"][scores.index(max(scores))]


def compare(program, name, rows, columns, target, epsilon):
    """One line of the table."""
    model, data = f"{name}.json", ("--set", "true", "--data", f"{name}.csv")
    asked = ("--target", target, "--epsilon", epsilon, "--range", "off", "--format", "json")
    plain = program.run("explain", model, "people.csv", *asked, "-o", "plain.json")
    true = program.run("explain", model, "people.csv", *asked, *data, "-o", "true.json")
    ellipsoid, answers = program.results("plain.json"), program.results("true.json")
    value = json.loads((program.folder / "true.json").read_text(encoding="utf-8"))["epsilon"]["value"]
    points = [answer["counterfactual"] for answer in ellipsoid if answer["status"] in ANSWERED]
    failing = 0
    if points:
        write_rows(program.folder / "points.csv", columns, points)
        program.run("explain", model, "points.csv", *asked, *data, "-o", "points.json")
        failing = sum(answer["status"] != "already_robust" for answer in program.results("points.json"))
    ratios = [b["distance"]["l2"] / a["distance"]["l2"] for a, b in zip(ellipsoid, answers)
              if a["status"] in ANSWERED and b["status"] in ANSWERED and a["distance"]["l2"] > 0]
    ratio = f"{sum(ratios) / len(ratios):.3f}" if ratios else "-"
    count = len(answers)
    found = sum(answer["status"] in ANSWERED for answer in answers)
    proved = sum(answer["status"] == "optimal" for answer in answers)
    return (f"| {name}, {target} | {len(rows)} | {len(columns)} | {value:.4f} | {failing}/{len(points)} | {found}/{count} | {proved} | {ratio} "
            f"| {1000 * plain / count:.1f} | {1000 * true / count:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default="./ellice")
    parser.add_argument("--data", default=os.environ.get("ELLICE_DATA", "../shared/datasets"), help="folder of the data sets")
    parser.add_argument("--epsilon", nargs="+", default=["1%", "0.01", "10%"])
    arguments = parser.parse_args()
    print("| data, class | rows | columns | ε | ellipsoid's answers that fail | robust answers found | proved nearest "
          "| distance true/ellipsoid | ms ellipsoid | ms true |\n|" + "---|" * 10)
    with tempfile.TemporaryDirectory() as folder:
        program = Program(arguments.program, pathlib.Path(folder))
        for name in DATASETS:
            rows, columns, model = train(program, name, pathlib.Path(arguments.data))
            for target in model["decision"]["classes"]:
                others = [row for row in rows if given_class(model, row) != target]
                write_rows(program.folder / "people.csv", columns, others[:: max(1, len(others) // PEOPLE)][:PEOPLE])
                for epsilon in arguments.epsilon:
                    print(compare(program, name, rows, columns, target, epsilon), flush=True)


if __name__ == "__main__":
    main()
