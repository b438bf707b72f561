#!/usr/bin/env python3
"""Random pipelines as skl2onnx writes them, and mutations of these files, judged by onnxruntime.

    studies/import/random_files.py PROGRAM [--first 0] [--count 100] [--mutants 0] [--people 30]

PROGRAM is the built command; needs numpy, pandas, scikit-learn, skl2onnx and onnxruntime. Each seed makes a table, a pipeline, the options and
the opset of a file; the program imports it or refuses it with status 3, and every plan for people whom onnxruntime declines must be accepted
by onnxruntime, and for whole files by the pipeline's own predict. Mutants change one thing in a file (an attribute, a constant, an operator,
operands, a node more): whatever is imported of them must still be what onnxruntime says. Prints counts, what was refused and, last, what is wrong.
"""
import argparse
import collections
import copy
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import skl2onnx
from onnx import numpy_helper
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
onnxruntime.set_default_logger_severity(4)

NUMBERS = ["income", "debt", "years", "ratio to debt", "a.b", "x-y", "3m late", "größe", "util %", "n_x"]
CATEGORIES = ["purpose", "job", "home type", "k.code"]
LEVELS = {"text": ["car", "home", "boat", "trip", "edu"], "code": [3, 1, 7, 12, 20], "ordinal": ["low", "mid", "high", "top", "max"],
          "digits": ["01", "1", "02", "10", "2"], "signs": ["a b", "ä", "x,y", 'q"q', "None"]}
LABELS = [("no", "yes"), ("yes", "no"), (0, 1), (1, 0), ("0", "1"), ("bad", "good"), (-1, 1), (2, 1)]


def pick(random, values):
    return values[random.integers(len(values))]


