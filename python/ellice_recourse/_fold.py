"""Pipelines of scikit-learn as what they are: each number that a classifier reads is one affine term of one column."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _core
from ._parameters import require_known_parameters
from ._tables import _cell, plain


@dataclass(frozen=True)
class Term:
    """(u - offset) / scale of a column's number, of the index of its level, or of the indicator of a level."""

    feature: str
    level: str | None = None
    offset: float = 0.0
    scale: float = 1.0
    steps: int = 0  # how many have shifted or scaled it

    @property
    def is_as_read(self) -> bool:
        """Whether no step has done arithmetic on it."""
        return self.steps == 0

    @property
    def is_raw(self) -> bool:
        """Whether it is the column itself."""
        return self.level is None and self.offset == 0 and self.scale == 1

    def shifted(self, offset: float, scale: float) -> Term:
        """(this - offset) / scale."""
        moved = self.offset + self.scale * float(offset)
        return replace(self, offset=moved, scale=self.scale * float(scale), steps=self.steps + 1)


class Fold:
    """Walks through the steps before a classifier."""

    def __init__(self, booleans: frozenset[str] = frozenset()) -> None:
        self.booleans = booleans  # columns that scikit-learn may read as 0 and 1
        self.kinds: dict[str, dict[str, Any]] = {}  # of columns that encoders read as levels
        self.readers: dict[str, str] = {}  # the steps of these encoders
        self.fills: dict[str, Any] = {}  # what imputers put in place of nothing

    def through(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        """The terms behind a fitted step."""
        if step is None or isinstance(step, str):
            if step in (None, "passthrough"):
                return terms
            if step == "drop":
                return []
        kind = type(step).__name__
        handler = getattr(self, f"_{kind}", None)
        if type(step).__module__.partition(".")[0] == "sklearn" and handler is not None:
            require_fitted(step, name)
            require_known_parameters(step, name)
            return list(handler(step, name, terms))
        if hasattr(step, "get_support") and type(step).__module__.partition(".")[0] == "sklearn":
            require_fitted(step, name)
            return [term for term, kept in zip(terms, step.get_support(), strict=True) if kept]
        raise ValueError(
            f'step "{name}" is a {kind}: what it makes of a column cannot be undone column by column; supported are '
            "ColumnTransformer, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, OneHotEncoder, OrdinalEncoder, "
            "KBinsDiscretizer, SimpleImputer and selections of columns"
        )

    def _Pipeline(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        for inner, transformer in step.steps:
            terms = self.through(transformer, f"{name}.{inner}" if name else inner, terms)
        return terms

    def _ColumnTransformer(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        found: list[Term] = []
        indices = step._transformer_to_input_indices
        for inner, transformer, _ in step.transformers_:
            chosen = [terms[j] for j in indices.get(inner, [])]
            if not chosen:
                continue  # scikit-learn neither fits nor asks a step without columns
            weight = (step.transformer_weights or {}).get(inner)
            made = self.through(transformer, f"{name}.{inner}" if name else inner, chosen)
            if made and weight is not None and not (weight != 0 and math.isfinite(weight)):
                raise ValueError(
                    f'step "{name}": transformer_weights["{inner}"] = {weight:g}, with which the classifier reads nothing of column '
                    f'"{made[0].feature}"; expected a number other than 0: leave "{inner}" out, or take "drop"'
                )
            found += made if weight is None else [term.shifted(0.0, 1 / weight) for term in made]
        return found

    def _FunctionTransformer(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        if step.func is not None:  # without one it is what "passthrough" becomes
            raise ValueError(f'step "{name}" is a FunctionTransformer: what its function makes of a column is not known')
        return terms

    def _StandardScaler(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        return _scaled(terms, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None)

    def _RobustScaler(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        return _scaled(terms, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None)

    def _MaxAbsScaler(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        return _scaled(terms, None, step.scale_)

    def _MinMaxScaler(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        return _scaled(terms, -step.min_ / step.scale_, 1 / step.scale_)

    def _SimpleImputer(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        if step.add_indicator:
            raise ValueError(f'step "{name}" is a SimpleImputer that adds indicators of missing cells, which no plan can change')
        if not _is_nothing(step.missing_values):
            raise ValueError(
                f'step "{name}" is a SimpleImputer with missing_values = {step.missing_values!r}: what it puts in place of them is not '
                "affine in the column; expected NaN or None, so replace such cells in X before the fit, there and in people's rows"
            )
        kept = []
        for term, value in zip(terms, step.statistics_, strict=True):
            if _is_nothing(value):
                continue  # a column without any value is dropped
            if not term.is_raw:
                raise ValueError(f'step "{name}" fills what another step has changed already; let it be the first of its column')
            self.fills[term.feature] = value
            kept.append(term)
        return kept

    def _OneHotEncoder(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        _require_all_levels(step, name, terms)
        found = []
        for j, term in enumerate(terms):
            levels = self._levels(step, name, term, j, "categorical")
            dropped = None if step.drop_idx_ is None else step.drop_idx_[j]
            found += [Term(term.feature, level) for k, level in enumerate(levels) if k != dropped]
        return found

    def _OrdinalEncoder(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        _require_all_levels(step, name, terms)
        for j, term in enumerate(terms):
            self._levels(step, name, term, j, "ordinal")
        return terms

    def _KBinsDiscretizer(self, step: Any, name: str, terms: list[Term]) -> list[Term]:
        found: list[Term] = []
        for term, edges in zip(terms, step.bin_edges_, strict=True):
            if not term.is_raw:
                raise ValueError(f'step "{name}" bins what another step has changed already; let it be the first of its column')
            if len(edges) < 3:
                raise ValueError(f'step "{name}" has one bin alone for column "{term.feature}", which says nothing of a row; leave the column out')
            entry = {"kind": "binned", "edges": [float(edge) for edge in edges[1:-1]], "closed": "left"}
            if step.encode == "ordinal":
                entry["values"] = [float(place) for place in range(len(edges) - 1)]
                found.append(term)
            else:
                found += [Term(term.feature, level) for level in bin_names(term.feature, entry)]
            self._encode(term.feature, entry, name)
        return found

    def _levels(self, step: Any, name: str, term: Term, j: int, kind: str) -> list[str]:
        """The levels of a column, by an encoder that must be the first to read it."""
        if not term.is_raw:
            raise ValueError(f'step "{name}" encodes what another step has changed already; let it be the first of its column')
        categories = step.categories_[j]
        if any(_is_nothing(level) for level in categories):
            raise ValueError(f'step "{name}": missing cells are a level of column "{term.feature}"; fill them before')
        if term.feature in self.booleans:
            categories = [bool(level) for level in categories]
        levels = [_cell(term.feature, k, plain(level)) for k, level in enumerate(categories)]
        if "" in levels:
            raise ValueError(f'step "{name}": an empty text is a level of column "{term.feature}", as a missing cell is; give it a name before')
        entry = {"kind": kind, "levels": levels}
        self._encode(term.feature, entry, name)
        return levels

    def _encode(self, feature: str, entry: dict[str, Any], name: str) -> None:
        if self.kinds.setdefault(feature, entry) != entry:
            raise ValueError(f'column "{feature}" is encoded twice, and differently, by "{self.readers[feature]}" and "{name}"')
        self.readers[feature] = name


def _require_all_levels(step: Any, name: str, terms: list[Term]) -> None:
    for term, together in zip(terms, getattr(step, "infrequent_categories_", None) or [], strict=False):
        if together is not None:
            kind = type(step).__name__
            raise ValueError(
                f'step "{name}" is {"an" if kind[:3] == "Ord" else "a"} {kind} that puts infrequent levels together, of column '
                f'"{term.feature}": {", ".join(str(level) for level in together)}; put them together in X before'
            )


def bin_names(feature: str, entry: dict[str, Any]) -> list[str]:
    """How the library names the bins of a column."""
    schema = {"target": {"column": f"{feature} (target)", "favourable": "1"}, "features": {feature: entry}}
    return list(_core.bin_names(json.dumps(schema), feature))


def evaluate(terms: list[Term], layers: list[dict[str, Any]], columns: dict[str, Any], kinds: dict[str, dict[str, Any]]) -> Any:
    """What the folded model gives rows: the check against the pipeline's own score."""
    inputs = []
    for term in terms:
        entry = kinds.get(term.feature, {})
        is_grouped = entry.get("kind") == "categorical" and "levels" not in entry
        number = np.asarray(columns[str(term.level)], dtype=float) if is_grouped else _number(term, columns[term.feature], entry)
        inputs.append((number - term.offset) / term.scale)
    x = np.column_stack(inputs)
    for layer in layers:
        x = x @ np.asarray(layer["weights"]).T + np.asarray(layer["bias"])
        name = layer.get("activation", "identity")
        if name == "relu":
            x = np.maximum(x, 0)
        elif name == "tanh":
            x = np.tanh(x)
        elif name == "sigmoid":
            x = 1 / (1 + np.exp(-x))
    return x[:, 1] - x[:, 0] if x.shape[1] == 2 else x[:, 0]


def _number(term: Term, values: Any, entry: dict[str, Any]) -> Any:
    """What a term sees of a column, before it is shifted and scaled."""
    if entry.get("kind") == "binned":
        places = np.searchsorted(entry["edges"], np.asarray(values, dtype=float), side="right")
        if term.level is None:
            return np.asarray(entry["values"])[places]
        return (places == bin_names(term.feature, entry).index(term.level)).astype(float)
    levels = entry.get("levels")
    if levels is None:
        return np.asarray(values, dtype=float)
    texts = [_cell(term.feature, row, plain(value)) for row, value in enumerate(values)]
    if term.level is not None:
        return np.array([float(text == term.level) for text in texts])
    return np.array([float(levels.index(text)) for text in texts])


def require_fitted(step: Any, name: str) -> None:
    """ValueError for a step that has seen no rows."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise ValueError(f'step "{name}", a {type(step).__name__}, is not fitted; fit the pipeline first') from None


def _scaled(terms: list[Term], offsets: Any, scales: Any) -> list[Term]:
    zeros, ones = np.zeros(len(terms)), np.ones(len(terms))
    offsets = zeros if offsets is None else offsets
    scales = ones if scales is None else scales
    return [term.shifted(o, s) for term, o, s in zip(terms, offsets, scales, strict=True)]


def _is_nothing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
