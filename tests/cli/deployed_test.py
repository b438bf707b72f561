"""Models that decide elsewhere, with their rows: JSON and ONNX, whole and broken."""
import json
import struct
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, PROJECT, CliTestCase

FIXTURES = PROJECT / "tests/model/onnx"
INPUTS = [{"feature": "income", "offset": 3000, "scale": 1200.0}, {"feature": "debt"}, {"feature": "years", "scale": 10},
          {"feature": "purpose", "level": "car"}, {"feature": "purpose", "level": "home"}, {"feature": "member", "level": "yes"}]


def deployed(**changes):
    document = {"format": "ellice.deployed", "version": 1, "tool": "by hand", "inputs": INPUTS,
                "layers": [{"weights": [[0.9, -0.2, 0.3, 0.1, 0.8, 0.05]], "bias": [1.2]}], "l2": 0.01}
    document.update(changes)
    return document


# ── a writer of protobuf's wire format ──

def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values, kind=1, more=b""):
    packed = struct.pack(f"<{len(values)}f", *values) if kind == 1 else b"".join(struct.pack("<q", v) for v in values)
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, packed) + more


def attribute(name, value):
    body = field(1, name)
    if isinstance(value, list):
        body += b"".join(field({float: 7, int: 8, str: 9}[type(v)], v) for v in value)
    else:
        body += field({float: 2, int: 3, str: 4}[type(value)], value)
    return body


def node(op, inputs, outputs, domain="", name="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4, op)
            + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()) + field(7, domain))


def value(name, columns=3, kind=1):
    shape = field(1, field(2, "n")) + field(1, field(1, columns))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


SCALER = node("Scaler", ["X"], ["scaled"], "ai.onnx.ml", offset=[3000.0, 10.0, 15.0], scale=[0.001, 0.1, 0.1])
WEIGHTS = tensor("w", [3, 1], [0.5, -0.7, 0.2])
BIAS = tensor("b", [1], [0.3])
MATMUL = node("MatMul", ["scaled", "w"], ["product"], name="dense")
ADD = node("Add", ["product", "b"], ["sum"])
SIGMOID = node("Sigmoid", ["sum"], ["p"])


def onnx(nodes=(SCALER, MATMUL, ADD, SIGMOID), tensors=(WEIGHTS, BIAS), inputs=(value("X"),), outputs=(value("p", 1),), graph=b""):
    body = b"".join(field(1, n) for n in nodes) + field(2, "main") + b"".join(field(5, t) for t in tensors)
    body += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs) + graph
    return field(1, 8) + field(8, field(2, 17)) + field(7, body)


def classifier(**changes):
    attributes = {"coefficients": [-0.5, 0.7, -0.2, 0.5, -0.7, 0.2], "intercepts": [-0.3, 0.3], "post_transform": "LOGISTIC",
                  "classlabels_strings": ["no", "yes"]}
    attributes.update(changes)
    return onnx((SCALER, node("LinearClassifier", ["scaled"], ["label", "p"], "ai.onnx.ml", name="clf", **attributes)), ())


