"""Models from Python are those of the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import ellice
from sklearn.linear_model import LogisticRegression

import ellice_recourse as el


@pytest.fixture(scope="module")
def loans(folder):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"income": rng.integers(10, 90, 400) * 100.0, "age": rng.integers(18, 80, 400),
                          "job": rng.choice(["none", "part", "full"], 400)})
    score = frame.income / 3000 - 1 + (frame.job == "full") + rng.logistic(size=400)
    frame["paid"] = np.where(score > 0.7, "yes", "no")
    frame.to_csv(folder / "loans.csv", index=False)
    return frame


SCHEMA = {"target": {"column": "paid", "favourable": "yes"},
          "features": {"income": {"kind": "numeric", "min": 0, "step": 100}, "age": {"kind": "integer", "immutable": True},
                       "job": {"kind": "categorical", "levels": ["none", "part", "full"]}}}


def without_hash(text):
    file = json.loads(text)
    file["training"].pop("data_sha256")
    return file


@pytest.mark.parametrize("keywords, options", [
    ({}, []),
    ({"l2": 0.01, "store_rows": True}, ["--l2", "0.01", "--store-rows"]),
    ({"class_weight": "balanced", "holdout": 0.25, "seed": 3}, ["--class-weight", "balanced", "--holdout", "0.25", "--seed", "3"]),
    ({"model": "mlp", "hidden": [4], "epochs": 30}, ["--model", "mlp", "--hidden", "4", "--epochs", "30"]),
    ({"model": "nam", "hidden": [4, 2], "epochs": 30, "monotone": {"income": "increase"}},
     ["--model", "nam", "--hidden", "4,2", "--epochs", "30", "--monotone", "income=increase"]),
], ids=["plain", "rows", "balanced", "network", "nam"])
def test_training_gives_the_model_of_the_command_line(keywords, options, loans, folder):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    ellice("train", folder / "loans.csv", "--schema", folder / "schema.json", *options, "-o", folder / "t.json", "--quiet")
    model = el.train(loans, schema=SCHEMA, **keywords)
    assert without_hash(model.to_json()) == without_hash((folder / "t.json").read_text())


def test_probabilities_are_those_of_scikit_learn(loans):
    model = el.train(loans, schema=SCHEMA, l2=1 / 400, penalize_bias=False)
    x = pd.get_dummies(loans[["income", "age", "job"]]).astype(float)[["income", "age", "job_none", "job_part", "job_full"]]
    numbers = x[["income", "age"]]
    x[["income", "age"]] = (numbers - numbers.mean()) / numbers.std(ddof=0)
    fitted = LogisticRegression(C=1.0, tol=1e-12, max_iter=10000).fit(x, loans.paid)
    assert np.allclose(model.predict_proba(loans), fitted.predict_proba(x), atol=1e-6)
    assert model.predict(loans) == list(fitted.predict(x))


def test_drafts_are_those_of_the_command_line(loans, folder):
    ellice("schema", folder / "loans.csv", "--target", "paid", "--favourable", "yes", "-o", folder / "draft.yaml", "--quiet")
    drafted = el.train(loans, target="paid", favourable="yes")
    named = el.train(loans, schema=folder / "draft.yaml")
    assert drafted.schema == named.schema


def test_training_rows_are_recognised(loans):
    model = el.train(loans, schema=SCHEMA)
    declined = loans[np.array(model.predict(loans)) == "no"].head(5)
    answers = el.Explainer(model, epsilon="1%", set="true", data=loans).explain(declined)
    assert set(answers.status) <= {"optimal", "certified"} and answers.verify()
    with pytest.raises(ValueError, match="not the file that the model was trained on"):
        el.Explainer(model, epsilon="1%", set="true", data=loans.head(300))


def test_calibration_recommends(loans):
    model = el.train(loans, schema=SCHEMA)
    explainer = el.Explainer(model, epsilon="1%", data=loans)
    recommended, found = explainer.calibrate(threat="dropout", dropout=5, people=5, levels=3)
    assert found["format"] == "ellice.calibration"
    assert el.Explainer(recommended).epsilon > 0 and recommended.sha256 == model.sha256


WRONG = [
    ({"l2": -1}, ValueError, "l2 = -1 must be >= 0"),
    ({"l22": 1}, TypeError, 'did you mean "l2"'),
    ({"hidden": "8"}, TypeError, "hidden = '8'"),
    ({"hidden": [0]}, ValueError, "hidden = 0"),
    ({"model": "tree"}, ValueError, "model = 'tree' must be one of"),
    ({"schema": {"target": {"column": "paid", "favourable": "yes"}, "features": {"income": {"kind": "money"}}}}, ValueError, "money"),
    ({"schema": None}, TypeError, "schema"),
]


@pytest.mark.parametrize("keywords, error, words", WRONG, ids=[str(w[0])[:40] for w in WRONG])
def test_what_cannot_be_trained_is_named(keywords, error, words, loans):
    with pytest.raises(error) as caught:
        el.train(loans, **{"schema": SCHEMA, **keywords})
    assert words in str(caught.value)


def test_files_that_are_no_models_are_named(tmp_path):
    with pytest.raises(ValueError, match="nothing.json"):
        el.load(tmp_path / "nothing.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match="bad.json"):
        el.load(tmp_path / "bad.json")


def test_a_schema_of_other_features_is_refused(loans):
    model = el.train(loans, schema=SCHEMA)
    other = {**SCHEMA, "features": {"income": {"kind": "numeric"}}}
    with pytest.raises(ValueError, match="features of the model"):
        model.with_schema(other)
    with pytest.raises(TypeError, match="no constraint is called 'imutable'"):
        model.with_schema(imutable=["age"])


def test_additive_models_are_those_of_the_command_line(folder, people):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"income": rng.gamma(4, 800, 300).round(), "debt": rng.gamma(2, 900, 300).round()})
    table["answer"] = np.where(table.income / 1200 - table.debt / 1000 + rng.logistic(size=300) > 1, "yes", "no")
    table.to_csv(folder / "additive.csv", index=False)
    ellice("schema", folder / "additive.csv", "--target", "answer", "--favourable", "yes", "--bins", 4, "-o", folder / "additive.yaml", "--quiet")
    ellice("train", folder / "additive.csv", "--schema", folder / "additive.yaml", "--model", "additive", "-o", folder / "additive.json", "--quiet")
    schema = (folder / "additive.yaml").read_text()
    additive = json.loads(el.train(table, schema=schema, model="additive").to_json())
    wanted = json.loads((folder / "additive.json").read_text())
    assert additive["network"] == wanted["network"] and additive["training"]["penalty_factors"] == wanted["training"]["penalty_factors"]
    assert additive["network"] != json.loads(el.train(table, schema=schema).to_json())["network"]
    with pytest.raises(ValueError, match="model = 'additive' is for schemas with features of kind binned"):
        el.train(table, target="answer", favourable="yes", model="additive")
