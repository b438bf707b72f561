"""Networks of torch with the rows of their training. Nothing here imports torch: a module brings all that is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._deployed import Rows, checked_rows, finish_schema, fold_steps, of_layers, precision_of, require_same_scores, rows_at
from ._importers import tool_text
from ._model import Model, Schema, label_text
from ._progress import Progress

_ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}
_SILENT = ("Identity", "Dropout", "AlphaDropout")
_ENDS = ("Sigmoid", "Softmax", "LogSoftmax")


def from_torch(
    module: Any,
    X: Any,
    y: Any,
    *,
    transformer: Any = None,
    weight_decay: float = 0.0,
    favourable: Any = None,
    target: str = "target",
    schema: Schema | None = None,
    one_hot: Mapping[str, Sequence[str]] | None = None,
    store_rows: bool = False,
    progress: Progress = None,
    **constraints: Any,
) -> Model:
    """An ``nn.Sequential`` of Linear, ReLU, Tanh, Sigmoid and Dropout, as it decides in its own precision.

    ``X`` and ``y`` are the rows of the training. Where the module reads columns that a fitted transformer of
    scikit-learn made (a StandardScaler, a ColumnTransformer), ``transformer`` is that, and ``X`` the columns before it.
    The last layer has one output, the logit of the second label, or one for each of two labels; a Sigmoid or Softmax
    may follow. Training minimised the mean of the logistic loss and ``weight_decay``/2 of the squared weights (of
    networks the biases too, as torch's optimisers do).
    """
    own_type = _precision(module)
    layers, end = _layers(module)
    rows = Rows(X, y, getattr(transformer, "feature_names_in_", None), one_hot)
    classes = [label_text(label) for label in np.unique(np.asarray(y)).tolist()]
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} different labels; supported are two")
    steps = [] if transformer is None else [(type(transformer).__name__, transformer)]
    terms, kinds = fold_steps(steps, rows)
    width = len(layers[0]["weights"][0])
    if width != len(terms):
        raise ValueError(f"the first Linear reads {width} columns, but {'the transformer gives' if steps else 'X has'} {len(terms)}")
    places = checked_rows(rows.columns, kinds)
    head = rows_at(X, places)
    table = head if transformer is None else transformer.transform(head)
    own = _own_scores(module, table, end)
    require_same_scores(own, layers, terms, rows, kinds, places, probabilities=end is not None, tolerance=1e-4)
    document = {
        "tool": tool_text("torch", "Sequential"),
        "layers": layers,
        "loss": "logistic",
        "l2": float(weight_decay),
        "penalize_bias": len(layers) > 1 and weight_decay > 0,
        "precision": "float32" if own_type == "float32" or steps and precision_of(rows, terms, table) == "float32" else "float64",
        "event": classes[1],
    }
    wanted = finish_schema(kinds, rows, classes, favourable=favourable, target=target, schema=schema, constraints=constraints)
    return of_layers(document, terms, rows, wanted, store_rows, progress)


def _flat(module: Any) -> list[tuple[str, Any]]:
    """The modules of a Sequential in their order, with their places."""
    if type(module).__name__ != "Sequential":
        return [("", module)]
    found = []
    for name, inner in module.named_children():
        found += [(f"{name}.{deeper}" if deeper else str(name), one) for deeper, one in _flat(inner)]
    return found


def _layers(module: Any) -> tuple[list[dict[str, Any]], str | None]:
    """Layers with one output, or two for two labels, and what follows the score: Sigmoid, Softmax, LogSoftmax or nothing."""
    modules = _flat(module)
    if getattr(module, "training", False) and any("Dropout" in type(one).__name__ for _, one in modules):
        raise ValueError("the module is in training mode, in which Dropout is at random: call eval() first")
    layers: list[dict[str, Any]] = []
    open_activation = True  # whether the last thing was no Linear
    end = None
    for place, one in modules:
        kind = type(one).__name__
        if kind in _SILENT:
            continue
        if kind == "Linear":
            if not open_activation:
                layers[-1]["activation"] = "identity"
            if end is not None and layers:
                layers[-1]["activation"] = _ACTIVATIONS.get(end) or _refuse(place, end)
            weights = _array(one.weight)
            bias = np.zeros(len(weights)) if one.bias is None else _array(one.bias)
            layers.append({"weights": weights.tolist(), "bias": bias.tolist()})
            open_activation, end = False, None
        elif (kind in _ACTIVATIONS or kind in _ENDS) and layers and not open_activation:
            end, open_activation = kind, True
        else:
            _refuse(place, kind)
    if not layers:
        raise ValueError(f"{type(module).__name__}: it has no Linear")
    if end is not None and end not in _ENDS:
        raise ValueError(f"a {end} after the last Linear gives no score; end with the Linear, a Sigmoid or a Softmax")
    outputs = len(layers[-1]["bias"])
    if not (outputs == 2 and end != "Sigmoid") and (outputs != 1 or end in ("Softmax", "LogSoftmax")):
        raise ValueError(f"the last Linear has {outputs} outputs{f' before a {end}' if end else ''}; supported are one, or two for two labels")
    return layers, end


def _refuse(place: str, kind: str) -> Any:
    raise ValueError(
        f'module "{place}" is a {kind}, which is not supported here; supported is an nn.Sequential of Linear, each followed by '
        f"{', '.join(_ACTIVATIONS)} or nothing, with Dropout and Identity anywhere, and a Sigmoid or Softmax in the end"
    )


def _precision(module: Any) -> str:
    """float32 or float64; ValueError for a module that holds anything else."""
    found = []
    for place, one in _flat(module):
        for name in ("weight", "bias"):
            numbers = getattr(one, name, None)
            if type(one).__name__ != "Linear" or numbers is None:
                continue
            dtype = "quantised" if callable(numbers) else str(numbers.dtype).rpartition(".")[2]
            if dtype not in ("float32", "float64"):
                raise ValueError(
                    f'module "{place}": the {name} of the Linear is {dtype}, in which scores are too coarse to certify a plan; expected float32 or '
                    "float64: call float() on the module, and let that one decide"
                )
            found.append(dtype)
    return "float32" if "float32" in found else "float64"


def _first_weight(module: Any) -> Any:
    return next(one.weight for _, one in _flat(module) if type(one).__name__ == "Linear")


def _array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)


def _own_scores(module: Any, rows: Any, end: str | None) -> Any:
    """What the module itself gives rows: logits, or the probability of the second label."""
    table = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=np.float64)
    given = _array(module(_first_weight(module).detach().new_tensor(np.asarray(table, dtype=np.float64))))
    if end == "LogSoftmax":
        given = np.exp(given)
    if given.ndim == 1 or given.shape[1] == 1:
        return given.reshape(len(given))
    return given[:, 1] if end is not None else given[:, 1] - given[:, 0]
