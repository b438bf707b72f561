"""Models that decide elsewhere, with the labelled rows of their training: what all importers of them share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import _core
from ._drafting import feature_of_values
from ._fold import Fold, Term, evaluate
from ._model import Model, Schema, constrain, label_text, schema_text
from ._progress import Progress, callback_of
from ._tables import _cell, _is_pandas, frame_of, plain

WEIGHTS = "(weight)"
_CHECKED = 1000


class Rows:
    """The rows of a training: columns by name, and the label of each row."""

    def __init__(self, X: Any, y: Any, names: Any = None, one_hot: Mapping[str, Sequence[str]] | None = None) -> None:
        self.columns = in_fitted_order(columns_of(X, names), names)
        self.types = {name: number_type(values) for name, values in self.columns.items()}
        self.groups = {group: [str(column) for column in columns] for group, columns in (one_hot or {}).items()}
        for group, columns in self.groups.items():
            for column in columns:
                if column not in self.columns:
                    raise ValueError(f'one_hot: group "{group}": X has no column "{column}"')
                self.columns[column] = np.asarray(self.columns[column], dtype=float)
        labels = np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise ValueError(f"y has the shape {labels.shape}; expected one label for each row")
        self.labels = [label_text(label) for label in labels.tolist()]
        lengths = {len(values) for values in self.columns.values()}
        if lengths != {len(self.labels)}:
            raise ValueError(f"X has {min(lengths, default=0)} rows, but y has {len(self.labels)}")
        if not self.labels:
            raise ValueError("X has no rows; expected those that the model was fitted on")
        self.weights: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    def order(self) -> list[str]:
        """The features that columns can be, as X has them: a group of columns stands where its first does."""
        group_of = {column: group for group, columns in self.groups.items() for column in columns}
        return list(dict.fromkeys(group_of.get(column, column) for column in self.columns))

    def table(self, target: str, unread: Sequence[str] = ()) -> Any:
        """All of it as a frame of the library; columns that are ``unread`` as far as it can hold them."""
        table: dict[str, Any] = {**self.columns, target: self.labels}
        if self.weights is not None:
            table[WEIGHTS] = self.weights
        return frame_of(table, [], unread)


def columns_of(X: Any, names: Any = None) -> dict[str, Any]:
    """The columns of a frame or an array by name; ``names`` are those of an array."""
    if hasattr(X, "collect") and not hasattr(X, "__len__"):
        raise TypeError(f"X is a {type(X).__name__} of {type(X).__module__.partition('.')[0]}, which has no rows yet: collect() it")
    if isinstance(X, Mapping):
        raise TypeError("X is a dict: give a frame, as in pandas.DataFrame(X), which the model itself can read")
    if hasattr(X, "to_pandas") and hasattr(X, "columns"):
        X = X.to_pandas()
    if _is_pandas(X):
        if X.columns.nlevels > 1:
            raise ValueError("X: its columns have several levels (a MultiIndex); give each column one name")
        known = [str(name) for name in X.columns]
        repeated = [name for name in known if known.count(name) > 1]
        if repeated:
            raise ValueError(f'X: there are two columns "{repeated[0]}"')
        return {name: X.iloc[:, j] for j, name in enumerate(known)}
    if hasattr(X, "toarray"):
        raise ValueError("X is sparse: give the columns from before they were encoded")
    array = np.asarray(X, dtype=object) if isinstance(X, list) else np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X has {array.ndim} dimensions; expected rows and columns")
    known = [f"x{j}" for j in range(array.shape[1])] if names is None else [str(name) for name in names]
    if len(known) != array.shape[1]:
        raise ValueError(f"X has {array.shape[1]} columns, but {len(known)} are known by name: {', '.join(known)}")
    return {name: array[:, j] for j, name in enumerate(known)}


def in_fitted_order(columns: dict[str, Any], names: Any) -> dict[str, Any]:
    """The columns as they were at the fit, by their names; ValueError for one too few or too many."""
    if names is None:
        return columns
    known = [str(name) for name in names]
    missing = [name for name in known if name not in columns]
    if missing:
        raise ValueError(f'X has no column "{missing[0]}", which the model was fitted on; give the table of its training')
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise ValueError(f'X has a column "{unknown[0]}", which the model was not fitted on; leave it out')
    return {name: columns[name] for name in known}


def fold_steps(steps: list[tuple[str, Any]], rows: Rows) -> tuple[list[Term], dict[str, dict[str, Any]]]:
    """What a model behind fitted transformers reads of the columns, and the kinds of these; fills what imputers fill."""
    fold = Fold(frozenset(name for name, values in rows.columns.items() if getattr(getattr(values, "dtype", None), "kind", "") == "b"))
    terms = [Term(column) for column in rows.columns]
    for name, transformer in steps:
        terms = fold.through(transformer, name, terms)
    seen = set()
    for term in terms:
        if (term.feature, term.level) in seen:
            raise ValueError(f'the classifier reads column "{term.feature}" twice; let it go through one step only')
        seen.add((term.feature, term.level))
    for column, value in fold.fills.items():
        rows.columns[column] = _filled(rows.columns[column], value)
    group_of = {column: group for group, columns in rows.groups.items() for column in columns}
    for column, group in group_of.items():
        if column in fold.kinds:
            raise ValueError(f'one_hot: group "{group}": column "{column}" is encoded once more by the pipeline')
        fold.kinds[group] = {"kind": "categorical"}  # its levels are its columns
    terms = [replace(term, feature=group_of[term.feature], level=term.feature) if term.feature in group_of else term for term in terms]
    read = {term.feature for term in terms}
    if not read:
        raise ValueError("the classifier reads no column")
    for column in read & set(rows.columns) & set(fold.kinds):
        own = [term for term in terms if term.feature == column]
        _check_encoded(column, fold.kinds[column], own, rows.columns[column], fold.readers[column])
    features = [name for name in rows.order() if name in read]  # as in X, whatever the order of the steps
    kinds = {column: fold.kinds.get(column) or feature_of_values(column, rows.columns[column]) for column in features}
    for term in terms:
        if term.feature not in fold.kinds and kinds[term.feature]["kind"] in ("categorical", "ordinal"):
            raise ValueError(f'the classifier reads column "{term.feature}" as numbers, but it holds levels; encode it')
    return terms, kinds


def _check_encoded(column: str, entry: dict[str, Any], terms: list[Term], values: Any, step: str) -> None:
    """A column that an encoder reads is read by it alone, and its rows hold what it knows; bins keep the grid of the numbers."""
    is_number = entry["kind"] == "binned" and "values" not in entry or entry["kind"] == "categorical"
    if is_number and any(term.level is None for term in terms):
        raise ValueError(
            f'the classifier reads column "{column}" twice, {"in bins" if entry["kind"] == "binned" else "by its levels"} (step "{step}") '
            "and as a number; let it go through one step only"
        )
    if entry["kind"] == "binned":
        entry.update(grid_of(column, values))
        return
    known = set(entry["levels"])
    first: dict[Any, int] = {}
    for row, value in enumerate(values):
        first.setdefault(value, row)
    for value, row in first.items():
        level = _cell(column, row, plain(value))
        if level and level not in known:  # empty cells are named when the table is read
            raise ValueError(
                f'X: row {row}, column "{column}": the level "{level}" is none of those that step "{step}" knows, '
                f"{', '.join(entry['levels'])}; name it among its categories, or leave such rows out"
            )


def grid_of(column: str, values: Any) -> dict[str, Any]:
    """What a number that is read in bins can be: whole numbers stay whole, and booleans 0 or 1."""
    kind = feature_of_values(column, values)["kind"]
    return {"integer": {"step": 1.0}, "binary": {"step": 1.0, "min": 0.0, "max": 1.0}}.get(kind, {})


def precision_of(rows: Rows, terms: list[Term], read: Any) -> str:
    """The precision in which a program of numpy scores rows such as these, behind whose transformers it reads ``read``."""
    is_single = number_type(read) == "float32"
    for term in terms:
        column = term.level if term.feature in rows.groups else term.feature
        own = "" if term.is_as_read else rows.types[str(column)]  # what reads it as it is may widen it
        if own == "float16":
            raise ValueError(f'X: column "{term.feature}" is in half precision (float16), in which it is scaled; give it in float32 or float64')
        is_single = is_single or own == "float32"
    if number_type(read) == "float16":
        raise ValueError("the classifier reads half precision (float16); give X, and have its encoders write, float32 or float64")
    for term in terms:
        if is_single and term.steps > 1:  # the bound of what rounding does knows one step
            raise ValueError(
                f'X: column "{term.feature}" is in single precision (float32) and scaled {term.steps} times, where roundings of each step '
                "enter the next; scale it once, or give float64"
            )
    return "float32" if is_single else "float64"


def number_type(table: Any) -> str:
    """The floating-point type of a column or table as numpy takes it, or nothing."""
    found = list(table.dtypes) if getattr(table, "ndim", 0) == 2 and hasattr(table, "dtypes") else [getattr(table, "dtype", None)]
    names = {str(dtype).lower() for dtype in found}
    return next((name for name in ("float64", "float32", "float16") if name in names), "")


def _filled(values: Any, value: Any) -> Any:
    return values.fillna(value) if hasattr(values, "fillna") else np.where(np.isnan(values), value, values)


def require_same_scores(
    own: Any, layers: Any, terms: list[Term], rows: Rows, kinds: dict[str, Any], places: Any, *,
    probabilities: bool = False, tolerance: float = 1e-6,
) -> None:  # fmt: skip
    """The folded model against the program's own scores of the rows at ``places``, which are logits or probabilities."""
    own = np.asarray(own, dtype=float)
    few = {name: rows_at(values, places) for name, values in rows.columns.items()}
    mine = evaluate(terms, layers, few, kinds)
    if probabilities:
        with np.errstate(over="ignore"):
            mine = 1 / (1 + np.exp(-mine))
    worst = float(np.max(np.abs(own - mine)))
    if not worst <= tolerance * max(1.0, float(np.max(np.abs(own)))):
        raise ValueError(f"the model scores rows of X differently from what was read of it, by up to {worst:.3g}")


