"""What tells people how far a piece of work is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _core


class Stopped(RuntimeError):
    """A progress callback answered False; ``partial`` has what was finished."""

    partial: Any = None


_core.set_stopped(Stopped)

ProgressCallback = Callable[[str, int, int], Any]
Progress = bool | ProgressCallback | None


def callback_of(progress: Progress) -> tuple[ProgressCallback | None, Callable[[], None]]:
    """The callback for the library, and what to call when the work has ended.

    None shows a bar where a person looks at a terminal, True always, False never.
    """
    if callable(progress) and not isinstance(progress, bool):
        return progress, lambda: None
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if progress is False:
        return None, lambda: None
    if progress is not True:
        raise TypeError(f"progress = {progress!r} must be None, True, False or a function of (stage, done, total)")
    return _bar()


def _bar() -> tuple[ProgressCallback, Callable[[], None]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _line()
    bar: Any = None

    def show(stage: str, done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(total=total or None, leave=False)
        bar.set_description(stage, refresh=False)
        bar.total = total or None
        bar.n = done
        bar.refresh()

    def close() -> None:
        if bar is not None:
            bar.close()

    return show, close


def _line() -> tuple[ProgressCallback, Callable[[], None]]:
    shown = False

    def show(stage: str, done: int, total: int) -> None:
        nonlocal shown
        shown = True
        print(f"\r{stage}: {done} of {total}" if total else f"\r{stage}: {done}", end="", file=sys.stderr, flush=True)

    def close() -> None:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    return show, close
