"""Schemas of data frames: what dtypes, categories and ranges say."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._tables import _cell, plain


def schema_of_frame(frame: Any, target: str, favourable: str) -> dict[str, Any]:
    """A schema whose features are the columns of a pandas frame, in their order."""
    features = {str(name): feature_of(str(name), frame[name]) for name in frame.columns}
    return {"target": {"column": target, "favourable": favourable}, "features": features}


def feature_of_values(name: str, values: Any) -> dict[str, Any]:
    """The same of a column of a frame or an array."""
    if hasattr(values, "dropna"):
        return feature_of(name, values)
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return {"kind": "binary", "levels": ["False", "True"]}
    if array.dtype.kind in "iu":
        return {"kind": "integer"}
    if array.dtype.kind == "f":
        return _of_numbers(array)
    return _of_objects(name, array.tolist())


def _of_numbers(numbers: Any) -> dict[str, Any]:
    known = numbers[~np.isnan(numbers)]
    return {"kind": "integer" if known.size and bool(np.all(known == np.round(known))) else "numeric"}


def _of_objects(name: str, values: list[Any]) -> dict[str, Any]:
    """Numbers are numbers also where a column of objects holds them."""
    cells = [_cell(name, row, value) for row, value in enumerate(values)]
    known = [plain(value) for value, cell in zip(values, cells, strict=True) if cell]
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return _of_numbers(np.array(known, dtype=float))
    if known and all(isinstance(value, bool) for value in known):
        return {"kind": "binary", "levels": ["False", "True"]}
    levels = sorted({cell for cell in cells if cell})
    if len(levels) < 2:
        raise ValueError(f'column "{name}" has {len(levels)} values; a feature needs two at least')
    return {"kind": "categorical", "levels": levels}


def feature_of(name: str, series: Any) -> dict[str, Any]:
    """Kind and levels of a column: whole numbers are integers, categories and texts categorical, booleans binary."""
    dtype = series.dtype
    if str(dtype) == "category":
        levels = [_cell(name, row, level) for row, level in enumerate(dtype.categories)]
        return {"kind": "ordinal" if dtype.ordered else "categorical", "levels": levels}
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return {"kind": "binary", "levels": ["False", "True"]}
    if kind in "iu":
        return {"kind": "integer"}
    if kind == "f":
        return _of_numbers(np.asarray(series.dropna(), dtype=float))
    return _of_objects(name, series.tolist())
