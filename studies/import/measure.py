#!/usr/bin/env python3
"""Models of other tools, imported, explained and judged by these tools themselves: prints the tables of docs/import.md.

    studies/import/measure.py PROGRAM [--tables german,fico,diabetes] [--people 300] [--only NAME,…] [--verify 15]

PROGRAM is the built command; needs numpy, pandas and scikit-learn, and for some lines statsmodels, skl2onnx and onnxruntime;
what cannot be had is said and left out (sklearn2pmml
needs Java, and may need an older scikit-learn). Each model is fitted here, written as its tool writes it, imported, and asked for plans
for the people with the lowest scores; every plan is then given to the original object's own predict, in its own precision. ms: processor time of explaining, for each person.
"""
import argparse
import copy
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

warnings.simplefilter("ignore")
PROJECT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = pathlib.Path(os.environ.get("ELLICE_DATA", PROJECT.parent / "shared" / "datasets"))
TARGETS = {"german": "y", "fico": "PoorRiskPerformance", "diabetes": "Outcome"}
BINS = 4
TORCH_L2 = 0.002


class Table:
    """Rows as their tools see them: numbers, and categories in place of 0/1 columns of one group."""

    def __init__(self, name):
        raw = pd.read_csv(SOURCES / f"{name}.csv")
        self.y = (raw[TARGETS[name]] == raw[TARGETS[name]].max()).map({True: "yes", False: "no"})
        raw = raw.drop(columns=[TARGETS[name]] + [c for c in raw if c.startswith("Unnamed")])
        groups = {}
        for column in raw:
            groups.setdefault(column.rsplit("_", 1)[0], []).append(column)
        columns = {}
        for group, members in groups.items():
            if len(members) > 1 and (raw[members].sum(axis=1) == 1).all():
                columns[group] = raw[members].to_numpy().argmax(axis=1)
                columns[group] = np.array([f"l{k}" for k in range(len(members))])[columns[group]]
            else:
                columns.update({member: raw[member].to_numpy(float) for member in members})
        self.X = pd.DataFrame(columns)
        self.numbers = [c for c in self.X if self.X[c].dtype != object and not pd.api.types.is_string_dtype(self.X[c])]
        self.categories = [c for c in self.X if c not in self.numbers]

    def schema(self, **more):
        features = {c: {"kind": "numeric", "min": float(self.X[c].min()), "max": float(self.X[c].max()), **more} for c in self.numbers}
        features.update({c: {"kind": "categorical", "levels": sorted(self.X[c].unique())} for c in self.categories})
        return json.dumps({"target": {"column": "label", "favourable": "yes"}, "features": {c: features[c] for c in self.X}})

    def csv(self):
        return self.X.assign(label=self.y).to_csv(index=False)


class Case:
    """A fitted model, how it is imported, and what it says of rows."""

    def __init__(self, accepts, score, files, options, schema=None, tool="", is_cornered=False, table=None):
        self.accepts, self.score, self.files, self.options, self.schema, self.tool = accepts, score, files, options, schema, tool
        self.asked = ["--set", "true", "--data", "d.csv"] if is_cornered else ["--set", "last-layer"]
        self.rows = ["--data", "d.csv"] if is_cornered else []
        self.table = table  # where it is not the whole one


