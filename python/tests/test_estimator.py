"""The classifier is one of scikit-learn's, and its model certifies."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator

import ellice_recourse as el


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing():
    check_estimator(el.RobustLogisticClassifier())


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(400, 3)) * [1, 10, 0.1] + [0, 5, 1], columns=["a", "b", "c"])
    return x, np.where(x.a - x.b / 10 + 5 * x.c - 4 + rng.logistic(size=400) > 0, "yes", "no"), rng.random(400)


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"class_weight": {"yes": 3.0}}])
def test_scores_are_those_of_logistic_regression(rows, options):
    x, y, _ = rows
    mine = el.RobustLogisticClassifier(l2=1e-2, **options).fit(x, y)
    factors = compute_sample_weight(options.get("class_weight"), y)
    spread = StandardScaler().fit(x, sample_weight=factors)  # the columns' spread counts rows by their weights
    theirs = LogisticRegression(C=1 / (1e-2 * factors.sum()), tol=1e-10, max_iter=1000).fit(spread.transform(x), y, factors)
    assert np.allclose(mine.decision_function(x), theirs.decision_function(spread.transform(x)), atol=1e-6)
    assert (mine.predict(x) == theirs.predict(spread.transform(x))).all()


def test_plans_of_its_model_are_accepted(rows):
    x, y, _ = rows
    classifier = el.RobustLogisticClassifier().fit(x, y)
    declined = x[classifier.predict(x) == "no"].head(30)
    answers = el.Explainer(classifier.model_, epsilon="1%").explain(declined)
    assert (classifier.predict(answers.counterfactuals(like=declined)) == "yes").all() and answers.verify()
