#!/usr/bin/env python3
"""A million people from Arrow to Arrow, against the command line on the same file and model, one thread each.

    benchmarks/python/arrow.py [--rows 1000000] [--program ellice]

Prints processor seconds and people per second of: `ellice explain` from CSV to CSV (the batch path of C++ with its reader and writer),
`explain` of an Arrow table alone, and Arrow to Arrow, the answers read by pyarrow; and the peak memory of the Python process.
"""
import argparse
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv

import ellice_recourse as el

COLUMNS = 20


def people(rows, seed):
    rng = np.random.default_rng(seed)
    return {f"x{j}": rng.normal(size=rows).round(4) for j in range(COLUMNS)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--program", default="ellice")
    given = parser.parse_args()
    training = people(4000, 0)
    weights = np.random.default_rng(1).normal(size=COLUMNS)
    score = np.column_stack(list(training.values())) @ weights / 2
    training["y"] = np.where(score + np.random.default_rng(2).logistic(size=4000) > 0, "yes", "no")
    schema = {"target": {"column": "y", "favourable": "yes"}, "features": {f"x{j}": {"kind": "numeric"} for j in range(COLUMNS)}}
    model = el.train(training, schema=schema, folds=0, progress=False)
    table = pa.table(people(given.rows, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        model.save(path / "m.json")
        pyarrow.csv.write_csv(table, path / "people.csv", pyarrow.csv.WriteOptions(quoting_style="none"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([given.program, "explain", path / "m.json", path / "people.csv", "--epsilon", "1%", "--threads", "1", "--format", "csv",
                        "-o", path / "out.csv", "--quiet"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        of_command = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    explainer = el.Explainer(model, epsilon="1%", threads=1, progress=False)
    start = time.process_time()
    answers = explainer.explain(table)
    explained = time.process_time() - start
    read = pa.table(answers)
    whole = time.process_time() - start
    assert read.num_rows == len(answers)
    for name, seconds in (("command, CSV to CSV", of_command), ("explain of an Arrow table", explained), ("Arrow to Arrow", whole)):
        print(f"{name:28} {seconds:8.2f} s  {given.rows / seconds:10.0f} people/s  {of_command / seconds:5.2f} of the command")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