class File:
    """A pipeline over a random table, and what skl2onnx makes of it."""

    def __init__(self, seed):
        random = self.random = np.random.default_rng(seed)
        self.make_table()
        self.labels = pick(random, LABELS)
        label = np.where(self.y, self.labels[1], self.labels[0])
        self.y = label.astype(object) if isinstance(self.labels[0], str) else label
        self.favourable = str(self.labels[1])
        self.fit = self.estimator()
        parts = [self.encoder()] + ([pick(random, [MaxAbsScaler(), Normalizer(), StandardScaler(with_mean=False)])] if random.random() < 0.1 else [])
        self.pipeline = make_pipeline(*parts, self.fit).fit(self.X, self.y)

    def make_table(self):
        random = self.random
        n = int(random.integers(120, 500))
        self.numbers = [str(name) for name in random.permutation(NUMBERS)[:random.integers(1, 6)]]
        self.kinds, columns, latent = {}, {}, np.zeros(n)
        for name in self.numbers:
            self.kinds[name] = pick(random, ["float", "float", "int", "big", "tiny", "binary"])
            values = {"float": random.normal(3, 2, n), "int": random.integers(0, 40, n).astype(float), "big": random.normal(5e4, 2e4, n),
                      "tiny": random.normal(0, 1e-3, n), "binary": random.integers(0, 2, n).astype(float)}[self.kinds[name]]
            columns[name] = values
            latent += random.normal() * (values - values.mean()) / (values.std() + 1e-9)
        for name in [str(name) for name in random.permutation(CATEGORIES)[:random.integers(0, 4)]]:
            kind, count = pick(random, list(LEVELS)), int(random.integers(2, 6))
            self.kinds[name] = (kind, LEVELS[kind][:count])
            places = random.integers(0, count, n)
            columns[name] = np.array(LEVELS[kind][:count], dtype=np.int64 if kind == "code" else object)[places]
            latent += random.normal(size=count)[places]
        self.X = pd.DataFrame(columns)
        self.y = latent + random.logistic(size=n) * pick(random, [0.3, 1]) > random.normal() * 0.5
        if min(self.y.sum(), (~self.y).sum()) < 15:
            self.y = latent > np.median(latent)
        self.features = {name: self.feature(name) for name in self.X}

    def feature(self, name):
        if name not in self.numbers:
            kind, levels = self.kinds[name]
            is_ordinal = kind == "ordinal" and self.random.random() < 0.5
            return {"kind": "ordinal" if is_ordinal else "categorical", "levels": [str(level) for level in levels]}
        if self.kinds[name] == "binary" and self.random.random() < 0.5:
            return {"kind": "binary", "levels": ["0", "1"]}
        return {"kind": "integer" if self.kinds[name] in ("int", "binary") else "numeric", "min": float(self.X[name].min()),
                "max": float(self.X[name].max())}

    def encoder(self):
        random = self.random
        scalers = [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MinMaxScaler(), MinMaxScaler((-1, 2)), MaxAbsScaler(),
                   RobustScaler(), "passthrough", make_pipeline(SimpleImputer(strategy="median"), StandardScaler())]
        half = len(self.numbers) // 2 + 1
        groups = [self.numbers] if random.random() < 0.6 else [self.numbers[:half], self.numbers[half:]]
        steps = [(f"n{i}", pick(random, scalers), group) for i, group in enumerate(groups) if group]
        for name in [name for name in self.X if name not in self.numbers]:
            one_hot = OneHotEncoder(drop=pick(random, [None, "first", "if_binary"]), handle_unknown=pick(random, ["ignore", "error"]),
                                    sparse_output=bool(random.integers(2)))
            ranks = self.features[name]["kind"] == "ordinal"
            steps.append((name, OrdinalEncoder(categories=[self.kinds[name][1]]) if ranks else pick(random, [one_hot] * 9 + ["drop"]), [name]))
        return ColumnTransformer([steps[i] for i in random.permutation(len(steps))])

    def estimator(self):
        random, n = self.random, len(self.X)
        made = [LogisticRegression(C=float(pick(random, [0.05, 1, 10])), class_weight=pick(random, [None, "balanced"]), max_iter=int(pick(random, [15, 2000])),
                                   fit_intercept=bool(random.random() < 0.9)), RidgeClassifier(alpha=float(pick(random, [0.1, 1, 10]))),
                SGDClassifier(loss="log_loss", alpha=1e-3, random_state=0),
                MLPClassifier(tuple(int(v) for v in random.integers(2, 9, random.integers(1, 3))), activation=pick(random, ["relu", "tanh", "logistic"]),
                              max_iter=150, random_state=0, alpha=1e-2), LinearSVC(), LinearDiscriminantAnalysis(), LogisticRegressionCV(Cs=3, cv=3, max_iter=300)]
        fit = made[pick(random, [0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 6])]
        is_ridge = isinstance(fit, RidgeClassifier)
        self.l2 = 1 / (fit.C * n) if type(fit) is LogisticRegression else fit.alpha / n if is_ridge else 1e-3
        self.options = ["--loss", "squared"] if is_ridge else []
        if getattr(fit, "class_weight", None) == "balanced":
            self.options += ["--class-weight", "balanced"]
        return fit

    def convert(self):
        """The file, or None where skl2onnx or onnxruntime will not have it."""
        random, wanted = self.random, {}
        if hasattr(self.fit, "predict_proba"):
            wanted["zipmap"] = pick(random, [False, True, "columns"])
            if random.random() < 0.3:
                wanted["raw_scores"] = True
        for option in ("nocl", "output_class_labels"):
            if random.random() < 0.15:
                wanted[option] = True
        self.types = {}
        for name in self.X:
            whole = self.kinds[name] in ("int", "binary") and random.random() < 0.3 or self.kinds[name][0] == "code"
            self.types[name] = np.int64 if whole else np.float32 if name in self.numbers else object
        tensors = {np.int64: Int64TensorType, np.float32: FloatTensorType, object: StringTensorType}
        opset = int(random.integers(9, 22))
        ml = int(pick(random, [1, 2, 3] if opset < 12 else [2, 3]))
        for options in (wanted, {key: wanted[key] for key in wanted if key == "zipmap"}, {}):
            try:
                made = skl2onnx.convert_sklearn(self.pipeline, initial_types=[(name, tensors[kind]([None, 1])) for name, kind in self.types.items()],
                                                options={id(self.fit): options} if options else None, target_opset={"": opset, "ai.onnx.ml": ml})
                self.has_indices = bool(options.get("nocl"))
                self.run(made.SerializeToString(), self.X)
                return made
            except Exception:  # of several kinds: combinations that these tools do not have
                continue
        return None

    def run(self, content, X):
        """The labels that onnxruntime gives."""
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        names = {re.sub(r"^(?=[0-9])", "_", re.sub(r"[^\w+]", "_", name)): name for name in self.X}
        feed = {one.name: X[[names[one.name]]].to_numpy(self.types[names[one.name]]) for one in session.get_inputs()}
        labels = np.asarray(session.run(None, feed)[0])
        if labels.dtype.kind == "f":
            raise ValueError("the first output is no label")
        labels = labels.ravel()
        return [str(self.fit.classes_[int(label)] if self.has_indices else label) for label in labels]

    def accepted(self, content, X):
        return np.array([label == self.favourable for label in self.run(content, X)])

    def rows(self, plans):
        """As the pipeline was fitted to them."""
        made = pd.DataFrame(plans)[list(self.X)]
        for name in made:
            made[name] = made[name].astype(float) if name in self.numbers else made[name].astype(str)
            if self.kinds[name][0] == "code":
                made[name] = made[name].astype(np.int64)
        return made


