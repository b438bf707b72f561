#!/usr/bin/env python3
"""Makes the ONNX files of this folder (needs numpy, pandas, scikit-learn, skl2onnx, onnx, onnxruntime): rows and schemas of
applicants, pipelines at two generations of operators, networks as torch.onnx writes them, and what onnxruntime scores."""
import json
import pathlib
import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

warnings.simplefilter("ignore")
FOLDER = pathlib.Path(__file__).parent
NUMBERS = ["income", "debt", "years"]
TEXTS = ["purpose", "member"]

draw = np.random.default_rng(5)
ROWS = 120
table = pd.DataFrame({
    "income": np.round(draw.lognormal(8, 0.4, ROWS)), "debt": np.round(draw.uniform(0, 20, ROWS), 2),
    "years": draw.integers(0, 30, ROWS), "purpose": draw.choice(["boat", "car", "home"], ROWS),
    "member": draw.choice(["no", "yes"], ROWS)})
score = table.income / 1500 - table.debt / 4 + table.years / 20 + (table.purpose == "home") - 0.5
table["approved"] = np.where(draw.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no")
table.to_csv(FOLDER / "rows.csv", index=False)
FEATURES = """  income:  {kind: integer, min: 500, max: 20000, step: 50, direction: increase}
  debt:    {kind: numeric, min: 0, max: 20}
  years:   {kind: integer, min: 0, max: 40}
"""
HEAD = 'target: {column: approved, favourable: "yes"}\n'
(FOLDER / "all.yaml").write_text(HEAD + "features:\n" + FEATURES + """  purpose: {kind: categorical, levels: [boat, car, home]}
  member:  {kind: binary, levels: ["no", "yes"]}
""")
(FOLDER / "numbers.yaml").write_text(HEAD + "drop: [purpose, member]\nfeatures:\n" + FEATURES)
y = table.approved
X = table[NUMBERS].to_numpy(np.float32)


def keep(name, model, of_table, l2):
    """Writes a file and what onnxruntime makes of the first rows."""
    for field in ("producer_version", "doc_string", "domain"):
        model.ClearField(field)
    (FOLDER / name).write_bytes(model.SerializeToString())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    if of_table:
        feed = {session.get_inputs()[0].name: X}
    else:
        feed = {c: table[[c]].to_numpy(np.float32 if c in NUMBERS else object) for c in NUMBERS + TEXTS}
    outputs = session.run(None, feed)
    last = outputs[-1]
    if isinstance(last, list):
        last = np.array([[row["no"], row["yes"]] for row in last])
    last = np.asarray(last, float)
    expected[name] = {"l2": l2, "of_table": of_table, "labels": None if len(outputs) == 1 else [str(v) for v in outputs[0][:40].ravel()],
                      "output": (last[:, -1] if last.ndim == 2 else last).tolist()[:40]}


def columns():
    return ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("texts", OneHotEncoder(), ["purpose"]),
                              ("member", OneHotEncoder(drop="first"), ["member"])])


expected = {}
types = [(c, FloatTensorType([None, 1])) for c in NUMBERS] + [(c, StringTensorType([None, 1])) for c in TEXTS]
logistic = make_pipeline(columns(), LogisticRegression(C=2.0)).fit(table[NUMBERS + TEXTS], y)
for opset in (12, 18):
    keep(f"columns_{opset}.onnx", to_onnx(logistic, initial_types=types, target_opset=opset,
                                          options={id(logistic): {"zipmap": False}}), False, 1 / (2.0 * ROWS))
scaled = make_pipeline(MinMaxScaler(), LogisticRegression(C=1.0)).fit(X, y)
keep("scaled_18.onnx", to_onnx(scaled, X[:1], target_opset=18), True, 1 / ROWS)
ridge = make_pipeline(StandardScaler(), RidgeClassifier(alpha=1.0)).fit(X, y)
keep("ridge_15.onnx", to_onnx(ridge, X[:1], target_opset=15), True, 1 / ROWS)
mlp = make_pipeline(StandardScaler(), MLPClassifier((4,), alpha=1.0, max_iter=2000, random_state=1)).fit(X, y)
keep("mlp_13.onnx", to_onnx(mlp, X[:1], target_opset=13, options={id(mlp): {"zipmap": False}}), True, 1 / ROWS)


def tensor(name, values):
    return numpy_helper.from_array(np.asarray(values, np.float32), name)


net = mlp[1]
for opset in (9, 17):  # nn.Sequential(Linear, Tanh, Linear) behind (x - mean)/scale, as torch.onnx.export writes it
    nodes = [helper.make_node("Sub", ["input", "mean"], ["0"]), helper.make_node("Div", ["0", "scale"], ["1"]),
             helper.make_node("Gemm", ["1", "0.weight", "0.bias"], ["2"], name="/0/Gemm", alpha=1.0, beta=1.0, transB=1),
             helper.make_node("Relu", ["2"], ["3"]), helper.make_node("Dropout", ["3"], ["4"]),
             helper.make_node("Gemm", ["4", "2.weight", "2.bias"], ["5"], name="/2/Gemm", alpha=1.0, beta=1.0, transB=1),
             helper.make_node("Sigmoid", ["5"], ["output"])]
    graph = helper.make_graph(nodes, "main_graph",
                              [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 1])],
                              [tensor("mean", mlp[0].mean_), tensor("scale", mlp[0].scale_),
                               tensor("0.weight", net.coefs_[0].T), tensor("0.bias", net.intercepts_[0]),
                               tensor("2.weight", net.coefs_[1].T), tensor("2.bias", net.intercepts_[1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 4 if opset == 9 else 8
    keep(f"sequential_{opset}.onnx", model, True, 1 / ROWS)
(FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
