"""Answers as tables, records, letters and cards say the same."""

import html.parser
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ellice

import ellice_recourse as el


@pytest.fixture(scope="module")
def answers(explainer, people):
    return explainer.explain(people.head(16), plans=2)


def test_the_table_says_what_records_say(answers):
    table = answers.to_pandas()
    assert len(table) == len(answers) > 16
    records = json.loads(answers.to_json())["results"]
    for (_, row), record in zip(table.iterrows(), records, strict=True):
        assert (row["query"], row["plan"], row["status"]) == (record["query_index"], record["plan"], record["status"])
        for name, value in record["counterfactual"].items():
            assert row[name] == value
        assert row["cost"] == record["distance"]["weighted"]


def test_only_changes_shows_changes_alone(answers):
    table = answers.to_pandas(only_changes=True)
    moved = set()
    for (_, row), answer in zip(table.iterrows(), answers, strict=True):
        changes = {change.feature: change.after for change in answer.changes}
        moved |= set(changes)
        for name in answers.explainer.model.features:
            if name in changes:
                assert row[name] == changes[name]
            else:
                assert name not in table or pd.isna(row[name])
    assert moved == set(table.columns) & set(answers.explainer.model.features)
    assert "age" not in table


@pytest.mark.parametrize("only_changes", [False, True])
def test_polars_and_arrow_have_the_same_cells(answers, only_changes):
    wanted = answers.to_pandas(only_changes)
    polars = answers.to_polars(only_changes)
    assert polars.columns == list(wanted.columns)
    for name in polars.columns:
        left = [None if pd.isna(value) else value for value in wanted[name]]
        assert polars[name].to_list() == left
    if not only_changes:
        arrow = pa.table(answers)
        assert arrow.to_pylist() == polars.to_dicts()
        assert arrow["status"].null_count == 0 and arrow["message"].null_count == len(answers)


def test_a_stream_outlives_what_gave_it(explainer, people):
    tables = [pa.table(explainer.explain(people)) for _ in range(3)]
    assert tables[0].equals(tables[2]) and tables[0].num_rows == 60
    pl.DataFrame(explainer.explain(people)).select("income").sum()


def test_statuses_count(answers):
    assert answers.status.value_counts().sum() == len(answers)
    assert set(answers.status) <= {"optimal", "certified", "not_found", "infeasible"}
    counts = el._answers.StatusList(["a", "b", "b"]).value_counts()
    assert counts == {"b": 2, "a": 1}


def test_answers_are_indexed_like_lists(answers):
    assert answers[-1].to_dict() == answers[len(answers) - 1].to_dict()
    assert len(answers[2:5]) == 3
    with pytest.raises(IndexError, match="no answer 100000"):
        answers[100000]


def test_verify_believes_nothing(explainer, people, model, tmp_path):
    answers = explainer.explain(people.head(4))
    assert answers.verify() and answers.verify().checked == len(answers)
    forged = json.loads(answers.to_json())
    forged["results"][0]["certificate"]["robust_logit"] += 0.25
    verdict = el.verify(model, json.dumps(forged))
    assert not verdict and any("row 0" in failure for failure in verdict.failures)
    path = tmp_path / "plans.json"
    answers.to_json(path)
    assert el.verify(model, path).holds
    ellice("verify", _saved(model, tmp_path), path)


def _saved(model, folder):
    model.save(folder / "m.json")
    return folder / "m.json"


def test_identifiers_are_echoed(explainer, people):
    named = people.assign(name=[f"person {i}" for i in range(len(people))])
    answers = explainer.explain(named, id="name")
    assert list(answers.to_pandas()["id"]) == list(named["name"])


def test_names_of_columns_give_way_to_features():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"status": rng.normal(size=200), "plan": rng.normal(size=200)})
    frame["y"] = np.where(frame.status + frame.plan + rng.normal(size=200) > 0, "yes", "no")
    model = el.train(frame, schema={"target": {"column": "y", "favourable": "yes"},
                                    "features": {"status": {"kind": "numeric"}, "plan": {"kind": "numeric"}}})
    table = el.Explainer(model, epsilon="1%").explain(frame.head(3)).to_pandas()
    assert {"_status", "_plan", "status", "plan"} <= set(table.columns)
    assert table["status"].dtype.kind == "f"


def test_letters_are_those_of_the_command_line(explainer, model_path, people, tmp_path):
    named = people.assign(name=[f"Person {i}" for i in range(len(people))])
    named.to_csv(tmp_path / "people.csv", index=False)
    ellice("explain", model_path, tmp_path / "people.csv", "--epsilon", "1%", "--nearest", "--id", "name", "--letters",
           tmp_path / "letters", "--lender", "Bank", "--date", "2026-05-31", "--language", "de", "--quiet")
    letters = explainer.explain(named, id="name", display=True).letters(lender="Bank", date="2026-05-31", language="de")
    written = {path.name: path.read_text() for path in (tmp_path / "letters").glob("*.html")}
    assert letters == written and len(letters) > 50


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += data


