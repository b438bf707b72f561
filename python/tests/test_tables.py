"""Tables of every kind give the answers of the file, and what is wrong with one is named."""

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ellice_recourse as el


@pytest.fixture(scope="module")
def answered(explainer, people):
    return explainer.explain(people).to_json()


def nullable(people):
    return people.convert_dtypes()


def categories(people):
    return people.astype({"education": "category", "housing": "category", "guarantor": "category"})


def small_numbers(people):
    return people.astype({"age": "int8", "income": "uint32", "dependants": "float32"})


def chunks(people):
    whole = pa.Table.from_pandas(people)
    return pa.concat_tables([whole.slice(0, 7), whole.slice(7, 0), whole.slice(7)])


KINDS = {
    "objects": lambda people: people.astype(object),
    "nullable": nullable,
    "categories": categories,
    "small numbers": small_numbers,
    "other order": lambda people: people[people.columns[::-1]],
    "other index": lambda people: people.set_index(np.arange(len(people)) + 1000),
    "polars": pl.DataFrame,
    "polars categories": lambda people: pl.DataFrame(people).with_columns(pl.col("housing").cast(pl.Categorical)),
    "arrow": pa.Table.from_pandas,
    "arrow chunks": chunks,
    "arrow slice": lambda people: pa.concat_tables([pa.Table.from_pandas(people)] * 2).slice(len(people), len(people)),
    "arrow dictionary": lambda people: pa.Table.from_pandas(categories(people)),
    "arrow large texts": lambda people: pa.table(
        {n: pa.array(people[n].tolist(), pa.large_string() if people[n].dtype.kind not in "iuf" else None) for n in people}
    ),
    "arrow text views": lambda people: pa.table(
        {n: pa.array(people[n].tolist(), pa.string_view() if people[n].dtype.kind not in "iuf" else None) for n in people}
    ),
    "reader of batches": lambda people: pa.RecordBatchReader.from_batches(
        pa.Table.from_pandas(people).schema, pa.Table.from_pandas(people).to_batches(max_chunksize=9)
    ),
    "duckdb": lambda people: duckdb.sql("select * from people"),
    "dict of lists": lambda people: people.to_dict("list"),
    "dict of arrays": lambda people: {name: people[name].to_numpy() for name in people},
    "list of dicts": lambda people: people.to_dict("records"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_gives_the_same_bytes(kind, explainer, people, answered):
    assert explainer.explain(KINDS[kind](people)).to_json() == answered


def long_texts(table):
    return [f"a level with a long name, number {i % 3}" for i in range(len(table))]


def test_long_texts_of_views_are_read():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=300)})
    frame["level"] = long_texts(frame)
    frame["y"] = np.where(frame.x + rng.normal(size=300) > 0, "yes", "no")
    model = el.train(frame, target="y", favourable="yes", schema={
        "target": {"column": "y", "favourable": "yes"},
        "features": {"x": {"kind": "numeric"}, "level": {"kind": "categorical", "levels": sorted(set(frame.level))}}})
    views = pa.table({"x": frame.x.to_numpy(), "level": pa.array(frame.level.tolist(), pa.string_view())})
    assert np.array_equal(model.logits(views), model.logits(frame))
    assert np.array_equal(model.logits(pl.DataFrame(frame)), model.logits(frame))


@pytest.fixture(scope="module")
def numeric():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["y"] = (x @ [1.0, -2.0, 0.5, 1.0] + rng.normal(size=200) > 0).astype(int)
    schema = {"target": {"column": "y", "favourable": "1"}, "features": {n: {"kind": "numeric"} for n in "abcd"}}
    return el.train(frame, schema=schema), x


def test_arrays_are_read_where_they_lie(numeric):
    model, x = numeric
    wanted = model.logits(pd.DataFrame(x, columns=list("abcd")))
    wide = np.zeros((400, 9))
    wide[::2, 1::2] = x
    for view in (x, np.asfortranarray(x), wide[::2, 1::2], x.astype(">f8"), x[::-1][::-1]):
        assert np.array_equal(model.logits(view), wanted)
    locked = x.copy()
    locked.setflags(write=False)
    assert np.array_equal(model.logits(locked), wanted)
    backwards = model.logits(x[::-1])
    assert np.array_equal(backwards[::-1], wanted)


def test_logits_are_those_of_the_coefficients(numeric):
    import json

    model, x = numeric
    file = json.loads(model.to_json())
    layer = file["network"]["layers"][0]
    z = (x - file["encoder"]["mean"]) / file["encoder"]["scale"]
    assert np.allclose(model.logits(x), z @ layer["weights"][0] + layer["bias"][0], rtol=1e-12)


def with_cell(people, column, row, value):
    changed = people.astype({column: object})
    changed.loc[row, column] = value
    return changed


