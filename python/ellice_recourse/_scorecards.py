"""Points for bins and levels, which add up to a score: scorecards and additive models, with the rows they were made from."""

from __future__ import annotations

import csv
import math
import os
import pathlib
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, _optbinning
from ._deployed import Rows, checked_rows, finish_schema, grid_of, rows_at
from ._drafting import feature_of_values
from ._importers import tool_text
from ._model import Model, Schema, label_text
from ._points import MISSING, checked_lines, points_of, require_close
from ._progress import Progress, callback_of
from ._tables import _cell, plain

_COLUMNS = ("feature", "from", "to", "level", "points", "reason")
# More bins in all than this make tables of curvature that no machine likes.
_MOST_BINS = 1500


def from_scorecard(
    card: Any,
    X: Any,
    y: Any,
    *,
    pdo: float | None = None,
    score: float | None = None,
    odds: float | None = None,
    cut_off: float | None = None,
    closed: str = "left",
    l2: float = 1e-3,
    favourable: Any = None,
    target: str = "target",
    schema: Schema | None = None,
    store_rows: bool = False,
    progress: Progress = None,
    **constraints: Any,
) -> Model:
    """A scorecard with the rows that it was made from: a CSV or PMML file, a frame, or a fitted one of optbinning.

    A table has the columns ``feature``, ``from``, ``to``, ``points``, and where there are any ``level`` and ``reason``;
    the feature ``base`` has everybody's points. ``closed`` says which bin an end belongs to (``left``, ``right``, ``both``). At ``score`` points the odds
    of the ``favourable`` label are ``odds`` to one, and they double every ``pdo`` points; a scorecard of optbinning
    (scaling ``pdo_odds`` or none) says so itself. Accepted is who has ``cut_off`` points, or even odds. ``l2`` is the weight of the penalty with which nearly as good models
    are sought (docs/import.md).
    """
    tool = ""
    if hasattr(card, "binning_process_"):
        if (pdo, score, odds) != (None, None, None):
            raise TypeError("a scorecard of optbinning says itself what points mean: leave out pdo, score and odds")
        lines, (pdo, score, odds), is_event = _optbinning.lines_of(card)
        _optbinning.require_same_scores(card, X, Rows(X, y), lines, (pdo, score, odds), is_event)
        tool = tool_text("optbinning", "Scorecard")
        closed = "left"
        labels = [label_text(label) for label in np.unique(np.asarray(y)).tolist()]
        meant = labels[-1] if is_event else labels[0]
        if favourable is not None and label_text(favourable) != meant:
            raise ValueError(f"favourable = {favourable!r}: points of this scorecard speak for {meant!r}")
        favourable = meant
    elif isinstance(card, (str, os.PathLike)):
        lines = None
    else:
        lines = _of_table(card)
    missing = [name for name, value in (("pdo", pdo), ("score", score), ("odds", odds)) if value is None]
    if missing:
        raise TypeError(f"from_scorecard needs {' and '.join(missing)}: what a score means")
    assert pdo is not None and score is not None and odds is not None
    rows = Rows(X, y)
    given = {"favourable": favourable, "target": target, "schema": schema, "constraints": constraints, "cut_off": cut_off}
    scale = (float(pdo), float(score), float(odds))
    if lines is None:
        return _of_file(os.fspath(card), rows, scale, closed, l2, tool, store_rows, progress, **given)
    return _of_lines(lines, rows, scale, closed, l2, tool, store_rows, progress, **given)


