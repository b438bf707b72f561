"""Frames as people have them: whatever scikit-learn fits, its plans are accepted, or it is said what stands in the way."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (FunctionTransformer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, OneHotEncoder,
                                   PolynomialFeatures, QuantileTransformer, StandardScaler, TargetEncoder)

import ellice_recourse as el

RNG = np.random.default_rng(0)
N = 300
BASE = pd.DataFrame({
    "income": RNG.gamma(4, 800, N).round(), "debt": RNG.gamma(2, 900, N).round(), "kids": RNG.integers(0, 4, N),
    "purpose": RNG.choice(["car", "home", "other"], N), "member": RNG.random(N) < 0.4})
Y = np.where(BASE.income / 1200 - BASE.debt / 1000 + (BASE.purpose == "home") + BASE.member - 1.5 + RNG.logistic(size=N) > 0, "good", "bad")
NUMBERS = BASE[["income", "debt"]]
LEVELS = ["car", "home", "other", "boat"]
CODES = RNG.integers(1, 4, N)


def columns(encoder=None, numbers=None, **more):
    return make_pipeline(ColumnTransformer([
        ("numbers", numbers or StandardScaler(), ["income", "debt", "kids"]), ("levels", encoder or OneHotEncoder(), ["purpose"]),
        ("flag", "passthrough", ["member"])], **more), LogisticRegression())


def behind(*steps):
    return make_pipeline(*steps, LogisticRegression(max_iter=5000))


def with_nothing():
    frame = BASE.astype({"kids": float})
    frame.loc[frame.index[-5:], "kids"] = np.nan
    return frame


GOOD = {
    "unused levels": (lambda: BASE.assign(purpose=pd.Categorical(BASE.purpose, categories=LEVELS)), lambda: columns()),
    "levels that never occur": (lambda: BASE, lambda: columns(OneHotEncoder(categories=[LEVELS]))),
    "nullable types": (lambda: BASE.convert_dtypes(), lambda: columns()),
    "Int64": (lambda: BASE.astype({"kids": "Int64"}), lambda: columns()),
    "string": (lambda: BASE.astype({"purpose": "string"}), lambda: columns()),
    "float32": (lambda: NUMBERS.astype("float32"), lambda: behind(StandardScaler())),
    "objects": (lambda: BASE.astype(object), lambda: columns()),
    "empty cells that are filled": (with_nothing, lambda: columns(numbers=make_pipeline(SimpleImputer(), StandardScaler()))),
    "repeated index": (lambda: BASE.set_index(np.zeros(N, int)), lambda: columns()),
    "index of texts": (lambda: BASE.set_index(pd.Index([f"p{i}" for i in range(N)])), lambda: columns()),
    "index of dates": (lambda: BASE.set_index(pd.date_range("2020-01-01", periods=N)), lambda: columns()),
    "sparse columns inside": (lambda: BASE, lambda: columns(OneHotEncoder(sparse_output=True), sparse_threshold=1.0)),
    "remainder": (lambda: BASE, lambda: behind(ColumnTransformer([("c", OneHotEncoder(), ["purpose"])], remainder=StandardScaler()))),
    "selectors": (lambda: BASE, lambda: behind(make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude=np.number))))),
    "pipelines in pipelines": (lambda: BASE, lambda: Pipeline([
        ("before", Pipeline([("columns", columns()[0]), ("scale", MaxAbsScaler())])),
        ("classifier", Pipeline([("scale", StandardScaler(with_mean=False)), ("fit", LogisticRegression())]))])),
    "nothing in a FunctionTransformer": (lambda: NUMBERS, lambda: behind(FunctionTransformer(), StandardScaler())),
    "levels that are numbers": (lambda: BASE.assign(purpose=CODES), lambda: columns()),
    "levels that are fractions": (lambda: BASE.assign(purpose=CODES / 2), lambda: columns()),
    "encoded booleans": (lambda: BASE, lambda: behind(ColumnTransformer([
        ("n", StandardScaler(), ["income", "debt"]), ("c", OneHotEncoder(), ["purpose", "member"])]))),
    "names that are numbers": (lambda: NUMBERS.set_axis([0, 1], axis=1), lambda: behind(StandardScaler())),
    "bins": (lambda: NUMBERS, lambda: behind(KBinsDiscretizer(5))),
    "bins by number": (lambda: NUMBERS, lambda: behind(KBinsDiscretizer(5, encode="ordinal"), StandardScaler())),
    "a constant column": (lambda: NUMBERS.assign(one=1.0), lambda: behind(StandardScaler())),
    "columns that nobody reads": (lambda: BASE.assign(day=pd.Timestamp("2020-01-01"), what=[{}] * N), lambda: columns()),
    "frames inside": (lambda: BASE, lambda: make_pipeline(
        columns(OneHotEncoder(sparse_output=False))[0].set_output(transform="pandas"), LogisticRegression())),
    "cross-validated penalty": (lambda: NUMBERS, lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=3, cv=3))),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GOOD)
def test_plans_are_accepted(name):
    table, pipeline = (make() for make in GOOD[name])
    pipeline.fit(table, Y)
    model = el.from_sklearn(pipeline, table, Y)
    declined = table[pipeline.predict(table) == "bad"].head(8)
    answers = el.Explainer(model, epsilon="1%").explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) >= 6 and (pipeline.predict(reached) == "good").all()
    assert list(reached.columns) == list(table.columns)


@pytest.mark.parametrize("labels", [Y == "good", (Y == "good").astype(int), (Y == "good").astype(float), pd.Series(pd.Categorical(Y)),
                                    Y.reshape(-1, 1), pd.DataFrame({"y": Y}), Y.astype(object), pd.Series(Y, dtype="string")])
@pytest.mark.filterwarnings("ignore")
def test_labels_of_every_type(labels):
    pipeline = behind(StandardScaler()).fit(NUMBERS, labels)
    answers = el.Explainer(el.from_sklearn(pipeline, NUMBERS, labels), epsilon="1%").explain(NUMBERS[pipeline.predict(NUMBERS) == pipeline.classes_[0]].head(5))
    assert (pipeline.predict(answers.counterfactuals(like=NUMBERS.head(5))) == pipeline.classes_[1]).all()


@pytest.mark.filterwarnings("ignore")
def test_dummies_are_one_category():
    table = pd.get_dummies(BASE, columns=["purpose"])
    group = ["purpose_car", "purpose_home", "purpose_other"]
    pipeline = behind(StandardScaler()).fit(table, Y)
    model = el.from_sklearn(pipeline, table, Y, one_hot={"purpose": group}, immutable=["income", "debt", "kids"])
    declined = table[pipeline.predict(table) == "bad"]
    answers = el.Explainer(model, epsilon=0).explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert (reached[group].sum(axis=1) == 1).all() and (pipeline.predict(reached) == "good").all()
    assert (reached.dtypes == declined.dtypes).all() and any("purpose" in [c.feature for c in a.changes] for a in answers)
    with pytest.raises(ValueError, match='"purpose": X has no column "purpose_boat"'):
        el.from_sklearn(pipeline, table, Y, one_hot={"purpose": [*group, "purpose_boat"]})


def test_arrays_of_objects_and_polars():
    array = BASE.drop(columns="member").to_numpy(dtype=object)
    pipeline = behind(ColumnTransformer([("n", StandardScaler(), [0, 1, 2]), ("c", OneHotEncoder(), [3])])).fit(array, Y)
    declined = array[pipeline.predict(array) == "bad"][:6]
    answers = el.Explainer(el.from_sklearn(pipeline, array, Y), epsilon="1%").explain(declined)
    assert (pipeline.predict(answers.counterfactuals().to_numpy(dtype=object)) == "good").all()
    whole = columns().fit(BASE, Y)
    assert el.from_sklearn(whole, pl.DataFrame(BASE), Y).features == el.from_sklearn(whole, BASE, Y).features


STEPS = {
    "function": (behind(ColumnTransformer([("log", FunctionTransformer(np.log1p), ["income"])])), "columntransformer.log"),
    "union": (behind(FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())])), '"featureunion" is a FeatureUnion'),
    "products": (behind(StandardScaler(), PolynomialFeatures(2)), "PolynomialFeatures"),
    "quantiles": (behind(QuantileTransformer(n_quantiles=20)), "QuantileTransformer"),
    "targets": (behind(ColumnTransformer([("t", TargetEncoder(), ["kids"])])), "columntransformer.t"),
    "own class": (make_pipeline(StandardScaler(), type("Mine", (LogisticRegression,), {})()), '"mine" is a Mine'),
    "no refit": (make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=2, cv=2, refit=False)), "refit=True"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_cannot_be_read_are_named(name):
    pipeline, words = STEPS[name]
    table = BASE[["income", "debt", "kids"]]
    with pytest.raises(ValueError, match=words):
        el.from_sklearn(pipeline.fit(table, Y), table, Y)


FITTED = columns().fit(BASE, Y)
TABLES = {
    "lazy frame": (lambda: pl.DataFrame(BASE).lazy(), TypeError, "LazyFrame of polars.*collect"),
    "series": (lambda: BASE.income, ValueError, "1 dimensions"),
    "sparse": (lambda: sparse.csr_matrix(NUMBERS.to_numpy()), ValueError, "sparse"),
    "no rows": (lambda: BASE.head(0), ValueError, "0 rows, but y has 300|no rows"),
    "two columns of one name": (lambda: pd.concat([BASE, BASE[["income"]]], axis=1), ValueError, 'two columns "income"'),
    "several levels": (lambda: pd.concat({"all": BASE}, axis=1), ValueError, "MultiIndex"),
    "other length": (lambda: BASE.head(7), ValueError, "7 rows, but y has 300"),
}


@pytest.mark.parametrize("name", TABLES)
def test_training_tables_that_do_not_fit_are_named(name):
    make, kind, words = TABLES[name]
    with pytest.raises(kind, match=words):
        el.from_sklearn(FITTED, make(), Y)


PEOPLE = {
    "lazy frame": (lambda p: pl.DataFrame(p).lazy(), TypeError, "collect"),
    "one row": (lambda p: p.iloc[0], TypeError, "Series"),
    "dict of one row": (lambda p: p.iloc[0].to_dict(), ValueError, '"income" is'),
    "empty": (lambda p: p.head(0), ValueError, "no rows"),
    "another column": (lambda p: p.assign(shoes=43), ValueError, '"shoes"'),
    "missing column": (lambda p: p.drop(columns="debt"), ValueError, '"debt"'),
    "unseen level": (lambda p: p.assign(purpose="zoo"), ValueError, 'row 0.*"purpose".*"zoo"'),
    "bytes": (lambda p: p.assign(purpose=p.purpose.str.encode("utf-8")), ValueError, "\"purpose\": b'.*bytes"),
    "array of bytes": (lambda p: {**p.to_dict("list"), "purpose": p.purpose.to_numpy().astype("S")}, ValueError, '"purpose".*S'),
    "decimals": (lambda p: p.assign(income=decimal.Decimal(5)), ValueError, '"income".*Decimal'),
    "dates": (lambda p: p.assign(income=datetime.date(2020, 1, 1)), ValueError, '"income".*date'),
    "nothing": (lambda p: p.assign(kids=pd.array([pd.NA] * len(p), dtype="Int64")), ValueError, 'row 0.*"kids".*empty'),
    "nothing of booleans": (lambda p: p.assign(member=pd.array([pd.NA] * len(p), dtype="boolean")), ValueError, 'row 0.*"member".*empty'),
}


@pytest.mark.parametrize("name", PEOPLE)
def test_people_who_cannot_be_read_are_named(name):
    make, kind, words = PEOPLE[name]
    explainer = el.Explainer(el.from_sklearn(FITTED, BASE, Y), epsilon="1%")
    with pytest.raises(kind, match=words):
        explainer.explain(make(BASE.head(4)))


def test_texts_of_numpy_are_texts():
    explainer = el.Explainer(el.from_sklearn(FITTED, BASE, Y), epsilon="1%")
    wanted = explainer.explain(BASE.head(4)).to_json()
    for texts in (np.array(BASE.purpose.head(4).tolist()), BASE.purpose.head(4).to_numpy(dtype=object), list(map(np.str_, BASE.purpose.head(4)))):
        assert explainer.explain({**BASE.head(4).to_dict("list"), "purpose": texts}).to_json() == wanted


@pytest.mark.parametrize("dtype", ["bool", "boolean", "category", "int64"])
def test_booleans_of_models_that_are_trained_here_stay_such(dtype):
    table = BASE.assign(member=BASE.member.astype(dtype))
    model = el.train(table.assign(answer=Y), target="answer", favourable="good")
    declined = table[np.array(model.predict(table)) == "bad"].head(30)
    answers = el.Explainer(model, epsilon="0.5%", immutable=["income", "debt"]).explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) > 10 and (reached.member.astype(str) != declined.member.iloc[reached.index].astype(str).to_numpy()).any()
    assert reached.member.dtype == table.member.dtype and set(model.predict(reached)) == {"good"}