BROKEN_ONNX = {
    "no graph": (field(1, 8), ["no graph"]),
    "cut in a varint": (b"\x08\x08\x3a\xff", ["ends in the middle"]),
    "cut in a field": (onnx()[:-9], ["ends in the middle"]),
    "endless varint": (b"\x08\x08" + b"\xff" * 11, ["more than ten bytes"]),
    "group": (b"\x08\x08\x3b", ["wire type 3"]),
    "two graphs": (onnx() + field(7, b""), ["more than one graph"]),
    "graph that is a number": (field(1, 8) + field(7, 3), ["no field of bytes"]),
    "name that is no text": (onnx((node("Relu", ["X"], ["y"])[:-2] + field(3, b"\xff\xfe"),)), ["UTF-8"]),
    "unknown operator": (onnx((SCALER, node("TreeEnsembleClassifier", ["scaled"], ["p"], "ai.onnx.ml", name="forest")), ()),
                         ["forest", "TreeEnsembleClassifier"]),
    "foreign domain": (onnx((SCALER, node("Add", ["scaled", "b"], ["p"], "com.example", name="odd"))), ["odd", "com.example.Add"]),
    "cycle": (onnx((node("Add", ["a", "b"], ["c"], name="first"), node("Add", ["c", "b"], ["a"]))), ["first", "cycle"]),
    "own output": (onnx((node("Relu", ["a"], ["a"], name="self"),)), ["self", "cycle"]),
    "nothing makes it": (onnx((node("Relu", ["nowhere"], ["p"], name="lost"),)), ["lost", "nowhere", "nothing makes"]),
    "made twice": (onnx((SCALER, SCALER)), ["scaled", "twice"]),
    "external tensor": (onnx(tensors=(tensor("w", [3, 1], [], more=field(13, field(1, "location") + field(2, "../../secret")) + field(14, 1)), BIAS)),
                        ["\"w\"", "another file"]),
    "wrong size": (onnx(tensors=(tensor("w", [4, 1], [0.5, -0.7, 0.2]), BIAS)), ["\"w\"", "[4, 1]", "3 entries"]),
    "negative size": (onnx(tensors=(tensor("w", [-3, 1], [0.5, -0.7, 0.2]), BIAS)), ["\"w\"", "[-3, 1]"]),
    "huge size": (onnx(tensors=(tensor("w", [1 << 40, 1 << 40], [0.5]), BIAS)), ["\"w\"", "at most"]),
    "wrong shape": (onnx(tensors=(tensor("w", [1, 3], [0.5, -0.7, 0.2]), BIAS)), ["dense", "[1, 3]"]),
    "no matrix": (onnx(tensors=(tensor("w", [3], [0.5, -0.7, 0.2]), BIAS)), ["dense", "matrix"]),
    "not a number": (onnx(tensors=(tensor("w", [3, 1], [0.5, float("nan"), 0.2]), BIAS)), ["\"w\"", "nan"]),
    "half precision": (onnx(tensors=(tensor("w", [3, 1], [1, 2, 3], 10), BIAS)), ["\"w\"", "element type 10"]),
    "two tensors of a name": (onnx(tensors=(WEIGHTS, WEIGHTS, BIAS)), ["two tensors", "\"w\""]),
    "sparse": (onnx(graph=field(15, b"")), ["sparse"]),
    "subgraph": (onnx((node("If", ["X"], ["p"], name="branch")[:-2] + field(5, field(1, "then") + field(6, b"")),)), ["graph of its own"]),
    "not linear": (onnx((SCALER, node("Mul", ["scaled", "scaled"], ["p"], name="square"))), ["square", "not linear"]),
    "clipped": (onnx((SCALER, node("Clip", ["scaled"], ["p"], name="clip"))), ["clip", "Clip"]),
    "too few columns": (onnx(inputs=(value("X", 2),)), ["\"X\"", "2 columns", "3 features"]),
    "unknown input": (onnx((node("Relu", ["incom"], ["p"]),), inputs=(value("incom", 1), value("debt", 1))), ["incom", "income"]),
    "three classes": (classifier(coefficients=[0.1] * 9, intercepts=[0.1] * 3), ["clf", "two classes"]),
    "one-sided rows": (classifier(coefficients=[0.5, 0.7, -0.2, 0.5, -0.7, 0.2]), ["clf", "opposites"]),
    "three labels": (classifier(classlabels_strings=["no", "yes", "perhaps"]), ["clf", "3 labels"]),
    "labels of other data": (classifier(classlabels_strings=["bad", "good"]), ["good", "no and yes"]),
    "scaler of another table": (onnx((node("Scaler", ["X"], ["scaled"], "ai.onnx.ml", name="sc", offset=[1.0, 2.0]), MATMUL, ADD, SIGMOID)),
                                ["sc", "2 numbers"]),
}
BROKEN_JSON = {
    "no layers": (deployed(layers=[]), ["no layers"]),
    "unknown key": (deployed(lambda_=1), ["lambda_"]),
    "two penalties": (deployed(l2=0.1, penalties=[0.1] * len(INPUTS)), ["l2 and penalties", "one of them"]),
    "newer version": (deployed(version=9), ["version"]),
    "unknown feature": (deployed(inputs=[{"feature": "incom"}] + INPUTS[1:]), ["inputs[0]", "income"]),
    "unknown level": (deployed(inputs=INPUTS[:3] + [{"feature": "purpose", "level": "plane"}] + INPUTS[4:]), ["plane", "purpose"]),
    "level of a number": (deployed(inputs=[{"feature": "income", "level": "3"}] + INPUTS[1:]), ["inputs[0]", "income"]),
    "category as a number": (deployed(inputs=INPUTS[:3] + [{"feature": "purpose"}] + INPUTS[4:]), ["inputs[3]", "level"]),
    "same input twice": (deployed(inputs=INPUTS[:1] + INPUTS[:1] + INPUTS[2:]), ["inputs[0] and inputs[1]"]),
    "scale 0": (deployed(inputs=[{"feature": "income", "scale": 0}] + INPUTS[1:]), ["inputs[0]", "scale"]),
    "too few weights": (deployed(layers=[{"weights": [[1, 2]], "bias": [0]}]), ["weights"]),
    "three outputs": (deployed(layers=[{"weights": [[1] * 6, [2] * 6, [3] * 6], "bias": [0, 1, 2]}]), ["3 outputs"]),
    "negative l1": (deployed(l1=-1), ["l1"]),
    "negative l2": (deployed(l2=-1), ["l2"]),
    "unknown precision": (deployed(precision="float16"), ["precision", "float32"]),
    "unknown event": (deployed(event="maybe"), ["event", "maybe"]),
    "softmax": (deployed(loss="softmax"), ["many classes"]),
    "weights without a column": (deployed(weights={}), ["weights.column"]),
}


