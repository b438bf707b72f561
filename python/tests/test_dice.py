"""A notebook of DiCE runs with one changed import, and what DiCE is complained about does not happen."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ellice_recourse.compat.dice as dice_ml

NUMBERS, LEVELS = ["age", "hours_per_week"], ["education", "occupation"]


@pytest.fixture(scope="module")
def adult():
    rng = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame({"age": rng.integers(18, 70, n), "education": rng.choice([0, 1, 2], n),
                          "occupation": rng.choice(["blue", "white"], n), "hours_per_week": rng.integers(10, 60, n)})
    score = frame.age / 20 + frame.hours_per_week / 15 + frame.education + (frame.occupation == "white") - 6.5
    frame["income"] = (score + rng.logistic(size=n) > 0).astype(int)
    pipeline = make_pipeline(ColumnTransformer([("n", StandardScaler(), NUMBERS), ("l", OneHotEncoder(), LEVELS)]),
                             LogisticRegression())
    features = frame.drop(columns="income")
    return frame, features, pipeline.fit(features, frame.income)


@pytest.fixture(scope="module")
def dice(adult):
    frame, _, pipeline = adult
    data = dice_ml.Data(dataframe=frame, continuous_features=NUMBERS, outcome_name="income")
    return dice_ml.Dice(data, dice_ml.Model(model=pipeline, backend="sklearn"), method="random")


def test_the_first_notebook(dice, adult, capsys):
    _, features, pipeline = adult
    query = features[pipeline.predict(features) == 0][:3]
    found = dice.generate_counterfactuals(query, total_CFs=2, desired_class="opposite")
    assert len(found.cf_examples_list) == 3
    for example in found.cf_examples_list:
        plans = example.final_cfs_df
        assert 1 <= len(plans) <= 2 and (plans.income == 1).all()
        assert (pipeline.predict(plans.drop(columns="income")) == 1).all()
        assert plans.dtypes["education"].kind == "i"
    found.visualize_as_dataframe(show_only_changes=True)
    assert "-" in capsys.readouterr().out
    written = json.loads(found.to_json())
    assert written["feature_names_including_target"][-1] == "income" and len(written["cfs_list"]) == 3


def test_both_classes_may_ask_at_once(dice, adult):
    _, features, pipeline = adult
    predicted = pipeline.predict(features)
    query = pd.concat([features[predicted == 1][:2], features[predicted == 0][:2], features[predicted == 1][2:3]])
    found = dice.generate_counterfactuals(query, total_CFs=1)
    outcomes = [int(example.final_cfs_df.income.iloc[0]) for example in found.cf_examples_list]
    assert outcomes == [0, 0, 1, 1, 0]


def test_ranges_and_locked_features_are_kept(dice, adult):
    _, features, pipeline = adult
    query = features[pipeline.predict(features) == 0][:5]
    found = dice.generate_counterfactuals(query, total_CFs=2, desired_class=1, permitted_range={"hours_per_week": [10, 59], "education": [1, 2]},
                                          features_to_vary=["hours_per_week", "education"])
    moved = 0
    for example, (_, row) in zip(found.cf_examples_list, query.iterrows(), strict=True):
        for _, plan in example.final_cfs_df.iterrows():
            assert plan.age == row.age and plan.occupation == row.occupation
            assert 10 <= plan.hours_per_week <= 59 and plan.education in (1, 2, row.education)
            moved += 1
    assert moved > 0


def test_what_has_no_meaning_warns_and_what_is_wrong_raises(dice, adult):
    frame, features, pipeline = adult
    query = features[pipeline.predict(features) == 0][:1]
    with pytest.warns(UserWarning, match="diversity_weight, proximity_weight"):
        dice.generate_counterfactuals(query, total_CFs=1, proximity_weight=1.5, diversity_weight=2.0)
    with pytest.raises(TypeError, match="total_cfs"):
        dice.generate_counterfactuals(query, total_cfs=1)
    with pytest.raises(ValueError, match="desired_class = 7"):
        dice.generate_counterfactuals(query, desired_class=7)
    with pytest.raises(ValueError, match='no feature "agee"'):
        dice.generate_counterfactuals(query, features_to_vary=["agee"])
    with pytest.raises(ValueError, match="PYT"):
        dice_ml.Model(model=pipeline, backend="PYT")
    with pytest.raises(ValueError, match="wage"):
        dice_ml.Data(dataframe=frame, outcome_name="wage")
