"""Cards with codes, whole numbers and labels that are numbers: what is read of them scores as they do."""

import numpy as np
import pandas as pd
import pytest
from interpret.glassbox import ExplainableBoostingClassifier

import ellice_recourse as el

N = 1500
RNG = np.random.default_rng(3)
X = pd.DataFrame({
    "risk": np.where(RNG.random(N) < 0.05, -9.0, RNG.integers(30, 100, N)), "saving": RNG.integers(0, 50, N),
    "job": RNG.choice(["a", "b", "c"], N), "owner": RNG.random(N) < 0.5})
SCORE = np.where(X.risk == -9, -2.0, (65 - X.risk) / 12) + (X.saving - 25) / 12 + (X.job == "a") * 0.8
Y = (SCORE + RNG.logistic(size=N) > 0).astype(int).to_numpy()
X.loc[X.index[:4], "risk"] = -8.0

# --- optbinning, by an object with the same names: a table, its bins, and scores that read the table by place ---


class Binned:
    def __init__(self, dtype, bins, special):
        self.dtype, self.bins, self.special_codes = dtype, bins, special
        self.splits = np.array(bins) if dtype == "numerical" else None

    def places(self, values):
        """The row of the table of each cell, as optbinning has them: bins, codes, empty cells."""
        values = np.asarray(values)
        if self.dtype == "numerical":
            places, count = np.searchsorted(self.bins, values.astype(float), side="right"), len(self.bins) + 1
        else:
            places, count = np.array([next((k for k, own in enumerate(self.bins) if v in own), -1) for v in values]), len(self.bins)
        special = self.special_codes if isinstance(self.special_codes, dict) else {"Special": self.special_codes or []}
        for k, codes in enumerate(special.values()):
            places[np.isin(values, codes)] = count + k
        return places


class Card:
    rounding, intercept_, reverse_scorecard = False, 0.0, False

    def __init__(self, special, named="job", slip=0.0, base=-0.4):
        codes = special if not isinstance(special, dict) else special.get("risk", special)
        self.features = {
            "risk": (Binned("numerical", [50.5, 65.0, 80.0], codes), [1.2, 0.6, -0.4, -1.4]),
            "saving": (Binned("numerical", [15.5, 33.5], None), [-1.0, 0.0, 1.1]),
            named: (Binned("categorical", [np.array(["a"], dtype=object), np.array(["b", "c"], dtype=object)], None), [0.6, -0.1]),
        }
        self.special_points = {"no record": -2.1, "refused": -1.7, None: -2.1}
        self.slip, self.scaling_method = slip, None
        self.estimator_ = type("Estimator", (), {"intercept_": np.array([base])})()
        self.binning_process_ = type("Process", (), {"get_binned_variable": lambda _, name: self.features[name][0]})()

    def table(self, style):
        assert style == "detailed"
        rows = []
        for name, (binned, points) in self.features.items():
            bins = binned.bins if binned.dtype == "categorical" else [f"bin {k}" for k in range(len(points))]
            special = binned.special_codes if isinstance(binned.special_codes, dict) else {"Special": binned.special_codes}
            own = [self.special_points.get(text, -2.1) if codes else 0.0 for text, codes in special.items()]
            rows += [{"Variable": name, "Bin": b, "Points": p} for b, p in zip([*bins, *special, "Missing"], [*points, *own, 0.0], strict=True)]
        return pd.DataFrame(rows)

    def score(self, table):
        whole = self.table("detailed")
        points = {name: whole.Points[whole.Variable == name].to_numpy() for name in self.features}
        return sum(points[name][binned.places(table[name])] for name, (binned, _) in self.features.items()) + self.slip

    def decision_function(self, table):
        return self.score(table) + self.estimator_.intercept_[0]

    def predict(self, table):
        return (self.decision_function(table) >= 0).astype(int)