class Deployed(CliTestCase):
    def setUp(self):
        super().setUp()
        for name in ("rows.csv", "all.yaml", "numbers.yaml"):
            self.write(name, (FIXTURES / name).read_bytes())

    def import_json(self, document, *more):
        self.write("d.json", document)
        return self.ellice("import", "d.json", "--data", "rows.csv", "--schema", "all.yaml", "-o", "m.json", *more)

    def test_plans_are_accepted_by_the_model_itself(self):
        document = deployed(precision="float32")
        text = self.import_json(document)
        self.assertIn("above the minimum", text)
        model = self.read_json("m.json")
        self.assertEqual(model["version"], 2)
        self.assertEqual(model["origin"]["tool"], "by hand")
        excess = model["deployed"]["excess"]
        self.assertGreater(excess, 1e-3)
        for options in (["--epsilon", "0.002"], ["--epsilon", "0.002", "--set", "true", "--data", "rows.csv"]):
            # The true set takes its time.
            people = (FIXTURES / "rows.csv").read_text().splitlines(keepends=True)[:13 if "true" in options else None]
            self.write("people.csv", "".join(people))
            self.ellice("explain", "m.json", "people.csv", *options, "-o", "a.json")
            answers = self.read_json("a.json")
            self.assertAlmostEqual(answers["epsilon"]["value"], 0.002 + excess, 14)
            found = 0
            for answer in answers["results"]:
                if "certificate" not in answer:
                    continue
                found += 1
                row = answer["counterfactual"]
                weights, score = document["layers"][0]["weights"][0], document["layers"][0]["bias"][0]
                for weight, one in zip(weights, INPUTS):
                    x = row[one["feature"]]
                    x = float(x == one["level"]) if "level" in one else x
                    score += weight * (x - one.get("offset", 0)) / one.get("scale", 1)
                self.assertGreater(score, 0)
            self.assertGreater(found, (len(people) - 1) // 4)
            rows = ["--data", "rows.csv"] if "true" in options else []
            self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json", *rows))

    def test_a_changed_margin_or_excess_is_found(self):
        self.import_json(deployed(precision="float32"))
        model = self.read_json("m.json")
        model["deployed"]["margin"] *= 2
        self.write("m2.json", model)
        self.expect_failure(BAD_INPUT, ["deployed.margin"], "explain", "m2.json", "rows.csv")

    def test_onnx_and_its_options(self):
        for name, schema in (("columns_12.onnx", "all.yaml"), ("mlp_13.onnx", "numbers.yaml")):
            self.write("m.onnx", (FIXTURES / name).read_bytes())
            done = json.loads(self.ellice("import", "m.onnx", "--data", "rows.csv", "--l2", "0.004", "--schema", schema, "-o",
                                          "m.json", "--format", "json"))
            self.assertEqual(done["kind"], "onnx")
            self.assertLess(done["self_check"], 1e-9)
            self.assertEqual(done["precision"], "float32")
        command = ("import", "m.onnx", "--schema", "numbers.yaml", "-o", "m.json")
        self.expect_failure(WRONG_USAGE, ["--data"], *command)
        self.expect_failure(WRONG_USAGE, ["--l2"], *command, "--data", "rows.csv")

    def test_own_files_are_good(self):
        for one in (onnx(), classifier()):
            self.write("m.onnx", one)
            self.ellice("import", "m.onnx", "--data", "rows.csv", "--l2", "0.01", "--schema", "numbers.yaml", "-o", "m.json")

    def test_broken_files_are_refused_by_place(self):
        self.assertGreaterEqual(len(BROKEN_ONNX) + len(BROKEN_JSON), 40)
        for what, (broken, words) in BROKEN_ONNX.items():
            with self.subTest(what):
                self.write("m.onnx", broken)
                self.expect_failure(BAD_INPUT, ["m.onnx", *words], "import", "m.onnx", "--data", "rows.csv", "--l2", "0.01",
                                  "--schema", "numbers.yaml", "-o", "m.json")
        for what, (broken, words) in BROKEN_JSON.items():
            with self.subTest(what):
                self.write("d.json", broken)
                self.expect_failure(BAD_INPUT, ["d.json", *words], "import", "d.json", "--data", "rows.csv", "--schema",
                                  "all.yaml", "-o", "m.json")


if __name__ == "__main__":
    unittest.main()
