"""Tables in parts: the answers of the whole, and no more memory than a part takes."""

import gc
import json
import os
import signal
import subprocess
import sys
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ellice_recourse as el


def records(text):
    return json.loads(text)["results"]


@pytest.fixture(scope="module")
def many(people):
    return pd.concat([people] * 50, ignore_index=True)


@pytest.mark.parametrize("rows", [1, 7, 60, 1000])
def test_parts_have_the_answers_of_the_whole(rows, explainer, people):
    whole = explainer.explain(people)
    parts = list(explainer.stream(people, rows=rows))
    assert [len(part) for part in parts] == [min(rows, 60 - first) for first in range(0, 60, rows)]
    assert [answer.to_dict() for part in parts for answer in part] == [answer.to_dict() for answer in whole]
    assert [hash_of(record) for part in parts for record in records(part.to_json())] == [hash_of(r) for r in records(whole.to_json())]
    assert all(part.verify() for part in parts[:3]) and not any(part.interrupted for part in parts)
    assert ["interrupted" in json.loads(part.to_json()) for part in parts[:3]] == [False, True, True][:len(parts)]


def hash_of(record):
    return record["sha256"]


def test_people_of_a_part_are_counted_in_the_table(explainer, people):
    for number, part in enumerate(explainer.stream(people, rows=25)):
        like = people.iloc[25 * number:25 * (number + 1)]
        reached = part.counterfactuals(like=like)
        assert list(reached.index) == [answer.query for answer in part if answer.counterfactual]
        assert (reached.age.to_numpy() == people.age.iloc[reached.index].to_numpy()).all()


TABLES = {
    "pandas": lambda people: people,
    "arrow": lambda people: pa.Table.from_pandas(people),
    "polars": pl.DataFrame,
    "reader": lambda people: pa.RecordBatchReader.from_batches(
        pa.Table.from_pandas(people).schema, pa.Table.from_pandas(people).to_batches(max_chunksize=9)),
    "dict": lambda people: people.to_dict("list"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_stream_is_a_table_of_arrow(name, explainer, people):
    wanted = pa.table(explainer.explain(people))
    found = pa.RecordBatchReader.from_stream(explainer.stream(TABLES[name](people), rows=13)).read_all()
    assert found.schema == wanted.schema and found.combine_chunks() == wanted.combine_chunks()
    assert pl.DataFrame(explainer.stream(TABLES[name](people), rows=13)).equals(pl.DataFrame(wanted))


def test_batches_are_pulled_when_they_are_asked_for(explainer, people):
    pulled = []

    def batches():
        for batch in pa.Table.from_pandas(people).to_batches(max_chunksize=10):
            pulled.append(len(pulled))
            yield batch

    stream = explainer.stream(pa.RecordBatchReader.from_batches(pa.Table.from_pandas(people).schema, batches()), rows=10)
    next(stream)
    assert len(pulled) <= 2
    assert len(list(stream)) == 5 and len(pulled) == 6
    assert list(stream) == []


def test_an_identifier_is_a_column_of_every_batch(explainer, people):
    named = people.assign(name=[f"p{i}" for i in range(len(people))])
    table = pa.RecordBatchReader.from_stream(explainer.stream(named, id="name", rows=20)).read_all()
    assert table["id"].to_pylist() == named.name.tolist()


def test_remarks_are_made_once(model, people):
    far = people.astype({"income": float})
    far.loc[3, "income"] = 10 * far.income.max()
    explainer = el.Explainer(model, epsilon="1%", range="off")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(explainer.stream(far, rows=20))
    assert len([w for w in caught if "far outside the training rows" in str(w.message)]) == 1


def test_what_is_wrong_is_named(explainer, people):
    with pytest.raises(ValueError, match="rows = 0"):
        explainer.stream(people, rows=0)
    with pytest.raises(ValueError, match="on_error"):
        explainer.stream(people, on_error="ignore")
    with pytest.raises(ValueError, match="income"):
        explainer.stream(people.drop(columns="income"))
    with pytest.raises(ValueError, match="no rows"):
        next(explainer.stream(people.head(0)))
    bad = people.assign(housing=["tent" if i == 33 else h for i, h in enumerate(people.housing)])
    stream = explainer.stream(bad, rows=20)
    assert len(next(stream)) == 20
    with pytest.raises(ValueError, match="row 33.*housing.*tent"):
        next(stream)
    with pytest.raises(OSError, match="row 33.*housing.*tent"):
        pa.RecordBatchReader.from_stream(explainer.stream(bad, rows=20)).read_all()
    skipped = pa.RecordBatchReader.from_stream(explainer.stream(bad, rows=20, on_error="skip")).read_all()
    assert skipped["status"].to_pylist()[33] == "invalid" and "tent" in skipped["message"].to_pylist()[33]
    reader = pa.RecordBatchReader.from_batches(pa.Table.from_pandas(people).schema, pa.Table.from_pandas(people).to_batches())
    assert len(explainer.explain(reader)) == 60
    with pytest.raises(ValueError):  # a reader is read once
        explainer.explain(reader)


def test_a_stream_can_be_stopped(explainer, many):
    told = []
    stream = explainer.stream(pd.concat([many] * 20), rows=40000, progress=lambda *state: told.append(state) or (False if len(told) > 2 else None))
    with pytest.raises(el.Stopped) as caught:
        next(stream)
    assert isinstance(caught.value.partial, el.Answers) and caught.value.partial.interrupted


def test_ctrl_c_reaches_who_reads_the_stream(explainer, many):
    def interrupt(stage, done, total):
        os.kill(os.getpid(), signal.SIGINT)

    stream = explainer.stream(pd.concat([many] * 20), rows=40000, progress=interrupt)
    with pytest.raises((KeyboardInterrupt, OSError)):
        pa.RecordBatchReader.from_stream(stream).read_all()
        for _ in range(1000):
            pass


def test_batches_outlive_what_made_them(model, people):
    table = pa.table(el.Explainer(model, epsilon="1%").explain(people))
    rest = pa.RecordBatchReader.from_stream(el.Explainer(model, epsilon="1%").stream(people, rows=20))
    gc.collect()
    assert table.num_rows == 60 and rest.read_all().combine_chunks() == table.combine_chunks()


MEMORY = """
import pathlib, sys
import pyarrow as pa
import ellice_recourse as el

explainer = el.Explainer(el.load(sys.argv[1]), epsilon="1%", threads=1, progress=False)
people = pa.ipc.open_file(sys.argv[2]).read_all()
batches = pa.RecordBatchReader.from_batches(people.schema, (b for _ in range(int(sys.argv[3])) for b in people.to_batches()))
rows = sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(explainer.stream(batches, rows=2000)))
(peak,) = (line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(rows, int(peak.split()[1]) / 1024)
"""


def test_memory_does_not_grow_with_the_table(model_path, many, tmp_path):
    table = pa.Table.from_pandas(many.head(2000))
    with pa.ipc.new_file(str(tmp_path / "people.arrow"), table.schema) as file:
        file.write_table(table)

    def peak(times):
        done = subprocess.run([sys.executable, "-c", MEMORY, model_path, tmp_path / "people.arrow", str(times)], check=True, capture_output=True, text=True)
        rows, mebibytes = done.stdout.split()
        assert int(rows) == 2000 * times
        return float(mebibytes)

    few = peak(2)
    assert peak(8) < few + 15
