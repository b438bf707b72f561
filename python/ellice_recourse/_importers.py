"""Models that other packages fitted."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from typing import Any

import numpy as np

from . import _core
from ._model import Model, Schema, constrain, label_text, schema_text
from ._progress import Progress, callback_of
from ._tables import _cell, frame_of, plain


def from_statsmodels(
    results: Any, *, schema: Schema | None = None, data: Any = None, favourable: Any = 1, target: str | None = None, **constraints: Any
) -> Model:
    """A fitted Logit or binomial GLM of statsmodels, by its coefficients and their covariance: no row is needed.

    Without ``schema`` one is drafted from ``data``, the frame with the columns of the formula. ``favourable`` is the
    label that is coded as 1.
    """
    covariance_type = str(getattr(results, "cov_type", "nonrobust"))
    if covariance_type != "nonrobust":
        raise ValueError(
            f'the covariance is of type "{covariance_type}": a robust one says nothing about the curvature of the '
            'likelihood; fit with cov_type="nonrobust"'
        )
    model: Any = getattr(results, "model", None)
    kind = type(model).__name__
    family = type(getattr(model, "family", None)).__name__
    link = type(getattr(getattr(model, "family", None), "link", None)).__name__
    if kind != "Logit" and (kind, family, link) != ("GLM", "Binomial", "Logit"):
        raise ValueError(f"a {kind}{f' of family {family}, link {link}' if kind == 'GLM' else ''} is no logistic regression")
    _require_plain_likelihood(results, model)
    if getattr(results, "mle_retvals", None) and not results.mle_retvals.get("converged", True):
        raise ValueError("the fit did not converge: its covariance is not that of an optimum")
    names = list(getattr(results.params, "index", model.exog_names))
    if schema is None:
        if data is None:
            raise TypeError("from_statsmodels needs a schema, or data to draft one")
        from ._drafting import schema_of_frame

        target = target or str(model.endog_names)
        for term in names:
            if _term(term) != "(Intercept)" and not any(_speaks_of(term, column) for column in data.columns):
                raise ValueError(f'the term "{term}" is no column of data; transformed columns and products do not fit')
            if term.startswith("C(") and not term.endswith("]"):
                raise ValueError(f'the term "{term}" is a contrast of several levels; expected indicators of levels, as C() makes them by default')
        columns = [column for column in data.columns if any(_speaks_of(term, column) for term in names)]
        schema = schema_of_frame(data[columns], target, label_text(favourable))
        for column in columns:  # of numbers, C(grade), and of ordered categories a formula makes indicators of levels
            entry = schema["features"][str(column)]
            if entry["kind"] in ("numeric", "integer", "ordinal") and any(_speaks_of(term, column) and term.endswith("]") for term in names):
                levels = entry.get("levels") or _levels_of_numbers(str(column), data[column])
                schema["features"][str(column)] = {"kind": "categorical", "levels": levels}
    wanted = json.loads(schema_text(schema))
    constrain(wanted, constraints)
    document: dict[str, Any] = {
        "terms": [_term(name) for name in names],
        "estimates": [float(value) for value in results.params],
        "covariance": [[float(value) for value in row] for row in getattr(results.cov_params(), "values", results.cov_params())],
        "rows": int(results.nobs),
        "log_likelihood": float(results.llf),
        "event": label_text(favourable),
        "tool": tool_text("statsmodels", kind),
    }
    if data is not None:
        numbers = [name for name, entry in wanted["features"].items() if entry["kind"] in ("numeric", "integer")]
        for key, values in (
            ("mean", data[numbers].mean()),
            ("scale", data[numbers].std(ddof=0)),
            ("min", data[numbers].min()),
            ("max", data[numbers].max()),
        ):
            document[key] = {str(name): float(value) for name, value in values.items()}
    return Model(_core.of_coefficients(json.dumps(document), json.dumps(wanted)))


def _require_plain_likelihood(results: Any, model: Any) -> None:
    """ValueError where the fit has more than coefficients, or its rows weigh differently."""
    for name, neutral in (("offset", 0.0), ("exposure", 0.0), ("freq_weights", 1.0), ("var_weights", 1.0), ("n_trials", 1.0)):
        values = getattr(model, name, None)
        if values is None or name == "exposure" and not getattr(model, "_has_exposure", True):
            continue
        other = [float(value) for value in np.ravel(np.asarray(values, dtype=float)) if value != neutral]
        if other and name in ("offset", "exposure"):
            raise ValueError(f"the {name} of the fit adds to the score of each row what no coefficient says; fit without it, or as a column")
        if other and name == "n_trials":
            raise ValueError(f"rows of the fit are several trials each ({other[0]:g} in one); fit with one row for each trial")
        if other:
            raise ValueError(f"the fit has {name} ({other[0]:g} of one row), with which its covariance is that of other rows; fit without them")
    scale = float(getattr(results, "scale", 1.0))
    if scale != 1:
        raise ValueError(f"the fit has the scale {scale:.6g}, by which its covariance is not that of the likelihood; fit with scale=1")


def _term(name: str) -> str:
    quoted = _QUOTED.fullmatch(name)
    return "(Intercept)" if name in ("const", "Intercept") else quoted[2] if quoted else name


# How a formula writes a column whose name is no plain word.
_QUOTED = re.compile(r"""Q\((["'])(.*?)\1\)""")


def _speaks_of(term: str, column: Any) -> bool:
    bare = _QUOTED.sub(lambda found: found[2], term[2:] if term.startswith("C(") else term, count=1)
    return bare == str(column) or bare.startswith((f"{column}[", f"{column})", f"{column},"))


def _levels_of_numbers(name: str, values: Any) -> list[str]:
    return [_cell(name, row, plain(value)) for row, value in enumerate(sorted(values.dropna().unique().tolist()))]


def tool_text(package: str, kind: str) -> str:
    """What fitted a model, for the record."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}, {kind}"
    except PackageNotFoundError:
        return f"{package}, {kind}"


def from_onnx(
    model: Any,
    data: Any,
    *,
    schema: Schema | None = None,
    target: str | None = None,
    favourable: Any = None,
    l2: float,
    progress: Progress = None,
    loss: str = "logistic",
    penalize_bias: bool = False,
    weights: str = "",
    class_weight: str = "none",
    event: Any = None,
    tool: str = "",
    store_rows: bool = False,
    **constraints: Any,
) -> Model:
    """An ONNX file (its path, its bytes, or what onnx.load gives), with ``data``, the labelled rows of its training.

    Operators are recognised, never run; plans keep the margin that single precision needs. The file says neither loss
    nor penalty: ``l2`` is λ of (λ/2)·Σw² beside the mean loss, 1/(C·rows) of scikit-learn, 0 where there was none.
    Without ``schema`` one has the columns of ``data`` in their order, and ``target`` and ``favourable`` are needed.
    ``event`` is the label of its second class, for which a large score speaks, where its labels are not those of the
    data; of a file without labels it is ``favourable`` unless given.
    """
    source = "model"
    if isinstance(model, (bytes, bytearray)):
        content = bytes(model)
    elif hasattr(model, "SerializeToString"):
        content = model.SerializeToString()
    else:
        source = os.fspath(model)
        with open(source, "rb") as file:
            content = file.read()
    frame = frame_of(data, [])
    if schema is None:
        if target is None or favourable is None:
            raise TypeError("from_onnx needs a schema, or target and favourable to draft one")
        from ._deployed import columns_of
        from ._drafting import feature_of_values

        columns = columns_of(data)
        if target not in columns:
            raise ValueError(f'target = "{target}" is no column of data; there are {", ".join(columns)}')
        features = {name: feature_of_values(name, values) for name, values in columns.items() if name not in (target, weights)}
        schema = {"target": {"column": target, "favourable": label_text(favourable)}, "features": features}
    wanted = json.loads(schema_text(schema))
    constrain(wanted, constraints)
    options: dict[str, Any] = {
        "loss": loss, "l2": l2, "penalize_bias": penalize_bias, "weights": weights, "class_weight": class_weight,
        "event": "" if event is None else label_text(event), "tool": tool, "store_rows": store_rows,
    }  # fmt: skip
    callback, close = callback_of(progress)
    try:
        found = Model(_core.of_onnx(content, source, frame, json.dumps(wanted), options, callback))
    finally:
        close()
    _require_better_than_a_coin(found, loss, event, wanted["target"]["favourable"])
    return found


def _require_better_than_a_coin(model: Model, loss: str, event: Any, favourable: str) -> None:
    """A file without labels may speak for the other one; who says which it is, is warned alone."""
    coin = 0.5 if loss == "squared" else math.log(2)
    own = model.objective + (model.excess or 0.0)
    if own <= coin:
        return
    meant = favourable if event is None else label_text(event)
    what = (
        f'on these rows what decides is worse than a coin, with an objective of {own:.4g} and the coin\'s of {coin:.4g}, where a large score '
        f'speaks for "{meant}"'
    )
    if event is None:
        raise ValueError(f"{what}; say by event= for which label it does, and see whether l2 and the columns are those of the training")
    warnings.warn(f"{what}; are event, l2 and the columns what they should be?", stacklevel=3)
