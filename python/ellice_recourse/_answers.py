"""Answers: a table, records, certificates, letters and cards."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from . import _core, _html
from ._progress import Progress, callback_of

if TYPE_CHECKING:
    from ._explainer import Explainer


class Change(NamedTuple):
    """One feature that a plan changes."""

    feature: str
    before: Any
    after: Any


class Answer:
    """One plan of one person, with its evidence."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record

    @property
    def query(self) -> int:
        """The row of the table, counted from 0."""
        return int(self._record["query_index"])

    @property
    def plan(self) -> int:
        """The number of the plan, from 0."""
        return int(self._record.get("plan", 0))

    @property
    def status(self) -> str:
        """optimal, certified, already_robust, reduced, infeasible, not_found, uncertified or invalid."""
        return str(self._record["status"])

    @property
    def changes(self) -> list[Change]:
        """What to change."""
        return [Change(c["feature"], c["from"], c["to"]) for c in self._record.get("changes", [])]

    @property
    def counterfactual(self) -> dict[str, Any] | None:
        """The row to reach, or nothing."""
        return self._record.get("counterfactual")

    @property
    def certificate(self) -> dict[str, Any] | None:
        """What proves that every model of the set accepts the row."""
        return self._record.get("certificate")

    @property
    def message(self) -> str:
        """What a person should know: why nothing was found, what could not be read."""
        return str(self._record.get("message", ""))

    def to_dict(self) -> dict[str, Any]:
        """The whole record, as files hold it."""
        return dict(self._record)

    def _repr_html_(self) -> str:
        return _html.cards([self._record])

    def __repr__(self) -> str:
        changes = ", ".join(f"{c.feature}: {c.before!r} -> {c.after!r}" for c in self.changes)
        return f"<Answer to row {self.query}: {self.status}{'; ' + changes if changes else ''}>"


class Verification:
    """What an independent look at answers found."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    @property
    def holds(self) -> bool:
        """Whether every claim does."""
        return bool(self._document["holds"])

    @property
    def checked(self) -> int:
        """How many answers were looked at."""
        return int(self._document["checked"])

    @property
    def failures(self) -> list[str]:
        """All that fails, in words."""
        found = list(self._document["failures"])
        for one in self._document["results"]:
            found += [f"row {one['query_index']}, plan {one['plan']}: {text}" for text in one["failures"]]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Verdicts by answer."""
        return dict(self._document)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        state = "all hold" if self.holds else f"{len(self.failures)} failures, the first: {self.failures[0]}"
        return f"<Verification of {self.checked} answers: {state}>"


class StatusList(list[str]):
    """The statuses, where there is no pandas."""

    def value_counts(self) -> dict[str, int]:
        """How many answers have each."""
        return {status: self.count(status) for status in sorted(set(self), key=lambda s: (-self.count(s), s))}