class Scaled(Card):
    """With points as optbinning scales them: a reversed card turns all around but the intercept."""

    scaling_method_params = {"pdo": 20.0, "odds": 4.0, "scorecard_points": 500.0}

    def __init__(self, is_reversed):
        super().__init__([-9.0, -8.0])
        self.scaling_method, self.reverse_scorecard = "pdo_odds", is_reversed

    def table(self, style):
        plain, factor = super().table(style), 20 / np.log(2)
        shift = (500 - factor * np.log(4) - factor * self.estimator_.intercept_[0]) / 3
        return plain.assign(Points=(factor if self.reverse_scorecard else -factor) * plain.Points + shift)

    def decision_function(self, table):
        plain = Card([-9.0, -8.0])
        return plain.decision_function(table)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_scaled_cards_of_optbinning_speak_for_the_label_that_they_mean(is_reversed):
    card = Scaled(is_reversed)
    model = el.from_scorecard(card, X, Y)
    assert model.classes[1] == ("1" if is_reversed else "0")
    assert list(model.predict(X[model.features])) == [str(label) for label in card.predict(X)]


SPECIAL = {"a list": [-9.0, -8.0], "names": {"no record": [-9.0], "refused": -8.0}}


@pytest.mark.parametrize("name", SPECIAL)
def test_codes_of_optbinning_have_their_own_points(name):
    card = Card(SPECIAL[name])
    model = el.from_scorecard(card, X, Y, immutable=["job"])
    assert list(model.schema["features"]["risk"]["special"]) == ["-9", "-8"]
    assert np.allclose(model.predict(X[model.features]) == np.array("1"), card.predict(X) == 1)
    coded = X[X.risk < 0]
    declined = pd.concat([coded[card.predict(coded) == 0].head(30), X[(X.risk > 0) & (card.predict(X) == 0)].head(30)])
    answers = el.Explainer(model, epsilon="0.01%").explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) >= 30 and card.predict(reached).all() and "already_robust" not in answers.status.value_counts()
    own = declined.risk.to_numpy()[reached.index]
    assert (reached.risk.to_numpy()[own < 0] == own[own < 0]).all() and (reached.risk.to_numpy()[own > 0] > 0).all()


def test_a_code_that_nobody_has_keeps_its_points():
    card = Card([-9.0, -8.0, -7.0])
    person = X.head(1).assign(risk=-7.0)
    model = el.from_scorecard(card, X, Y)
    assert list(model.predict(person[model.features])) == [str(label) for label in card.predict(person)]


def test_codes_of_a_category_are_levels_that_no_plan_has():
    table = X.assign(job=np.where(RNG.random(N) < 0.1, "?", X.job))
    card = Card([-9.0, -8.0])
    card.features["job"][0].special_codes = ["?"]
    model = el.from_scorecard(card, table, Y)
    assert model.schema["features"]["job"]["allowed"] == ["a", "b", "c"]
    card.features["job"][0].places = lambda values: np.where(np.asarray(values) == "?", 0, Binned.places(card.features["job"][0], values))
    with pytest.raises(ValueError, match=r"row \(.*job = \?\)"):
        el.from_scorecard(card, table[table.job != "?"], Y[table.job != "?"])
    del card.features["job"][0].places
    assert np.array_equal(model.predict(table[model.features]) == np.array("1"), card.predict(table) == 1)


def test_a_card_that_scores_otherwise_is_refused():
    with pytest.raises(ValueError, match=r"the scorecard's score of a row \(risk = .*job = .*\) is .* gives"):
        el.from_scorecard(Card(None, slip=0.01), X, Y)
    card = Card([-9.0])
    card.table = lambda style, own=card.table: own(style)[lambda rows: rows.Bin.astype(str) != "Special"]
    with pytest.raises(ValueError, match='5 rows of "risk"; expected 4 bins, 1 for special codes and one for empty cells'):
        el.from_scorecard(card, X, Y)
    with pytest.raises(ValueError, match="code 'none' of \"risk\", a number"):
        el.from_scorecard(Card(["none"]), X, Y)
    with pytest.raises(TypeError, match="X is of type ndarray; expected the frame"):
        el.from_scorecard(Card(None), X.to_numpy(), Y)


# --- tables ---

SCALE = {"pdo": 20 * np.log(2), "score": 0, "odds": 1}
LINES = [{"feature": "saving", "to": 25, "points": -20}, {"feature": "saving", "from": 25, "points": 20},
         *({"feature": "job", "level": level, "points": points} for level, points in (("a", 12), ("b", 0), ("c", 0)))]


