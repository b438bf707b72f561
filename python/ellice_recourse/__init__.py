"""Certified recourse: what people are to change so that every nearly as good model says yes.

>>> import ellice_recourse as el
>>> model = el.train(loans, target="approved", favourable="yes")
>>> answers = el.Explainer(model, epsilon="1%", immutable=["age"]).explain(declined)
>>> answers.to_pandas(only_changes=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core, options
from ._answers import Answer, Answers, AnswerStream, Change, Verification
from ._explainer import Explainer, verify
from ._model import Model, draft_schema, from_coefficients, load, loads, train
from ._progress import Stopped

if TYPE_CHECKING:
    from ._estimator import RobustLogisticClassifier
    from ._importers import from_onnx, from_statsmodels
    from ._scorecards import from_ebm, from_scorecard
    from ._sklearn import from_sklearn
    from ._torch import from_torch

__version__: str = _core.version

# What brings numpy or scikit-learn along is imported when it is asked for.
_LATER = {
    "RobustLogisticClassifier": "_estimator",
    "from_ebm": "_scorecards",
    "from_onnx": "_importers",
    "from_scorecard": "_scorecards",
    "from_sklearn": "_sklearn",
    "from_statsmodels": "_importers",
    "from_torch": "_torch",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "Answer",
    "Answers",
    "AnswerStream",
    "Change",
    "Explainer",
    "Model",
    "RobustLogisticClassifier",
    "Stopped",
    "Verification",
    "draft_schema",
    "from_coefficients",
    "from_ebm",
    "from_onnx",
    "from_scorecard",
    "from_sklearn",
    "from_statsmodels",
    "from_torch",
    "load",
    "loads",
    "options",
    "train",
    "verify",
]