def from_ebm(
    ebm: Any,
    X: Any,
    y: Any,
    *,
    l2: float = 1e-3,
    favourable: Any = None,
    target: str = "target",
    schema: Schema | None = None,
    store_rows: bool = False,
    progress: Progress = None,
    **constraints: Any,
) -> Model:
    """An ExplainableBoostingClassifier of interpret with the rows of its training, by the scores of its bins.

    Main effects alone: fit with ``interactions=0``. Many bins make large tables: ``max_bins=32`` will do.
    """
    if not hasattr(ebm, "term_features_"):
        raise ValueError(f"the {type(ebm).__name__} is not fitted")
    classes = _classes_of(ebm, y)
    if len(classes) != 2:
        raise ValueError(f"the {type(ebm).__name__} has {len(classes)} classes; supported are two")
    together = [term for term in ebm.term_features_ if len(term) > 1]
    if together:
        names = " and ".join(str(ebm.feature_names_in_[j]) for j in together[0])
        raise ValueError(
            f"{len(together)} of its terms are interactions, the first of {names}: a plan could not be found feature by "
            "feature; fit with interactions=0"
        )
    lines: list[dict[str, Any]] = [{"feature": "base", "points": float(np.ravel(ebm.intercept_)[0])}]
    for (j,), scores in zip(ebm.term_features_, ebm.term_scores_, strict=True):
        lines += _term_lines(str(ebm.feature_names_in_[j]), ebm.bins_[j][0], np.asarray(scores, dtype=float))
    if len(lines) > _MOST_BINS:
        raise ValueError(f"it has {len(lines) - 1} bins in all, more than {_MOST_BINS}; fit with max_bins=32")
    if str(getattr(ebm, "link_", "logit")) != "logit":
        raise ValueError(f'the {type(ebm).__name__} has the link "{ebm.link_}"; supported is "logit"')
    import pandas as pd

    rows = Rows(X, y, ebm.feature_names_in_)
    for line in lines[1:]:
        if "level" in line and getattr(getattr(rows.columns[line["feature"]], "dtype", None), "kind", "") == "b":
            line["level"] = {"0": "False", "1": "True"}.get(line["level"], line["level"])  # nominal booleans
    places = checked_rows(rows.columns, checked_lines(lines))
    table = pd.DataFrame({name: np.asarray(rows_at(values, places)) for name, values in rows.columns.items()})
    require_close(ebm.decision_function(rows_at(X, places)), points_of(table, lines), table, f"the {type(ebm).__name__}'s score")
    wanted = classes[1] if favourable is None else label_text(favourable)
    if wanted not in classes:
        raise ValueError(f"favourable = {favourable!r} is none of the classes, {', '.join(classes)}")
    if wanted == classes[0]:
        for line in lines:
            line["points"] = -line["points"]
    return _of_lines(
        lines, rows, (math.log(2), 0.0, 1.0), "left", l2, tool_text("interpret-core", type(ebm).__name__), store_rows, progress,
        favourable=wanted, target=target, schema=schema, constraints=constraints,
    )  # fmt: skip


def _classes_of(ebm: Any, y: Any) -> list[str]:
    """The classes as the rows' labels are written; interpret keeps 0.0 and 1.0 as the texts "0.0" and "1.0"."""
    own = [label_text(label) for label in ebm.classes_]
    known = {str(label): label_text(label) for label in np.unique(np.asarray(y)).tolist()}
    return [known.get(label, label) for label in own]


def _term_lines(feature: str, bins: Any, scores: Any) -> list[dict[str, Any]]:
    """The bins of a term; the first score is that of missing cells, the last that of levels nobody knew."""
    if isinstance(bins, dict):
        return [{"feature": feature, "level": _cell(feature, 0, level), "points": scores[place]} for level, place in bins.items()]
    ends = [None, *(float(cut) for cut in bins), None]
    return [{"feature": feature, "from": a, "to": b, "points": s} for a, b, s in zip(ends, ends[1:], scores[1:-1], strict=False)]


