"""Certified recourse: what people are to change so that every nearly as good model says yes.

>>> import ellice_recourse as el
>>> model = el.train(loans, target="approved", favourable="yes")
>>> answers = el.Explainer(model, epsilon="1%", immutable=["age"]).explain(declined)
>>> answers.to_pandas(only_changes=True)
"""

from __future__ import annotations

from . import _core, options
from ._answers import Answer, Answers, Change, Verification
from ._explainer import Explainer, verify
from ._importers import from_statsmodels
from ._progress import Stopped
from ._sklearn import from_sklearn
from ._model import Model, draft_schema, from_coefficients, load, loads, train

__version__: str = _core.version

__all__ = [
    "Answer",
    "Answers",
    "Change",
    "Explainer",
    "Model",
    "Stopped",
    "Verification",
    "draft_schema",
    "from_coefficients",
    "from_sklearn",
    "from_statsmodels",
    "load",
    "loads",
    "options",
    "train",
    "verify",
]