def deployed(table, fit, encoder, l2, event="yes", **more):
    """The JSON form of a pipeline's numbers; sklearn's columns come in the order of its transformer."""
    scaler, onehot = encoder.named_transformers_["numbers"], encoder.named_transformers_["levels"]
    offset = getattr(scaler, "mean_", getattr(scaler, "data_min_", None))
    scale = getattr(scaler, "scale_") if hasattr(scaler, "mean_") else scaler.data_range_
    inputs = [{"feature": c, "offset": float(o), "scale": float(s)} for c, o, s in zip(table.numbers, offset, scale)]
    for k, column in enumerate(table.categories):
        kept = [level for i, level in enumerate(onehot.categories_[k]) if onehot.drop_idx_ is None or i != onehot.drop_idx_[k]]
        inputs += [{"feature": column, "level": level} for level in kept]
    if hasattr(fit, "coefs_"):
        layers = [{"weights": w.T.tolist(), "bias": b.tolist(), "activation": fit.activation} for w, b in zip(fit.coefs_, fit.intercepts_)]
        layers[-1].pop("activation")
    else:
        layers = [{"weights": np.atleast_2d(fit.coef_).tolist(), "bias": np.atleast_1d(fit.intercept_).tolist()}]
    return {"format": "ellice.deployed", "version": 1, "tool": f"scikit-learn {sklearn.__version__}", "inputs": inputs, "layers": layers, "l2": l2,
            "event": event, **more}


def pipeline(table, fit, scaler=StandardScaler, drop=None):
    encoder = ColumnTransformer([("numbers", scaler(), table.numbers), ("levels", OneHotEncoder(drop=drop), table.categories)])
    return make_pipeline(encoder, fit).fit(table.X, table.y)


def sklearn_case(table, fit, l2, scaler=StandardScaler, drop=None, **more):
    whole = pipeline(table, fit, scaler, drop)
    score = whole.decision_function if hasattr(fit, "decision_function") else lambda X: np.log(whole.predict_proba(X)[:, 1] / whole.predict_proba(X)[:, 0])
    document = deployed(table, whole[-1], whole[0], l2, **more)
    return Case(lambda X: whole.predict(X) == "yes", score, {"m.json": json.dumps(document)}, ["m.json", "--data", "d.csv"],
                tool=f"scikit-learn {sklearn.__version__}", is_cornered=more.get("l1", 0) > 0)


def onnx_case(table, fit, l2, *options):
    import onnxruntime
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    whole = pipeline(table, fit)
    types = [(c, FloatTensorType([None, 1]) if c in table.numbers else StringTensorType([None, 1])) for c in table.X]
    model = skl2onnx.to_onnx(whole, initial_types=types, options={id(whole[-1]): {"zipmap": False}} if hasattr(whole[-1], "predict_proba") else None)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(X):
        return session.run(None, {c: X[[c]].to_numpy(np.float32 if c in table.numbers else object) for c in table.X})

    return Case(lambda X: run(X)[0].ravel() == "yes", None, {"m.onnx": model.SerializeToString()}, ["m.onnx", "--data", "d.csv", "--l2", str(l2), *options],
                tool=f"skl2onnx {skl2onnx.__version__}, onnxruntime {onnxruntime.__version__}")


def statsmodels_case(table):
    import statsmodels
    import statsmodels.api as sm
    X = pd.get_dummies(table.X, columns=table.categories, drop_first=True, prefix_sep="=").astype(float)
    varying = [c for c in X if X[c].std() > 0]
    X = sm.add_constant(X[varying])
    fit = sm.Logit((table.y == "yes").astype(float), X).fit(disp=0, maxiter=200)
    names = [c for c in fit.params.index]
    document = {"terms": names, "estimates": fit.params.tolist(), "covariance": fit.cov_params().to_numpy().tolist(), "rows": int(fit.nobs),
                "log_likelihood": fit.llf, "covariance_type": fit.cov_type, "mean": table.X[table.numbers].mean().to_dict(),
                "scale": table.X[table.numbers].std(ddof=0).to_dict()}

    def probability(rows):
        Z = pd.get_dummies(rows, columns=table.categories, prefix_sep="=").astype(float).reindex(columns=X.columns, fill_value=0)
        return fit.predict(Z.assign(const=1.0)[X.columns]).to_numpy()

    return Case(lambda rows: probability(rows) >= 0.5, lambda rows: np.log(probability(rows) / (1 - probability(rows))), {"m.json": json.dumps(document)}, ["m.json"],
                tool=f"statsmodels {statsmodels.__version__}")