WRONG = {
    "missing column": (lambda p: p.drop(columns="income"), ["income"]),
    "unknown column": (lambda p: p.assign(shoe_size=43), ["shoe_size"]),
    "unseen level": (lambda p: with_cell(p, "housing", 3, "tent"), ["row 3", "housing", "tent"]),
    "missing number": (lambda p: with_cell(p, "income", 5, np.nan), ["row 5", "income"]),
    "missing level": (lambda p: with_cell(p, "housing", 2, None), ["row 2", "housing"]),
    "text for a number": (lambda p: with_cell(p, "income", 4, "plenty"), ["row 4", "income", "plenty"]),
    "infinite": (lambda p: with_cell(p, "income", 4, np.inf), ["row 4", "income", "inf"]),
    "no whole number": (lambda p: with_cell(p, "age", 4, 3.5), ["row 4", "age", "3.5"]),
    "object": (lambda p: with_cell(p, "income", 4, [1, 2]), ["row 4", "income", "[1, 2]", "list"]),
    "dates": (lambda p: p.assign(income=pd.Timestamp("2026-01-01")), ["income", "datetime"]),
    "complex numbers": (lambda p: p.assign(income=1j), ["income", "complex"]),
    "repeated name": (lambda p: pd.concat([p, p[["income"]]], axis=1), ["income"]),
    "several levels of columns": (lambda p: pd.concat({"all": p}, axis=1), ["MultiIndex"]),
    "several levels of rows": (lambda p: p.set_index([p.age, p.income]), ["MultiIndex", "reset_index"]),
    "name that is no text": (lambda p: p.rename(columns={"income": 7}), ["7"]),
    "no rows": (lambda p: p.head(0), ["row"]),
    "no columns": (lambda p: pd.DataFrame(), ["age"]),
    "array of another width": (lambda p: np.zeros((3, 4)), ["4 columns", "12 features"]),
    "array of one dimension": (lambda p: np.zeros(12), ["1 dimensions"]),
    "columns of different length": (lambda p: {**p.to_dict("list"), "income": [1]}, ["income", "1 rows"]),
    "column that is no list": (lambda p: {**p.to_dict("list"), "income": "12"}, ["income", "'12'"]),
    "arrow of dates": (lambda p: pa.table({**p.to_dict("list"), "income": pa.array([0] * len(p), pa.date32())}), ["income"]),
    "arrow of no columns": (lambda p: pa.chunked_array([[1, 2]]), ["columns"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name, explainer, people):
    make, words = WRONG[name]
    with pytest.raises(ValueError) as caught:
        explainer.explain(make(people))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("table", [7, "people.csv", None, [1, 2], object()])
def test_what_is_no_table_is_a_type_error(table, explainer):
    with pytest.raises(TypeError, match="cannot be read"):
        explainer.explain(table)


def test_rows_that_cannot_be_read_can_be_skipped(explainer, people):
    answers = explainer.explain(with_cell(people, "housing", 3, "tent"), on_error="skip")
    assert answers[3].status == "invalid"
    assert "row 3" in answers[3].message and "tent" in answers[3].message
    whole = explainer.explain(people)
    assert [a.to_dict() for a in answers if a.query != 3] == [a.to_dict() for a in whole if a.query != 3]


def test_booleans_are_the_levels_that_the_schema_spells(people):
    for levels in (["False", "True"], ["false", "true"], ["0", "1"]):
        rng = np.random.default_rng(3)
        frame = pd.DataFrame({"x": rng.normal(size=200), "flag": rng.random(200) < 0.4})
        frame["y"] = frame.x + frame.flag + rng.normal(size=200) > 0.3
        schema = {"target": {"column": "y", "favourable": levels[1]},
                  "features": {"x": {"kind": "numeric"}, "flag": {"kind": "binary", "levels": levels}}}
        model = el.train(frame, schema=schema)
        assert model.classes[1] == levels[1]
        spelled = frame.assign(flag=[levels[int(v)] for v in frame.flag]).drop(columns="y")
        for table in (frame, pl.DataFrame(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
            assert np.array_equal(model.logits(table), model.logits(spelled))


def test_numbers_are_no_texts_that_could_mean_thousands():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(1000, 200000, 300), "z": rng.normal(size=300)})
    frame["y"] = (frame.x / 50000 + frame.z + rng.logistic(size=300) > 2).astype(int)
    schema = {"target": {"column": "y", "favourable": "1"}, "features": {"x": {"kind": "numeric"}, "z": {"kind": "numeric"}}}
    explainer = el.Explainer(el.train(frame, schema=schema), epsilon="1%", range="off")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (pd.DataFrame({"x": [5000.125], "z": [1.234]}), pa.table({"x": [5000.125], "z": [1.234]}), np.array([[5000.125, 1.234]])):
            (answer,) = explainer.explain(table)
            assert answer.to_dict()["query"] == {"x": 5000.125, "z": 1.234}
    (answer,) = explainer.explain(pd.DataFrame({"x": [95.125], "z": [0.5]}))  # a file would have to say whether it is 95125
    assert answer.to_dict()["query"]["x"] == 95.125
    with pytest.raises(ValueError, match="row 0.*could be 95.125 or 95125"):
        explainer.explain(pd.DataFrame({"x": ["95.125"], "z": [0.5]}))
