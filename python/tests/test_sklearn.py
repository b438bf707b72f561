"""Pipelines of scikit-learn: every plan is accepted by the pipeline's own predict."""

import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import ellice
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

import ellice_recourse as el

LADDER = ["none", "school", "college"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    n = 500
    frame = pd.DataFrame({
        "income": rng.gamma(4, 800, n).round(2), "debt": rng.gamma(2, 900, n).round(), "age": rng.integers(18, 80, n),
        "purpose": rng.choice(["car", "home", "other"], n), "school": rng.choice(LADDER, n),
        "region": pd.Categorical(rng.choice([1, 2, 3], n)), "member": rng.random(n) < 0.4, "note": "nothing"})
    score = (frame.income / 1200 - frame.debt / 1000 + (frame.purpose == "home") + 0.5 * frame.school.map(LADDER.index)
             + frame.member - 2.2)
    return frame, np.where(score + rng.logistic(size=n) > 0, "good", "bad")


def columns(numbers, levels=None, **more):
    return ColumnTransformer([
        ("numbers", numbers, ["income", "debt", "age"]),
        ("levels", levels or OneHotEncoder(handle_unknown="ignore"), ["purpose", "region"]),
        ("ladder", OrdinalEncoder(categories=[LADDER]), ["school"]),
        ("flag", "passthrough", ["member"])], **more)


PIPELINES = {
    "logistic": lambda: make_pipeline(columns(StandardScaler()), LogisticRegression()),
    "strong penalty": lambda: make_pipeline(columns(RobustScaler()), LogisticRegression(C=0.05)),
    "no penalty": lambda: make_pipeline(columns(StandardScaler(), OneHotEncoder(drop="first")), LogisticRegression(C=np.inf)),
    "dropped level": lambda: make_pipeline(columns(MinMaxScaler(), OneHotEncoder(drop="first")), LogisticRegression()),
    "balanced": lambda: make_pipeline(columns(StandardScaler()), LogisticRegression(class_weight="balanced")),
    "class weights": lambda: make_pipeline(columns(StandardScaler()), LogisticRegression(class_weight={"good": 2.0})),
    "loose tolerance": lambda: make_pipeline(columns(StandardScaler()), LogisticRegression(tol=0.05, max_iter=4)),
    "ridge": lambda: make_pipeline(columns(StandardScaler()), RidgeClassifier(alpha=2.0)),
    "stochastic": lambda: make_pipeline(columns(StandardScaler()), SGDClassifier(loss="log_loss", alpha=0.01, random_state=0)),
    "nested": lambda: make_pipeline(columns(make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), MinMaxScaler())),
                                    StandardScaler(with_mean=False), LogisticRegression()),
    "selected": lambda: make_pipeline(columns(StandardScaler()), SelectKBest(k=5), LogisticRegression()),
    "network": lambda: make_pipeline(columns(StandardScaler()), MLPClassifier((6,), alpha=0.1, max_iter=400, random_state=1)),
}


def fitted(name, people):
    x, y = people
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PIPELINES[name]().fit(x, y)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.filterwarnings("ignore")
def test_every_plan_is_accepted_by_predict(name, people):
    x, y = people
    pipeline = fitted(name, people)
    model = el.from_sklearn(pipeline, x, y, immutable=["age"], bounds={"debt": (0, None)}, store_rows=name == "network")
    declined = x[pipeline.predict(x) == "bad"].head(20)
    explainer = el.Explainer(model, epsilon="1%", **({"set": "last-layer"} if name == "network" else {}))
    answers = explainer.explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) >= 15, answers
    assert (pipeline.predict(reached) == "good").all()
    assert (reached["age"].to_numpy() == declined["age"].to_numpy()[reached.index]).all()
    assert (reached["debt"] >= 0).all()
    if name in ("logistic", "dropped level"):
        assert answers.verify()


def test_the_set_holds_the_deployed_model_and_refits(people):
    x, y = people
    pipeline = fitted("logistic", people)
    model = el.from_sklearn(pipeline, x, y)
    declined = x[pipeline.predict(x) == "bad"].head(20)
    reached = el.Explainer(model, epsilon="5%").explain(declined).counterfactuals(like=declined)
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(20):
        rows = rng.integers(0, len(x), len(x))
        kept.append((PIPELINES["logistic"]().fit(x.iloc[rows], y[rows]).predict(reached) == "good").mean())
    assert np.mean(kept) > 0.9


