"""The interface of the authors' package over exact plans: ``import ellice_recourse.compat.ellice as ellice``.

Names and arguments are those of the package ``ellice``. ``robustness_epsilon`` is absolute, as there. What the search of
that package needs (steps, learning rates, devices) has no meaning here and is accepted with one warning.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._explainer import Explainer as _Explainer
from .._model import Model as _Model
from .._model import label_text
from .._sklearn import from_sklearn
from .._torch import from_torch

__all__ = ["Data", "Explainer", "load_config"]


class Data:
    """A frame of numbers with its target column."""

    def __init__(
        self,
        dataframe: Any,
        target_column: str,
        continuous_features: Sequence[str] | None = None,
        categorical_features: Sequence[str] | None = None,
        immutable_features: Sequence[str] | None = None,
        outcome_name: str | None = None,
    ) -> None:
        if target_column not in dataframe.columns:
            raise ValueError(f'target_column = "{target_column}" is no column of the frame')
        self.df = dataframe
        self.target_column = target_column
        self.outcome_name = outcome_name or target_column
        self.feature_names = [name for name in dataframe.columns if name != target_column]
        for keyword, names in (
            ("continuous_features", continuous_features),
            ("categorical_features", categorical_features),
            ("immutable_features", immutable_features),
        ):
            unknown = [name for name in names or () if name not in self.feature_names]
            if unknown:
                raise ValueError(f'{keyword}: the frame has no column "{unknown[0]}"')
        if continuous_features is None and categorical_features is None:
            self.categorical_features = [name for name in self.feature_names if self._looks_categorical(name)]
            self.continuous_features = [name for name in self.feature_names if name not in self.categorical_features]
        else:
            self.continuous_features = list(continuous_features or ())
            self.categorical_features = list(categorical_features or ())
        self.immutable_features = list(immutable_features or ())
        self.bounds = {name: (dataframe[name].min(), dataframe[name].max()) for name in self.continuous_features}

    def _looks_categorical(self, name: str) -> bool:
        column = self.df[name]
        return column.dtype.kind not in "iufb" or (column.dtype.kind == "i" and column.nunique() < 10)

    def get_dev_data(self) -> Any:
        """The frame without its target."""
        return self.df[self.feature_names]

    def get_target_data(self) -> Any:
        """The target alone."""
        return self.df[self.target_column]


class Explainer:
    """Generates certified plans for a scikit-learn classifier or an ``nn.Sequential``."""

    def __init__(self, model: Any, data: Data, backend: str = "auto", device: str | None = None, backend_model_class: Any = None) -> None:
        if backend not in ("auto", "pytorch", "sklearn"):
            raise ValueError(f"backend = {backend!r}: supported are auto, pytorch and sklearn; what a custom class computes is not known")
        if backend_model_class is not None:
            raise ValueError("backend_model_class: what a class of your own computes is not known, and cannot be certified")
        if device not in (None, "auto", "cpu"):
            warnings.warn(f"device = {device!r}: without meaning here", stacklevel=2)
        self.model = model
        self.data = data
        self._is_torch = backend == "pytorch" or (backend == "auto" and hasattr(model, "named_children"))
        self._models: dict[str, _Model] = {}

    def generate_counterfactuals(
        self,
        query_instances: Any,
        total_CFs: int = 1,
        method: str = "continuous",
        features_to_vary: str | Sequence[str] = "all",
        permitted_range: Mapping[str, Sequence[float]] | None = None,
        one_way_change: Mapping[str, str] | None = None,
        allowed_values: Mapping[str, Sequence[float]] | None = None,
        one_hot_groups: Sequence[Sequence[str]] | None = None,
        robustness_epsilon: float = 0.01,
        regularization_coefficient: float = 1e-4,
        sparsity: bool = False,
        search_mode: str = "filtering",
        optimization_params: Mapping[str, Any] | None = None,
        target_class: int = 1,
        return_probs: bool = False,
        progress_bar: bool = True,
        requires: str = "valid",
        feature_weights: Mapping[str, float] | None = None,
        group_weights: Mapping[str, float] | None = None,
    ) -> Any:
        """Up to ``total_CFs`` plans for each row as a frame, in the order of their cost, with ``original_index``.

        Who has no plan for every model within ``robustness_epsilon`` gets one for as large an epsilon as there is, unless
        ``requires="robust"``; who has none at all has no row. With ``return_probs`` also ``model_prob_class_1`` and
        ``worst_case_prob_target``, the probability of ``target_class`` under the worst model.
        """
        if method not in ("continuous", "data_supported", "discrete"):
            raise ValueError(f"method = {method!r} must be continuous or data_supported")
        if requires not in ("valid", "robust", "none"):
            raise ValueError(f"requires = {requires!r} must be valid, robust or none")
        self._say_what_is_without_meaning(search_mode, optimization_params, group_weights)
        queries = self._frame(query_instances)
        model = self._model(label_text(target_class), one_hot_groups, allowed_values, feature_weights, regularization_coefficient)
        features = model.features
        groups: dict[str, list[str]] = model.schema.get("one_hot", {})
        of_column = {column: group for group, columns in groups.items() for column in columns}
        kept = {of_column.get(name, name) for name in self.data.immutable_features}
        if not isinstance(features_to_vary, str):
            unknown = [name for name in features_to_vary if name not in self.data.feature_names]
            if unknown:
                raise ValueError(f'features_to_vary: there is no feature "{unknown[0]}"')
            free = {of_column.get(name, name) for name in features_to_vary}
            kept |= {name for name in features if name not in free}
        elif features_to_vary != "all":
            raise ValueError(f'features_to_vary = {features_to_vary!r} must be "all" or a list of features')
        options: dict[str, Any] = {
            "lock": [name for name in features if name in kept],
            "bounds": {name: list(limits) for name, limits in (permitted_range or {}).items()},
            "direction": dict(one_way_change or {}),
            "plans": total_CFs,
            "sparse": sparsity,
        }
        data = None
        if method != "continuous":
            options["method"] = "data"
            data = self.data.df
        if model.excess is not None and len(json.loads(model.to_json())["network"]["layers"]) > 1:
            options["set"] = "last-layer"  # the set of the authors' package
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explainer = _Explainer(model, data=data, epsilon=float(robustness_epsilon), progress=progress_bar and None, **options)
            answers = explainer.explain(queries)
        return self._as_frame(answers, queries, requires, return_probs, target_class)

    def _frame(self, queries: Any) -> Any:
        import pandas as pd

        if isinstance(queries, pd.DataFrame):
            return queries[self.data.feature_names]
        if isinstance(queries, pd.Series):
            return queries.to_frame().T[self.data.feature_names].infer_objects()
        rows = np.atleast_2d(np.asarray(queries, dtype=float))
        return pd.DataFrame(rows, columns=self.data.feature_names)

    def _model(self, favourable: str, groups: Any, allowed: Any, weights: Any, penalty: float) -> _Model:
        key = json.dumps([favourable, groups, allowed, weights, penalty], sort_keys=True, default=str)
        if key not in self._models:
            x, y = self.data.get_dev_data(), self.data.get_target_data()
            one_hot = {_group_name(columns, self.data.feature_names): list(columns) for columns in groups or ()}
            given: dict[str, Any] = {
                "favourable": favourable, "target": str(self.data.target_column), "one_hot": one_hot,
                "allowed": {name: list(values) for name, values in (allowed or {}).items()}, "weight": dict(weights or {}),
            }  # fmt: skip
            # There the penalty is a number to add to the curvature; here it is that of the training, where that is known.
            self._models[key] = (
                from_torch(self.model, x, y, weight_decay=penalty, **given) if self._is_torch else from_sklearn(self.model, x, y, **given)
            )
        return self._models[key]

    def _as_frame(self, answers: Any, queries: Any, requires: str, return_probs: bool, target_class: int) -> Any:
        import pandas as pd

        found = [answer for answer in answers if answer.counterfactual]
        is_wanted = [requires != "robust" or answer.status != "reduced" for answer in found]
        if not any(is_wanted):
            return pd.DataFrame()
        rows = answers.counterfactuals(like=queries)
        rows["original_index"] = queries.index[rows.index]
        if return_probs:
            logits, worst = (np.array([answer.to_dict()[key] for answer in found]) for key in ("logit", "robust_logit"))
            own = 1 / (1 + np.exp(-logits if target_class == 1 else logits))
            if hasattr(self.model, "predict_proba"):
                own = self.model.predict_proba(rows[self.data.feature_names])[:, 1]
            rows["model_prob_class_1"] = own
            rows["worst_case_prob_target"] = 1 / (1 + np.exp(-worst))
        return rows[is_wanted].reset_index(drop=True)

    @staticmethod
    def _say_what_is_without_meaning(search_mode: str, optimization: Any, groups: Any) -> None:
        given = [name for name, is_given in (("search_mode", search_mode != "filtering"), ("optimization_params", optimization), ("group_weights", groups)) if is_given]
        if given:
            warnings.warn(f"generate_counterfactuals: without meaning here: {', '.join(given)}", stacklevel=3)


def _group_name(columns: Sequence[str], taken: Sequence[str]) -> str:
    """What the columns of a group have in common, or their names."""
    name = os.path.commonprefix(list(columns)).rstrip("_=. ") or "|".join(columns)
    while name in taken:
        name += "_"
    return name


def load_config(path: str | os.PathLike[str], dataset_name: str) -> tuple[list[str], dict[str, Any], dict[str, str]]:
    """(immutable features, permitted ranges, one-way changes) of a data set, from a JSON file, or YAML where there is PyYAML."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if os.fspath(path).endswith(".json"):
        document = json.loads(text)
    else:
        import yaml  # type: ignore[import-untyped]

        document = yaml.safe_load(text)
    entry = document.get(dataset_name, document)
    return list(entry.get("immutables", [])), dict(entry.get("acceptable_ranges", {})), dict(entry.get("one_way_change", {}))
