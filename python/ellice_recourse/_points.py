"""What the lines of a scorecard give rows: the check of what was read against a program's own scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._tables import _cell, plain

Line = dict[str, Any]
MISSING = ("missing", "(missing)")  # levels of lines for empty cells, unless a category has them


def checked_lines(lines: list[Line]) -> dict[str, dict[str, Any]]:
    """Bins and levels of the features, of each of which a row is checked."""
    kinds: dict[str, dict[str, Any]] = {}
    for line in lines[1:]:
        if "to" not in line:
            kinds.setdefault(line["feature"], {"kind": "categorical", "levels": []})
        elif line["from"] != line["to"]:
            kind = kinds.setdefault(line["feature"], {"kind": "binned", "edges": []})
            kind["edges"] += [] if line["to"] is None else [line["to"]]
    return kinds


def points_of(table: Any, lines: list[Line]) -> Any:
    """The points of rows, the first line's among them; none (NaN) for cells that no line is about."""
    found = np.full(len(table), float(lines[0]["points"]))
    for feature in dict.fromkeys(line["feature"] for line in lines[1:]):
        found = found + _of_column(feature, table[feature], [line for line in lines[1:] if line["feature"] == feature])
    return found


def _of_column(feature: str, values: Any, lines: list[Line]) -> Any:
    if not any("from" in line for line in lines):
        by_level = {line["level"]: float(line["points"]) for line in lines}
        return np.array([by_level.get(_cell(feature, row, plain(value)), np.nan) for row, value in enumerate(values)])
    numbers = np.asarray(values, dtype=float)
    points = np.full(len(numbers), np.nan)
    for line in lines:
        if "from" not in line:
            continue
        low, high = line["from"], line["to"]
        is_code = low is not None and low == high  # codes stand behind the bins, and before them in what they mean
        within = numbers == low if is_code else (numbers >= (-np.inf if low is None else low)) & (numbers < (np.inf if high is None else high))
        points[within] = float(line["points"])
    return points


def require_close(own: Any, mine: Any, table: Any, what: str) -> None:
    """ValueError with the row for which ``what`` gives something else. Empty cells and new levels are refused elsewhere."""
    own = np.asarray(own, dtype=float).ravel()
    gap = np.where(np.isnan(mine), 0.0, np.abs(own - mine))
    row = int(np.argmax(gap))
    if not gap[row] <= 1e-6 * max(1.0, float(np.max(np.abs(own)))):
        cells = ", ".join(f"{name} = {value}" for name, value in zip(table.columns, table.iloc[row].tolist(), strict=True))
        raise ValueError(f"{what} of a row ({cells}) is {own[row]:.6g}, but what was read of the model gives {mine[row]:.6g}; expected the same")
