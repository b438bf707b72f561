#!/usr/bin/env python3
"""Plans of this package, of DiCE and of the authors' package for the same model and the same people, in one run.

    studies/python/compare.py DATA.csv TARGET FAVOURABLE [--immutable A,B] [--decrease C,D] [--people 40] [--epsilon 0.02]

Needs an environment of its own with ellice-recourse, dice-ml, ellice (the authors') and torch, which the project does not install.
The model is scikit-learn's LogisticRegression on standardised columns, which all three take; one processor thread each. Plans are
judged by scikit-learn alone: whether the model accepts them (valid), whether each of 200 models fitted to rows drawn with replacement
does (robust), how far they are (L1, in standard deviations), how many features they change (by more than 1e-6), and how many break
what was asked: a feature that must not change, a way it may not go, a range that was not left by anybody in the data.
"""
import argparse
import contextlib
import io
import os
import time
import warnings
from importlib.metadata import version

os.environ["OMP_NUM_THREADS"] = "1"

import dice_ml  # noqa: E402
import ellice  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import ellice_recourse as el  # noqa: E402

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("target")
    parser.add_argument("favourable")
    parser.add_argument("--immutable", default="", help="features that keep their values")
    parser.add_argument("--decrease", default="", help="features that may only fall")
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--epsilon", type=float, default=0.02, help="as a share of the objective")
    parser.add_argument("--refits", type=int, default=200)
    return parser.parse_args()


class Question:
    """The model, the people and what is asked of plans."""

    def __init__(self, given):
        table = pd.read_csv(given.data)
        self.y = (table[given.target].astype(str) == given.favourable).astype(int)
        raw = table.drop(columns=given.target)
        self.x = pd.DataFrame(StandardScaler().fit_transform(raw), columns=raw.columns)
        self.immutable = [name for name in given.immutable.split(",") if name]
        self.decrease = [name for name in given.decrease.split(",") if name]
        self.free = [name for name in self.x.columns if name not in self.immutable]
        self.range = {name: [float(self.x[name].min()), float(self.x[name].max())] for name in self.free}
        self.model = LogisticRegression(tol=1e-8, max_iter=1000).fit(self.x, self.y)
        share = np.mean(np.logaddexp(0, -(2 * self.y - 1) * self.model.decision_function(self.x)))
        self.epsilon = given.epsilon * float(share)
        declined = self.x[self.model.predict(self.x) == 0]
        self.people = declined.sample(min(given.people, len(declined)), random_state=0)
        rng = np.random.default_rng(1)
        rows = [rng.integers(0, len(self.x), len(self.x)) for _ in range(given.refits)]
        self.refits = [LogisticRegression().fit(self.x.iloc[r], self.y.iloc[r]) for r in rows]

    def judge(self, plans, seconds):
        """What a line of the table holds; plans by the index of people."""
        people = self.people.loc[plans.index]
        moved = (plans[self.x.columns] - people).to_numpy()
        accepted = np.array([refit.predict(plans[self.x.columns]) == 1 for refit in self.refits]) if len(plans) else np.zeros((1, 0))
        names = list(self.x.columns)
        broken = np.zeros(len(plans), dtype=bool)
        for name in self.immutable:
            broken |= np.abs(moved[:, names.index(name)]) > 1e-6
        for name in self.decrease:
            broken |= moved[:, names.index(name)] > 1e-6
        for name, (low, high) in self.range.items():
            broken |= ~plans[name].between(low - 1e-6, high + 1e-6).to_numpy()
        valid = self.model.predict(plans[self.x.columns]) == 1 if len(plans) else np.zeros(0, dtype=bool)
        count = len(self.people)
        return {
            "ms per person": 1000 * seconds / count, "plans": len(plans) / count, "valid": valid.sum() / count,
            "robust": accepted.all(axis=0).sum() / count, "a refit accepts": accepted.mean() if len(plans) else 0.0,
            "L1": np.abs(moved).sum(axis=1).mean() if len(plans) else np.nan,
            "changes": (np.abs(moved) > 1e-6).sum(axis=1).mean() if len(plans) else np.nan, "violations": broken.sum() / count}


def first_of_each(frame, key):
    return frame.drop_duplicates(key).set_index(key)


def ours(question, **options):
    model = el.from_sklearn(question.model, question.x, question.y, immutable=question.immutable,
                            direction={name: "decrease" for name in question.decrease})
    answers = el.Explainer(model, epsilon=question.epsilon, threads=1, progress=False, **options).explain(question.people)
    plans = answers.counterfactuals(like=question.people)
    return plans.set_axis(question.people.index[plans.index])


def dice(question, method):
    data = dice_ml.Data(dataframe=question.x.assign(outcome=question.y), continuous_features=list(question.x.columns), outcome_name="outcome")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=question.model, backend="sklearn"), method=method)
    found = {}
    for index in question.people.index:
        try:
            made = explainer.generate_counterfactuals(question.people.loc[[index]], total_CFs=1, desired_class="opposite",
                                                      features_to_vary=question.free, permitted_range=question.range, verbose=False)
            plans = made.cf_examples_list[0].final_cfs_df
        except Exception:  # it raises where it finds nothing
            continue
        if plans is not None and len(plans):
            found[index] = plans[question.x.columns].astype(float).iloc[0]
    return pd.DataFrame.from_dict(found, orient="index", columns=question.x.columns)


def authors(question, **options):
    data = ellice.Data(question.x.assign(outcome=question.y), "outcome", continuous_features=list(question.x.columns))
    made = ellice.Explainer(question.model, data, backend="sklearn", device="cpu").generate_counterfactuals(
        question.people, features_to_vary=question.free, permitted_range=question.range, robustness_epsilon=question.epsilon,
        one_way_change={name: "decrease" for name in question.decrease}, progress_bar=False, **options)
    return first_of_each(made, "original_index")[question.x.columns].astype(float) if len(made) else pd.DataFrame(columns=question.x.columns)


def main():
    given = arguments()
    question = Question(given)
    packages = ", ".join(f"{name} {version(name)}" for name in ("dice-ml", "ellice", "scikit-learn", "torch"))
    print(f"{given.data.rpartition('/')[2]}: {len(question.x)} rows, {len(question.x.columns)} features, {len(question.people)} people, "
          f"epsilon {question.epsilon:.4g} ({100 * given.epsilon:g} %), {given.refits} refits; ellice-recourse {el.__version__}, {packages}\n")
    lines = {}
    for name, make in {
        "ellice-recourse": lambda: ours(question),
        "ellice-recourse, few changes": lambda: ours(question, sparse=True),
        "ellice (authors), continuous": lambda: authors(question),
        "ellice (authors), data": lambda: authors(question, method="data_supported"),
        "DiCE random": lambda: dice(question, "random"),
        "DiCE genetic": lambda: dice(question, "genetic"),
    }.items():
        before = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            plans = make()
        lines[name] = question.judge(plans, time.process_time() - before)
    table = pd.DataFrame(lines).T
    print("| package | " + " | ".join(table.columns) + " |\n|---|" + "---|" * len(table.columns))
    for name, row in table.iterrows():
        print(f"| {name} | {row.iloc[0]:.3g} | " + " | ".join(f"{100 * v:.0f} %" for v in row.iloc[1:5]) + f" | {row.iloc[5]:.2f} | {row.iloc[6]:.1f} | {100 * row.iloc[7]:.0f} % |")


if __name__ == "__main__":
    main()