def test_cards_have_no_scripts_and_escape_everything():
    evil = "<script>alert(1)</script>&\"'"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({evil: rng.normal(size=200), "level": rng.choice(["<b>a", "b&c"], size=200)})
    frame["y"] = np.where(frame[evil] + (frame.level == "b&c") + rng.normal(size=200) > 1, "yes", "no")
    schema = {"target": {"column": "y", "favourable": "yes"},
              "features": {evil: {"kind": "numeric"}, "level": {"kind": "categorical", "levels": ["<b>a", "b&c"]}}}
    answers = el.Explainer(el.train(frame, schema=schema), epsilon="1%").explain(frame.drop(columns="y"))
    reader = Reader()
    reader.feed(answers._repr_html_())
    assert set(reader.tags) <= {"div", "b", "table", "tbody", "tr", "td", "p"}
    assert set(reader.attributes) <= {"style", "class"}
    assert evil in reader.text and f"and {len(answers) - 20} more" in reader.text


def test_cards_show_every_change(answers):
    for answer in answers[:10]:
        reader = Reader()
        reader.feed(answer._repr_html_())
        assert answer.changes
        assert all(change.feature in reader.text for change in answer.changes)


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.gamma(4, 800, 400).astype(int), "debt": rng.gamma(2, 900, 400).astype(int)})
    frame["paid"] = np.where(frame.income / 1000 - frame.debt / 900 + rng.logistic(size=400) > 0.8, "yes", "no")
    return frame


QUICK = {"bootstrap_models": 20, "dropout_models": 20, "awp_models": 20, "retrain_models": 2}


def test_answers_are_evaluated_as_the_command_line_does(labelled, tmp_path):
    model = el.train(labelled, target="paid", favourable="yes")
    people = labelled.drop(columns="paid").head(40)
    robust = el.Explainer(model, data=labelled, epsilon="5%").explain(people)
    plain = el.Explainer(model, data=labelled, epsilon="0").explain(people)
    verdict = robust.evaluate(evaluators=["bootstrap", "awp", "ellipsoid"], against=plain, **QUICK)
    by_name = {one["name"]: one for one in verdict["evaluators"]}
    assert by_name["ellipsoid"]["robustness"] == 1.0
    assert by_name["bootstrap"]["robustness"] > 0.8
    assert any(one["name"] == "bootstrap" and one["difference"]["mean"] > 0.2 for one in verdict["comparison"]), verdict["comparison"]
    model.save(tmp_path / "m.json")
    labelled.to_csv(tmp_path / "d.csv", index=False)
    robust.to_json(tmp_path / "a.json")
    written = json.loads(ellice("evaluate", tmp_path / "m.json", tmp_path / "a.json", "--data", tmp_path / "d.csv", "--evaluators",
                                "bootstrap,awp,ellipsoid", "--bootstrap-models", 20, "--awp-models", 20, "--format", "json", "--quiet"))
    for one in written["evaluators"]:
        assert one["robustness"] == by_name[one["name"]]["robustness"]


def test_tables_of_others_are_evaluated_too(labelled):
    model = el.train(labelled, target="paid", favourable="yes")
    explainer = el.Explainer(model, data=labelled, epsilon="1%")
    people = labelled.drop(columns="paid")
    people = people[np.array(model.predict(people)) == "no"].head(10)
    table = people.assign(income=9000.0, query_index=range(len(people)))
    verdict = explainer.evaluate(table, queries=people, evaluators=["bootstrap"], bootstrap_models=20)
    assert verdict["evaluators"][0]["robustness"] == 1.0
    with pytest.raises(TypeError, match="queries"):
        explainer.evaluate(table)
    with pytest.raises(ValueError, match="bootstap"):
        explainer.evaluate(table, queries=people, evaluators=["bootstap"])
    with pytest.raises(TypeError, match="bootstrap_models"):
        explainer.evaluate(table, queries=people, bootstrap_model=20)
    with pytest.raises(ValueError, match="data|rows"):
        el.Explainer(model, epsilon="1%").evaluate(table, queries=people, evaluators=["bootstrap"])


def test_figures_show_what_the_records_say(explainer, people, tmp_path):
    answers = explainer.explain(people.head(12))
    figure = answers.plot_changes()
    axes = figure.axes[0]
    lengths = {}
    for container in axes.containers:
        for label, bar in zip(axes.get_yticklabels(), container, strict=True):
            lengths[label.get_text()] = lengths.get(label.get_text(), 0) + bar.get_width()
    wanted = {}
    for answer in answers:
        for change in answer.changes:
            wanted[change.feature] = wanted.get(change.feature, 0) + 1
    assert lengths == wanted
    curves = answers.plot_frontier(5, epsilons=["0", "1%", "5%"])
    assert len(curves.axes[0].lines) == 5
    costs = curves.axes[0].lines[0].get_ydata()
    assert list(costs) == sorted(costs) and np.isclose(costs[1], answers[0].to_dict()["distance"]["weighted"])
    for one in (figure, curves):
        one.savefig(tmp_path / "f.png")
        assert (tmp_path / "f.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="no answers"):
        explainer.explain(people.head(2), declined=True).plot_frontier(0)


def test_certified_answers_of_a_deployed_model_are_robust_to_their_own_set(labelled):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = labelled[["income", "debt"]], labelled.paid
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(tol=0.1)).fit(x, y)
    model = el.from_sklearn(pipeline, x, y, target="paid")
    assert model.excess > 0
    answers = el.Explainer(model, data=labelled, epsilon="2%").explain(x[pipeline.predict(x) == "no"].head(30))
    (verdict,) = answers.evaluate(evaluators=["ellipsoid"])["evaluators"]
    assert verdict["robustness"] == 1.0
