"""What is given wrongly is named, with what to do; what can be meant is taken."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import ellice_recourse as el
import ellice_recourse.compat.dice as dice_ml

RNG = np.random.default_rng(0)
N = 300
BASE = pd.DataFrame({
    "income": RNG.gamma(4, 800, N).round(), "debt": RNG.gamma(2, 900, N).round(2),
    "purpose": RNG.choice(["car", "home", "other"], N), "member": RNG.random(N) < 0.4})
Y = (BASE.income / 1200 - BASE.debt / 1000 + (BASE.purpose == "home") + BASE.member - 1.5 + RNG.logistic(size=N) > 0).to_numpy()
COLUMNS = ColumnTransformer([("n", StandardScaler(), ["income", "debt"]), ("c", OneHotEncoder(), ["purpose", "member"])])
PIPELINE = make_pipeline(COLUMNS, LogisticRegression()).fit(BASE, Y)
MODEL = el.from_sklearn(PIPELINE, BASE, Y)
DECLINED = BASE[~PIPELINE.predict(BASE)].head(4)
WEIGHTS = np.ones(N)
WEIGHTS[7] = 0

IMPORTS = {
    "missing column": (lambda: el.from_sklearn(PIPELINE, BASE.drop(columns="debt"), Y), ValueError, 'X has no column "debt"'),
    "extra column": (lambda: el.from_sklearn(PIPELINE, BASE.assign(shoes=43), Y), ValueError, 'a column "shoes".*leave it out'),
    "other width": (lambda: el.from_sklearn(make_pipeline(StandardScaler(), LogisticRegression()).fit(BASE[["income", "debt"]].to_numpy(), Y),
                                            BASE[["income"]], Y), ValueError, r"X has 1 columns \(income\), but the estimator was fitted on 2"),
    "a dict": (lambda: el.from_sklearn(PIPELINE, BASE.to_dict("list"), Y), TypeError, "X is a dict: give a frame"),
    "NaN as weight": (lambda: el.from_sklearn(PIPELINE, BASE, Y, sample_weight=np.where(np.arange(N) == 5, np.nan, 1.0)), ValueError, "row 5 has nan"),
    "no weight": (lambda: el.from_sklearn(PIPELINE, BASE, Y, sample_weight=WEIGHTS), ValueError, "row 7 has 0; expected numbers > 0"),
    "other labels": (lambda: el.from_sklearn(PIPELINE, BASE, Y.astype(int)), ValueError, 'y: row 0 has the label "[01]", but the classes are False, True'),
    "a search": (lambda: el.from_sklearn(GridSearchCV(PIPELINE, {"logisticregression__C": [1.0]}, cv=2).fit(BASE, Y), BASE, Y), ValueError, "best_estimator_"),
    "one text": (lambda: MODEL.with_schema(allowed={"purpose": "car"}), TypeError, r"one text; expected a list of values, as in \['car'\]"),
    "NaN as bound": (lambda: MODEL.with_schema(bounds={"debt": (np.nan, 1)}), ValueError, '"debt".*NaN; None stands for no bound'),
    "one bound": (lambda: MODEL.with_schema(bounds={"debt": 5}), ValueError, '"debt": 5; expected the least and the greatest'),
    "verify of a list": (lambda: el.verify(MODEL, "[]"), ValueError, ""),
    "index of levels": (lambda: MODEL.logits(BASE.set_index(["income", "debt"])), ValueError, "its index has several levels"),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_what_is_wrong_is_named(name):
    call, kind, words = IMPORTS[name]
    with pytest.raises(kind, match=words):
        call()


def test_an_empty_level_is_named():
    table = BASE.assign(purpose=BASE.purpose.replace("car", ""))
    with pytest.raises(ValueError, match='empty text is a level of column "purpose"'):
        el.from_sklearn(make_pipeline(COLUMNS, LogisticRegression()).fit(table, Y), table, Y)
    PIPELINE.fit(BASE, Y)


QUESTIONS = {
    "NaN as bound": ({"bounds": {"debt": (float("nan"), 1)}}, '"debt".*NaN'),
    "a row that is not there": ({"queries": {9: {"lock": ["debt"]}}}, "there is no row 9; the table has 4"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_that_cannot_be_meant_are_named(name):
    options, words = QUESTIONS[name]
    with pytest.raises(ValueError, match=words):
        el.Explainer(MODEL, epsilon="1%", **options).explain(DECLINED)


def test_bounds_of_numpy_and_rows_by_number_or_text():
    wanted = el.Explainer(MODEL, epsilon="1%", bounds={"debt": (0, 900.0)}).explain(DECLINED).to_pandas()
    assert el.Explainer(MODEL, epsilon="1%", bounds={"debt": np.array([0, 900.0])}).explain(DECLINED).to_pandas().equals(wanted)
    answers = el.Explainer(MODEL, epsilon="1%").explain(DECLINED, queries={0: {"lock": ["debt"]}, "1": {"lock": ["debt"]}})
    assert all("debt" not in [change.feature for change in answers[i].changes] for i in (0, 1))


def test_rows_with_booleans_are_certified():
    explainer = el.Explainer(MODEL, epsilon="1%")
    reached = explainer.explain(DECLINED).counterfactuals(like=DECLINED).iloc[0].to_dict()
    assert isinstance(reached["member"], (bool, np.bool_)) and explainer.certify(reached) is not None
    with pytest.raises(ValueError, match='column "debt" is empty'):
        explainer.certify({**reached, "debt": float("nan")})


def test_answers_say_what_they_are_not():
    answers = el.Explainer(MODEL, epsilon="1%").explain(DECLINED)
    assert answers[np.int64(0)].query == 0
    with pytest.raises(TypeError, match="number of an answer"):
        answers["x"]
    with pytest.raises(TypeError, match="to_json"):
        pickle.dumps(answers)
    with pytest.raises(ValueError, match='valid_until = "2025-01-01" is before date = "2026-01-01"'):
        answers.letters(lender="Bank", date="2026-01-01", valid_until="2025-01-01")
    with pytest.raises(ValueError, match="lender"):
        answers.letters(lender=" ", date="2026-01-01")


def test_dice_takes_one_person_and_names_what_it_does_not():
    data = dice_ml.Data(dataframe=BASE.assign(good=Y), continuous_features=["income", "debt"], outcome_name="good")
    dice = dice_ml.Dice(data, dice_ml.Model(model=PIPELINE))
    found = dice.generate_counterfactuals(DECLINED.iloc[0])
    assert len(found.cf_examples_list) == 1 and found.cf_examples_list[0].final_cfs_df.good.all()
    with pytest.raises(ValueError, match="no rows"):
        dice.generate_counterfactuals(DECLINED.head(0))
    with pytest.raises(ValueError, match='permitted_range: there is no feature "shoes"'):
        dice.generate_counterfactuals(DECLINED, permitted_range={"shoes": [1, 2]})
