"""Models that come with their rows (torch, ONNX, scorecards, additive models): plans are accepted by what decides."""

import csv
import json
import pathlib

import numpy as np
import pandas as pd
import pytest
from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ellice_recourse as el

ONNX = pathlib.Path(__file__).parents[2] / "tests" / "model" / "onnx"


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(7)
    n = 900
    frame = pd.DataFrame({"income": rng.gamma(4, 800, n).round(), "debt": rng.gamma(2, 900, n).round(),
                          "purpose": rng.choice(["car", "home", "other"], n)})
    score = frame.income / 1500 - frame.debt / 1200 + (frame.purpose == "home") - 0.4
    return frame, np.where(score + rng.logistic(size=n) > 0, "yes", "no")


# --- torch, by modules that have the same names and the same arithmetic in single precision ---


class Tensor(np.ndarray):
    """What is asked of tensors."""

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)

    def new_tensor(self, values):
        return np.asarray(values, dtype=self.dtype).view(Tensor)


def tensor(values, dtype=np.float32):
    return np.asarray(values, dtype=dtype).view(Tensor)


class Module:
    training = False

    def eval(self):
        return self


class Linear(Module):
    def __init__(self, weight, bias):
        self.weight, self.bias = tensor(weight), None if bias is None else tensor(bias)

    def __call__(self, x):
        return x @ self.weight.T + (0 if self.bias is None else self.bias)


class ReLU(Module):
    def __call__(self, x):
        return np.maximum(x, 0).view(Tensor)


class Tanh(Module):
    def __call__(self, x):
        return np.tanh(x)


class Sigmoid(Module):
    def __call__(self, x):
        return 1 / (1 + np.exp(-x))


class Softmax(Module):
    def __call__(self, x):
        return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)


class Dropout(Module):
    def __call__(self, x):
        assert not self.training
        return x


class BatchNorm1d(Module):
    def __call__(self, x):
        return 2 * x


class Sequential(Module):
    def __init__(self, *modules):
        self.modules = modules

    def named_children(self):
        return [(str(i), module) for i, module in enumerate(self.modules)]

    def __call__(self, x):
        for module in self.modules:
            x = module(x)
        return x


@pytest.fixture(scope="module")
def network(loans):
    x, y = loans
    table = ColumnTransformer([("numbers", StandardScaler(), ["income", "debt"]), ("levels", OneHotEncoder(), ["purpose"])])
    inner = MLPClassifier((6,), alpha=0.5, activation="relu", max_iter=600, random_state=1).fit(table.fit_transform(x), y)
    return table, inner


def two_outputs(weight, bias):
    """The same difference from two rows."""
    shift = np.linspace(-1, 1, weight.shape[1])
    return Linear(np.vstack([shift - weight[0], shift]), [0.25 - bias[0], 0.25])


ENDS = {
    "logit": lambda w, b: [Linear(w, b)],
    "sigmoid": lambda w, b: [Linear(w, b), Sigmoid()],
    "two logits": lambda w, b: [two_outputs(w, b)],
    "softmax": lambda w, b: [two_outputs(w, b), Softmax()],
}


@pytest.mark.parametrize("end", ENDS)
def test_plans_are_accepted_by_the_module(end, loans, network):
    x, y = loans
    table, inner = network
    (w0, w1), (b0, b1) = inner.coefs_, inner.intercepts_
    module = Sequential(Sequential(Linear(w0.T, b0), ReLU()), Dropout(), *ENDS[end](w1.T, b1))

    def scores(frame):
        out = np.asarray(module(tensor(table.transform(frame))))
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out[:, 0] - (0.5 if end == "sigmoid" else 0)

    model = el.from_torch(module, x, y, transformer=table, weight_decay=0.5 / len(x), bounds={"debt": (0, None)}, favourable="yes")
    assert json.loads(model.to_json())["deployed"]["precision"] == "float32"
    declined = x[scores(x) < 0].head(15)
    answers = el.Explainer(model, epsilon="0.5%", set="last-layer").explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) >= 12 and (scores(reached) >= 0).all() and (reached.debt >= 0).all()


