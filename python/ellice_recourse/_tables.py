"""Tables of Python as columns that the library reads where they lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from . import _core

if TYPE_CHECKING:
    import numpy as np

Column = tuple[Any, ...]


def frame_of(table: Any, names: Sequence[str], unread: Sequence[str] = (), whole: bool = True) -> _core.Frame:
    """A frame of a data frame, an array, a mapping or anything with an Arrow stream.

    ``names`` are those of the columns of an array, which has none. Columns that are ``unread`` may hold anything.
    Unless ``whole``, rows of an Arrow stream are pulled when they are read, once.
    """
    if isinstance(table, _core.Frame):
        return table
    if _is_pandas(table):
        return _of_pandas(table, unread)
    if _is_series(table):
        raise TypeError("a Series is one row or one column and no table; people.iloc[[0]] is a table of one row")
    if hasattr(table, "__arrow_c_stream__"):
        return _core.frame_of_arrow(table.__arrow_c_stream__(), whole)
    if hasattr(table, "collect") and not hasattr(table, "__len__"):
        raise TypeError(
            f"a {type(table).__name__} of {type(table).__module__.partition('.')[0]} has no rows yet: collect() it first"
        )
    if _is_array(table):
        return _of_array(table, names)
    if isinstance(table, Mapping):
        return _of_mapping(table, unread)
    if isinstance(table, Sequence) and table and all(isinstance(row, Mapping) for row in table):
        return _of_records(table)
    raise TypeError(
        f"a table of type {type(table).__name__} cannot be read; expected a pandas or polars data frame, "
        "an Arrow table, a numpy array, a dict of columns or a list of dicts"
    )


def _is_array(values: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    return type(values).__module__.partition(".")[0] == "numpy" and hasattr(values, "ndim")


def plain(value: Any) -> Any:
    """A number, boolean or text of numpy as one of Python."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _is_pandas(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns")


def _of_pandas(table: Any, unread: Sequence[str]) -> _core.Frame:
    for what, labels in (("columns", table.columns), ("index", table.index)):
        if labels.nlevels > 1:
            raise ValueError(
                f"table: its {what} {'have' if what == 'columns' else 'has'} several levels (a MultiIndex: {list(labels.names)}); "
                + ("give each column one name" if what == "columns" else "reset_index() makes columns of them")
            )
    names = [_name(name) for name in table.columns]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f'table: there are two columns "{sorted(repeated)[0]}"')
    columns = []
    for j, name in enumerate(names):
        try:
            columns.append(_pandas_column(name, table.iloc[:, j]))
        except ValueError:
            if name not in unread:
                raise
    return _core.frame_of(columns, len(table))


def _name(name: Any) -> str:
    if not isinstance(plain(name), (str, int)):
        raise ValueError(f"table: the name {name!r} of a column is no text; rename it")
    return str(name)


def _pandas_column(name: str, series: Any) -> Column:
    import numpy as np

    dtype = series.dtype
    if str(dtype) == "category":
        levels = [_cell(name, row, level) for row, level in enumerate(series.cat.categories)]
        return (name, np.asarray(series.cat.codes), levels)
    if isinstance(dtype, np.dtype):
        return _array_column(name, series.to_numpy())
    if getattr(dtype, "kind", "O") in "iuf":  # nullable numbers
        return (name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    return _list_column(name, series.tolist())


def _array_column(name: str, values: np.ndarray[Any, Any]) -> Column:
    import numpy as np

    if values.ndim != 1:
        raise ValueError(f'table: column "{name}" has {values.ndim} dimensions; expected one')
    kind = values.dtype.kind
    if kind in "biuf" and values.dtype.itemsize <= 8:
        if values.dtype.itemsize == 2 and kind == "f":
            values = values.astype(np.float32)
        if not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
        return (name, values)
    if kind in "OUT":
        return _list_column(name, values.tolist())
    raise ValueError(f'table: column "{name}" is of type {values.dtype}; expected numbers, booleans or texts')


def _list_column(name: str, values: Iterable[Any]) -> Column:
    values = list(values)
    if all(type(value) is str for value in values):
        return (name, values)
    if values and all(isinstance(value, bool) for value in values):
        import numpy as np

        return (name, np.asarray(values, dtype=np.bool_))
    return (name, [_cell(name, row, value) for row, value in enumerate(values)])


def _cell(name: str, row: int, value: Any) -> str:
    """The text of a cell, as a file would have it; nothing for what is missing."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    value = plain(value)
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    raise ValueError(
        f'table: row {row}, column "{name}": {value!r} is of type {type(value).__name__}; '
        "expected a number, a boolean or a text"
    )


def _of_array(table: np.ndarray[Any, Any], names: Sequence[str]) -> _core.Frame:
    if table.dtype.names is not None:
        return _core.frame_of([_array_column(name, table[name]) for name in table.dtype.names], len(table))
    if table.ndim != 2:
        raise ValueError(f"an array of {table.ndim} dimensions is no table; expected rows and columns")
    if table.shape[1] != len(names):
        raise ValueError(
            f"an array of {table.shape[1]} columns does not fit the model, which has {len(names)} features "
            f"in this order: {', '.join(names)}"
        )
    return _core.frame_of([_array_column(name, table[:, j]) for j, name in enumerate(names)], len(table))


def _of_mapping(table: Mapping[str, Any], unread: Sequence[str] = ()) -> _core.Frame:
    columns: list[Column] = []
    rows: int | None = None
    for name, values in table.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise ValueError(f'table: column "{name}" is {values!r}; expected a list of values')
        try:
            if _is_series(values):
                column = _pandas_column(_name(name), values)
            elif _is_array(values):
                column = _array_column(_name(name), values)
            else:
                column = _list_column(_name(name), values)
        except ValueError:
            if name not in unread:
                raise
            continue
        rows = len(column[1]) if rows is None else rows
        columns.append(column)
    return _core.frame_of(columns, rows or 0)


def _is_series(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "dtype")


def _of_records(rows: Sequence[Mapping[str, Any]]) -> _core.Frame:
    names = list(rows[0])
    for i, row in enumerate(rows):
        if set(row) != set(names):
            raise ValueError(f"table: row {i} has the columns {sorted(row)}, but row 0 has {sorted(names)}")
    return _of_mapping({name: [row[name] for row in rows] for name in names})
