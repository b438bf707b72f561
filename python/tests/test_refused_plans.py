"""A plan that is called certified is accepted by the pipeline's own predict, or the import is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

import ellice_recourse as el

RNG = np.random.default_rng(0)
N = 300
BASE = pd.DataFrame({
    "income": RNG.gamma(4, 800, N).round(), "debt": RNG.gamma(2, 900, N).round(2), "kids": RNG.integers(0, 4, N),
    "purpose": RNG.choice(["car", "home", "other"], N), "member": RNG.random(N) < 0.4})
Y = (BASE.income / 1200 - BASE.debt / 1000 + (BASE.purpose == "home") + BASE.member - 1.5 + RNG.logistic(size=N) > 0).to_numpy()
NUMBERS = BASE[["income", "debt", "kids"]]
CODE = BASE.purpose.map({"car": 1, "other": 2, "home": 3})
BY_HOME = ((CODE == 3) * 4 + BASE.income / 3000 + RNG.logistic(size=N) > 2.5).to_numpy()


def behind(*parts, **more):
    return make_pipeline(ColumnTransformer(list(parts), **more), LogisticRegression())


def shuffled():
    return behind(("b", StandardScaler(), [1]), ("a", StandardScaler(), [0, 2]))


def test_arrays_are_read_in_the_order_of_the_pipeline():
    table = NUMBERS.to_numpy(float) + RNG.random((N, 3))
    pipeline = shuffled().fit(table, Y)
    model = el.from_sklearn(pipeline, table, Y)
    assert model.features == ["x0", "x1", "x2"]
    declined = table[~pipeline.predict(table)]
    reached = el.Explainer(model, epsilon="1%").explain(declined).counterfactuals()
    assert len(reached) > 20 and pipeline.predict(reached.to_numpy()).all()
    assert np.allclose(model.logits(table), pipeline.decision_function(table), atol=1e-2)


def test_arrays_of_the_fitted_width_will_do(tmp_path):
    table = NUMBERS.to_numpy(float) + RNG.random((N, 3))
    pipeline = behind(("b", StandardScaler(), [2]), ("a", StandardScaler(), [0])).fit(table, Y)  # x1 is dropped
    model = el.from_sklearn(pipeline, table, Y)
    assert model.features == ["x0", "x2"]
    declined = table[~pipeline.predict(table)]
    explainer = el.Explainer(model, epsilon="1%", step={"x2": 0.5})
    reached = explainer.explain(declined).counterfactuals(like=declined)
    assert list(reached.columns) == ["x0", "x1", "x2"] and pipeline.predict(reached.to_numpy()).all()
    assert (reached["x1"].to_numpy() == declined[reached.index, 1]).all()
    model.save(tmp_path / "m.json")
    with pytest.raises(ValueError, match="3 columns does not fit the model, which has 2 features in this order: x0, x2"):
        el.load(tmp_path / "m.json").logits(table)


def test_a_schema_in_another_order_changes_no_array():
    table = NUMBERS.to_numpy(float) + RNG.random((N, 3))
    pipeline = shuffled().fit(table, Y)
    schema = {"target": {"column": "y", "favourable": "True"}, "features": {f"x{j}": {"kind": "numeric"} for j in (2, 1, 0)}}
    assert el.from_sklearn(pipeline, table, Y, schema=schema).features == ["x0", "x1", "x2"]


@pytest.mark.parametrize("limits", [{"min_frequency": 20}, {"max_categories": 3}])
@pytest.mark.parametrize("encoder", [OrdinalEncoder, OneHotEncoder])
def test_infrequent_levels_are_refused(encoder, limits):
    table = BASE.assign(purpose=np.where(np.arange(N) % 60 == 0, "boat", np.where(np.arange(N) % 60 == 1, "bike", BASE.purpose)))
    pipeline = behind(("n", StandardScaler(), ["income"]), ("c", encoder(**limits), ["purpose"])).fit(table, Y)
    with pytest.raises(ValueError, match=f'"columntransformer.c" is an? {encoder.__name__} that puts infrequent levels together'):
        el.from_sklearn(pipeline, table, Y)


def test_the_check_sees_every_level_of_the_whole_table():
    from ellice_recourse._deployed import checked_rows

    many = pd.concat([NUMBERS.assign(purpose="car")] * 10, ignore_index=True)
    many.loc[1777, "purpose"] = "home"
    places = checked_rows({"income": many.income, "purpose": many.purpose}, {"purpose": {"kind": "categorical", "levels": ["car", "home"]}})
    assert 1777 in places and places.max() > 2900 and len(places) <= 1002


OTHER_TYPES = {
    "objects of ints": CODE.astype(object), "objects of floats": (CODE / 4).astype(object), "objects of booleans": (CODE == 3).astype(object),
    "ints": CODE, "Int64": CODE.astype("Int64"), "fractions of float32": (CODE / 10).astype("float32"), "category of ints": CODE.astype("category"),
    "boolean": (CODE == 3).astype("boolean"), "bool[pyarrow]": (CODE == 3).astype("bool[pyarrow]"), "int64[pyarrow]": CODE.astype("int64[pyarrow]"),
}


@pytest.mark.parametrize("encoder", [lambda: OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder], ids=["one-hot", "ordinal"])
@pytest.mark.parametrize("name", OTHER_TYPES)
def test_levels_that_no_declined_person_has_keep_their_type(name, encoder):
    table = BASE.assign(purpose=OTHER_TYPES[name])
    pipeline = behind(("n", StandardScaler(), ["income", "debt"]), ("c", encoder(), ["purpose"])).fit(table, BY_HOME)
    declined = table[~pipeline.predict(table) & (CODE != 3)].head(15)
    reached = el.Explainer(el.from_sklearn(pipeline, table, BY_HOME), epsilon="1%").explain(declined).counterfactuals(like=declined)
    assert len(reached) > 10 and pipeline.predict(reached).all()
    assert reached.purpose.dtype == declined.purpose.dtype


@pytest.mark.parametrize("trained", [str, "category"])
def test_categories_are_widened_to_the_levels_of_plans(trained):
    table = BASE.astype({"purpose": trained})
    pipeline = behind(("n", StandardScaler(), ["income", "debt"]), ("c", OneHotEncoder(), ["purpose"])).fit(table, BY_HOME)
    declined = table[~pipeline.predict(table) & (CODE != 3)].head(15)
    declined = declined.assign(purpose=declined.purpose.astype(str).astype("category"))
    reached = el.Explainer(el.from_sklearn(pipeline, table, BY_HOME), epsilon="1%").explain(declined).counterfactuals(like=declined)
    assert reached.purpose.notna().all() and "home" in set(reached.purpose) and pipeline.predict(reached).all()


@pytest.mark.parametrize("encode", ["onehot", "ordinal"])
def test_single_precision_stays_in_the_bin_of_the_plan(encode):
    table = (NUMBERS[["income", "debt"]] / 7).astype("float32")
    pipeline = make_pipeline(KBinsDiscretizer(6, encode=encode, quantile_method="averaged_inverted_cdf"), LogisticRegression()).fit(table, Y)
    declined = table[~pipeline.predict(table)].head(40)
    answers = el.Explainer(el.from_sklearn(pipeline, table, Y), epsilon="1%").explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert (reached.dtypes == "float32").all() and len(reached) > 20 and pipeline.predict(reached).all()


def test_half_precision_is_widened():
    table = NUMBERS[["income", "debt"]].astype("float16")
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(table.astype(float), Y)
    declined = table[~pipeline.predict(table.astype(float))].head(20)
    reached = el.Explainer(el.from_sklearn(pipeline, table.astype(float), Y), epsilon=0).explain(declined).counterfactuals(like=declined)
    assert pipeline.predict(reached.astype(float)).all()


@pytest.fixture(scope="module")
def loans():
    return NUMBERS.assign(approved=Y.astype(int))


def glm(loans, **more):
    return smf.glm("approved ~ income + debt", loans, family=sm.families.Binomial(), **more)


UNLIKE = {
    "offset": lambda loans: glm(loans, offset=loans.kids * 0.3).fit(),
    "freq_weights": lambda loans: glm(loans, freq_weights=np.full(N, 3.0)).fit(),
    "var_weights": lambda loans: glm(loans, var_weights=np.linspace(0.2, 0.9, N)).fit(),
    "scale": lambda loans: glm(loans).fit(scale="X2"),
    "trials": lambda loans: sm.GLM(np.column_stack([loans.approved, 3 - loans.approved]), sm.add_constant(loans[["income"]]),
                                   family=sm.families.Binomial()).fit(),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_statsmodels_with_another_objective_are_refused_by_name(name, loans):
    with pytest.raises(ValueError, match=name):
        el.from_statsmodels(UNLIKE[name](loans), data=loans)


def test_weights_of_one_and_an_offset_of_zero_are_none(loans):
    fit = glm(loans, freq_weights=np.ones(N), var_weights=np.ones(N), offset=np.zeros(N)).fit()
    asked = loans[["income", "debt"]]
    assert np.allclose(el.from_statsmodels(fit, data=loans).predict_proba(asked)[:, 1], fit.predict(loans, offset=np.zeros(N)), atol=1e-9)


WEIGHTED = {
    "logistic": lambda: LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=5000),
    "cross-validated": lambda: LogisticRegressionCV(Cs=3, cv=3, class_weight="balanced", tol=1e-10, max_iter=5000, use_legacy_attributes=False),
    "ridge": lambda: RidgeClassifier(class_weight="balanced"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WEIGHTED)
def test_balanced_classes_weigh_as_scikit_learn_weighs_them(name):
    weight = np.where(Y, 4.0, 1.0) * (RNG.random(N) + 0.1)
    pipeline = make_pipeline(StandardScaler(), WEIGHTED[name]())
    pipeline.fit(NUMBERS, Y, **{f"{pipeline.steps[-1][0]}__sample_weight": weight})
    model = el.from_sklearn(pipeline, NUMBERS, Y, sample_weight=weight)
    assert model.excess <= 1e-8 * model.objective


def test_columns_may_stand_in_another_order_than_at_the_fit():
    pipeline = behind(("n", StandardScaler(), ["income", "debt"]), ("c", OneHotEncoder(), ["purpose"])).fit(BASE, Y)
    other = BASE[["purpose", "member", "debt", "kids", "income"]]
    model = el.from_sklearn(pipeline, other, Y)
    assert model == el.from_sklearn(pipeline, BASE, Y) and model.features == ["income", "debt", "purpose"]


def test_frames_of_polars_may_be_given_as_like():
    pipeline = behind(("n", StandardScaler(), ["income", "debt"]), ("c", OneHotEncoder(), ["purpose"])).fit(BASE, Y)
    declined = BASE[~pipeline.predict(BASE)].head(5)
    answers = el.Explainer(el.from_sklearn(pipeline, BASE, Y), epsilon="1%").explain(declined)
    assert pipeline.predict(answers.counterfactuals(like=pl.DataFrame(declined))).all()
    with pytest.raises(TypeError, match="like is of type int; expected the frame"):
        answers.counterfactuals(like=3)