def test_scores_of_a_tight_fit_are_those_of_the_pipeline(people):
    x, y = people
    pipeline = make_pipeline(columns(StandardScaler()), LogisticRegression(tol=1e-10, max_iter=5000)).fit(x, y)
    model = el.from_sklearn(pipeline, x, y)
    assert np.allclose(model.logits(x), pipeline.decision_function(x), atol=1e-5)
    weighted = np.random.default_rng(1).random(len(x)) + 0.1
    pipeline.fit(x, y, logisticregression__sample_weight=weighted)
    model = el.from_sklearn(pipeline, x, y, sample_weight=weighted)
    assert np.allclose(model.logits(x), pipeline.decision_function(x), atol=1e-5)


def test_the_other_label_can_be_wanted(people):
    x, y = people
    pipeline = fitted("logistic", people)
    model = el.from_sklearn(pipeline, x, y, favourable="bad")
    good = x[pipeline.predict(x) == "good"].head(5)
    reached = el.Explainer(model, epsilon="1%").explain(good).counterfactuals(like=good)
    assert len(reached) == 5 and (pipeline.predict(reached) == "bad").all()


def test_arrays_will_do():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 3))
    y = (x @ [1, -1, 0.5] + rng.logistic(size=300) > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    model = el.from_sklearn(pipeline, x, y)
    answers = el.Explainer(model, epsilon="1%").explain(x[pipeline.predict(x) == 0])
    assert (pipeline.predict(answers.counterfactuals().to_numpy()) == 1).all()


def test_the_model_file_is_one_of_the_command_line(people, tmp_path):
    x, y = people
    pipeline = fitted("logistic", people)
    model = el.from_sklearn(pipeline, x, y)
    model.save(tmp_path / "m.json")
    declined = x[pipeline.predict(x) == "bad"].head(8)
    declined.to_csv(tmp_path / "people.csv", index=False)
    ellice("explain", tmp_path / "m.json", tmp_path / "people.csv", "--epsilon", "1%", "-o", tmp_path / "plans.json", "--quiet")
    assert el.Explainer(el.load(tmp_path / "m.json"), epsilon="1%").explain(declined).to_json() == (tmp_path / "plans.json").read_text()


CORNERED = {
    "lasso": lambda: make_pipeline(columns(StandardScaler()), LogisticRegression(l1_ratio=1, C=0.1, solver="saga", max_iter=5000)),
    "elastic net": lambda: make_pipeline(columns(StandardScaler(), OneHotEncoder(drop="first")),
                                         LogisticRegression(l1_ratio=0.4, solver="saga", max_iter=5000, class_weight="balanced")),
    "stochastic lasso": lambda: make_pipeline(columns(StandardScaler()), SGDClassifier(loss="log_loss", penalty="l1", alpha=0.01, random_state=0)),
    "stochastic elastic net": lambda: make_pipeline(
        columns(StandardScaler()), SGDClassifier(loss="log_loss", penalty="elasticnet", l1_ratio=0.3, alpha=0.01, random_state=0)),
}


@pytest.mark.parametrize("name", CORNERED)
def test_models_with_an_l1_penalty_have_the_true_set(name, people):
    x, y = people
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = CORNERED[name]().fit(x, y)
    model = el.from_sklearn(pipeline, x, y, store_rows=True)
    declined = x[pipeline.predict(x) == "bad"].head(10)
    with pytest.raises(ValueError, match="l1 penalty.*no ellipsoid.*set: true"):
        el.Explainer(model, epsilon="1%", set="last-layer")
    answers = el.Explainer(model, epsilon="1%", set="true").explain(declined)
    plans = answers.counterfactuals(like=declined)
    assert len(plans) >= 8 and (pipeline.predict(plans) == "good").all()
    assert answers.verify().holds


# Numbers as they are, of which one is a hundred thousand times another: what proofs lose is of the first order in the
# rounding of slopes, and witnesses lie where no row has a slope left.
@pytest.mark.parametrize(("seed", "c"), [(26, 10.0), (29, 10.0), (42, 0.001)])
def test_plans_with_an_l1_penalty_on_columns_as_they_are_hold(seed, c):
    rng = np.random.default_rng(seed)
    n = rng.integers(100, 400)
    x = pd.DataFrame({"income": rng.normal(5e4, 2e4, n).round(int(rng.integers(0, 3))), "age": rng.integers(18, 80, n).astype(float),
                      "debt": rng.exponential(10.0 ** rng.integers(2, 7), n)})
    score = x.income / 2e4 - x.debt / x.debt.std() + rng.normal(0, 1, n)
    y = (score > score.median()).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that end early
        estimator = LogisticRegression(l1_ratio=1, solver="saga", C=c, max_iter=2000).fit(x, y)
        model = el.from_sklearn(estimator, x, y, favourable=1)
        explainer = el.Explainer(model, set="true", epsilon="5%", data=x.assign(target=y))
    answers = explainer.explain(x[estimator.predict(x) == 0].head(6))
    assert answers.verify().failures == []


def test_the_least_objective_with_an_l1_penalty_is_that_of_scikit_learn(people):
    x, y = people
    pipeline = make_pipeline(columns(StandardScaler()), LogisticRegression(l1_ratio=1, C=0.1, solver="saga", max_iter=100000, tol=1e-9)).fit(x, y)
    fit, encoded = pipeline[-1], pipeline[0].transform(x)
    margin = np.where(y == "good", 1, -1) * (encoded @ fit.coef_[0] + fit.intercept_[0])
    objective = np.log1p(np.exp(-margin)).mean() + np.abs(fit.coef_).sum() / (0.1 * len(x))
    model = el.from_sklearn(pipeline, x, y)
    assert model.objective == pytest.approx(objective, abs=1e-8)
    assert model.objective <= objective + 1e-15


NUMBERS = ["income", "debt"]
REFUSED = {
    "calibrated": (lambda: make_pipeline(StandardScaler(), CalibratedClassifierCV(LogisticRegression())), "CalibratedClassifierCV"),
    "forest": (lambda: make_pipeline(StandardScaler(), RandomForestClassifier(5)), "RandomForestClassifier"),
    "components": (lambda: make_pipeline(StandardScaler(), PCA(2), LogisticRegression()), '"pca" is a PCA'),
    "clipped": (lambda: make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), "clips"),
    "l1 of liblinear": (lambda: make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1, solver="liblinear")), "liblinear"),
    "hinge": (lambda: make_pipeline(StandardScaler(), SGDClassifier()), "hinge"),
    "no intercept": (lambda: make_pipeline(StandardScaler(), LogisticRegression(fit_intercept=False)), "intercept"),
    "liblinear": (lambda: make_pipeline(StandardScaler(), LogisticRegression(solver="liblinear")), "liblinear"),
    "indicator": (lambda: make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()), "indicators"),
    "twice": (lambda: make_pipeline(ColumnTransformer([("a", StandardScaler(), NUMBERS), ("b", "passthrough", NUMBERS)]),
                                    LogisticRegression()), "twice"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_read_is_named(name, people):
    x, y = people
    make, words = REFUSED[name]
    pipeline = make().fit(x[NUMBERS], y)
    with pytest.raises(ValueError, match=words):
        el.from_sklearn(pipeline, x[NUMBERS], y)


def test_what_is_not_fitted_is_named(people):
    x, y = people
    with pytest.raises(ValueError, match='"logisticregression".*not fitted'):
        el.from_sklearn(PIPELINES["logistic"](), x, y)
    with pytest.raises(ValueError, match="not fitted"):
        el.from_sklearn(LogisticRegression(), x[NUMBERS], y)


def test_other_rows_than_those_of_the_fit_are_seen(people):
    x, y = people
    pipeline = fitted("logistic", people)
    with pytest.raises(ValueError, match="499"):
        el.from_sklearn(pipeline, x, y[:-1])
    with pytest.raises(ValueError, match="'maybe' is none of the classes"):
        el.from_sklearn(pipeline, x, y, favourable="maybe")
