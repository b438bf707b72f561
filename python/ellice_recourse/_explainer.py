"""Asking what people are to change."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from . import _core
from ._answers import Answers, AnswerStream, Verification
from ._model import Model, bounds_of
from ._progress import Progress, callback_of
from ._tables import _cell, frame_of, plain

if TYPE_CHECKING:
    from ._options import CalibrateOptions, EvaluateOptions, ExplainOptions

_SCHEMA_KEYWORDS = ("step", "weight", "allowed")
_PREPARED = 8


class Explainer:
    """What people are to change, so that every nearly as good model says yes.

    Options are keywords (``help(ellice_recourse.options)`` lists them); those of ``explain`` stand over those given
    here. ``immutable`` and ``lock`` name features that keep their values, ``bounds`` and ``direction`` limit them,
    ``rules`` (``"debt <= 0.3 * income"``) and ``weights`` hold for the run. ``step``, ``weight`` and ``allowed`` change
    the schema and so the hash of ``explainer.model``. ``data`` is the labelled table that the model was trained on, for
    what needs it, or the path of its CSV file where it was trained on one: a model knows its rows by the hash of the file.
    """

    def __init__(
        self,
        model: Model,
        *,
        data: Any = None,
        ensemble: Sequence[Model] = (),
        threads: int = 0,
        progress: Progress = None,
        **options: Unpack[ExplainOptions],
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"model is of type {type(model).__name__}; expected a Model, as load and train give one")
        given: dict[str, Any] = dict(options)
        changed = {name: given.pop(name) for name in _SCHEMA_KEYWORDS if given.get(name) is not None}
        self._model = model.with_schema(**changed) if changed else model
        self._options = given
        self._unread: list[str] = self._model.schema.get("drop", [])
        self._data_file = os.fspath(data) if isinstance(data, (str, os.PathLike)) else ""
        self._data = None if data is None or self._data_file else frame_of(data, [], self._unread)
        self._ensemble = list(ensemble)
        self._threads = threads
        self._progress = progress
        self._prepared: dict[str, _core.Explainer] = {}
        self._base = self._prepare({})
        for note in self.notes:
            warnings.warn(note, stacklevel=2)

    @property
    def model(self) -> Model:
        """The model that answers are for."""
        return self._model

    @property
    def epsilon(self) -> float:
        """By how much the objective of a model of the set may exceed the optimum's."""
        return self._base.epsilon

    @property
    def notes(self) -> list[str]:
        """What a person should know before trusting answers."""
        return list(self._base.notes)

    @property
    def request(self) -> dict[str, Any]:
        """What is asked, as files hold it."""
        return dict(json.loads(self._base.request_text()))

    def explain(
        self,
        table: Any,
        *,
        id: str | None = None,
        on_error: str = "stop",
        progress: Progress = None,
        **options: Unpack[ExplainOptions],
    ) -> Answers:
        """What to change, for every row of a table.

        ``id`` names a column to echo. A row that cannot be read raises, or with ``on_error="skip"`` gets an answer
        ``invalid``. Ctrl-C and a progress callback that answers False stop the work; the exception then has the
        finished answers as ``partial``.
        """
        if on_error not in ("stop", "skip"):
            raise ValueError(f'on_error = {on_error!r} must be "stop" or "skip"')
        frame = self._model._frame(table)
        core = self._prepare(dict(options))
        _require_rows({**self._options, **options}.get("queries"), frame.rows)
        callback, close = callback_of(self._progress if progress is None else progress)
        try:
            answers = core.explain(frame, id, on_error == "skip", self._threads, callback)
        except BaseException as stopped:
            if isinstance(getattr(stopped, "partial", None), _core.Answers):
                stopped.partial = Answers(stopped.partial, self)  # type: ignore[attr-defined]
            raise
        finally:
            close()
        for remark in answers.remarks:
            warnings.warn(remark, stacklevel=2)
        return Answers(answers, self)

    def stream(
        self,
        table: Any,
        *,
        rows: int = 65536,
        id: str | None = None,
        on_error: str = "stop",
        progress: Progress = None,
        **options: Unpack[ExplainOptions],
    ) -> AnswerStream:
        """The same in parts, for tables of any length: reads and answers so many ``rows`` when the next are asked for.

        Gives an iterator of ``Answers`` that is an Arrow stream as well: ``pyarrow.RecordBatchReader.from_stream``
        takes it, and pulls. Of a table that is an Arrow stream (a RecordBatchReader, a scanned file) no more than one part
        is held.
        """
        if on_error not in ("stop", "skip"):
            raise ValueError(f'on_error = {on_error!r} must be "stop" or "skip"')
        if rows < 1:
            raise ValueError(f"rows = {rows} must be at least 1")
        frame = self._model._frame(table, whole=False)
        core = self._prepare(dict(options)).stream(frame, id, on_error == "skip")
        return AnswerStream(core, self, rows, self._threads, self._progress if progress is None else progress)

    def certify(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """A certificate for a row as it is, or None where some model of the set does not accept it."""
        found = self._base.certify(json.dumps({str(name): _cell_of_row(str(name), value) for name, value in row.items()}))
        return None if found is None else dict(json.loads(found))

    def frontier(
        self,
        table: Any,
        epsilons: Sequence[str | float] = ("0", "0.5%", "1%", "2%", "5%", "10%", "15%", "20%"),
        *,
        progress: Progress = None,
        **options: Unpack[ExplainOptions],
    ) -> dict[str, Any]:
        """What robustness costs: for each row the cost of its plan at each epsilon, and the largest that has one."""
        callback, close = callback_of(self._progress if progress is None else progress)
        try:
            frame = self._model._frame(table)
            levels = [str(level) for level in epsilons]
            return dict(json.loads(_core.frontier(self._prepare(dict(options)), frame, levels, self._threads, callback)))
        finally:
            close()

    def epsilons(
        self,
        epsilons: Sequence[str | float] = ("0", "0.5%", "1%", "2%", "5%", "10%"),
        *,
        survival: Sequence[float] = (0.9, 0.95, 0.99),
        check: bool = False,
        progress: Progress = None,
        **measuring: int,
    ) -> dict[str, Any]:
        """What an epsilon means: objective, accuracy, recourse, survival of retraining; and which one to take."""
        callback, close = callback_of(self._progress if progress is None else progress)
        try:
            levels = [str(level) for level in epsilons]
            text = _core.epsilon(self._base, levels, list(survival), check, measuring, self._threads, callback)
            return dict(json.loads(text))
        finally:
            close()

    def calibrate(self, *, progress: Progress = None, **options: Unpack[CalibrateOptions]) -> tuple[Model, dict[str, Any]]:
        """Chooses epsilon on retrained, noisy and adversarial models; needs ``data``.

        Returns the model that recommends it (for ``epsilon="auto"``) and what was found.
        """
        callback, close = callback_of(self._progress if progress is None else progress)
        try:
            text, model = _core.calibrate(self._base, dict(options), self._threads, callback)
        finally:
            close()
        if model is None:
            raise ValueError("no radius survives the stress models, so that nothing is recommended")
        return Model(model), dict(json.loads(text))

    def evaluate(
        self,
        answers: Any,
        *,
        against: Any = None,
        queries: Any = None,
        evaluators: Sequence[str] = (),
        metrics: Sequence[str] = (),
        shift_data: Any = None,
        progress: Progress = None,
        **options: Unpack[EvaluateOptions],
    ) -> dict[str, Any]:
        """Holds answers against models that nobody asked before: retrained, noisy, adversarial ones; needs ``data``.

        ``answers`` are Answers, the text of a recourse file, or anybody's table with the column ``query_index`` and the
        features, which needs ``queries``, the table of the people. ``against`` are other answers to the same people:
        differences by row, with tests. ``evaluators`` are some of retrain, bootstrap, dropout, awp, awp-targeted,
        ellipsoid, true and shift, which trains on the rows of ``shift_data``. Gives what ``ellice evaluate`` writes.
        """
        people = None if queries is None else self._model._frame(queries)
        judged = _judged(answers, people)
        other = None if against is None else _judged(against, people)
        shift = None if shift_data is None else frame_of(shift_data, [])
        callback, close = callback_of(self._progress if progress is None else progress)
        try:
            text = _core.evaluate(
                self._base, list(evaluators), list(metrics), dict(options), judged, other, shift, self._threads, callback
            )
        finally:
            close()
        return dict(json.loads(text))

    def _prepare(self, options: dict[str, Any]) -> _core.Explainer:
        changed = [name for name in _SCHEMA_KEYWORDS if options.get(name) is not None]
        if changed:
            raise TypeError(f"{changed[0]} changes the schema, and so the model: give it to Explainer")
        merged = {**self._options, **options}
        if isinstance(merged.get("queries"), Mapping):
            merged["queries"] = {str(row): given for row, given in merged["queries"].items()}
        key = json.dumps(merged, sort_keys=True, default=str)
        if key in self._prepared:
            return self._prepared[key]
        locked = [*_names("immutable", merged.pop("immutable", ())), *_names("lock", merged.pop("lock", ()))]
        constraints: dict[str, Any] = {"lock": locked} if locked else {}
        if (rules := merged.pop("rules", None)) is not None:
            constraints["rules"] = _names("rules", rules)
        for name in ("bounds", "direction", "queries", "weights"):
            value = merged.pop(name, None)
            if value is None:
                continue
            if not isinstance(value, Mapping):
                raise TypeError(f"{name} = {value!r}: expected a dict")
            constraints[name] = {str(key): list(v) if isinstance(v, tuple) else v for key, v in value.items()}
            if name == "bounds":
                constraints[name] = {feature: bounds_of(feature, given) for feature, given in constraints[name].items()}
        target = merged.pop("target", None)
        codes = _yaml(merged.pop("reason_codes", None))
        core = _core.make_explainer(
            self._model._core,
            merged,
            json.dumps(constraints, default=_plain),
            [] if target is None else [target] if isinstance(target, str) else list(target),
            [other._core for other in self._ensemble],
            codes,
            self._data,
            self._data_file,
            self._threads,
            None,
        )
        while len(self._prepared) >= _PREPARED:
            del self._prepared[next(iter(self._prepared))]
        self._prepared[key] = core
        return core

    def _verify(self, text: str) -> Verification:
        members = [other._core for other in self._ensemble]
        return Verification(json.loads(_core.verify(self._model._core, text, members, self._base)))

    def __getstate__(self) -> dict[str, Any]:
        if self._data is not None:
            raise TypeError("an Explainer with a table as data cannot be pickled: pickle its model, and make it again, or give data as a file")
        return {
            "model": self._model,
            "options": self._options,
            "ensemble": self._ensemble,
            "threads": self._threads,
            "data": self._data_file or None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            state["model"], ensemble=state["ensemble"], threads=state["threads"], data=state["data"], **state["options"]
        )

    def __repr__(self) -> str:
        return f"<Explainer with epsilon {self.epsilon:.4g} for {self._model!r}>"


def verify(model: Model, answers: str | os.PathLike[str] | Answers, *, ensemble: Sequence[Model] = ()) -> Verification:
    """Re-checks a recourse file (a path or its text) against a model, without the code that made it."""
    if isinstance(answers, Answers):
        text = answers.to_json()
    elif isinstance(answers, str) and answers.lstrip().startswith(("{", "[")):
        text = answers
    else:
        with open(answers, encoding="utf-8") as file:
            text = file.read()
    return Verification(json.loads(_core.verify(model._core, text, [other._core for other in ensemble], None)))


def _judged(answers: Any, people: _core.Frame | None) -> _core.Judged:
    if isinstance(answers, Answers):
        return _core.Judged(answers.to_json(), None, None)
    if isinstance(answers, str):
        return _core.Judged(answers, None, None)
    if people is None:
        raise TypeError("a table of answers needs queries, the table of the people whom it answers")
    return _core.Judged("", frame_of(answers, []), people)


def _names(keyword: str, value: Any) -> Sequence[str]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{keyword} = {value!r}: expected a list of names")
    return value


def _require_rows(queries: Any, rows: int) -> None:
    for row in queries or ():
        if str(row).isdigit() and int(row) >= rows:
            raise ValueError(f"queries: there is no row {row}; the table has {rows}, counted from 0")


def _cell_of_row(name: str, value: Any) -> Any:
    """A number or a text; booleans are levels."""
    value = plain(value)
    if isinstance(value, (int, float, str)) and not isinstance(value, bool) and value == value:
        return value
    text = _cell(name, 0, value)
    if not text:
        raise ValueError(f'row: column "{name}" is empty ({value!r}); expected a value')
    return text


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} is of type {type(value).__name__}; expected a number or a text")


def _yaml(codes: Any) -> str:
    """A table of reason codes as text: JSON is YAML."""
    if codes is None:
        return ""
    if isinstance(codes, Mapping):
        return json.dumps(codes)
    with open(codes, encoding="utf-8") as file:
        return file.read()