class Answers:
    """The answers to the rows of a table, one for each plan."""

    def __init__(self, core: _core.Answers, explainer: Explainer) -> None:
        self._core = core
        self._explainer = explainer

    @property
    def status(self) -> Any:
        """The status of each answer: a pandas Series where there is pandas, else a list."""
        statuses = self._core.statuses()
        try:
            import pandas as pd
        except ImportError:
            return StatusList(statuses)
        return pd.Series(statuses, name="status", dtype="object")

    @property
    def interrupted(self) -> bool:
        """Whether rows are missing because the work was stopped."""
        return self._core.interrupted

    @property
    def remarks(self) -> list[str]:
        """What of the rows somebody should look at."""
        return list(self._core.remarks)

    @property
    def explainer(self) -> Explainer:
        """Who answered."""
        return self._explainer

    def __len__(self) -> int:
        return len(self._core)

    def __reduce__(self) -> Any:
        raise TypeError("Answers cannot be pickled: keep to_json(), which el.verify(model, text) reads, or to_pandas()")

    @overload
    def __getitem__(self, index: int) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Answer]: ...
    def __getitem__(self, index: int | slice) -> Answer | list[Answer]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not hasattr(index, "__index__"):
            raise TypeError(f"answers[{index!r}]: expected the number of an answer; to_pandas() has columns by name")
        index = index.__index__()
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} answers, and no answer {index}")
        return Answer(json.loads(self._core.record(place)))

    def __iter__(self) -> Iterator[Answer]:
        return (self[i] for i in range(len(self)))

    def to_pandas(self, only_changes: bool = False) -> Any:
        """A data frame: rows to reach and the numbers of each answer; with ``only_changes`` what changes alone."""
        import pandas as pd

        return pd.DataFrame(dict(self._core.table(only_changes)))

    def counterfactuals(self, like: Any = None) -> Any:
        """The rows to reach, one for each answer that has one, as a data frame with its row as index.

        With ``like``, the table that was explained, columns have its order and types and those that are no features
        their values, so that ``pipeline.predict`` takes them. A type that cannot hold what a plan says is widened:
        categories by levels that nobody had, half precision to double. Tables of polars and Arrow and arrays of numpy are
        read as frames of pandas.
        """
        import pandas as pd

        table = dict(self._core.table(False))
        places, queries = self._core.reached()
        columns = {name: _taken(table[name], places) for name in self._explainer.model.features}
        rows = pd.DataFrame(columns, index=queries)
        if like is None:
            return rows
        like = self._like(like)
        if len(like) != self._core.rows:
            raise ValueError(f"like has {len(like)} rows, but {self._core.rows} were explained")
        own = like.iloc[rows.index - self._core.first_row].set_axis(rows.index)
        for group, columns in self._explainer.model.schema.get("one_hot", {}).items():
            if group in rows and group not in like.columns:
                rows = rows.assign(**{column: (rows[group] == column).astype(like[column].dtype) for column in columns})
        rows = self._narrowed(rows, like)
        features = set(self._explainer.model.features)
        return pd.DataFrame({n: _typed(str(n), rows[str(n)], like[n]) if str(n) in features else rows.get(str(n), own[n]) for n in like.columns})

    def _like(self, like: Any) -> Any:
        """The table that was explained, as a frame of pandas."""
        import pandas as pd

        if hasattr(like, "iloc") and hasattr(like, "columns"):
            return like
        if hasattr(like, "to_pandas"):
            return like.to_pandas()
        if getattr(like, "ndim", 0) == 2 and hasattr(like, "dtype"):
            return pd.DataFrame(like, columns=self._explainer.model._array_names(like))
        raise TypeError(f"like is of type {type(like).__name__}; expected the frame or array that was explained")

    def _narrowed(self, rows: Any, like: Any) -> Any:
        """Numbers in single precision where the frame has it: inside the bins of the plan, and as long as the model says the same."""
        model = self._explainer.model
        kinds = model.schema["features"]
        single = [name for name in like.columns if str(name) in kinds and str(like[name].dtype) in ("float32", "Float32")]
        single = [str(name) for name in single if rows[str(name)].dtype.kind in "iuf"]
        if not single or not len(rows):
            return rows
        narrow = rows.assign(**{name: _single(rows[name], kinds[name].get("edges", [])) for name in single})
        read = list(kinds)
        return narrow if model.predict(narrow[read]) == model.predict(rows[read]) else rows

    def to_polars(self, only_changes: bool = False) -> Any:
        """The same for polars."""
        import polars as pl

        return pl.DataFrame(_Stream(self._core, only_changes))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.stream(False)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The recourse file, byte for byte that of ``ellice explain``; also written where a path is given."""
        text = self._core.text(self._explainer._threads)
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return text

    def verify(self) -> Verification:
        """Re-checks every answer by code that shares nothing with the search."""
        return self._explainer._verify(self.to_json())

    def evaluate(self, **options: Any) -> dict[str, Any]:
        """Holds them against models that nobody asked before; see ``Explainer.evaluate``."""
        return self._explainer.evaluate(self, **options)

    def plot_changes(self, most: int = 15, ax: Any = None) -> Any:
        """A figure of matplotlib: how many plans change each feature, and which way."""
        from ._plots import plot_changes

        return plot_changes([json.loads(self._core.record(i)) for i in range(len(self))], most, ax)

    def plot_frontier(self, people: int = 30, ax: Any = None, **options: Any) -> Any:
        """A figure of matplotlib: what robustness costs the first ``people`` of them, and how many have a plan.

        Other keywords are those of ``Explainer.frontier``, such as ``epsilons``.
        """
        from ._plots import plot_frontier

        rows = [answer.to_dict()["query"] for answer in self if answer.plan == 0 and answer.status != "invalid"][:people]
        if not rows:
            raise ValueError("there are no answers to draw")
        return plot_frontier(self._explainer.frontier(rows, **options), self._explainer.model.objective, ax)

    def letters(
        self, *, lender: str, date: str, valid_until: str | None = None, language: str = "en"
    ) -> dict[str, str]:
        """A page to print for everybody who was declined, by the name of its file. Dates are YYYY-MM-DD."""
        if not lender.strip():
            raise ValueError('lender = "": expected the name that stands under the letter')
        if valid_until is not None and valid_until < date:  # YYYY-MM-DD
            raise ValueError(f'valid_until = "{valid_until}" is before date = "{date}"')
        return dict(self._core.letters(lender, date, valid_until, language))

    def _repr_html_(self) -> str:
        shown = min(len(self), _html.MOST_CARDS)
        return _html.cards([json.loads(self._core.record(i)) for i in range(shown)], len(self))

    def __repr__(self) -> str:
        counts = StatusList(self._core.statuses()).value_counts()
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"<Answers to {self._core.rows} rows: {said or 'none'}{', interrupted' if self.interrupted else ''}>"


def _taken(values: Any, places: Any) -> Any:
    """Some cells of a column; whole numbers are such."""
    import numpy as np

    if isinstance(values, list):
        return np.array(values, dtype=object)[places]
    taken = values[places]
    is_whole = bool((taken == np.rint(taken)).all()) and bool((np.abs(taken) < 2.0**53).all())
    return taken.astype(np.int64) if is_whole else taken


def _typed(name: str, values: Any, like: Any) -> Any:
    """A column with the type of another; levels are texts, and there whatever they are."""
    import pandas as pd

    if values.dtype.kind in "iuf":
        if like.dtype.kind == "b" and bool(values.isin([0, 1]).all()):
            return values.astype(like.dtype)  # a boolean that the model reads as a number
        # Single precision is there already where it will do.
        keeps = like.dtype.kind == "f" and (like.dtype.itemsize > 4 or values.dtype == "float32")
        return values.astype(like.dtype) if keeps else values
    is_category = str(like.dtype) == "category"
    known = list(like.dtype.categories) if is_category else like.dropna().unique().tolist()
    if like.dtype.kind == "b":
        known = [False, True]
    levels = _levels(name, known, values)
    dtype = like.dtype
    if is_category:
        more = [levels[text] for text in dict.fromkeys(values) if levels[text] not in known]
        dtype = pd.CategoricalDtype([*known, *more], dtype.ordered) if more else dtype
    return pd.Series([levels[text] for text in values], index=values.index, dtype=dtype)


def _levels(name: str, known: list[Any], texts: Any) -> dict[str, Any]:
    """What each text is in a column with such values: one of them, or another of their type."""
    from ._tables import _cell, plain

    levels = {_cell(name, row, level): level for row, level in enumerate(known)}
    kinds = {type(plain(level)) for level in known}
    for row, text in texts.items():
        if text not in levels:
            levels[text] = _level(name, row, text, kinds)
    return levels


def _level(name: str, row: Any, text: str, kinds: set[type]) -> Any:
    from ._tables import _cell

    if str in kinds or not kinds:
        return text
    if bool in kinds and text in ("True", "False", "1", "0"):  # drafts read booleans as 0 and 1
        return text in ("True", "1")
    for kind in (int, float):
        try:
            if kinds & {int, float} and _cell(name, 0, kind(text)) == text:
                return kind(text)
        except ValueError:
            continue
    spelt = " or ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(f'like: the plan of row {row} has "{text}" in column "{name}", whose values are of type {spelt}; make texts of them')


def _single(values: Any, edges: list[float]) -> Any:
    """Numbers in single precision, on the same side of all edges."""
    import numpy as np

    exact = values.to_numpy(dtype=np.float64)
    found = exact.astype(np.float32)
    moved = np.searchsorted(edges, found.astype(np.float64), side="right") - np.searchsorted(edges, exact, side="right")
    return np.where(moved == 0, found, np.nextafter(found, np.where(moved > 0, -np.inf, np.inf).astype(np.float32)))


class AnswerStream:
    """Answers in parts: an iterator of ``Answers``, each to the next rows of a table, and an Arrow stream of all."""

    def __init__(self, core: _core.AnswerStream, explainer: Explainer, rows: int, threads: int, progress: Progress) -> None:
        self._core = core
        self._explainer = explainer
        self._rows = rows
        self._threads = threads
        self._callback, self._close = callback_of(progress)

    def __iter__(self) -> AnswerStream:
        return self

    def __next__(self) -> Answers:
        try:
            found = None if self._core.at_end else self._core.next(self._rows, 0, self._threads, self._callback)
        except BaseException as stopped:
            self._close()
            if isinstance(getattr(stopped, "partial", None), _core.Answers):
                stopped.partial = Answers(stopped.partial, self._explainer)  # type: ignore[attr-defined]
            raise
        if found is not None and self._core.at_end:
            for remark in found.remarks:
                warnings.warn(remark, stacklevel=2)
        if found is None or found.rows == 0:
            self._close()
            raise StopIteration
        return Answers(found, self._explainer)

    @property
    def remarks(self) -> list[str]:
        """What of the rows that were read so far somebody should look at. The iterator warns of them at its end."""
        return self._core.remarks

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.arrow(self._rows, self._threads, self._callback)


class _Stream:
    """Answers as an Arrow stream of some of their columns."""

    def __init__(self, core: _core.Answers, only_changes: bool) -> None:
        self._core = core
        self._only_changes = only_changes

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.stream(self._only_changes)
