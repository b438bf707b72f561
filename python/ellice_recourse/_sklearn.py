"""Fitted estimators of scikit-learn with the rows of their training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._deployed import Rows, checked_rows, finish_schema, fold_steps, of_layers, precision_of, require_same_scores, rows_at
from ._fold import require_fitted
from ._importers import tool_text
from ._model import Model, Schema, label_text
from ._parameters import require_known_parameters
from ._progress import Progress


def from_sklearn(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    favourable: Any = None,
    target: str = "target",
    schema: Schema | None = None,
    one_hot: Mapping[str, Sequence[str]] | None = None,
    store_rows: bool = False,
    progress: Progress = None,
    **constraints: Any,
) -> Model:
    """A fitted classifier, alone or at the end of a Pipeline, as it decides: plans are accepted by its own predict.

    ``X``, ``y`` and ``sample_weight`` are those that it was fitted on. ``favourable`` is the label that people want,
    the second of its classes unless given. Without ``schema`` one is drafted from the columns of ``X``; ``immutable``,
    ``bounds``, ``step`` and the others of ``Model.with_schema`` add to it. ``one_hot`` names groups of 0/1
    columns that are one category each, as ``pandas.get_dummies`` makes them. ``store_rows`` keeps the rows in the model,
    for ``set="true"``.
    """
    (name, step), steps = _parts(estimator)
    rows = Rows(X, y, getattr(estimator, "feature_names_in_", None), one_hot)
    require_fitted(step, name)
    width = getattr(estimator, "n_features_in_", len(rows.columns))
    if width != len(rows.columns):
        raise ValueError(f"X has {len(rows.columns)} columns ({', '.join(rows.columns)}), but the estimator was fitted on {width}")
    rows.weights = _row_weights(step, rows.labels, sample_weight)
    known = [label_text(label) for label in getattr(step, "classes_", rows.labels)]
    for row, label in enumerate(rows.labels):
        if label not in known:
            raise ValueError(f'y: row {row} has the label "{label}", but the classes are {", ".join(known)}; give y as at the fit')
    document = _objective(step, name, float(len(rows) if rows.weights is None else np.sum(rows.weights)), len(rows))
    terms, kinds = fold_steps(steps, rows)
    places = checked_rows(rows.columns, kinds)
    head = rows_at(X, places)
    scored = hasattr(estimator, "decision_function")
    own = estimator.decision_function(head) if scored else np.asarray(estimator.predict_proba(head))[:, 1]
    document["precision"] = precision_of(rows, terms, _read_by_classifier(steps, head))
    tolerance = 1e-6 if document["precision"] == "float64" else 1e-4
    require_same_scores(own, document["layers"], terms, rows, kinds, places, probabilities=not scored, tolerance=tolerance)
    classes = [label_text(label) for label in step.classes_]
    _require_same_decisions(estimator, head, own, 0.0 if scored else 0.5, classes, places)
    document["event"] = classes[1]
    wanted = finish_schema(kinds, rows, classes, favourable=favourable, target=target, schema=schema, constraints=constraints)
    return of_layers(document, terms, rows, wanted, store_rows, progress)


def _read_by_classifier(steps: list[tuple[str, Any]], table: Any) -> Any:
    """What transformers make of rows."""
    for _, transformer in steps:
        if transformer not in (None, "passthrough"):
            table = transformer.transform(table)
    return table


def _require_same_decisions(estimator: Any, head: Any, own: Any, threshold: float, classes: list[str], places: Any) -> None:
    """ValueError where predict is anything but the side on which the score lies."""
    own = np.asarray(own, dtype=float)
    for place, score, label in zip(places, own, np.asarray(estimator.predict(head)).tolist(), strict=True):
        meant = classes[int(score > threshold)]
        if label_text(label) != meant and score != threshold:
            raise ValueError(
                f"predict of the {type(estimator).__name__} says {label_text(label)} of row {place} of X, whose score {score:.6g} speaks for "
                f"{meant}: it decides otherwise than by the score {threshold:g}; expected one that decides by its score alone"
            )


def _parts(estimator: Any) -> tuple[tuple[str, Any], list[tuple[str, Any]]]:
    """The classifier with its name, and the steps before it."""
    if type(estimator).__name__ != "Pipeline":
        return (type(estimator).__name__, estimator), []
    require_known_parameters(estimator, "Pipeline")
    steps = list(estimator.steps)
    (name, last), before = steps[-1], steps[:-1]
    inner, more = _parts(last)
    return (name if not more else f"{name}.{inner[0]}", inner[1]), before + more


def _row_weights(step: Any, labels: list[str], sample_weight: Any) -> Any:
    """Weights of rows and classes together, or none."""
    rows = len(labels)
    chosen = getattr(step, "class_weight", None)
    if chosen is None and sample_weight is None:
        return None
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=float).copy()
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight has the shape {weights.shape}, but there are {rows} rows")
    for row in np.flatnonzero(~(weights > 0) | ~np.isfinite(weights))[:1]:
        raise ValueError(f"sample_weight: row {row} has {weights[row]:g}; expected numbers > 0 (rows of weight 0 can be left out of X)")
    if chosen is None:
        return weights
    known = [label_text(label) for label in step.classes_]
    if isinstance(chosen, str):
        # LogisticRegression balances the weights of the classes, the others their rows.
        counted = weights if type(step).__name__ in _WEIGHS_CLASSES else np.ones(rows)
        shares = {label: float(np.sum(counted[np.array(labels) == label])) for label in known}
        factors = {label: float(np.sum(counted)) / (len(known) * share) for label, share in shares.items() if share > 0}
    else:
        given = dict(chosen)  # by labels as Python compares them: False, 0 and 0.0 are one
        factors = {label_text(label): float(given.get(label, 1.0)) for label in step.classes_}
    for label, factor in factors.items():
        if not (factor > 0 and math.isfinite(factor)):
            raise ValueError(f"class_weight gives the label {label} the weight {factor:g}; expected numbers > 0")
    return weights * np.array([factors[label] for label in labels])


def _objective(step: Any, name: str, total: float, count: int) -> dict[str, Any]:
    """Layers, loss and penalty of a classifier, in the coordinates of what it reads."""
    kind = type(step).__name__
    handler = _CLASSIFIERS.get(kind)
    if kind == "CalibratedClassifierCV":
        raise ValueError(
            f'step "{name}" is a CalibratedClassifierCV: it averages models that were fitted on parts of the rows, each '
            "bent by a curve, and minimises no objective; import the classifier inside, fitted on all rows"
        )
    if hasattr(step, "best_estimator_"):
        raise ValueError(f'step "{name}" is a {kind}, which searches; give its best_estimator_')
    if handler is None or type(step).__module__.partition(".")[0] != "sklearn":
        raise ValueError(f'step "{name}" is a {kind}; supported are {", ".join(_CLASSIFIERS)}')
    if len(step.classes_) != 2:
        raise ValueError(f'step "{name}" has {len(step.classes_)} classes; supported are two')
    require_known_parameters(step, name)
    return {"tool": tool_text("scikit-learn", kind), **handler(step, name, total, count)}


def _linear(step: Any, name: str) -> list[dict[str, Any]]:
    if not step.fit_intercept:
        raise ValueError(f'step "{name}" was fitted without an intercept, which models of the set have')
    return [{"weights": np.atleast_2d(step.coef_).tolist(), "bias": np.atleast_1d(step.intercept_).tolist()}]


def _l1_share(step: Any) -> float:
    """How much of a penalty's strength is on the sizes of coefficients, the rest being on their squares."""
    chosen = getattr(step, "l1_ratio_", None)  # by cross-validation
    ratio = step.l1_ratio if chosen is None else np.ravel(chosen)[0]
    if step.penalty == "l1":
        return 1.0
    if step.penalty == "l2":
        return 0.0
    return float(ratio or 0)


