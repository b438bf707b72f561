"""Scorecards of optbinning: the rows of their tables, codes and empty cells among them, held against their own scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._deployed import Rows, checked_rows, rows_at
from ._points import MISSING, Line, checked_lines, points_of, require_close
from ._tables import _cell, plain



def lines_of(card: Any) -> tuple[list[Line], tuple[float, float, float], bool]:
    """Lines, (pdo, score, odds), and whether points speak for the event, which is the second label."""
    method = card.scaling_method
    if method not in (None, "pdo_odds"):
        raise ValueError(f'the scaling "{method}" of the scorecard does not say what its points mean; supported is "pdo_odds"')
    table = card.table(style="detailed")
    if method is None:
        scale = (math.log(2), 0.0, 1.0)
        base = float(np.ravel(card.estimator_.intercept_)[0]) + float(card.intercept_)
    else:
        given = card.scaling_method_params
        scale = (float(given["pdo"]), float(given["scorecard_points"]), float(given["odds"]))
        base = float(card.intercept_)
    is_event = method is None or bool(getattr(card, "reverse_scorecard", False))
    if method is not None and is_event:
        # A reversed card turns coefficients around and not the intercept: its score is at other odds than it says, by twice that.
        scale = (scale[0], scale[1] - 2 * float(np.ravel(card.estimator_.intercept_)[0]) * scale[0] / math.log(2), scale[2])
    lines: list[Line] = [{"feature": "base", "points": base}]
    for name in dict.fromkeys(table["Variable"]):
        lines += _lines_of_feature(card.binning_process_.get_binned_variable(name), str(name), table[table["Variable"] == name])
    # Points of "pdo_odds" grow as the event becomes less likely, unless the scorecard is reversed.
    return lines, scale, is_event


def _lines_of_feature(binned: Any, feature: str, table: Any) -> list[Line]:
    """Bins in their order, then codes (one row for all, or one for each name), then empty cells."""
    points = [float(value) for value in table["Points"]]
    codes = _codes(getattr(binned, "special_codes", None))
    bins: list[list[Line]]
    if binned.dtype == "categorical":
        groups = [levels for levels in table["Bin"] if not isinstance(levels, str)]  # others are names of codes
        bins = [[{"feature": feature, "level": _cell(feature, 0, plain(level))} for level in levels] for levels in groups]
    elif binned.dtype == "numerical":
        ends = [None, *(float(split) for split in binned.splits), None]
        bins = [[{"feature": feature, "from": a, "to": b}] for a, b in zip(ends, ends[1:], strict=False)]
    else:
        raise ValueError(f'the scorecard has a feature "{feature}" of type {binned.dtype}; expected numerical or categorical')
    if len(points) != len(bins) + len(codes) + 1:
        raise ValueError(
            f'the scorecard has {len(points)} rows of "{feature}"; expected {len(bins)} bins, {len(codes)} for special codes and one for empty cells'
        )
    for text, values in codes:
        bins.append([_code_line(feature, text, value, len(values) > 1, binned.dtype == "numerical") for value in values])
    has_level = any(str(line.get("level", "")).lower() in MISSING for own in bins for line in own if "from" not in line)
    bins.append([] if has_level else [{"feature": feature, "level": "missing"}])
    return [{**line, "points": given} for own, given in zip(bins, points, strict=True) for line in own]


def _codes(special: Any) -> list[tuple[str, list[Any]]]:
    """The rows of codes: what they are called, and the codes of each."""
    if special is None:
        return [("special", [])]
    if isinstance(special, dict):
        return [(str(text), list(codes) if isinstance(codes, (list, tuple, np.ndarray)) else [codes]) for text, codes in special.items()]
    return [("special", list(special))]


def _code_line(feature: str, text: str, code: Any, is_one_of_several: bool, is_number: bool) -> Line:
    code = plain(code)
    if not is_number:
        return {"feature": feature, "level": _cell(feature, 0, code), "code": code}
    if isinstance(code, str) or not math.isfinite(float(code)):
        raise ValueError(f'the scorecard has the special code {code!r} of "{feature}", a number; expected a finite number')
    meaning = f"{text} {_cell(feature, 0, code)}" if is_one_of_several else text
    return {"feature": feature, "from": float(code), "to": float(code), "level": meaning, "code": float(code)}


def require_same_scores(card: Any, X: Any, rows: Rows, lines: list[Line], scale: tuple[float, float, float], is_event: bool) -> None:
    """What was read of the card against its own scores and, where it does not round, logits: of rows and of each code."""
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "iloc"):
        raise TypeError(f"X is of type {type(X).__name__}; expected the frame that the scorecard was fitted on")
    table = rows_at(X, checked_rows(rows.columns, checked_lines(lines)))
    table = _with_codes(table[[*dict.fromkeys(line["feature"] for line in lines[1:])]], lines)
    points = points_of(table, lines)
    require_close(card.score(table), points - lines[0]["points"] + float(card.intercept_), table, "the scorecard's score")
    if not card.rounding and hasattr(card, "decision_function"):
        pdo, score, odds = scale
        logits = math.log(odds) + (points - score) * math.log(2) / pdo
        require_close(card.decision_function(table), logits if is_event else -logits, table, "the scorecard's decision_function")


def _with_codes(table: Any, lines: list[Line]) -> Any:
    """The rows, and one more for each code, as the first has it otherwise."""
    import pandas as pd

    more = []
    for line in lines[1:]:
        if "code" in line:
            row, feature = table.iloc[[0]].copy(), line["feature"]
            row[feature] = pd.Series([line["code"]], index=row.index, dtype=float if "from" in line else object)
            more.append(row)
    return pd.concat([table, *more], ignore_index=True)
