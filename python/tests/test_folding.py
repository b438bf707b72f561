"""What transformers make of a column is read to the letter, or refused by step, column and what was expected."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import ellice_recourse as el

N = 600
RNG = np.random.default_rng(5)
X = pd.DataFrame({
    "income": RNG.gamma(4, 10, N).round(2), "months": RNG.integers(0, 60, N).astype(float), "children": RNG.integers(0, 7, N),
    "owner": RNG.random(N) < 0.5, "purpose": RNG.choice(["car", "home", "other"], N)})
SCORE = (X.income - 40) / 15 + (X.months - 30) / 20 - (X.children - 3) / 1.5 + X.owner + (X.purpose == "home") - 0.6
Y = (SCORE + RNG.logistic(size=N) > 0).astype(int).to_numpy()
NUMBERS = ["income", "months"]


def behind(*parts, **more):
    return make_pipeline(ColumnTransformer(list(parts), **more), LogisticRegression())


# --- parameters ---


class LaterScaler(StandardScaler):
    """A scaler of a version that does not exist yet."""

    __module__ = "sklearn.preprocessing"

    def __init__(self, with_mean=True, bend=None):
        super().__init__(with_mean=with_mean)
        self.bend = bend


LaterScaler.__name__ = "StandardScaler"


class LaterRegression(LogisticRegression):
    __module__ = "sklearn.linear_model"

    def __init__(self, C=1.0, rejects=0.0):
        super().__init__(C=C)
        self.rejects = rejects


LaterRegression.__name__ = "LogisticRegression"

REFUSED = {
    "another mark of what is missing": (lambda: make_pipeline(SimpleImputer(missing_values=0.0), LogisticRegression()),
                                        '"simpleimputer".*missing_values = 0.0.*expected NaN or None'),
    "clipped": (lambda: make_pipeline(MaxAbsScaler(clip=True), LogisticRegression()), '"maxabsscaler" is a MaxAbsScaler that clips'),
    "clipped between": (lambda: make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), "MinMaxScaler that clips"),
    "bins of rounded numbers": (lambda: make_pipeline(KBinsDiscretizer(3, dtype=np.float32, quantile_method="averaged_inverted_cdf"),
                                                      LogisticRegression()), "KBinsDiscretizer that rounds"),
    "a later parameter": (lambda: make_pipeline(LaterScaler(bend=2), LogisticRegression()),
                          '"standardscaler".*bend = 2: what that changes is not known here, where bend is expected to be None'),
    "a later parameter of a classifier": (lambda: make_pipeline(StandardScaler(), LaterRegression(rejects=0.1)), "rejects = 0.1"),
    "a threshold": (lambda: make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.8)), "FixedThresholdClassifier"),
    "a threshold before": (lambda: FixedThresholdClassifier(make_pipeline(StandardScaler(), LogisticRegression()), threshold=0.8),
                           "FixedThresholdClassifier"),
    "a tuned threshold": (lambda: TunedThresholdClassifierCV(LogisticRegression()), "TunedThresholdClassifierCV"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_that_change_what_becomes_of_a_row_are_named(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        el.from_sklearn(make().fit(X[NUMBERS], Y), X[NUMBERS], Y)


def test_parameters_as_they_are_by_default_will_do():
    pipeline = make_pipeline(LaterScaler(with_mean=False), LaterRegression(C=2.0)).fit(X[NUMBERS], Y)
    assert np.allclose(el.from_sklearn(pipeline, X[NUMBERS], Y).logits(X[NUMBERS]), pipeline.decision_function(X[NUMBERS]), atol=1e-3)


class Cautious(Pipeline):
    """Decides otherwise than by the sign of its score."""

    __module__ = "sklearn.pipeline"

    def predict(self, table):
        return (self.decision_function(table) > 1).astype(int)


Cautious.__name__ = "Pipeline"


def test_what_decides_otherwise_than_by_its_score_is_refused():
    pipeline = Cautious([("scaler", StandardScaler()), ("fit", LogisticRegression())]).fit(X[NUMBERS], Y)
    with pytest.raises(ValueError, match=r"predict of the Pipeline says 0 of row \d+ of X, whose score 0\.\d+ speaks for 1"):
        el.from_sklearn(pipeline, X[NUMBERS], Y)


# --- bins of whole numbers, and columns that are read twice or hold what nobody knows ---

BINS = {"strategy": "uniform"}


@pytest.mark.parametrize("encode", ["onehot", "ordinal"])
def test_bins_keep_whole_numbers_and_booleans(encode):
    pipeline = behind(("bins", KBinsDiscretizer(4, encode=encode, **BINS), ["children", "owner"]), ("n", StandardScaler(), ["income"])).fit(X, Y)
    model = el.from_sklearn(pipeline, X, Y, immutable=["income"])
    declined = X[pipeline.predict(X) == 0].head(80)
    reached = el.Explainer(model, epsilon="0.2%").explain(declined).counterfactuals(like=declined)
    assert len(reached) > 30 and pipeline.predict(reached).all()
    assert reached.children.dtype == "int64" and reached.owner.dtype == "bool" and (reached.owner.to_numpy() != declined.owner.to_numpy()[reached.index]).any()
    assert model.schema["features"]["children"]["step"] == 1
    assert [model.schema["features"]["owner"][key] for key in ("step", "min", "max")] == [1, 0, 1]


def test_a_transformer_of_weight_0_is_named():
    pipeline = behind(("n", StandardScaler(), NUMBERS), ("c", OneHotEncoder(), ["purpose"]), transformer_weights={"c": 0}).fit(X, Y)
    with pytest.raises(ValueError, match=r'"columntransformer": transformer_weights\["c"\] = 0.*column "purpose".*"drop"'):
        el.from_sklearn(pipeline, X, Y)


@pytest.mark.parametrize("encoder", [KBinsDiscretizer(3, **BINS), OneHotEncoder()])
def test_a_column_that_is_encoded_and_a_number_is_named(encoder):
    pipeline = behind(("n", StandardScaler(), ["income", "children"]), ("e", encoder, ["children"])).fit(X, Y)
    with pytest.raises(ValueError, match='"children" twice, (in bins|by its levels).*"columntransformer.e".*as a number'):
        el.from_sklearn(pipeline, X, Y)


@pytest.mark.parametrize("encoder", [OrdinalEncoder(categories=[["car", "home"]], handle_unknown="use_encoded_value", unknown_value=-1),
                                     OneHotEncoder(categories=[["car", "home"]], handle_unknown="ignore")])
def test_a_level_that_no_encoder_knows_is_named(encoder):
    pipeline = behind(("n", StandardScaler(), ["income"]), ("e", encoder, ["purpose"])).fit(X, Y)
    with pytest.raises(ValueError, match=r'row \d+, column "purpose": the level "other" is none of those that step "columntransformer.e" knows, car, home'):
        el.from_sklearn(pipeline, X, Y)


# --- the objective that a fit had: without early stopping hardly anything is left to gain ---


@pytest.mark.parametrize("options", [{}, {"batch_size": 70}, {"solver": "sgd", "learning_rate": "adaptive", "learning_rate_init": 0.05},
                                     {"solver": "lbfgs"}])
@pytest.mark.filterwarnings("ignore")
def test_the_penalty_of_a_network_is_that_of_its_batches(options):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(450, 3)), columns=list("abc"))
    labels = (table.a + table.b * table.c + np.random.default_rng(1).logistic(size=450) * 0.3 > 0).astype(int)
    network = MLPClassifier((4,), activation="tanh", alpha=4.0, max_iter=1500, tol=1e-9, n_iter_no_change=150, random_state=0, **options).fit(table, labels)
    hidden = np.tanh(table.to_numpy() @ network.coefs_[0] + network.intercepts_[0])
    gradient = hidden.T @ (network.predict_proba(table)[:, 1] - labels) / len(table)
    head = network.coefs_[1][:, 0]
    penalty = json.loads(el.from_sklearn(network, table, labels).to_json())["training"]["l2"]
    assert penalty == pytest.approx(-(gradient @ head) / (head @ head), rel=0.03)


@pytest.mark.parametrize("weight", [0.05, 1.0, 5.0])
def test_the_penalty_of_stochastic_descent_counts_rows(weight):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(800, 3)), columns=list("abc"))
    labels = (table.sum(axis=1) + np.random.default_rng(1).logistic(size=800) > 0).astype(int)
    weights = np.full(800, weight)
    fit = SGDClassifier(loss="log_loss", alpha=0.05, max_iter=3000, tol=1e-9, random_state=0, average=True).fit(table, labels, sample_weight=weights)
    model = el.from_sklearn(fit, table, labels, sample_weight=weights)
    assert json.loads(model.to_json())["training"]["l2"] == pytest.approx(0.05 / weight)
    assert model.excess < 1e-3 * model.objective


# --- precision ---

SINGLE = {
    "behind a scaler": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "alone": lambda: RidgeClassifier(),
    "in part": lambda: behind(("n", StandardScaler(), NUMBERS), ("c", OneHotEncoder(), ["children"])),
    "by its encoder": lambda: behind(("c", OneHotEncoder(dtype=np.float32), ["children", "purpose"])),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_is_said(name):
    table = X.astype({"income": "float32", "months": "float32"}) if name != "by its encoder" else X
    table = table if name in ("in part", "by its encoder") else table[NUMBERS]
    fit = SINGLE[name]().fit(table, Y)
    model = el.from_sklearn(fit, table, Y)
    assert json.loads(model.to_json())["deployed"]["precision"] == "float32"
    declined = table[fit.predict(table) == 0].head(30)
    reached = el.Explainer(model, epsilon="0.1%").explain(declined).counterfactuals(like=declined)
    assert len(reached) > 20 and fit.predict(reached).all()
    if name == "behind a scaler":
        assert json.loads(el.from_sklearn(fit, table.astype(float), Y).to_json())["deployed"].get("precision", "float64") == "float64"


def test_single_precision_of_one_hot_columns_is_said():
    table = pd.get_dummies(X[["income", "purpose"]], dtype="float32")
    columns = [name for name in table if name != "income"]
    fit = behind(("n", StandardScaler(), ["income"]), ("c", MinMaxScaler(), columns)).fit(table, Y)
    model = el.from_sklearn(fit, table, Y, one_hot={"purpose": columns})
    assert json.loads(model.to_json())["deployed"]["precision"] == "float32"


def test_half_precision_and_chains_in_single_precision_are_named():
    half, single = X[NUMBERS].astype("float16"), X[NUMBERS].astype("float32")
    with pytest.raises(ValueError, match='"income" is in half precision'):
        el.from_sklearn(make_pipeline(StandardScaler(), LogisticRegression()).fit(half, Y), half, Y)
    with pytest.raises(ValueError, match='"income" is in single precision.*scaled 2 times'):
        el.from_sklearn(make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression()).fit(single, Y), single, Y)


# --- weights of classes and scores of both labels ---


@pytest.mark.parametrize(("keys", "labels"), [((False, True), int), ((0, 1), bool), ((0.0, 1.0), int), ((np.int64(0), np.int64(1)), float)])
def test_class_weights_are_found_as_scikit_learn_finds_them(keys, labels):
    def fitted(y, weights):
        pipeline = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights, tol=1e-10, max_iter=1000)).fit(X[NUMBERS], y)
        return el.from_sklearn(pipeline, X[NUMBERS], y)

    model = fitted(Y.astype(labels), dict(zip(keys, (3.0, 1.0), strict=True)))
    assert model.excess < 1e-12 and np.isclose(model.objective, fitted(Y, {0: 3.0, 1: 1.0}).objective, rtol=1e-12)


def test_a_class_without_weight_is_named():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(class_weight={0: 0.0})).fit(X[NUMBERS], Y)
    with pytest.raises(ValueError, match="class_weight gives the label 0 the weight 0; expected numbers > 0"):
        el.from_sklearn(pipeline, X[NUMBERS], Y)


class EarlierRegression(LogisticRegression):
    """As before version 1.8: two labels may have a score each, and decision_function is half of the logit."""

    __module__ = "sklearn.linear_model"

    def __init__(self, C=1.0, multi_class="auto"):
        super().__init__(C=C)
        self.multi_class = multi_class


EarlierRegression.__name__ = "LogisticRegression"


def test_a_score_for_each_of_two_labels_is_refused():
    for kind in ("auto", "deprecated", "ovr"):
        el.from_sklearn(EarlierRegression(multi_class=kind).fit(X[NUMBERS], Y), X[NUMBERS], Y)
    with pytest.raises(ValueError, match='"LogisticRegression" was fitted with multi_class="multinomial".*fit without multi_class'):
        el.from_sklearn(EarlierRegression(multi_class="multinomial").fit(X[NUMBERS], Y), X[NUMBERS], Y)


@pytest.mark.parametrize("more", [{"remainder": StandardScaler()}, {"remainder": OneHotEncoder()}])
def test_steps_without_columns_are_passed_over(more):
    pipeline = behind(("n", StandardScaler(), NUMBERS), ("none", SimpleImputer(), []), **more).fit(X[NUMBERS], Y)
    assert np.allclose(el.from_sklearn(pipeline, X[NUMBERS], Y).logits(X[NUMBERS]), pipeline.decision_function(X[NUMBERS]), atol=1e-3)


@pytest.mark.parametrize("encode", ["onehot", "ordinal"])
def test_a_single_bin_is_named(encode):
    table = X[NUMBERS].assign(rare=(np.arange(N) % 50 == 0).astype(int))
    bins = KBinsDiscretizer(4, encode=encode, strategy="quantile", quantile_method="averaged_inverted_cdf")
    pipeline = behind(("n", StandardScaler(), NUMBERS), ("bins", bins, ["rare"])).fit(table, Y)
    with pytest.raises(ValueError, match='step "columntransformer.bins" has one bin alone for column "rare"'):
        el.from_sklearn(pipeline, table, Y)