def test_a_linear_module_is_a_logistic_regression(loans):
    x, y = loans
    numbers = x[["income", "debt"]]
    scaler = StandardScaler().fit(numbers)
    fit = LogisticRegression(C=1.0).fit(scaler.transform(numbers), y)
    mine = el.from_torch(Linear(fit.coef_, fit.intercept_), numbers, y, transformer=scaler, weight_decay=1 / len(x))
    assert np.allclose(mine.logits(numbers), fit.decision_function(scaler.transform(numbers)), atol=1e-2)
    assert mine.excess is not None and mine.excess < 1e-4


W = np.ones((3, 2))
REFUSED = {
    "norm": (lambda: Sequential(Linear(W, None), BatchNorm1d(), Linear(np.ones((1, 3)), [0])), '"1" is a BatchNorm1d'),
    "activation first": (lambda: Sequential(ReLU(), Linear(np.ones((1, 2)), [0])), '"0" is a ReLU'),
    "activation last": (lambda: Sequential(Linear(np.ones((1, 2)), [0]), ReLU()), "ReLU after the last Linear"),
    "three outputs": (lambda: Sequential(Linear(W, None)), "3 outputs"),
    "own module": (lambda: type("Net", (Module,), {})(), '"" is a Net'),
    "width": (lambda: Sequential(Linear(np.ones((1, 5)), [0])), "reads 5 columns, but X has 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_modules_that_do_not_fit_are_named(name, loans):
    x, y = loans
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        el.from_torch(make(), x[["income", "debt"]], y)


def test_a_module_that_trains_or_lies_is_seen(loans):
    x, y = loans
    dropping = Sequential(Dropout(), Linear(np.ones((1, 2)), [0]))
    dropping.training = True
    with pytest.raises(ValueError, match="eval()"):
        el.from_torch(dropping, x[["income", "debt"]], y)

    class Sly(Linear):
        def __call__(self, x):
            return super().__call__(x) + 1

    Sly.__name__ = "Linear"
    with pytest.raises(ValueError, match="differently"):
        el.from_torch(Sequential(Sly(np.ones((1, 2)) / 1000, [0])), x[["income", "debt"]], y)


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_half_precision_is_named(name, loans):
    x, y = loans
    linear = Linear(np.ones((1, 2)) / 1000, [0])
    setattr(linear, name, getattr(linear, name).astype(np.float16))
    with pytest.raises(ValueError, match=f'module "0": the {name} of the Linear is float16.*expected float32 or float64'):
        el.from_torch(Sequential(linear), x[["income", "debt"]], y)


def test_a_scaler_in_single_precision_counts(loans):
    x, y = loans
    numbers = x[["income", "debt"]].astype("float32")
    module = Linear(np.ones((1, 2)), [0])
    module.weight, module.bias = tensor(module.weight, np.float64), tensor(module.bias, np.float64)
    for table, expected in ((numbers, "float32"), (numbers.astype(float), "float64")):
        model = el.from_torch(module, table, y, transformer=StandardScaler().fit(table), weight_decay=0.01)
        assert json.loads(model.to_json())["deployed"].get("precision", "float64") == expected


# --- ONNX ---


@pytest.mark.parametrize("name", ["columns_18.onnx", "scaled_18.onnx", "mlp_13.onnx", "sequential_17.onnx"])
def test_onnx_scores_as_onnxruntime_does(name):
    known = json.loads((ONNX / "expected.json").read_text())[name]
    data = pd.read_csv(ONNX / "rows.csv")
    numbers = ["income", "debt", "years"]
    schema = (ONNX / ("numbers.yaml" if known["of_table"] else "all.yaml"))
    model = el.from_onnx(ONNX / name, data, schema=schema, l2=known["l2"], event="yes")
    again = el.from_onnx((ONNX / name).read_bytes(), data[numbers + ["approved"]] if known["of_table"] else data,
                         target="approved", favourable="yes", l2=known["l2"], event="yes")
    assert again.features == model.features
    deployed = json.loads(model.to_json())["deployed"]
    assert deployed["precision"] == "float32"
    assert np.allclose(model.predict_proba(data[model.features].head(40))[:, 1], known["output"], atol=1e-5)
    answers = el.Explainer(model, epsilon="0.1%", set="last-layer").explain(data[model.features].head(40))
    assert len(answers) == 40 and answers.verify()


def test_onnx_says_what_is_missing():
    data = pd.read_csv(ONNX / "rows.csv")
    with pytest.raises(TypeError, match="schema, or target and favourable"):
        el.from_onnx(ONNX / "columns_18.onnx", data, l2=0.0)
    with pytest.raises(ValueError, match="no ONNX file"):
        el.from_onnx(b"nothing", data, target="approved", favourable="yes", l2=0.0)
    with pytest.raises(ValueError, match='"Approved" is no column'):
        el.from_onnx(ONNX / "columns_18.onnx", data, target="Approved", favourable="yes", l2=0.0)
    with pytest.raises(FileNotFoundError):
        el.from_onnx(ONNX / "none.onnx", data, target="approved", favourable="yes", l2=0.0)


# --- scorecards ---

# Rounded weights of a logistic regression on these bins.
CARD = [
    {"feature": "base", "points": 476},
    {"feature": "income", "from": None, "to": 2000, "points": 0}, {"feature": "income", "from": 2000, "to": 4000, "points": 31},
    {"feature": "income", "from": 4000, "to": None, "points": 69},
    {"feature": "debt", "from": None, "to": 1000, "points": 79}, {"feature": "debt", "from": 1000, "to": 3000, "points": 54},
    {"feature": "debt", "from": 3000, "to": None, "points": 0},
    {"feature": "purpose", "level": "car", "points": 5}, {"feature": "purpose", "level": "home", "points": 20},
    {"feature": "purpose", "level": "other", "points": 0},
]
SCALE = {"pdo": 20, "score": 560, "odds": 1}


def points(row):
    """By the table, as people read it."""
    total = CARD[0]["points"]
    for line in CARD[1:]:
        value = row[line["feature"]]
        if "level" in line:
            total += line["points"] * (value == line["level"])
        elif (line["from"] is None or value >= line["from"]) and (line["to"] is None or value < line["to"]):
            total += line["points"]
    return total


@pytest.mark.parametrize("form", ["frame", "list", "file"])
def test_plans_reach_the_score(form, loans, tmp_path):
    x, y = loans
    card = pd.DataFrame(CARD) if form == "frame" else CARD
    if form == "file":
        card = tmp_path / "card.csv"
        with open(card, "w", newline="") as file:
            writer = csv.DictWriter(file, ["feature", "from", "to", "points", "level"], restval="")
            writer.writeheader()
            writer.writerows(CARD)
    model = el.from_scorecard(card, x, y, **SCALE, favourable="yes", immutable=["purpose"])
    assert model.schema["features"]["income"]["kind"] == "binned"
    declined = x[[points(row) < 560 for _, row in x.iterrows()]].head(25)
    answers = el.Explainer(model, epsilon="0").explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) >= 15 and answers.verify()
    assert all(points(row) >= 560 for _, row in reached.iterrows())
    assert (reached.purpose.to_numpy() == declined.purpose.to_numpy()[reached.index]).all()


def test_points_that_all_bins_share_are_everybodys(loans):
    x, y = loans
    moved = [{**line, "points": line["points"] + {"base": -120, "income": 100, "purpose": 20}.get(line["feature"], 0)} for line in CARD]
    here, there = (el.from_scorecard(card, x, y, **SCALE, favourable="yes") for card in (CARD, moved))
    assert here.excess == pytest.approx(there.excess, rel=1e-6) and here.excess < 0.01 * here.objective
    assert np.allclose(here.logits(x), there.logits(x), atol=1e-9)


def test_scorecards_that_do_not_fit_are_named(loans):
    x, y = loans
    with pytest.raises(TypeError, match="pdo and score"):
        el.from_scorecard(CARD, x, y, odds=1)
    with pytest.raises(ValueError, match='"shoes", which is no column'):
        el.from_scorecard([*CARD, {"feature": "shoes", "from": 1, "points": 2}], x, y, **SCALE)
    with pytest.raises(ValueError, match='column "weight"'):
        el.from_scorecard([{**CARD[0], "weight": 1}], x, y, **SCALE)
    with pytest.raises(ValueError, match="^scorecard"):
        el.from_scorecard([*CARD, CARD[1]], x, y, **SCALE)


# --- additive models ---


def boosted(**options):
    return ExplainableBoostingClassifier(**{
        "interactions": 0, "max_bins": 8, "outer_bags": 1, "n_jobs": 1, "max_rounds": 1000, "learning_rate": 0.05,
        "validation_size": 0, "early_stopping_rounds": 0, "random_state": 0, **options})


@pytest.mark.parametrize("wanted", ["yes", "no"])
def test_plans_are_accepted_by_the_boosted_model(wanted, loans):
    x, y = loans
    ebm = boosted().fit(x, y)
    model = el.from_ebm(ebm, x, y, favourable=wanted, bounds={"debt": (0, None)})
    own = np.log(ebm.predict_proba(x)[:, 1] / ebm.predict_proba(x)[:, 0]) * (1 if wanted == "yes" else -1)
    assert model.excess < 1e-3 and np.corrcoef(model.logits(x), own)[0, 1] > 0.99
    others = x[ebm.predict(x) != wanted].head(20)
    answers = el.Explainer(model, epsilon="1%").explain(others)
    reached = answers.counterfactuals(like=others)
    assert len(reached) >= 15 and (ebm.predict(reached) == wanted).all() and answers.verify()


def test_interactions_and_too_many_bins_are_refused(loans):
    x, y = loans
    with pytest.raises(ValueError, match="1 of its terms are interactions, the first of .* and .*interactions=0"):
        el.from_ebm(boosted(interactions=1, max_rounds=20).fit(x, y), x, y)
    with pytest.raises(ValueError, match="not fitted"):
        el.from_ebm(boosted(), x, y)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(900, 4)), columns=list("abcd"))
    with pytest.raises(ValueError, match="max_bins=32"):
        el.from_ebm(boosted(max_bins=1024, max_rounds=2).fit(wide, y), wide, y)


def test_onnx_without_labels_is_not_turned_in_silence():
    data = pd.read_csv(ONNX / "rows.csv")
    table = data[["income", "debt", "years"]].assign(approved=(data.approved == "yes").astype(int))
    known = {"target": "approved", "l2": json.loads((ONNX / "expected_torch.json").read_text())["torch_relu_18.onnx"]["l2"]}
    right = el.from_onnx(ONNX / "torch_relu_18.onnx", table, favourable=1, **known)
    with pytest.raises(ValueError, match='worse than a coin.*a large score speaks for "0"; say by event= for which label'):
        el.from_onnx(ONNX / "torch_relu_18.onnx", table, favourable=0, **known)
    turned = el.from_onnx(ONNX / "torch_relu_18.onnx", table, favourable=0, event=1, **known)
    assert np.allclose(turned.logits(table), -right.logits(table), atol=1e-9)
    with pytest.warns(UserWarning, match="worse than a coin.*are event, l2 and the columns what they should be"):
        el.from_onnx(ONNX / "torch_relu_18.onnx", table, favourable=0, event=0, **known)
