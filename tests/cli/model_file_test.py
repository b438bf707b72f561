"""The numbers of a model file, computed once more from the table and the definitions alone."""
import csv
import hashlib
import io
import json
import math
import unittest

from cli_test_case import LOANS, CliTestCase

MEASUREMENTS = """height,width,count,y
1.5,2.25,3,1
-0.5,1,7,0
2.75,-3,1,1
0.125,0.5,4,0
3,4,0,1
-2,1.5,9,1
1,-1,2,0
0.5,0.75,5,1
-1.25,2,8,0
2,3.5,6,0
"""
MEASUREMENTS_SCHEMA = """target: {column: y, favourable: 1}
features:
  height: {kind: numeric}
  width:  {kind: numeric}
  count:  {kind: integer}
"""


def canonical_sha256(model):
    document = {key: value for key, value in model.items() if key not in ("recommended", "rows")}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sigmoid(f):
    return 1 / (1 + math.exp(-f))


class ModelFile(CliTestCase):
    def train(self, *options):
        self.write("d.csv", MEASUREMENTS)
        self.write("s.yaml", MEASUREMENTS_SCHEMA)
        self.ellice("train", "d.csv", "--schema", "s.yaml", "-o", "m.json", *options)
        return self.read_json("m.json")

    def test_the_hash_is_that_of_the_canonical_json(self):
        for options in ((), ("--store-rows",), ("--holdout", "0.3", "--seed", 2**64 - 1), ("--l2", "1e-7")):
            report = self.train_loans("m.json", *options)
            self.assertEqual(canonical_sha256(self.read_json("m.json")), report["model_sha256"], options)

    def test_the_hash_of_the_data_is_that_of_the_file(self):
        self.train_loans()
        self.assertEqual(self.read_json("m.json")["training"]["data_sha256"],
                         hashlib.sha256(LOANS.encode()).hexdigest())

    def expect_near(self, found, wanted, tolerance=1e-13):
        self.assertEqual(len(found), len(wanted))
        for a, b in zip(found, wanted):
            self.assertLessEqual(abs(a - b), tolerance * max(1, abs(b)))

    def expect_optimum(self, model, l2, penalize_bias, loss):
        """Statistics, stationarity, loss and Hessian as docs/reference defines them."""
        rows = list(csv.DictReader(io.StringIO(MEASUREMENTS)))
        names = ["height", "width", "count"]
        columns = [[float(row[name]) for row in rows] for name in names]
        n = len(rows)
        means = [math.fsum(column) / n for column in columns]
        scales = [math.sqrt(math.fsum((v - m) ** 2 for v in column) / n) for column, m in zip(columns, means)]
        encoder = model["encoder"]
        self.assertEqual(encoder["columns"], names)
        self.expect_near(encoder["mean"], means)
        self.expect_near(encoder["scale"], scales)
        self.assertEqual(encoder["min"], [min(column) for column in columns])
        self.assertEqual(encoder["max"], [max(column) for column in columns])

        layer = model["network"]["layers"][0]
        theta = layer["weights"][0] + layer["bias"]
        penalty = [l2] * 3 + [l2 if penalize_bias else 0]
        points = [[(column[i] - m) / s for column, m, s in zip(columns, means, scales)] + [1] for i in range(n)]
        labels = [int(row["y"]) for row in rows]
        scores = [math.fsum(t * x for t, x in zip(theta, point)) for point in points]
        if loss == "logistic":
            values = [math.log1p(math.exp(f if y == 0 else -f)) for f, y in zip(scores, labels)]
            slopes = [sigmoid(f) - y for f, y in zip(scores, labels)]
            curvatures = [sigmoid(f) * sigmoid(-f) for f in scores]
        else:
            values = [(f - (2 * y - 1)) ** 2 / 2 for f, y in zip(scores, labels)]
            slopes = [f - (2 * y - 1) for f, y in zip(scores, labels)]
            curvatures = [1.0] * n
        for j in range(4):
            gradient = math.fsum(s * point[j] for s, point in zip(slopes, points)) / n + penalty[j] * theta[j]
            self.assertLess(abs(gradient), 1e-10)
        hessian = [[math.fsum(c * p[i] * p[j] for c, p in zip(curvatures, points)) / n
                    + (penalty[i] if i == j else 0) for j in range(4)] for i in range(4)]
        for found, wanted in zip(model["curvature"]["hessian"], hessian):
            self.expect_near(found, wanted)
        self.assertEqual(model["curvature"]["shift"], 0)
        mean_loss = math.fsum(values) / n
        objective = mean_loss + math.fsum(p * t * t for p, t in zip(penalty, theta)) / 2
        training = model["training"]
        self.expect_near([training["loss"], training["objective"]], [mean_loss, objective])
        self.assertLess(training["head_decrement"], 1e-18)
        self.assertEqual((training["rows"], training["l2"], training["penalize_bias"], training["loss_kind"]),
                         (n, l2, penalize_bias, loss))

    def test_weights_are_the_optimum_and_h_is_the_hessian_there(self):
        self.expect_optimum(self.train(), 1e-3, True, "logistic")

    def test_the_penalty_may_leave_out_the_bias(self):
        self.expect_optimum(self.train("--no-penalize-bias", "--l2", "0.5"), 0.5, False, "logistic")

    def test_without_a_penalty(self):
        self.expect_optimum(self.train("--l2", "0"), 0, True, "logistic")

    def test_of_the_squared_loss(self):
        self.expect_optimum(self.train("--loss", "squared", "--l2", "0.125"), 0.125, True, "squared")

    def test_stored_rows_are_the_encoded_table(self):
        model = self.train("--store-rows")
        encoder = model["encoder"]
        rows = list(csv.DictReader(io.StringIO(MEASUREMENTS)))
        self.assertEqual(model["rows"]["labels"], [int(row["y"]) for row in rows])
        for row, encoded in zip(rows, model["rows"]["encoded"]):
            self.assertEqual(encoded, [(float(row[name]) - mean) / scale for name, mean, scale in
                                       zip(encoder["columns"], encoder["mean"], encoder["scale"])])


if __name__ == "__main__":
    unittest.main()