def mutate(model, random):
    """Changes one thing; says what, or None where there is nothing of the kind."""
    graph = model.graph
    node = pick(random, graph.node)
    attributes = [one for one in node.attribute if one.type in (2, 3, 6, 7, 8)]
    kind = random.integers(6)
    if kind <= 1 and attributes:
        one = pick(random, attributes)
        if one.type == 2:
            one.i = int(pick(random, [0, 1, -1, 2, -2, 7, 6, 11, 3]))
        elif one.type == 3:
            one.s = pick(random, [b"NONE", b"LOGISTIC", b"SOFTMAX", b"L1", b"L2", b"MAX"])
        else:
            values = {6: one.floats, 7: one.ints, 8: one.strings}[one.type]
            if kind == 0 and one.type != 8 and len(values):
                values[random.integers(len(values))] = pick(random, [0, 1, 2, values[-1], -values[0]])
            else:
                order = [values[i] for i in random.permutation(len(values))]
                del values[:]
                values.extend(order)
        return f"{node.op_type}.{one.name}"
    if kind == 2 and len(node.input) > 1:
        order = [node.input[i] for i in random.permutation(len(node.input))]
        del node.input[:]
        node.input.extend(order)
        return f"{node.op_type}: other order of its inputs"
    if kind == 3 and graph.initializer:
        tensor = pick(random, graph.initializer)
        numbers = numpy_helper.to_array(tensor).copy()
        if numbers.size and numbers.dtype.kind in "fi":
            if random.random() < 0.5:
                numbers.reshape(-1)[random.integers(numbers.size)] = pick(random, [0, 1, -1, 2])
            else:
                numbers = np.ascontiguousarray(pick(random, [numbers.T, numbers.reshape(-1), numbers.reshape(1, -1), numbers.reshape(-1, 1)]))
            tensor.CopyFrom(numpy_helper.from_array(numbers, tensor.name))
            return f"constant {tensor.name}"
    if kind == 4:
        others = {"Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul", "Relu": "Tanh", "Tanh": "Sigmoid", "Sigmoid": "Relu", "Softmax": "Sigmoid",
                  "Gemm": "MatMul", "Identity": "Relu", "Normalizer": "Identity", "ArgMax": "Identity", "Cast": "Identity"}
        if node.op_type in others:
            before, node.op_type, node.domain = node.op_type, others[node.op_type], ""
            return f"{before} becomes {node.op_type}"
    if kind == 5 and node.input:
        place, name = list(graph.node).index(node), node.input[0]
        node.input[0] = "inserted"
        op = pick(random, ["Neg", "Relu", "Tanh", "Abs", "Identity", "Flatten", "Sigmoid", "Softmax", "Add", "Sub", "Mul", "Div"])
        operands = [name]
        if op in ("Add", "Sub", "Mul", "Div"):
            graph.initializer.append(onnx.helper.make_tensor("number", 1, [1], [float(pick(random, [2, -1, 0.5, 1]))]))
            operands = pick(random, [[name, "number"], ["number", name]])
        graph.node.insert(place, onnx.helper.make_node(op, operands, ["inserted"], name="inserted"))
        return f"{op} before {node.op_type}"
    return None


