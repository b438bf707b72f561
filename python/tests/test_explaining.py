"""What is asked by keywords is what the command line asks by options."""

import json
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from conftest import ellice

import ellice_recourse as el

ASKED = {
    "defaults": ({}, []),
    "share": ({"epsilon": "5%"}, ["--epsilon", "5%"]),
    "number": ({"epsilon": 0.01}, ["--epsilon", "0.01"]),
    "survival": ({"epsilon": "survival:90%"}, ["--epsilon", "survival:90%"]),
    "few changes": ({"epsilon": "1%", "max_changes": 2}, ["--epsilon", "1%", "--max-changes", "2"]),
    "plans": ({"epsilon": "1%", "plans": 3}, ["--epsilon", "1%", "--plans", "3"]),
    "sparse": ({"epsilon": "1%", "sparse": True}, ["--epsilon", "1%", "--sparse"]),
    "limits": (
        {"epsilon": "1%", "lock": ["income"], "bounds": {"debt": (None, 30000), "savings": (0, 90000)},
         "direction": {"loan_amount": "decrease"}, "horizon": "24 months"},
        ["--epsilon", "1%", "--lock", "income", "--bounds", "debt=:30000", "--bounds", "savings=0:90000",
         "--direction", "loan_amount=decrease", "--horizon", "24 months"],
    ),
    "wishes": (
        {"epsilon": "1%", "rules": ["debt <= 0.5 * income"], "weights": {"income": 4, "savings": 0.5}},
        ["--epsilon", "1%", "--rule", "debt <= 0.5 * income", "--weight", "income=4", "--weight", "savings=0.5"],
    ),
    "cost": ({"epsilon": "1%", "cost": "l1", "range": "off"}, ["--epsilon", "1%", "--cost", "l1", "--range", "off"]),
    "threshold": ({"epsilon": "1%", "threshold": "p=0.6"}, ["--epsilon", "1%", "--threshold", "p=0.6"]),
    "gradient": (
        {"epsilon": "1%", "method": "gradient", "gradient_step": 0.05, "max_steps": 300},
        ["--epsilon", "1%", "--method", "gradient", "--step", "0.05", "--max-steps", "300"],
    ),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.filterwarnings("ignore")
def test_answers_are_the_bytes_of_the_command_line(name, model, model_path, people, people_path, tmp_path):
    keywords, options = ASKED[name]
    ellice("explain", model_path, people_path, *options, "-o", tmp_path / "plans.json", "--quiet")
    answers = el.Explainer(model, **keywords).explain(people)
    assert answers.to_json() == (tmp_path / "plans.json").read_text()
    assert len(answers) > 0


def test_keywords_of_explain_stand_over_those_of_the_explainer(model, people):
    once = el.Explainer(model, epsilon="2%", lock=["income"], max_changes=3).explain(people)
    again = el.Explainer(model, epsilon="1%", max_changes=3).explain(people, epsilon="2%", lock=["income"])
    assert once.to_json() == again.to_json()
    assert all(change.feature != "income" for answer in once for change in answer.changes)


def test_immutable_stays_where_explain_locks_more(model, people):
    answers = el.Explainer(model, epsilon="1%", immutable=["income"]).explain(people, lock=["savings"])
    moved = {change.feature for answer in answers for change in answer.changes}
    assert moved and not moved & {"income", "savings"}


def test_a_step_is_part_of_the_model_that_answers(model, people, tmp_path):
    explainer = el.Explainer(model, epsilon="1%", step={"income": 5000})
    answers = explainer.explain(people)
    assert explainer.model.sha256 != model.sha256
    incomes = [a.counterfactual["income"] for a in answers if any(c.feature == "income" for c in a.changes)]
    assert incomes and all(income % 5000 == 0 for income in incomes)
    explainer.model.save(tmp_path / "m.json")
    answers.to_json(tmp_path / "plans.json")
    ellice("verify", tmp_path / "m.json", tmp_path / "plans.json")


UNKNOWN = {"max_change": "max_changes", "epsilo": "epsilon", "locked": "lock", "immutabel": "immutable", "directions": "direction"}


@pytest.mark.parametrize("wrong", UNKNOWN)
def test_an_unknown_keyword_names_the_nearest(wrong, model):
    with pytest.raises(TypeError, match=f'"{wrong}".*"{UNKNOWN[wrong]}"'):
        el.Explainer(model, **{wrong: 1})


WRONG = [
    ({"max_changes": 0}, ValueError, "max_changes = 0 must be >= 1"),
    ({"max_changes": "2"}, TypeError, "max_changes = '2' is of type str"),
    ({"max_changes": True}, TypeError, "max_changes = True"),
    ({"max_changes": 2.0}, TypeError, "max_changes = 2.0"),
    ({"max_changes": 10**30}, ValueError, "64 bits"),
    ({"plans": 2**40}, ValueError, "plans"),
    ({"sparse": 1}, TypeError, "sparse = 1"),
    ({"cost": "l3"}, ValueError, "cost = 'l3' must be one of l2, l1"),
    ({"damping": -1}, ValueError, "damping = -1 must be > 0"),
    ({"damping": float("nan")}, ValueError, "damping = nan"),
    ({"seed": -1}, ValueError, "seed = -1"),
    ({"epsilon": "a lot"}, ValueError, "a lot"),
    ({"epsilon": True}, TypeError, "epsilon = True"),
    ({"epsilon": float("inf")}, ValueError, "epsilon = inf"),
    ({"method": "magic"}, ValueError, "magic"),
    ({"lock": "income"}, TypeError, "lock = 'income'"),
    ({"lock": ["incme"]}, ValueError, "income"),
    ({"bounds": {"income": (9, 1)}}, ValueError, "income"),
    ({"bounds": [1]}, TypeError, "bounds"),
    ({"direction": {"debt": "down"}}, ValueError, "down"),
    ({"step": {"incme": 5}}, ValueError, 'did you mean "income"'),
    ({"step": 5}, TypeError, "step = 5"),
    ({"threshold": "p=2"}, ValueError, "p=2"),
]


@pytest.mark.parametrize("keywords, error, words", WRONG, ids=[str(w[0]) for w in WRONG])
def test_a_wrong_value_is_named(keywords, error, words, model):
    with pytest.raises(error) as caught:
        el.Explainer(model, **keywords)
    assert words in str(caught.value)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="expected a Model"):
        el.Explainer("m.json")