def torch_case(table):
    """A network of torch with an output for each label over the numbers, as torch.onnx writes it; it decides in single precision."""
    import torch
    numbers = copy.copy(table)
    numbers.X, numbers.categories = table.X[table.numbers], []
    rows = torch.tensor(numbers.X.to_numpy(np.float32))
    labels = torch.tensor((table.y == "yes").to_numpy(np.int64))

    class Standardise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", rows.mean(0))
            self.register_buffer("scale", rows.std(0).clamp(min=1e-6))

        def forward(self, x):
            return (x - self.mean) / self.scale

    torch.manual_seed(0)
    model = torch.nn.Sequential(Standardise(), torch.nn.Linear(rows.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=400, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(model(rows), labels) + TORCH_L2 / 2 * sum((w**2).sum() for n, w in model.named_parameters() if n.endswith("weight"))
        value.backward()
        return value

    optimizer.step(loss)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        torch.onnx.export(model, (rows[:4],), str(path), opset_version=18, dynamo=True, external_data=False, input_names=["input"],
                          dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False)
        content = path.read_bytes()

    def outputs(X):
        with torch.no_grad():
            return model(torch.tensor(X[numbers.numbers].to_numpy(np.float32))).numpy()

    return Case(lambda X: outputs(X).argmax(1) == 1, lambda X: np.subtract(*outputs(X).T[::-1]), {"m.onnx": content},
                ["m.onnx", "--data", "d.csv", "--l2", str(TORCH_L2), "--event", "yes"], tool=f"torch {torch.__version__}", table=numbers)


def pmml_case(table):
    """What sklearn2pmml (which needs Java) writes of a fit without penalty, and the covariance of its coefficients."""
    import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline
    steps = [("numbers", "passthrough", table.numbers)] + ([("levels", OneHotEncoder(drop="first"), table.categories)] if table.categories else [])
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=500)
    whole = PMMLPipeline([("columns", ColumnTransformer(steps)), ("fit", fit)]).fit(table.X, table.y)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.pmml"
        try:
            sklearn2pmml.sklearn2pmml(whole, str(path), with_repr=False)
        except Exception as refused:  # it names the versions of scikit-learn that it takes in errors of several kinds
            raise ImportError(f"sklearn2pmml {sklearn2pmml.__version__} does not take this model: {refused}") from refused
        text = path.read_text()
    encoded = whole[0].transform(table.X)
    Z = np.column_stack([np.asarray(encoded.todense() if hasattr(encoded, "todense") else encoded, float), np.ones(len(table.X))])
    score = whole.decision_function(table.X)
    p = 1 / (1 + np.exp(-score))
    covariance = np.linalg.inv(Z.T @ (Z * (p * (1 - p))[:, None]))
    levels = [f"{c}={level}" for c, known in zip(table.categories, whole[0].named_transformers_["levels"].categories_) for level in known[1:]] if table.categories else []
    terms = table.numbers + levels + ["(Intercept)"]
    likelihood = -np.log1p(np.exp(-np.where(table.y == "yes", 1, -1) * score)).sum()
    return Case(lambda X: whole.predict(X) == "yes", whole.decision_function, {"m.pmml": text, "cov.csv": pd.DataFrame(covariance, terms, terms).to_csv()},
                ["m.pmml", "--covariance", "cov.csv", "--rows", str(len(Z)), "--log-likelihood", repr(float(likelihood))],
                tool=f"sklearn2pmml {sklearn2pmml.__version__}, scikit-learn {sklearn.__version__}")


class Card:
    """Points by quantile bins and levels, rounded to whole ones, added up as a clerk would."""

    def __init__(self, table):
        self.table = table
        self.edges = {c: sorted({float(e) for e in table.X[c].quantile([k / BINS for k in range(1, BINS)])}) for c in table.numbers}
        fit = LogisticRegression(C=20, max_iter=5000).fit(self.columns(table.X), table.y)
        self.points = dict(zip(self.columns(table.X).columns, np.round(fit.coef_[0] * 20 / math.log(2))))
        self.base = round(600 + fit.intercept_[0] * 20 / math.log(2))

    def bin(self, column, value):
        edges = self.edges[column]
        k = int(np.searchsorted(edges, value, side="right"))
        return (edges[k - 1] if k else None, edges[k] if k < len(edges) else None)

    def columns(self, X):
        cells = pd.DataFrame({c: [str(self.bin(c, v)) for v in X[c]] for c in self.table.numbers} | {c: X[c] for c in self.table.categories}, index=X.index)
        return pd.get_dummies(cells, prefix_sep="=").astype(float)

    def score(self, X):
        return np.array([self.base + sum(self.points[f"{c}={self.bin(c, row[c])}"] for c in self.table.numbers)
                         + sum(self.points[f"{c}={row[c]}"] for c in self.table.categories) for row in X.to_dict("records")])

    def rows(self):
        for name, points in self.points.items():
            feature, cell = name.split("=", 1)
            yield feature, eval(cell, {"__builtins__": {}}) if feature in self.table.numbers else cell, int(points)  # our own text

    def csv(self):
        show = lambda end: "" if end is None else repr(end)
        lines = ["feature,from,to,level,points", f"base,,,,{self.base}"]
        for feature, cell, points in self.rows():
            lines.append(f"{feature},{show(cell[0])},{show(cell[1])},,{points}" if isinstance(cell, tuple) else f"{feature},,,{cell},{points}")
        return "\n".join(lines) + "\n"

    def pmml(self):
        parts = {}
        for feature, cell, points in self.rows():
            one = lambda operator, value: f'<SimplePredicate field="{feature}" operator="{operator}" value="{value!r}"/>'
            if isinstance(cell, tuple):
                ends = [one(op, end) for op, end in zip(("greaterOrEqual", "lessThan"), cell) if end is not None]
                predicate = ends[0] if len(ends) == 1 else f'<CompoundPredicate booleanOperator="and">{"".join(ends)}</CompoundPredicate>'
            else:
                predicate = f'<SimplePredicate field="{feature}" operator="equal" value="{cell}"/>'
            parts.setdefault(feature, []).append(f'<Attribute partialScore="{points}" reasonCode="R-{feature}">{predicate}</Attribute>')
        body = "".join(f'<Characteristic name="{f}">{"".join(p)}</Characteristic>' for f, p in parts.items())
        return ('<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><Scorecard functionName="regression" '
                f'initialScore="{self.base}"><Characteristics>{body}</Characteristics></Scorecard></PMML>')

    def case(self, form):
        text = self.csv() if form == "csv" else self.pmml()
        return Case(lambda X: self.score(X) >= 610, lambda X: (self.score(X) - 600) * math.log(2) / 20, {f"card.{form}": text},
                    ["--scorecard", f"card.{form}", "--pdo", "20", "--score", "600", "--odds", "1", "--cut-off", "610", "--data", "d.csv"],
                    schema=self.table.schema(step=1e-6), tool="points added up by hand")


def cases(table):
    n = len(table.X)
    yield "LogisticRegression, C = 1", lambda: sklearn_case(table, LogisticRegression(max_iter=2000), 1 / n)
    yield "C = 0.1, balanced, dropped levels", lambda: sklearn_case(
        table, LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000), 1 / (0.1 * n), drop="first", weights={"class_weight": "balanced"})
    yield "MinMaxScaler, stopped after 6 steps", lambda: sklearn_case(table, LogisticRegression(max_iter=6), 1 / n, scaler=MinMaxScaler)
    yield "no penalty, dropped levels", lambda: sklearn_case(table, LogisticRegression(C=np.inf, max_iter=5000), 0.0, drop="first")
    yield "RidgeClassifier", lambda: sklearn_case(table, RidgeClassifier(), 1 / n, loss="squared")
    yield "MLPClassifier (16), early stopping", lambda: sklearn_case(
        table, MLPClassifier((16,), early_stopping=True, random_state=0, max_iter=300), 1e-4 / n)
    yield "l1, C = 0.1", lambda: sklearn_case(table, LogisticRegression(l1_ratio=1, C=0.1, solver="saga", max_iter=5000, random_state=0), 0.0, l1=1 / (0.1 * n))
    yield "elastic net, C = 1, dropped levels", lambda: sklearn_case(
        table, LogisticRegression(l1_ratio=0.5, solver="saga", max_iter=5000, random_state=0), 0.5 / n, drop="first", l1=0.5 / n)
    yield "SGDClassifier, elasticnet", lambda: sklearn_case(
        table, SGDClassifier(loss="log_loss", penalty="elasticnet", alpha=0.001, random_state=0), 0.00085, l1=0.00015)
    yield "ONNX, LogisticRegression", lambda: onnx_case(table, LogisticRegression(max_iter=2000), 1 / n)
    yield "ONNX, RidgeClassifier", lambda: onnx_case(table, RidgeClassifier(), 1 / n, "--loss", "squared")
    yield "ONNX, torch network of two outputs", lambda: torch_case(table)
    yield "statsmodels Logit, no rows", lambda: statsmodels_case(table)
    yield "sklearn2pmml, no rows", lambda: pmml_case(table)
    yield "scorecard, CSV", lambda: Card(table).case("csv")
    yield "scorecard, PMML", lambda: Card(table).case("pmml")