def checked_rows(columns: Mapping[str, Any], kinds: Mapping[str, Any]) -> Any:
    """The rows on which scores are compared: some of the whole table, and one for each level and bin."""
    count = len(next(iter(columns.values())))
    places = set(np.linspace(0, count - 1, min(count, _CHECKED)).astype(int).tolist())
    for name, entry in kinds.items():
        if name not in columns:
            continue
        if entry["kind"] == "binned":
            bins = np.searchsorted(entry["edges"], np.asarray(columns[name], dtype=float), side="right")
            places.update(np.unique(bins, return_index=True)[1].tolist())
        elif "levels" in entry:
            first: dict[Any, int] = {}
            for row, value in enumerate(columns[name]):
                first.setdefault(value, row)
            places.update(first.values())
    return np.array(sorted(places))


def rows_at(X: Any, places: Any) -> Any:
    """Rows of a table or cells of a column."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    if isinstance(X, list):
        return [X[place] for place in places]
    return X.take(places) if hasattr(X, "to_pandas") and hasattr(X, "take") else X[places]


def finish_schema(
    kinds: Mapping[str, Any], rows: Rows, classes: list[str], *, favourable: Any, target: str, schema: Schema | None, constraints: dict[str, Any]
) -> dict[str, Any]:
    """The schema that was given, or one of the columns; with the constraints."""
    wanted_label = classes[1] if favourable is None else label_text(favourable)
    if wanted_label not in classes:
        raise ValueError(f"favourable = {favourable!r} is none of the classes, {', '.join(classes)}")
    if schema is None:
        if target in rows.columns:
            raise ValueError(f'X has a column "{target}"; give the labels another name by target=')
        wanted: dict[str, Any] = {"target": {"column": target, "favourable": wanted_label}, "features": dict(kinds)}
        grouped = {group: columns for group, columns in rows.groups.items() if group in kinds}
        if grouped:
            wanted["one_hot"] = grouped
        unused = [name for name in rows.columns if name not in kinds and not any(name in columns for columns in grouped.values())]
        if unused:
            wanted["drop"] = unused
    else:
        wanted = json.loads(schema_text(schema))
    for keyword in ("immutable", "protected"):  # what the classifier does not read changes nothing
        if keyword in constraints and not isinstance(constraints[keyword], str):
            constraints[keyword] = [column for column in constraints[keyword] if column not in wanted.get("drop", [])]
    constrain(wanted, constraints)
    return wanted


def of_layers(document: dict[str, Any], terms: list[Term], rows: Rows, wanted: dict[str, Any], store_rows: bool, progress: Progress) -> Model:
    """The model of layers over terms (the JSON form of docs/import.md)."""
    document = {
        "format": "ellice.deployed",
        "version": 1,
        **document,
        "inputs": [
            {"feature": t.feature, **({} if t.level is None else {"level": t.level}), "offset": t.offset, "scale": t.scale}
            for t in terms
        ],
    }
    place = {name: k for k, name in enumerate(rows.order())}
    features = wanted["features"]
    wanted["features"] = {name: features[name] for name in sorted(features, key=lambda name: place.get(name, len(place)))}
    if rows.weights is not None:
        document["weights"] = {"column": WEIGHTS}
    callback, close = callback_of(progress)
    try:
        table = rows.table(wanted["target"]["column"], wanted.get("drop", []))
        return Model(_core.of_deployed(json.dumps(document), table, json.dumps(wanted), store_rows, callback), list(rows.columns))
    finally:
        close()
