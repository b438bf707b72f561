"""Models of other packages decide as these packages do."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import ellice_recourse as el


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(7)
    n = 600
    frame = pd.DataFrame({"income": rng.gamma(4, 800, n).round(), "debt": rng.gamma(2, 900, n).round(),
                          "purpose": rng.choice(["car", "home", "other"], n)})
    score = frame.income / 1500 - frame.debt / 1200 + (frame.purpose == "home") - 0.4
    frame["approved"] = (score + rng.logistic(size=n) > 0).astype(int)
    return frame


@pytest.mark.parametrize("kind", ["logit", "glm"])
def test_statsmodels_needs_no_rows(kind, loans):
    formula = "approved ~ income + debt + C(purpose)"
    if kind == "logit":
        fit = smf.logit(formula, loans).fit(disp=False)
    else:
        fit = smf.glm(formula, loans, family=sm.families.Binomial()).fit()
    model = el.from_statsmodels(fit, data=loans, bounds={"debt": (0, None)})
    assert np.allclose(model.predict_proba(loans)[:, 1], fit.predict(loans), atol=1e-9)
    declined = loans[fit.predict(loans) < 0.5].drop(columns="approved").head(40)
    answers = el.Explainer(model).explain(declined)
    reached = pd.DataFrame([a.counterfactual for a in answers if a.counterfactual])
    assert len(reached) > 30 and (fit.predict(reached) >= 0.5).all()
    assert (reached["debt"] >= 0).all() and answers.verify()


@pytest.mark.parametrize("type_of_grade", ["int64", "float64"])
def test_numbers_that_a_formula_takes_as_levels_are_levels(type_of_grade, loans):
    rng = np.random.default_rng(1)
    table = loans.assign(grade=pd.Series(rng.choice([1, 2, 10], len(loans))).astype(type_of_grade), owner=rng.integers(0, 2, len(loans)))
    table = table.rename(columns={"debt": "debt now"})
    table["approved"] = (table.income / 1500 - table["debt now"] / 1200 + (table.grade == 2) + table.owner + rng.logistic(size=len(loans)) > 0.9).astype(int)
    fit = smf.logit("approved ~ income + Q('debt now') + C(grade) + C(owner)", table).fit(disp=False)
    model = el.from_statsmodels(fit, data=table)
    assert model.schema["features"]["grade"]["levels"] == ["1", "2", "10"]
    assert np.allclose(model.predict_proba(table[model.features])[:, 1], fit.predict(table), atol=1e-9)
    declined = table[fit.predict(table) < 0.5][model.features].head(40)
    answers = el.Explainer(model).explain(declined)
    reached = answers.counterfactuals(like=declined)
    assert len(reached) > 30 and (fit.predict(reached) >= 0.5).all() and answers.verify()
    assert reached.dtypes["grade"] == declined.dtypes["grade"]


@pytest.mark.parametrize("term", ["size", "C(size)"])
def test_ordered_categories_of_a_formula_are_levels(term, loans):
    rng = np.random.default_rng(2)
    table = loans.assign(size=pd.Categorical(rng.choice(["low", "mid", "high"], len(loans)), ["low", "mid", "high"], ordered=True))
    table["approved"] = (table.income / 1500 + table["size"].cat.codes + rng.logistic(size=len(loans)) > 2.4).astype(int)
    fit = smf.logit(f"approved ~ income + {term}", table).fit(disp=False)
    model = el.from_statsmodels(fit, data=table)
    assert model.schema["features"]["size"] == {"kind": "categorical", "levels": ["low", "mid", "high"]}
    declined = table[fit.predict(table) < 0.5][["income", "size"]].head(40)
    reached = el.Explainer(model, immutable=["income"]).explain(declined).counterfactuals(like=declined)
    assert len(reached) > 5 and (fit.predict(reached) >= 0.5).all() and reached["size"].dtype == table["size"].dtype
    contrast = smf.logit("approved ~ income + C(size, Poly)", table).fit(disp=False)
    with pytest.raises(ValueError, match=r'the term "C\(size, Poly\).Linear" is a contrast of several levels'):
        el.from_statsmodels(contrast, data=table)


def test_statsmodels_says_why_not(loans):
    robust = smf.logit("approved ~ income", loans).fit(disp=False, cov_type="HC1")
    with pytest.raises(ValueError, match='"HC1"'):
        el.from_statsmodels(robust, data=loans)
    with pytest.raises(ValueError, match="OLS is no logistic regression"):
        el.from_statsmodels(smf.ols("approved ~ income", loans).fit(), data=loans)
    fit = smf.logit("approved ~ np.log(income)", loans).fit(disp=False)
    with pytest.raises(ValueError, match="income"):
        el.from_statsmodels(fit, data=loans)


def test_coefficients_and_covariance_will_do(loans):
    fit = smf.logit("approved ~ income + debt", loans).fit(disp=False)
    schema = {"target": {"column": "approved", "favourable": "1"},
              "features": {"income": {"kind": "numeric"}, "debt": {"kind": "numeric", "min": 0}}}
    model = el.from_coefficients(dict(fit.params), fit.cov_params(), schema=schema, rows=600, log_likelihood=fit.llf,
                                 statistics={"mean": loans[["income", "debt"]].mean(), "scale": loans[["income", "debt"]].std(),
                                             "min": loans[["income", "debt"]].min(), "max": loans[["income", "debt"]].max()})
    assert np.allclose(model.predict_proba(loans[["income", "debt"]])[:, 1], fit.predict(loans), atol=1e-9)
