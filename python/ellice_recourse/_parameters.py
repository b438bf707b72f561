"""Parameters of scikit-learn's classes that are accounted for here; what a later version adds is refused where it is used."""

from __future__ import annotations

import inspect
from typing import Any

# What is read, what its fitted attributes hold, and what changes nothing in what becomes of a row. A parameter that is
# missing here may stand as it does by default.
_KNOWN: dict[str, str] = {
    "Pipeline": "steps transform_input memory verbose",
    "ColumnTransformer": "transformers remainder sparse_threshold n_jobs transformer_weights verbose verbose_feature_names_out",
    "FunctionTransformer": "func inverse_func validate accept_sparse check_inverse feature_names_out kw_args inv_kw_args",
    "StandardScaler": "copy with_mean with_std",
    "RobustScaler": "with_centering with_scaling quantile_range copy unit_variance",
    "MaxAbsScaler": "copy",
    "MinMaxScaler": "feature_range copy",
    "SimpleImputer": "missing_values strategy fill_value copy add_indicator keep_empty_features",
    "OneHotEncoder": "categories drop sparse_output dtype handle_unknown min_frequency max_categories feature_name_combiner",
    "OrdinalEncoder": "categories dtype handle_unknown unknown_value encoded_missing_value min_frequency max_categories",
    "KBinsDiscretizer": "n_bins encode strategy quantile_method subsample random_state",
    "LogisticRegression": "penalty C l1_ratio dual tol fit_intercept intercept_scaling class_weight random_state solver max_iter verbose "
    "warm_start n_jobs multi_class",
    "LogisticRegressionCV": "Cs l1_ratios fit_intercept cv dual penalty scoring solver tol max_iter class_weight n_jobs verbose refit "
    "intercept_scaling random_state use_legacy_attributes multi_class",
    "RidgeClassifier": "alpha fit_intercept copy_X max_iter tol class_weight solver positive random_state",
    "SGDClassifier": "loss penalty alpha l1_ratio fit_intercept max_iter tol shuffle verbose epsilon n_jobs random_state learning_rate eta0 "
    "power_t early_stopping validation_fraction n_iter_no_change class_weight warm_start average",
    "MLPClassifier": "hidden_layer_sizes activation solver alpha batch_size learning_rate learning_rate_init power_t max_iter shuffle "
    "random_state tol verbose warm_start momentum nesterovs_momentum early_stopping validation_fraction beta_1 beta_2 epsilon "
    "n_iter_no_change max_fun",
}  # fmt: skip
# Of those that are left out, why.
_REASONS = {
    ("MinMaxScaler", "clip"): "that clips: beyond the range of its fit it is not linear",
    ("MaxAbsScaler", "clip"): "that clips: beyond the range of its fit it is not linear",
    ("KBinsDiscretizer", "dtype"): "that rounds numbers before it bins them: next to an edge a plan would be in another bin; leave its dtype out",
}


def require_known_parameters(step: Any, name: str) -> None:
    """ValueError for a parameter that is not as by default and not known to be accounted for."""
    kind = type(step).__name__
    known = _KNOWN[kind].split()
    defaults = {one.name: one.default for one in inspect.signature(type(step).__init__).parameters.values()}
    for parameter, value in step.get_params(deep=False).items():
        if parameter in known or _is_same(value, defaults.get(parameter)):
            continue
        reason = _REASONS.get((kind, parameter))
        if reason is None:
            reason = (
                f"with {parameter} = {value!r}: what that changes is not known here, where {parameter} is expected to be "
                f"{defaults.get(parameter)!r}; fit without it, or take a later version of this package"
            )
        raise ValueError(f'step "{name}" is {"an" if kind[0] in "AEIOU" else "a"} {kind} {reason}')


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if type(value) is not type(default):
        return False
    try:
        return bool(value == default) or bool(value != value and default != default)  # noqa: PLR0124
    except (TypeError, ValueError):  # arrays
        return False
