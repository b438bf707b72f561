"""The interface of the authors' package: their main example, with one import changed."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import ellice_recourse.compat.ellice as ellice

GROUP = ["purpose_car", "purpose_home", "purpose_other"]


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(3)
    n = 500
    frame = pd.DataFrame({"income": rng.normal(size=n), "debt": rng.normal(size=n), "age": rng.normal(size=n)})
    purpose = rng.integers(0, 3, n)
    for place, name in enumerate(GROUP):
        frame[name] = (purpose == place).astype(int)
    score = frame.income - frame.debt + 0.7 * frame.purpose_home - 0.3
    frame["approved"] = (score + rng.logistic(size=n) > 0).astype(int)
    return frame


@pytest.fixture(scope="module")
def explainer(loans):
    features = loans.drop(columns="approved")
    model = LogisticRegression(C=1.0).fit(features, loans.approved)
    return ellice.Explainer(model, ellice.Data(loans, "approved", immutable_features=["age"])), model, features


def test_the_main_example_runs(explainer, loans):
    ours, model, features = explainer
    declined = features[model.predict(features) == 0].head(12)
    found = ours.generate_counterfactuals(
        declined, method="continuous", robustness_epsilon=0.01, features_to_vary=["income", "debt"],
        permitted_range={"income": [-4, 4]}, one_way_change={"debt": "decrease"}, return_probs=True, progress_bar=False)
    assert list(found.columns) == [*features.columns, "original_index", "model_prob_class_1", "worst_case_prob_target"]
    assert found.original_index.tolist() == declined.index.tolist()
    before = declined.loc[found.original_index].reset_index(drop=True)
    assert (model.predict(found[features.columns]) == 1).all() and (found.worst_case_prob_target >= 0.5).all()
    assert np.allclose(found.model_prob_class_1, model.predict_proba(found[features.columns])[:, 1], atol=1e-4)
    assert (found.debt <= before.debt + 1e-12).all() and found.income.between(-4, 4).all()
    assert (found[["age", *GROUP]].to_numpy() == before[["age", *GROUP]].to_numpy()).all()


def test_groups_allowed_values_and_several_plans(explainer):
    ours, model, features = explainer
    declined = features[(model.predict(features) == 0) & (features.purpose_home == 0)].head(6)
    found = ours.generate_counterfactuals(declined, total_CFs=2, one_hot_groups=[GROUP], robustness_epsilon=0.005,
                                          allowed_values={"debt": [-2.0, -1.0, 0.0, 1.0]}, progress_bar=False)
    assert (found[GROUP].sum(axis=1) == 1).all() and found[GROUP].isin([0, 1]).all().all()
    assert (model.predict(found[features.columns]) == 1).all()
    assert found.groupby("original_index").size().max() == 2
    own = declined.debt.loc[found.original_index].to_numpy()
    assert (np.isin(found.debt, [-2, -1, 0, 1]) | (found.debt == own)).all()
    few = ours.generate_counterfactuals(declined, sparsity=True, robustness_epsilon=0.005, progress_bar=False)
    moved = few[features.columns].to_numpy() != declined.loc[few.original_index].to_numpy()
    assert (moved.sum(axis=1) == 1).all()


def test_rows_of_the_data_and_the_other_class(explainer, loans):
    ours, model, features = explainer
    declined = features[model.predict(features) == 0].head(4)
    found = ours.generate_counterfactuals(declined, method="data_supported", robustness_epsilon=0.005, features_to_vary=["income", "debt", *GROUP],
                                          progress_bar=False)
    assert found.empty  # nobody else has the same age to the last digit
    free = ellice.Explainer(model, ellice.Data(loans, "approved"))
    found = free.generate_counterfactuals(declined, method="data_supported", robustness_epsilon=0.005, progress_bar=False)
    assert len(found) == 4 and all((features == row[features.columns]).all(axis=1).any() for _, row in found.iterrows())
    accepted = features[model.predict(features) == 1].head(4)
    found = ours.generate_counterfactuals(accepted, target_class=0, return_probs=True, progress_bar=False)
    assert (model.predict(found[features.columns]) == 0).all() and (found.worst_case_prob_target >= 0.5).all()
    assert np.allclose(found.model_prob_class_1, model.predict_proba(found[features.columns])[:, 1], atol=1e-4)


@pytest.mark.parametrize("form", ["series", "array", "list"])
def test_one_person_will_do(form, explainer):
    ours, model, features = explainer
    person = features[model.predict(features) == 0].iloc[0]
    given = {"series": person, "array": person.to_numpy(), "list": person.tolist()}[form]
    found = ours.generate_counterfactuals(given, progress_bar=False)
    assert len(found) == 1 and model.predict(found[features.columns])[0] == 1


def test_what_cannot_be_is_named(explainer, loans, tmp_path):
    ours, model, features = explainer
    with pytest.raises(ValueError, match='no column "y"|"y" is no column'):
        ellice.Data(loans, "y")
    with pytest.raises(ValueError, match="custom"):
        ellice.Explainer(model, ours.data, backend="custom")
    for wrong in ({"method": "genetic"}, {"features_to_vary": ["shoes"]}, {"requires": "luck"}, {"features_to_vary": "some"}):
        with pytest.raises(ValueError, match=str(next(iter(wrong.values()))[0] if isinstance(next(iter(wrong.values())), list) else next(iter(wrong.values())))):
            ours.generate_counterfactuals(features.head(1), progress_bar=False, **wrong)
    with pytest.warns(UserWarning, match="optimization_params"):
        ours.generate_counterfactuals(features.head(1), optimization_params={"learning_rate": 0.1}, progress_bar=False)
    (tmp_path / "c.json").write_text(json.dumps({"loans": {"immutables": ["age"], "acceptable_ranges": {"debt": [0, 1]}}}))
    assert ellice.load_config(tmp_path / "c.json", "loans") == (["age"], {"debt": [0, 1]}, {})