@pytest.mark.parametrize("labels", [(2, 10), ("2", "10"), (-1, 1), (False, True)])
def test_labels_that_are_numbers_are_in_their_order(labels):
    model = el.from_scorecard(LINES, X[["saving", "job"]], np.array(labels)[Y], **SCALE)
    assert model.classes == [str(label) for label in labels] and model.excess < 0.1


def test_rows_for_empty_cells_are_no_level():
    card = [*LINES, {"feature": "saving", "level": "missing", "points": 3}, {"feature": "job", "level": "Missing", "points": 1}]
    assert el.from_scorecard(card, X[["saving", "job"]], Y, **SCALE).schema["features"]["job"]["levels"] == ["a", "b", "c"]
    table = X[["saving", "job"]].replace("a", "missing")
    card = [{**line, "level": "missing"} if line.get("level") == "a" else line for line in LINES]
    assert "missing" in el.from_scorecard(card, table, Y, **SCALE).schema["features"]["job"]["levels"]


def test_levels_that_are_numbers_are_spelled_as_the_rows_do():
    table = pd.DataFrame({"grade": RNG.integers(1, 4, N), "saving": X.saving})
    card = pd.DataFrame({"feature": ["grade"] * 3 + ["saving"] * 2, "level": [1, 2, 3, None, None], "from": [None] * 4 + [25],
                         "to": [None] * 3 + [25, None], "points": [-20, 0, 20, -20, 20]})
    assert el.from_scorecard(card, table, Y, **SCALE).schema["features"]["grade"]["levels"] == ["1", "2", "3"]


# --- additive models ---


@pytest.mark.parametrize("kind", ["continuous", "nominal"])
def test_booleans_of_additive_models_stay_booleans(kind):
    table = X[["saving", "owner"]]
    labels = ((X.saving - 25) / 12 + 1.5 * X.owner + np.random.default_rng(0).logistic(size=N) > 0.7).astype(int)
    ebm = ExplainableBoostingClassifier(interactions=0, max_bins=8, outer_bags=1, n_jobs=1, max_rounds=300, validation_size=0,
                                        early_stopping_rounds=0, feature_types=["continuous", kind], random_state=0).fit(table, labels)
    declined = table[(ebm.predict(table) == 0) & ~table.owner].head(40)
    reached = el.Explainer(el.from_ebm(ebm, table, labels), epsilon="0.05%", immutable=["saving"]).explain(declined).counterfactuals(like=declined)
    assert len(reached) > 10 and reached.owner.dtype == "bool" and reached.owner.all() and ebm.predict(reached).all()


def test_an_additive_model_that_scores_otherwise_is_refused():
    table = X[["risk", "saving"]]
    ebm = ExplainableBoostingClassifier(interactions=0, max_bins=8, outer_bags=1, n_jobs=1, max_rounds=20, random_state=0).fit(table, Y)
    own = ebm.decision_function
    ebm.decision_function = lambda rows: own(rows) + 0.5
    with pytest.raises(ValueError, match="the ExplainableBoostingClassifier's score of a row"):
        el.from_ebm(ebm, table, Y)
    ebm.decision_function, ebm.link_ = own, "identity"
    with pytest.raises(ValueError, match='link "identity"'):
        el.from_ebm(ebm, table, Y)


@pytest.mark.parametrize("labels", [(0.0, 1.0), (False, True), ("no", "yes"), (-1, 1)])
def test_boosted_models_know_labels_of_every_type(labels):
    table, y = X[["risk", "saving"]], np.where(Y == 1, labels[1], labels[0])
    ebm = ExplainableBoostingClassifier(interactions=0, max_bins=8, outer_bags=1, n_jobs=1, max_rounds=20, random_state=0).fit(table, y)
    model = el.from_ebm(ebm, table, y)
    assert np.allclose(model.logits(table), ebm.decision_function(table), atol=1e-9)
    assert np.allclose(el.from_ebm(ebm, table, y, favourable=labels[0]).logits(table), -ebm.decision_function(table), atol=1e-9)
