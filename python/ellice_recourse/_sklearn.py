"""Fitted estimators of scikit-learn with the rows of their training."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._drafting import feature_of_values
from ._fold import Fold, Term, evaluate, require_fitted
from ._importers import _tool
from ._model import Model, Schema, constrain, label_text, schema_text
from ._progress import Progress, callback_of
from ._tables import _is_pandas, frame_of

_WEIGHTS = "(weight)"


def from_sklearn(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    favourable: Any = None,
    target: str = "target",
    schema: Schema | None = None,
    store_rows: bool = False,
    progress: Progress = None,
    **constraints: Any,
) -> Model:
    """A fitted classifier, alone or at the end of a Pipeline, as it decides: plans are accepted by its own predict.

    ``X``, ``y`` and ``sample_weight`` are those that it was fitted on. ``favourable`` is the label that people want,
    the second of its classes unless given. Without ``schema`` one is drafted from the columns of ``X``; ``immutable``,
    ``bounds``, ``step`` and the others of ``Model.with_schema`` add to it. ``store_rows`` keeps the rows in the model,
    for ``set="true"``.
    """
    classifier, steps = _parts(estimator)
    columns = _columns(estimator, X)
    labels = [label_text(label) for label in np.asarray(y).tolist()]
    rows = len(labels)
    if any(len(values) != rows for values in columns.values()):
        raise ValueError(f"X has {len(next(iter(columns.values())))} rows, but y has {rows}")
    name, step = classifier
    require_fitted(step, name)
    weights = _row_weights(step, labels, sample_weight, rows)
    document = _objective(step, name, float(rows if weights is None else np.sum(weights)))
    fold = Fold()
    terms = [Term(column) for column in columns]
    for inner, transformer in steps:
        terms = fold.through(transformer, inner, terms)
    _require_distinct(terms)
    for column, value in fold.fills.items():
        columns[column] = _filled(columns[column], value)
    features = {term.feature: None for term in terms}
    kinds = {column: fold.kinds.get(column) or feature_of_values(column, columns[column]) for column in features}
    _require_numbers(terms, kinds, fold)
    _self_check(estimator, X, document["layers"], terms, columns, kinds)

    classes = [label_text(label) for label in step.classes_]
    wanted_label = classes[1] if favourable is None else label_text(favourable)
    if wanted_label not in classes:
        raise ValueError(f"favourable = {favourable!r} is none of the classes, {', '.join(classes)}")
    if schema is None:
        if target in columns:
            raise ValueError(f'X has a column "{target}"; give the labels another name by target=')
        wanted: dict[str, Any] = {"target": {"column": target, "favourable": wanted_label}, "features": kinds}
        unused = [column for column in columns if column not in features]
        if unused:
            wanted["drop"] = unused
    else:
        wanted = json.loads(schema_text(schema))
        target = wanted["target"]["column"]
    for keyword in ("immutable", "protected"):  # what the classifier does not read changes nothing
        if keyword in constraints and not isinstance(constraints[keyword], str):
            constraints[keyword] = [column for column in constraints[keyword] if column not in wanted.get("drop", [])]
    constrain(wanted, constraints)
    document["inputs"] = [
        {"feature": t.feature, **({} if t.level is None else {"level": t.level}), "offset": t.offset, "scale": t.scale}
        for t in terms
    ]
    document["event"] = classes[1]
    table: dict[str, Any] = {**columns, target: labels}
    if weights is not None:
        table[_WEIGHTS] = weights
        document["weights"] = {"column": _WEIGHTS}
    callback, close = callback_of(progress)
    try:
        core = _core.of_deployed(json.dumps(document), frame_of(table, []), json.dumps(wanted), store_rows, callback)
    finally:
        close()
    return Model(core)


def _parts(estimator: Any) -> tuple[tuple[str, Any], list[tuple[str, Any]]]:
    """The classifier with its name, and the steps before it."""
    if type(estimator).__name__ != "Pipeline":
        return (type(estimator).__name__, estimator), []
    steps = list(estimator.steps)
    (name, last), before = steps[-1], steps[:-1]
    inner, more = _parts(last)
    return (name if not more else f"{name}.{inner[0]}", inner[1]), before + more


def _columns(estimator: Any, X: Any) -> dict[str, Any]:
    if _is_pandas(X):
        if X.columns.nlevels > 1:
            raise ValueError("X: its columns have several levels (a MultiIndex); give each column one name")
        names = [str(name) for name in X.columns]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise ValueError(f'X: there are two columns "{repeated[0]}"')
        return {name: X.iloc[:, j] for j, name in enumerate(names)}
    if hasattr(X, "toarray"):
        raise ValueError("X is sparse: give the columns from before they were encoded")
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X has {array.ndim} dimensions; expected rows and columns")
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(array.shape[1])])]
    return {name: array[:, j] for j, name in enumerate(names)}


def _row_weights(step: Any, labels: list[str], sample_weight: Any, rows: int) -> Any:
    """Weights of rows and classes together, or none."""
    chosen = getattr(step, "class_weight", None)
    if chosen is None and sample_weight is None:
        return None
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=float).copy()
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight has the shape {weights.shape}, but there are {rows} rows")
    if chosen is None:
        return weights
    known = [label_text(label) for label in step.classes_]
    if isinstance(chosen, str):
        factors = {label: rows / (len(known) * max(labels.count(label), 1)) for label in known}
    else:
        factors = {label_text(label): float(value) for label, value in dict(chosen).items()}
    return weights * np.array([factors.get(label, 1.0) for label in labels])


def _objective(step: Any, name: str, total: float) -> dict[str, Any]:
    """Layers, loss and penalty of a classifier, in the coordinates of what it reads."""
    kind = type(step).__name__
    handler = _CLASSIFIERS.get(kind)
    if kind == "CalibratedClassifierCV":
        raise ValueError(
            f'step "{name}" is a CalibratedClassifierCV: it averages models that were fitted on parts of the rows, each '
            "bent by a curve, and minimises no objective; import the classifier inside, fitted on all rows"
        )
    if handler is None or type(step).__module__.partition(".")[0] != "sklearn":
        raise ValueError(f'step "{name}" is a {kind}; supported are {", ".join(_CLASSIFIERS)}')
    if len(step.classes_) != 2:
        raise ValueError(f'step "{name}" has {len(step.classes_)} classes; supported are two')
    return {"format": "ellice.deployed", "version": 1, "tool": _tool("scikit-learn", kind), **handler(step, name, total)}


def _linear(step: Any, name: str) -> list[dict[str, Any]]:
    if not step.fit_intercept:
        raise ValueError(f'step "{name}" was fitted without an intercept, which models of the set have')
    return [{"weights": np.atleast_2d(step.coef_).tolist(), "bias": np.atleast_1d(step.intercept_).tolist()}]


def _refuse_l1(step: Any, name: str) -> None:
    l1 = getattr(step, "penalty", None) in ("l1", "elasticnet") or getattr(step, "l1_ratio", None) not in (None, 0, 0.0, 0.15)
    if type(step).__name__ == "LogisticRegression" and (step.l1_ratio or 0) != 0:
        l1 = True
    if l1:
        raise ValueError(f'step "{name}" has an l1 penalty: the set of its nearly as good models has corners; fit with l2')


def _logistic(step: Any, name: str, total: float) -> dict[str, Any]:
    _refuse_l1(step, name)
    if step.solver == "liblinear":
        raise ValueError(f'step "{name}" was fitted by liblinear, which penalises the intercept; take another solver')
    penalised = step.penalty is not None and np.isfinite(step.C)
    return {"layers": _linear(step, name), "loss": "logistic", "l2": 1 / (step.C * total) if penalised else 0.0}


def _ridge(step: Any, name: str, total: float) -> dict[str, Any]:
    if step.positive:
        raise ValueError(f'step "{name}" keeps its coefficients positive, which other models of the set do not')
    return {"layers": _linear(step, name), "loss": "squared", "l2": float(step.alpha) / total}


def _sgd(step: Any, name: str, total: float) -> dict[str, Any]:
    if step.loss != "log_loss":
        raise ValueError(f'step "{name}" has the loss {step.loss!r}; supported is "log_loss"')
    if step.penalty in ("l1", "elasticnet"):
        raise ValueError(f'step "{name}" has the penalty {step.penalty!r}: the set of its nearly as good models has corners; fit with l2')
    return {"layers": _linear(step, name), "loss": "logistic", "l2": float(step.alpha) if step.penalty == "l2" else 0.0}


def _mlp(step: Any, name: str, total: float) -> dict[str, Any]:
    activation = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}.get(step.activation)
    if activation is None:
        raise ValueError(f'step "{name}" has the activation {step.activation!r}; supported are relu, tanh and logistic')
    layers: list[dict[str, Any]] = []
    for k, (weights, bias) in enumerate(zip(step.coefs_, step.intercepts_, strict=True)):
        layers.append({"weights": weights.T.tolist(), "bias": bias.tolist()})
        if k + 1 < len(step.coefs_):
            layers[-1]["activation"] = activation
    return {"layers": layers, "loss": "logistic", "l2": float(step.alpha) / total}


_CLASSIFIERS = {"LogisticRegression": _logistic, "RidgeClassifier": _ridge, "SGDClassifier": _sgd, "MLPClassifier": _mlp}


def _require_distinct(terms: list[Term]) -> None:
    seen = set()
    for term in terms:
        if (term.feature, term.level) in seen:
            raise ValueError(f'the classifier reads column "{term.feature}" twice; let it go through one step only')
        seen.add((term.feature, term.level))


def _require_numbers(terms: list[Term], kinds: dict[str, dict[str, Any]], fold: Fold) -> None:
    for term in terms:
        if term.feature not in fold.kinds and kinds[term.feature]["kind"] in ("categorical", "ordinal"):
            raise ValueError(f'the classifier reads column "{term.feature}" as numbers, but it holds levels; encode it')


def _filled(values: Any, value: Any) -> Any:
    return values.fillna(value) if hasattr(values, "fillna") else np.where(np.isnan(values), value, values)


_CHECKED = 1000


def _self_check(estimator: Any, X: Any, layers: Any, terms: list[Term], columns: dict[str, Any], kinds: dict[str, Any]) -> None:
    """The folded model against the pipeline's own score, on rows of the training."""
    head = X.iloc[:_CHECKED] if hasattr(X, "iloc") else np.asarray(X)[:_CHECKED]
    few = {name: values[:_CHECKED] for name, values in columns.items()}
    mine = evaluate(terms, layers, few, kinds)
    if hasattr(estimator, "decision_function"):
        own = np.asarray(estimator.decision_function(head))
    else:
        own = np.asarray(estimator.predict_proba(head))[:, 1]
        mine = 1 / (1 + np.exp(-mine))
    worst = float(np.max(np.abs(own - mine)))
    size = max(1.0, float(np.max(np.abs(own))))
    if not worst <= 1e-6 * size:
        raise ValueError(f"the pipeline scores rows of X differently from what was read of it, by up to {worst:.3g}")
