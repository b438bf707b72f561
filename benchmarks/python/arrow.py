#!/usr/bin/env python3
"""A million people from Arrow to Arrow, against the command line on the same file and model, one thread each.

    benchmarks/python/arrow.py [--rows 1000000] [--program ellice]

Prints processor seconds and people per second of: `ellice explain` from CSV to CSV (the batch path of C++ with its reader and writer);
`explain` of an Arrow table, and the answers read by pyarrow; and `stream`, from batches of a file to batches that pyarrow takes one by
one. Each of Python's is a process of its own, whose peak memory is printed beside what the table and the answers take.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv

import ellice_recourse as el

COLUMNS = 20
BATCH = 65536


def people(rows, seed):
    rng = np.random.default_rng(seed)
    return {f"x{j}": rng.normal(size=rows).round(4) for j in range(COLUMNS)}


def peak():
    """In MiB, of this process alone: ru_maxrss begins with that of who started it."""
    (line,) = (line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def of_table(explainer, path):
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    before = peak()
    start = time.process_time()
    answers = explainer.explain(table)
    explained = time.process_time() - start
    read = pa.table(answers)
    whole = time.process_time() - start
    assert read.num_rows == table.num_rows
    return {"explain": explained, "whole": whole, "before": before, "peak": peak(), "out": read.nbytes / 2**20}


def of_stream(explainer, path):
    rows = 0
    before = peak()
    start = time.process_time()
    with pa.OSFile(str(path)) as file:
        for batch in pa.RecordBatchReader.from_stream(explainer.stream(pa.ipc.open_stream(file))):
            rows += batch.num_rows
    return {"whole": time.process_time() - start, "before": before, "peak": peak(), "rows": rows}


def measured(part, folder):
    done = subprocess.run([sys.executable, __file__, "--part", part, "--folder", folder], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def command(program, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "explain", path / "m.json", path / "people.csv", "--epsilon", "1%", "--threads", "1", "--format", "csv",
                    "-o", path / "out.csv", "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(path, rows):
    training = people(4000, 0)
    weights = np.random.default_rng(1).normal(size=COLUMNS)
    score = np.column_stack(list(training.values())) @ weights / 2
    training["y"] = np.where(score + np.random.default_rng(2).logistic(size=4000) > 0, "yes", "no")
    schema = {"target": {"column": "y", "favourable": "yes"}, "features": {f"x{j}": {"kind": "numeric"} for j in range(COLUMNS)}}
    el.train(training, schema=schema, folds=0, progress=False).save(path / "m.json")
    table = pa.table(people(rows, 3))
    pyarrow.csv.write_csv(table, path / "people.csv", pyarrow.csv.WriteOptions(quoting_style="none"))
    with pa.ipc.new_stream(str(path / "people.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=BATCH)
    return table.nbytes / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--program", default="ellice")
    parser.add_argument("--part", choices=["table", "stream"], help="measures one, in a folder that was prepared")
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.part:
        folder = pathlib.Path(given.folder)
        explainer = el.Explainer(el.load(folder / "m.json"), epsilon="1%", threads=1, progress=False)
        print(json.dumps({"table": of_table, "stream": of_stream}[given.part](explainer, folder / "people.arrow")))
        return
    with tempfile.TemporaryDirectory() as folder:
        size = prepare(pathlib.Path(folder), given.rows)
        of_command = command(given.program, pathlib.Path(folder))
        table = measured("table", folder)
        stream = measured("stream", folder)
    assert stream["rows"] == given.rows
    for name, seconds in (("command, CSV to CSV", of_command), ("explain of an Arrow table", table["explain"]),
                          ("Arrow to Arrow", table["whole"]), ("Arrow to Arrow, streamed", stream["whole"])):
        print(f"{name:28} {seconds:8.2f} s  {given.rows / seconds:10.0f} people/s  {of_command / seconds:5.2f} of the command")
    print(f"the table has {size:.0f} MiB, that of the answers {table['out']:.0f} MiB; peak memory {table['peak']:.0f} MiB "
          f"({table['before']:.0f} before), streamed {stream['peak']:.0f} MiB ({stream['before']:.0f} before)")


if __name__ == "__main__":
    main()