def _logistic(step: Any, name: str, total: float, count: int) -> dict[str, Any]:
    if step.solver == "liblinear":
        raise ValueError(f'step "{name}" was fitted by liblinear, which penalises the intercept; take another solver')
    if getattr(step, "multi_class", None) == "multinomial":  # of scikit-learn before 1.8
        raise ValueError(
            f'step "{name}" was fitted with multi_class="multinomial", where each of the two labels has a score and a penalty of its own; '
            "fit without multi_class"
        )
    strength = float(np.ravel(step.C_)[0]) if hasattr(step, "C_") else float(step.C)  # that which cross-validation chose
    if getattr(step, "refit", True) is False:
        raise ValueError(f'step "{name}" averages the fits of its folds and minimises no objective; fit with refit=True')
    penalised = step.penalty is not None and np.isfinite(strength)
    weight = 1 / (strength * total) if penalised else 0.0
    share = _l1_share(step)
    return {"layers": _linear(step, name), "loss": "logistic", "l2": (1 - share) * weight, "l1": share * weight}


def _ridge(step: Any, name: str, total: float, count: int) -> dict[str, Any]:
    if step.positive:
        raise ValueError(f'step "{name}" keeps its coefficients positive, which other models of the set do not')
    return {"layers": _linear(step, name), "loss": "squared", "l2": float(step.alpha) / total}


def _sgd(step: Any, name: str, total: float, count: int) -> dict[str, Any]:
    # Weights multiply the step of a row, and every row shrinks coefficients alike: alpha stands beside the sum over rows / their number.
    if step.loss != "log_loss":
        raise ValueError(f'step "{name}" has the loss {step.loss!r}; supported is "log_loss"')
    share = {None: 0.0, "l2": 0.0, "l1": 1.0}.get(step.penalty, step.l1_ratio)
    weight = float(step.alpha) * count / total if step.penalty is not None else 0.0
    return {"layers": _linear(step, name), "loss": "logistic", "l2": (1 - share) * weight, "l1": share * weight}


def _mlp(step: Any, name: str, total: float, count: int) -> dict[str, Any]:
    activation = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}.get(step.activation)
    if activation is None:
        raise ValueError(f'step "{name}" has the activation {step.activation!r}; supported are relu, tanh and logistic')
    layers: list[dict[str, Any]] = []
    for k, (weights, bias) in enumerate(zip(step.coefs_, step.intercepts_, strict=True)):
        layers.append({"weights": weights.T.tolist(), "bias": bias.tolist()})
        if k + 1 < len(step.coefs_):
            layers[-1]["activation"] = activation
    return {"layers": layers, "loss": "logistic", "l2": float(step.alpha) * _share_of_penalty(step, count) * count / total}


def _share_of_penalty(step: Any, count: int) -> float:
    """How often alpha stands beside the mean loss: each step of training divides it by the rows of its batch."""
    if step.solver == "lbfgs":
        return 1 / count
    trained = count - math.ceil(step.validation_fraction * count) if step.early_stopping else count
    batch = min(200, trained) if step.batch_size == "auto" else min(max(int(step.batch_size), 1), trained)
    whole, rest = divmod(trained, batch)
    return (whole / batch + (1 / rest if rest else 0)) / (whole + (1 if rest else 0))


_WEIGHS_CLASSES = ("LogisticRegression", "LogisticRegressionCV")
_CLASSIFIERS = {"LogisticRegression": _logistic, "LogisticRegressionCV": _logistic, "RidgeClassifier": _ridge, "SGDClassifier": _sgd, "MLPClassifier": _mlp}