class Trial:
    def __init__(self, program, people):
        self.program, self.people = program, people
        self.counts, self.refused, self.wrong = collections.Counter(), collections.Counter(), []

    def judge(self, what, file, content, has_predict):
        count = lambda name, by=1: self.counts.update({("files: " if has_predict else "mutants: ") + name: by})
        count("all")
        with tempfile.TemporaryDirectory() as folder:
            run = lambda *arguments: subprocess.run([self.program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            place = pathlib.Path(folder)
            (place / "m.onnx").write_bytes(content)
            schema = {"target": {"column": "label", "favourable": file.favourable}, "features": file.features}
            (place / "s.yaml").write_text(json.dumps(schema, ensure_ascii=False), encoding="utf-8")
            file.X.assign(label=file.y).to_csv(place / "d.csv", index=False)
            importing = ["import", "m.onnx", "--data", "d.csv", "--l2", str(file.l2), *file.options, "--schema", "s.yaml", "-o", "m.json"]
            if file.has_indices:
                importing += ["--event", str(file.fit.classes_[1])]
            done = run(*importing)
            if done.returncode == 3:
                count("refused")
                if has_predict:
                    self.refused[done.stderr.strip().replace("ellice: m.onnx: ", "")[:110]] += 1
                return
            if done.returncode != 0:
                self.wrong.append((what, done.returncode, done.stderr[:200]))
                return
            count("imported")
            try:
                declined = np.flatnonzero(~file.accepted(content, file.X))[:self.people]
            except Exception:  # onnxruntime has it not, or it has no label any more
                count("without a judge")
                return
            if len(declined) == 0:
                return
            file.X.iloc[declined].to_csv(place / "q.csv", index=False)
            done = run("explain", "m.json", "q.csv", "--set", "last-layer", "--epsilon", "0.3%", "--format", "json", "-o", "a.json")
            if done.returncode not in (0, 4):
                self.wrong.append((what, done.returncode, done.stderr[:200]))
                return
            plans = [one["counterfactual"] for one in json.loads((place / "a.json").read_text())["results"] if "counterfactual" in one]
            count("people", len(declined))
            count("plans", len(plans))
            if not plans:
                return
            rows = file.rows(plans)
            good = file.accepted(content, rows)
            if has_predict:
                good &= np.array([str(label) == file.favourable for label in file.pipeline.predict(rows)])
            count("accepted", int(good.sum()))
            if not good.all():
                self.wrong.append((what, f"{(~good).sum()} of {len(good)} plans are declined"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--people", type=int, default=30)
    asked = parser.parse_args()
    trial = Trial(str(pathlib.Path(asked.program).resolve()), asked.people)
    for seed in range(asked.first, asked.first + asked.count):
        file = File(seed)
        model = file.convert()
        if model is None:
            trial.counts["not converted, or not run by onnxruntime"] += 1
            continue
        trial.judge(f"seed {seed}", file, model.SerializeToString(), True)
        for k in range(asked.mutants):
            mutant = copy.deepcopy(model)
            changed = mutate(mutant, np.random.default_rng([seed, k]))
            if changed:
                trial.judge(f"seed {seed}, mutant {k}: {changed}", file, mutant.SerializeToString(), False)
    for name, count in sorted(trial.counts.items()):
        print(f"{name}: {count}")
    for why, count in trial.refused.most_common():
        print(f"refused {count}: {why}")
    for one in trial.wrong:
        print("wrong:", *one)
    sys.exit(1 if trial.wrong else 0)


if __name__ == "__main__":
    main()
