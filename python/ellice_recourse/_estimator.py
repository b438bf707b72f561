"""A classifier of scikit-learn that brings what recourse needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._deployed import Rows, of_layers
from ._fold import Term
from ._importers import tool_text
from ._model import Model


class RobustLogisticClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with the curvature by which plans are certified.

    A classifier of two classes like any other of scikit-learn; ``model_`` is the model for an ``Explainer``. ``l2`` is the
    weight of the penalty (l2/2)·‖w‖² beside the mean loss, over standardised columns; the intercept is free.
    """

    def __init__(self, l2: float = 1e-3, class_weight: Any = None) -> None:
        self.l2 = l2
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RobustLogisticClassifier:
        """Fits to labelled rows of numbers."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported. The type of the target is multiclass, {len(self.classes_)} classes.")
        if not self.l2 > 0:
            raise ValueError(f"l2 = {self.l2!r} must be > 0")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = weights > 0  # a row without weight is none
        X, codes, weights = X[kept], codes[kept], weights[kept]
        if len(np.unique(codes)) < 2:
            raise ValueError("rows with a weight above 0 have one class only; this classifier needs two")
        weights = weights * self._factors(codes, weights)
        is_weighted = bool(np.any(weights != 1))
        mean = np.average(X, axis=0, weights=weights)
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        # A column that is the same in all rows but for rounding has no spread.
        scale[scale <= 1e-12 * np.maximum(1.0, np.abs(mean))] = 1.0
        inner = LogisticRegression(C=1 / (self.l2 * weights.sum()), solver="newton-cholesky", tol=1e-10, max_iter=200)
        inner.fit((X - mean) / scale, codes, sample_weight=weights)
        self.n_iter_ = inner.n_iter_
        names = [str(name) for name in getattr(self, "feature_names_in_", (f"x{j}" for j in range(X.shape[1])))]
        rows = Rows(X, codes, names)
        rows.weights = weights if is_weighted else None
        terms = [Term(name, None, float(mean[j]), float(scale[j])) for j, name in enumerate(names)]
        document = {
            "tool": tool_text("scikit-learn", "LogisticRegression"),
            "layers": [{"weights": inner.coef_.tolist(), "bias": inner.intercept_.tolist()}],
            "loss": "logistic",
            "l2": float(self.l2),
            "event": "1",
        }
        wanted = {"target": {"column": _free("target", names), "favourable": "1"}, "features": {n: {"kind": "numeric"} for n in names}}
        self.model_: Model = of_layers(document, terms, rows, wanted, False, False)
        return self

    def _factors(self, codes: Any, weights: Any) -> Any:
        """The weight of each row's class."""
        if self.class_weight is None:
            return 1.0
        shares = np.bincount(codes, weights=weights, minlength=2)
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(f'class_weight = {self.class_weight!r} must be None, "balanced" or a dict of weights')
            return (weights.sum() / (2 * shares))[codes]
        known = dict(self.class_weight)
        return np.array([float(known.get(label, 1.0)) for label in self.classes_.tolist()])[codes]

    def decision_function(self, X: Any) -> Any:
        """The logit of the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.model_.logits(X))

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class."""
        scores = self.decision_function(X)
        second = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        accepted = self.decision_function(X) >= 0
        return self.classes_[accepted.astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name