def test_numbers_of_numpy_are_numbers(model, people):
    plain = el.Explainer(model, epsilon=0.01, max_changes=3, bounds={"debt": (None, 30000)})
    numpy = el.Explainer(model, epsilon=np.float64(0.01), max_changes=np.int64(3), bounds={"debt": (None, np.float32(30000))})
    assert plain.explain(people).to_json() == numpy.explain(people).to_json()


def test_models_and_explainers_survive_pickling(model, people):
    explainer = el.Explainer(model, epsilon="1%", lock=["income"])
    again = pickle.loads(pickle.dumps(explainer))
    assert again.model == model and pickle.loads(pickle.dumps(model)).to_json() == model.to_json()
    assert again.explain(people).to_json() == explainer.explain(people).to_json()


def test_two_threads_get_the_answers_of_one(explainer, people):
    wanted = explainer.explain(people).to_json()
    got = []
    threads = [threading.Thread(target=lambda: got.append(explainer.explain(people).to_json())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [wanted, wanted]


def test_certify_agrees_with_answers(explainer, people):
    answer = explainer.explain(people)[0]
    certificate = explainer.certify(answer.counterfactual)
    assert certificate["robust_logit"] == answer.certificate["robust_logit"]
    assert explainer.certify({name: people.iloc[0][name] for name in explainer.model.features}) is None
    with pytest.raises(ValueError, match="housing"):
        explainer.certify({**answer.counterfactual, "housing": "tent"})


def test_frontier_is_that_of_the_command_line(explainer, model_path, people, people_path):
    wanted = json.loads(ellice("frontier", model_path, people_path, "--format", "json", "--quiet"))
    assert explainer.frontier(people) == wanted


def test_epsilons_are_those_of_the_command_line(model, model_path):
    wanted = json.loads(ellice("epsilon", model_path, "--format", "json", "--quiet"))
    assert el.Explainer(model, epsilon="1%").epsilons() == wanted


def test_options_are_listed_with_ranges():
    table = {one.name: one for one in el.options.explain_options()}
    assert table["max_changes"].range == ">= 1" and table["max_changes"].type == "int | None"
    assert len(table) == len(el.options.explain_options()) > 40


def test_rows_of_a_file_are_known_by_the_file(people, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 90, 200).astype(float), "z": rng.normal(size=200)})
    table["y"] = np.where(table.x / 30 + table.z + rng.logistic(size=200) > 1.5, "yes", "no")
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)  # writes 33.0, which this package writes 33
    (tmp_path / "s.yaml").write_text("target: {column: y, favourable: yes}\nfeatures: {x: {kind: numeric}, z: {kind: numeric}}\n")
    ellice("train", path, "--schema", tmp_path / "s.yaml", "-o", tmp_path / "m.json", "--quiet")
    people = table.drop(columns="y").head(5)
    people.to_csv(tmp_path / "people.csv", index=False)
    ellice("explain", tmp_path / "m.json", tmp_path / "people.csv", "--epsilon", "1%", "--set", "true", "--data", path, "-o", tmp_path / "plans.json", "--quiet")
    model = el.load(tmp_path / "m.json")
    explainer = el.Explainer(model, epsilon="1%", set="true", data=path)
    assert explainer.explain(people).to_json() == (tmp_path / "plans.json").read_text()
    assert pickle.loads(pickle.dumps(explainer)).explain(people).to_json() == (tmp_path / "plans.json").read_text()
    with pytest.raises(ValueError, match="not the file that the model was trained on"):
        el.Explainer(model, epsilon="1%", set="true", data=table)
    with pytest.raises(ValueError, match="nowhere.csv"):
        el.Explainer(model, epsilon="1%", set="true", data=str(tmp_path / "nowhere.csv"))
