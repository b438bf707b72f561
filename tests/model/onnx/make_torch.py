#!/usr/bin/env python3
"""Makes the torch files of this folder from rows.csv (needs numpy, pandas, torch, onnx, onnxscript, onnxruntime): small models
with the scaling inside, at two generations of operators: by the exporter that traces (opset 11) and by the one that captures
(opset 18), and what onnxruntime scores. make.py comes first, since it draws the rows."""
import json
import pathlib
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import torch
from torch import nn

warnings.simplefilter("ignore")
FOLDER = pathlib.Path(__file__).parent
table = pd.read_csv(FOLDER / "rows.csv")
X = table[["income", "debt", "years"]].to_numpy(np.float32)
y = torch.tensor((table.approved == "yes").to_numpy(np.float32))
L2 = 0.01


class Standardise(nn.Module):
    """Subtracts means and divides by deviations, which are buffers of the model."""

    def __init__(self, rows):
        super().__init__()
        self.register_buffer("mean", torch.tensor(rows.mean(0)))
        self.register_buffer("scale", torch.tensor(rows.std(0)))

    def forward(self, rows):
        return (rows - self.mean) / self.scale


class Flat(nn.Module):
    """A score for each row, without a dimension of its own."""

    def forward(self, scores):
        return scores.squeeze(-1)


def fitted(model):
    """By LBFGS on the mean loss with a penalty on all weights but biases."""
    rows = torch.tensor(X)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=300, tolerance_grad=1e-9, tolerance_change=1e-12, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        scores = model(rows).reshape(len(rows), -1)
        margin = scores[:, -1] - (scores[:, 0] if scores.shape[1] == 2 else 0)
        value = nn.functional.binary_cross_entropy_with_logits(margin, y)
        value = value + L2 / 2 * sum((p**2).sum() for name, p in model.named_parameters() if name.endswith("weight"))
        value.backward()
        return value

    optimizer.step(loss)
    return model.eval()


def keep(name, model, is_score, opset, dynamo):
    """Writes a file and what onnxruntime makes of the first rows: scores, of two outputs their difference, or probabilities."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        axes = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)} if dynamo else {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}}
        torch.onnx.export(model, (torch.tensor(X[:4]),), str(path), opset_version=opset, dynamo=dynamo, input_names=["input"],
                          output_names=["output"], **({"external_data": False} if dynamo else {}), **axes)
        graph = onnx.load(path)
    for field in ("producer_version", "doc_string", "domain"):
        graph.ClearField(field)
    for node in graph.graph.node:  # where in which file a line stood
        node.ClearField("doc_string")
        del node.metadata_props[:]
    del graph.graph.metadata_props[:], graph.metadata_props[:]
    for value in list(graph.graph.input) + list(graph.graph.output) + list(graph.graph.value_info):
        del value.metadata_props[:]
    content = graph.SerializeToString()
    (FOLDER / name).write_bytes(content)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (last,) = session.run(None, {session.get_inputs()[0].name: X})
    last = np.asarray(last, float).reshape(len(X), -1)
    output = last[:, 1] - last[:, 0] if is_score and last.shape[1] == 2 else last[:, -1]
    expected[name] = {"l2": L2, "is_score": is_score, "output": output.tolist()[:40]}


expected = {}
torch.manual_seed(3)
linear = fitted(nn.Sequential(Standardise(X), nn.Linear(3, 1)))
relu = fitted(nn.Sequential(Standardise(X), nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.2).eval(), nn.Linear(4, 1), Flat()))
tanh = fitted(nn.Sequential(Standardise(X), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)))
models = {"sigmoid": (nn.Sequential(linear, nn.Sigmoid()).eval(), False), "relu": (relu, True),
          "softmax": (nn.Sequential(tanh, nn.Softmax(dim=-1)).eval(), False), "outputs": (tanh, True)}
for name, (model, is_score) in models.items():
    for opset, dynamo in ((11, False), (18, True)):
        keep(f"torch_{name}_{opset}.onnx", model, is_score, opset, dynamo)
(FOLDER / "expected_torch.json").write_text(json.dumps(expected, indent=1) + "\n")
