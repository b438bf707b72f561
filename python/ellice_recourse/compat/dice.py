"""The interface of DiCE over certified recourse: ``import ellice_recourse.compat.dice as dice_ml``.

Names and arguments are those of DiCE. Plans are certified for every model within ``epsilon`` (a keyword that DiCE does
not have) of the one that decides; arguments without meaning here are accepted with one warning.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from .._explainer import Explainer
from .._model import label_text
from .._sklearn import from_sklearn

_WITHOUT_MEANING = {
    "proximity_weight", "diversity_weight", "sparsity_weight", "categorical_penalty", "algorithm", "feature_weights",
    "optimizer", "learning_rate", "min_iter", "max_iter", "maxiterations", "project_iter", "loss_diff_thres", "loss_converge_maxiter",
    "verbose", "init_near_query_instance", "tie_random", "yloss_type", "diversity_loss_type", "stopping_threshold",
    "posthoc_sparsity_param", "posthoc_sparsity_algorithm", "sample_size", "random_seed", "limit_steps_ls", "initialization",
    "thresh", "reinit",
}  # fmt: skip


class Data:
    """A table with its outcome."""

    def __init__(self, dataframe: Any = None, outcome_name: str | None = None, continuous_features: Sequence[str] = (), **options: Any) -> None:
        if dataframe is None or outcome_name is None:
            raise ValueError("Data needs dataframe and outcome_name: plans are certified with the rows of the training")
        if outcome_name not in dataframe.columns:
            raise ValueError(f'outcome_name = "{outcome_name}" is no column of the frame')
        unknown = [name for name in continuous_features if name not in dataframe.columns]
        if unknown:
            raise ValueError(f'continuous_features: the frame has no column "{unknown[0]}"')
        self.data_df = dataframe
        self.outcome_name = outcome_name
        self.continuous_feature_names = list(continuous_features)
        self.feature_names = [name for name in dataframe.columns if name != outcome_name]
        self.categorical_feature_names = [name for name in self.feature_names if name not in self.continuous_feature_names]
        if options:
            _warn_once("Data", options)


class Model:
    """A fitted scikit-learn classifier."""

    def __init__(self, model: Any = None, model_path: str = "", backend: str = "sklearn", func: Any = None, model_type: str = "classifier", **options: Any) -> None:
        if model is None or model_path:
            raise ValueError("Model needs model, a fitted estimator; paths are not read")
        if backend != "sklearn":
            raise ValueError(f'backend = "{backend}": supported is "sklearn"')
        if model_type != "classifier":
            raise ValueError(f'model_type = "{model_type}": supported is "classifier"')
        if func is not None:
            raise ValueError("func: a function before the model cannot be certified; put it into a Pipeline")
        self.model = model
        self.backend = backend
        self.model_type = model_type
        if options:
            _warn_once("Model", options)


class CounterfactualExample:
    """The plans of one person."""

    def __init__(self, test_instance_df: Any, final_cfs_df: Any) -> None:
        self.test_instance_df = test_instance_df
        self.final_cfs_df = final_cfs_df

    def to_dataframe(self, show_only_changes: bool = False) -> Any:
        """The plans; with ``show_only_changes`` a dash for what stays."""
        if not show_only_changes:
            return self.final_cfs_df
        shown = self.final_cfs_df.astype(object)
        query = self.test_instance_df.iloc[0]
        for name in shown.columns[:-1]:
            shown[name] = ["-" if value == query[name] else value for value in shown[name]]
        return shown


class CounterfactualExplanations:
    """The plans of all people, in their order."""

    def __init__(self, cf_examples_list: list[CounterfactualExample]) -> None:
        self.cf_examples_list = cf_examples_list

    def visualize_as_dataframe(self, display_sparse_df: bool = True, show_only_changes: bool = False, file: TextIO | None = None) -> None:
        """Prints them."""
        for example in self.cf_examples_list:
            print("Query instance:", example.test_instance_df.to_string(), sep="\n", file=file or sys.stdout)
            print("Counterfactuals:", example.to_dataframe(show_only_changes).to_string(), sep="\n", file=file or sys.stdout)

    def visualize_as_list(self, display_sparse_df: bool = True, show_only_changes: bool = False, file: TextIO | None = None) -> None:
        """Prints them as lists."""
        for example in self.cf_examples_list:
            print(example.test_instance_df.to_numpy().tolist(), file=file or sys.stdout)
            print(example.to_dataframe(show_only_changes).to_numpy().tolist(), file=file or sys.stdout)

    def to_json(self) -> str:
        """Lists of values, person by person."""
        first = self.cf_examples_list[0] if self.cf_examples_list else None
        names = [] if first is None else [str(name) for name in first.final_cfs_df.columns]
        return json.dumps({
            "test_data": [example.test_instance_df.to_numpy().tolist() for example in self.cf_examples_list],
            "cfs_list": [example.final_cfs_df.to_numpy().tolist() for example in self.cf_examples_list],
            "feature_names_including_target": names,
        }, default=label_text)  # fmt: skip


class Dice:
    """Generates certified plans."""

    def __init__(self, data_interface: Data, model_interface: Model, method: str = "exact", *, epsilon: str | float = "1%", **options: Any) -> None:
        self._data = data_interface
        self._model = model_interface
        self._epsilon = epsilon
        if method not in ("exact", "random", "genetic", "kdtree"):
            raise ValueError(f'method = "{method}" is none of DiCE\'s for scikit-learn: random, genetic, kdtree')
        if options:
            _warn_once("Dice", options)

    def generate_counterfactuals(
        self,
        query_instances: Any,
        total_CFs: int = 1,
        desired_class: Any = "opposite",
        desired_range: Any = None,
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        features_to_vary: str | Sequence[str] = "all",
        **options: Any,
    ) -> CounterfactualExplanations:
        """Up to ``total_CFs`` plans for each row, in the order of their cost.

        What changes stays within ``permitted_range``; what does not change keeps its value, wherever that lies.
        """
        if desired_range is not None:
            raise ValueError("desired_range is for regression; give desired_class")
        unknown = sorted(set(options) - _WITHOUT_MEANING)
        if unknown:
            raise TypeError(f"generate_counterfactuals has no argument {unknown[0]!r}")
        if options:
            _warn_once("generate_counterfactuals", options)
        features = self._data.feature_names
        if hasattr(query_instances, "to_frame") and not hasattr(query_instances, "columns"):
            query_instances = query_instances.to_frame().T.infer_objects()  # one person
        if not hasattr(query_instances, "columns"):
            raise TypeError(f"query_instances is of type {type(query_instances).__name__}; expected a frame of people")
        if not len(query_instances):
            raise ValueError("query_instances has no rows; expected one for each person")
        strange = [name for name in permitted_range or {} if name not in features]
        if strange:
            raise ValueError(f'permitted_range: there is no feature "{strange[0]}"; there are {", ".join(map(str, features))}')
        queries = query_instances[[name for name in features if name in query_instances.columns]]
        predicted = np.asarray(self._model.model.predict(queries))
        wanted = [self._wanted(desired_class, label) for label in predicted]
        found: dict[int, CounterfactualExample] = {}
        for label in dict.fromkeys(wanted):
            rows = [i for i, one in enumerate(wanted) if one == label]
            found.update(self._explain(queries, rows, label, total_CFs, permitted_range or {}, features_to_vary))
        return CounterfactualExplanations([found[i] for i in range(len(queries))])

    def _wanted(self, desired: Any, label: Any) -> Any:
        classes = list(self._model.model.classes_)
        if len(classes) != 2:
            raise ValueError(f"the model has {len(classes)} classes; supported are two")
        if isinstance(desired, str) and desired == "opposite":
            return classes[1] if label == classes[0] else classes[0]
        if desired in classes:
            return desired
        raise ValueError(f'desired_class = {desired!r} is neither "opposite" nor one of {classes}')

    def _explain(
        self, queries: Any, rows: list[int], label: Any, plans: int, permitted: Mapping[str, Sequence[Any]], vary: str | Sequence[str]
    ) -> dict[int, CounterfactualExample]:
        table = self._data.data_df
        model = from_sklearn(
            self._model.model, table[self._data.feature_names], table[self._data.outcome_name],
            favourable=label, target=str(self._data.outcome_name),
        )  # fmt: skip
        kinds = model.schema["features"]
        options: dict[str, Any] = {"epsilon": self._epsilon, "plans": plans}
        if not isinstance(vary, str):
            unknown = [name for name in vary if name not in self._data.feature_names]
            if unknown:
                raise ValueError(f'features_to_vary: there is no feature "{unknown[0]}"')
            options["lock"] = [name for name in kinds if name not in vary]
        elif vary != "all":
            raise ValueError(f'features_to_vary = {vary!r} must be "all" or a list of features')
        numbers = ("numeric", "integer")
        options["bounds"] = {n: list(v) for n, v in permitted.items() if kinds.get(n, {}).get("kind") in numbers}
        allowed = {n: [label_text(x) for x in v] for n, v in permitted.items() if n not in options["bounds"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = queries.iloc[rows]
            answers = Explainer(model, allowed=allowed, **options).explain(asked)
        reached = answers.counterfactuals(like=asked)
        example = {}
        for place, i in enumerate(rows):
            plan = reached[reached.index == place].reset_index(drop=True)
            plan[self._data.outcome_name] = self._model.model.predict(plan) if len(plan) else []
            example[i] = CounterfactualExample(queries.iloc[[i]].reset_index(drop=True), plan)
        return example


def _warn_once(where: str, options: Mapping[str, Any]) -> None:
    warnings.warn(f"{where}: without meaning here: {', '.join(sorted(options))}", stacklevel=3)