class Trial:
    def __init__(self, program, folder, table):
        self.program, self.folder, self.table = program, folder, table

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def measure(self, name, table_name, case, people, verified):
        table = case.table or self.table
        for file, text in case.files.items():
            (self.folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        (self.folder / "d.csv").write_text(table.csv())
        (self.folder / "s.yaml").write_text(case.schema or table.schema())
        self.run("import", *case.options, "--schema", "s.yaml", "-o", "model.json")
        model = json.loads((self.folder / "model.json").read_text())
        declined = np.flatnonzero(~case.accepts(table.X))
        if case.score is not None:
            declined = declined[np.argsort(case.score(table.X.iloc[declined]), kind="stable")]
        declined = declined[:people]
        table.X.iloc[declined].to_csv(self.folder / "q.csv", index=False)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.run("explain", "model.json", "q.csv", *case.asked, "--epsilon", "1%", "--format", "json", "-o", "a.json")
        spent = 1000 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / max(len(declined), 1)
        results = json.loads((self.folder / "a.json").read_text())["results"]
        plans = pd.DataFrame([one["counterfactual"] for one in results if "counterfactual" in one], columns=list(table.X))
        accepted = int(case.accepts(plans).sum()) if len(plans) else 0
        table.X.iloc[declined[:verified]].to_csv(self.folder / "v.csv", index=False)
        self.run("explain", "model.json", "v.csv", *case.asked, "--epsilon", "1%", "--format", "json", "-o", "v.json")
        self.run("verify", "model.json", "v.json", *case.rows)
        excess = model.get("deployed", {}).get("excess", 0) / model["training"]["objective"]
        print(f"| {name} | {table_name} | {100 * excess:.2g} | {model.get('deployed', {}).get('margin', 0):.1g} | {len(declined)} | {len(plans)} | {accepted} | "
              f"{model['origin'].get('self_check', 0):.1g} | {spent:.2g} | {case.tool} |", flush=True)
        return accepted == len(plans)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--tables", default="german,fico,diabetes")
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--verify", type=int, default=15)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print("| model | table | excess, % of the objective | margin | people | plans | accepted by the tool | self-check | ms | tool |\n|---|---|---|---|---|---|---|---|---|---|")
    good = True
    for table_name in asked.tables.split(","):
        table = Table(table_name)
        for name, make in cases(table):
            if asked.only and not any(word in name for word in asked.only.split(",")):
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    case = make()
                except ImportError as missing:
                    print(f"{name}: left out, {missing}", file=sys.stderr)
                    continue
                good &= Trial(str(pathlib.Path(asked.program).resolve()), pathlib.Path(folder), table).measure(name, table_name, case, asked.people, asked.verify)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
