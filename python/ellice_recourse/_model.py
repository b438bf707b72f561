"""Models: read, trained, or taken from coefficients."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from . import _core
from ._progress import Progress, callback_of
from ._tables import frame_of, plain

if TYPE_CHECKING:
    import numpy as np

    from ._options import TrainOptions

Schema = Mapping[str, Any] | str | os.PathLike[str]


class Model:
    """A classifier with all that recourse needs to know of it. Pickled as its file."""

    def __init__(self, core: _core.Model, columns: Sequence[str] | None = None) -> None:
        if not isinstance(core, _core.Model):
            raise TypeError("a Model is made by load, train, from_coefficients and the other importers")
        self._core = core
        self._columns = None if columns is None else list(columns)  # those that it was fitted on, of which it may read some

    def _array_names(self, table: Any) -> list[str]:
        """The names of an array's columns: those of the table that the model was fitted on, or the features."""
        width = table.shape[1] if getattr(table, "ndim", 0) == 2 else None
        return self._columns if self._columns is not None and width == len(self._columns) else self.features

    def _frame(self, table: Any, whole: bool = True) -> _core.Frame:
        return frame_of(table, self._array_names(table), self.schema.get("drop", []), whole)

    @property
    def sha256(self) -> str:
        """The hash by which certificates name the model."""
        return self._core.sha256

    @property
    def schema(self) -> dict[str, Any]:
        """What the features mean, as the keys of a schema file."""
        return dict(json.loads(self._core.schema_text()))

    @property
    def features(self) -> list[str]:
        """The names of the features, in order."""
        return list(self.schema["features"])

    @property
    def classes(self) -> list[str]:
        """The labels; of two the second is the favourable one."""
        return list(self._core.classes)

    @property
    def excess(self) -> float | None:
        """Of a model that decides elsewhere: by how much its objective exceeds the minimum, from which epsilon counts."""
        return self._core.excess

    @property
    def objective(self) -> float:
        """What training minimised, of which a share such as epsilon="1%" is taken."""
        return self._core.objective

    def logits(self, table: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The score that decides about each row: a logit, or of several classes one score each."""
        scores = self._core.scores(self._frame(table))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, table: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The probability of each class, in the order of ``classes``."""
        import numpy as np

        scores = self._core.scores(self._frame(table))
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def predict(self, table: Any) -> list[str]:
        """The label of each row."""
        scores = self._core.scores(self._frame(table))
        if scores.shape[1] == 1:
            return [self.classes[int(score >= self._core.threshold)] for score in scores[:, 0]]
        return [self.classes[int(k)] for k in scores.argmax(axis=1)]

    def with_schema(self, schema: Schema | None = None, **constraints: Any) -> Model:
        """The same model with other constraints of its features, which are part of it and of its hash.

        ``immutable`` and ``protected`` take names; ``step``, ``bounds``, ``direction``, ``weight``, ``allowed``,
        ``slow``, ``unit`` and ``label`` take a value for each name; ``rules`` takes what holds between features.
        """
        wanted = self.schema if schema is None else json.loads(schema_text(schema))
        constrain(wanted, constraints)
        return Model(self._core.with_schema(json.dumps(wanted)), self._columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, which the command ``ellice`` reads."""
        self._core.write(os.fspath(path))

    def to_json(self) -> str:
        """The text of the model file."""
        return self._core.text()

    def __reduce__(self) -> tuple[Any, tuple[str, list[str] | None]]:
        return _unpickled, (self._core.compact_text(), self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"<Model of {len(self.features)} features for {self.classes[-1]!r}, sha256 {self.sha256[:16]}>"


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model file."""
    return Model(_core.read_model(os.fspath(path)))


def loads(text: str) -> Model:
    """A model of the text of its file."""
    return Model(_core.model_of_text(text))


def _unpickled(text: str, columns: list[str] | None) -> Model:
    return Model(_core.model_of_text(text), columns)


def schema_text(schema: Schema) -> str:
    """A schema as JSON: of a mapping, of a YAML file, or of the text of one."""
    if isinstance(schema, Mapping):
        return _core.schema_of_text(json.dumps(schema))
    path = os.fspath(schema)
    return _core.schema_of_text(path) if "\n" in path else _core.schema_text(path)


_BY_NAME = {"step": "step", "direction": "direction", "weight": "weight", "slow": "slow", "unit": "unit", "label": "label"}


def constrain(schema: dict[str, Any], constraints: Mapping[str, Any]) -> None:
    """Writes constraints into a schema; ValueError names a feature that it does not have."""
    for keyword, value in constraints.items():
        if keyword == "rules":
            schema["constraints"] = [*schema.get("constraints", []), *value]
        elif keyword in ("immutable", "protected"):
            for name in _names(keyword, value):
                _feature(schema, keyword, name)[keyword] = True
        elif keyword in ("bounds", "allowed") or keyword in _BY_NAME:
            if not isinstance(value, Mapping):
                raise TypeError(f"{keyword} = {value!r}: expected a dict with a value for each feature")
            for name, given in value.items():
                feature = _feature(schema, keyword, name)
                if keyword == "bounds":
                    low, high = bounds_of(name, given)
                    feature.update({k: v for k, v in (("min", low), ("max", high)) if v is not None})
                elif keyword == "allowed":
                    if isinstance(given, str):
                        raise TypeError(f'allowed: "{name}": {given!r} is one text; expected a list of values, as in [{given!r}]')
                    feature["allowed"] = list(given)
                else:
                    feature[_BY_NAME[keyword]] = given
        else:
            known = [*_BY_NAME, "bounds", "allowed", "immutable", "protected", "rules"]
            raise TypeError(f"no constraint is called {keyword!r}; expected one of {', '.join(sorted(known))}")


def bounds_of(name: str, given: Any) -> list[Any]:
    """Least and greatest value, each a number or nothing."""
    pair = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f'bounds: "{name}": {given!r}; expected the least and the greatest value, None for none')
    found = [plain(value) for value in pair]
    if any(value != value for value in found):
        raise ValueError(f'bounds: "{name}": {given!r} has a NaN; None stands for no bound')
    return found


def _names(keyword: str, value: Any) -> Sequence[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{keyword} = {value!r}: expected a list of names")
    return value


def _feature(schema: dict[str, Any], keyword: str, name: str) -> dict[str, Any]:
    features: dict[str, Any] = schema["features"]
    if name not in features:
        from difflib import get_close_matches

        near = get_close_matches(str(name), features, 1, 0.5)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(features)}"
        raise ValueError(f'{keyword}: the schema has no feature "{name}"; {hint}')
    entry = dict(features[name])
    features[name] = entry
    return entry


def draft_schema(table: Any, target: str, favourable: Any) -> dict[str, Any]:
    """A first schema for a table, to be read over: kinds, levels, ranges, and what people cannot change."""
    text, _ = _core.draft(frame_of(table, []), target, label_text(favourable))
    return dict(json.loads(text))


def label_text(label: Any) -> str:
    """A label as a cell would have it."""
    label = plain(label)
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def train(
    table: Any,
    *,
    target: str | None = None,
    favourable: Any = None,
    schema: Schema | None = None,
    threads: int = 0,
    progress: Progress = None,
    **options: Unpack[TrainOptions],
) -> Model:
    """Fits a model to labelled rows and stores its curvature.

    Without ``schema`` one is drafted, which needs ``target`` and ``favourable``.
    """
    frame = frame_of(table, [])
    if schema is None:
        if target is None or favourable is None:
            raise TypeError("train needs a schema, or target and favourable to draft one")
        schema = draft_schema(frame, target, favourable)
    callback, close = callback_of(progress)
    try:
        return Model(_core.train(frame, schema_text(schema), dict(options), threads, callback))
    finally:
        close()


def from_coefficients(
    coefficients: Mapping[str, float],
    covariance: Any,
    *,
    schema: Schema,
    rows: int,
    log_likelihood: float,
    event: Any = None,
    tool: str = "",
    statistics: Mapping[str, Mapping[str, float]] | None = None,
    **constraints: Any,
) -> Model:
    """A logistic regression known by what statistics programs print, without its rows.

    ``statistics`` may have ``mean``, ``scale``, ``min`` and ``max`` of the columns, by name.
    """
    import numpy as np

    document: dict[str, Any] = {
        "terms": list(coefficients),
        "estimates": [float(value) for value in coefficients.values()],
        "covariance": np.asarray(covariance, dtype=float).tolist(),
        "rows": int(rows),
        "log_likelihood": float(log_likelihood),
        "tool": tool,
    }
    if event is not None:
        document["event"] = label_text(event)
    for name, values in (statistics or {}).items():
        document[name] = {column: float(value) for column, value in values.items()}
    wanted = json.loads(schema_text(schema))
    constrain(wanted, constraints)
    return Model(_core.of_coefficients(json.dumps(document), json.dumps(wanted)))