def _of_table(card: Any) -> list[dict[str, Any]]:
    """The lines of a frame, a dict of columns or a list of dicts."""
    if hasattr(card, "to_dict"):
        card = card.to_dict("records") if hasattr(card, "iloc") else card.to_dicts()
    if not isinstance(card, Iterable) or isinstance(card, (str, bytes)):
        raise TypeError(f"card is of type {type(card).__name__}; expected a path, a frame or a list of dicts")
    lines = []
    for place, line in enumerate(card):
        unknown = sorted(set(line) - set(_COLUMNS))
        if unknown:
            raise ValueError(f'card: row {place} has a column "{unknown[0]}"; expected {", ".join(_COLUMNS)}')
        cells = {name: None if _is_nothing(value) else value for name, value in line.items()}
        if cells.get("level") is not None:
            cells["level"] = _cell("level", place, plain(cells["level"]))  # as the rows spell it: 1, not 1.0
        lines.append(cells)
    return lines


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _of_lines(lines: list[dict[str, Any]], rows: Rows, *how: Any, **given: Any) -> Model:
    """The model of a table, by way of a file: one reader for all."""
    features = {str(line["feature"]): None for line in lines if line["feature"] != "base"}
    unknown = [name for name in features if name not in rows.columns]
    if unknown:
        raise ValueError(f'the scorecard has a feature "{unknown[0]}", which is no column of X')
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scorecard.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, restval="")
            writer.writeheader()
            for line in lines:
                cells = {name: line.get(name) for name in _COLUMNS}
                writer.writerow({k: "" if v is None else repr(float(v)) if k in ("from", "to", "points") else v for k, v in cells.items()})
        try:
            return _of_file(str(path), rows, *how, levels=_levels_of(lines, rows), **given)
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), "scorecard")) from None


def _levels_of(lines: list[dict[str, Any]], rows: Rows) -> dict[str, dict[str, Any]]:
    """The kinds of the features, as the lines and the columns tell them; lines for empty cells tell nothing."""
    numbers = {str(line["feature"]) for line in lines if line.get("from") is not None or line.get("to") is not None}
    kinds: dict[str, dict[str, Any]] = {}
    for line in lines:
        name = str(line["feature"])
        if name == "base":
            continue
        level = line.get("level")
        if name in numbers or level is None:
            grid = grid_of(name, rows.columns[name])
            kinds[name] = {"kind": "integer" if grid else "numeric", **grid}
        elif str(level).lower() not in MISSING or level in _texts(name, rows.columns[name]):
            kind = kinds.setdefault(name, {"kind": "categorical", "levels": []})
            kind["levels"].append(str(level))
            if "code" not in line:
                kind.setdefault("allowed", []).append(str(level))
    for name, kind in kinds.items():
        if len(kind.get("allowed", [])) == len(kind.get("levels", [])):
            kind.pop("allowed", None)  # codes alone are no value that a plan may have
        if kind.get("levels") == ["False", "True"]:
            kind["kind"] = "binary"
    return kinds


def _in_order(label: str) -> tuple[bool, float, str]:
    """Labels that are numbers by number, before all others."""
    try:
        return (False, float(label), label)
    except ValueError:
        return (True, 0.0, label)


def _texts(name: str, values: Any) -> set[str]:
    return {_cell(name, row, plain(value)) for row, value in enumerate(values)}


def _of_file(
    path: str, rows: Rows, scale: tuple[float, float, float], closed: str, l2: float, tool: str, store_rows: bool, progress: Progress,
    *, favourable: Any, target: str, schema: Schema | None, constraints: dict[str, Any], levels: dict[str, dict[str, Any]] | None = None,
    cut_off: float | None = None,
) -> Model:  # fmt: skip
    classes = sorted(set(rows.labels), key=_in_order)
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} different labels; supported are two")
    kinds = {name: feature_of_values(name, values) for name, values in rows.columns.items() if levels is None or name in levels}
    for name, entry in (levels or {}).items():
        if "levels" in entry or kinds[name]["kind"] not in ("numeric", "integer"):
            kinds[name] = entry
    wanted = finish_schema(kinds, rows, classes, favourable=favourable, target=target, schema=schema, constraints=constraints)
    callback, close = callback_of(progress)
    try:
        import json

        table = rows.table(wanted["target"]["column"], wanted.get("drop", []))
        return Model(_core.of_scorecard(path, closed, *scale, cut_off, table, json.dumps(wanted), l2, tool, store_rows, callback), list(rows.columns))
    finally:
        close()
