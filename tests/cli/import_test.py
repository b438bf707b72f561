"""A logistic regression that a statistics program fitted, known by what it prints: plans without any row."""
import json
import math
import random
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, CliTestCase

SCHEMA = """target: {column: approved, favourable: "yes"}
features:
  income:  {kind: integer, min: 500, max: 9000, step: 50, direction: increase}
  debt:    {kind: numeric, min: 0, max: 20}
  purpose: {kind: categorical, levels: [boat, car, home]}
  member:  {kind: binary, levels: ["no", "yes"], immutable: true}
"""
TERMS = ["(Intercept)", "income", "debt", "purposecar", "purposehome", "memberyes"]


def design(row):
    """What R's model.matrix makes of a row."""
    return [1, row["income"], row["debt"], float(row["purpose"] == "car"), float(row["purpose"] == "home"),
            float(row["member"] == "yes")]


def inverse(matrix):
    size = len(matrix)
    rows = [list(map(float, row)) + [float(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k])]
    return [row[size:] for row in rows]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


class Fit:
    """Newton's method, in the units of the rows."""

    def __init__(self, seed, count=500):
        draw = random.Random(seed)
        self.rows, labels = [], []
        for _ in range(count):
            row = {"income": draw.randrange(500, 9000, 50), "debt": round(20 * draw.random(), 2),
                   "purpose": draw.choice(["boat", "car", "home"]), "member": draw.choice(["no", "yes"])}
            score = row["income"] / 1500 - row["debt"] / 4 + (row["purpose"] == "home") + (row["member"] == "yes") - 1
            self.rows.append(row)
            labels.append(draw.random() < 1 / (1 + math.exp(-score)))
        self.beta = [0.0] * len(TERMS)
        for _ in range(30):
            information = [[0.0] * len(TERMS) for _ in TERMS]
            gradient = [0.0] * len(TERMS)
            self.log_likelihood = 0.0
            for row, label in zip(self.rows, labels):
                x = design(row)
                p = 1 / (1 + math.exp(-dot(x, self.beta)))
                self.log_likelihood += math.log(p if label else 1 - p)
                for i, xi in enumerate(x):
                    gradient[i] += (label - p) * xi
                    for j, xj in enumerate(x):
                        information[i][j] += p * (1 - p) * xi * xj
            self.covariance = inverse(information)
            self.beta = [b + dot(line, gradient) for b, line in zip(self.beta, self.covariance)]

    def worst_score(self, row, epsilon):
        x = design(row)
        spread = dot(x, [dot(line, x) for line in self.covariance])
        return dot(x, self.beta) - math.sqrt(2 * len(self.rows) * epsilon * spread)


class Import(CliTestCase):
    def setUp(self):
        super().setUp()
        self.fit = Fit(7)
        self.write("s.yaml", SCHEMA)
        self.write("coef.csv", "," + "Estimate\n" + "".join(f"{t},{b!r}\n" for t, b in zip(TERMS, self.fit.beta)))
        self.write("cov.csv", "," + ",".join(TERMS) + "\n" + "".join(
            f"{t},{','.join(map(repr, line))}\n" for t, line in zip(TERMS, self.fit.covariance)))
        self.numbers = ("--rows", len(self.fit.rows), "--log-likelihood", repr(self.fit.log_likelihood))
        people = [row for row in self.fit.rows if dot(design(row), self.fit.beta) < 0][:30]
        self.people = people
        self.write("people.csv", "income,debt,purpose,member\n" + "".join(
            f"{p['income']},{p['debt']},{p['purpose']},{p['member']}\n" for p in people))

    def import_files(self, *more):
        return self.ellice("import", "--coefficients", "coef.csv", "--covariance", "cov.csv", *self.numbers, "--schema",
                           "s.yaml", "-o", "m.json", *more)

    def test_plans_hold_for_every_model_of_the_confidence_region(self):
        text = self.import_files()
        self.assertIn("95 % confidence region", text)
        self.ellice("explain", "m.json", "people.csv", "-o", "a.json")
        answers = self.read_json("a.json")
        epsilon = answers["epsilon"]["value"]
        self.assertAlmostEqual(epsilon, 12.591587243743977 / 1000, 12)  # of χ² with 6 degrees
        self.assertGreaterEqual(len(answers["results"]), 20)
        found = 0
        for person, answer in zip(self.people, answers["results"]):
            if "counterfactual" not in answer:
                self.assertEqual(answer["status"], "infeasible")
                continue
            found += 1
            row = answer["counterfactual"]
            self.assertGreaterEqual(self.fit.worst_score(row, epsilon), 0)
            self.assertLess(self.fit.worst_score(row, 1.02 * epsilon), 0.05)  # and no farther than that needs
            self.assertEqual(row["member"], person["member"])
            self.assertGreaterEqual(row["income"], person["income"])
        self.assertGreaterEqual(found, 15)
        self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json"))

    def test_one_json_file_says_the_same(self):
        self.import_files("--tool", "by hand")
        self.write("fit.json", {"terms": TERMS, "estimates": self.fit.beta, "covariance": self.fit.covariance,
                                "rows": len(self.fit.rows), "log_likelihood": self.fit.log_likelihood, "tool": "by hand",
                                "covariance_type": "nonrobust"})
        document = json.loads(self.ellice("import", "fit.json", "--schema", "s.yaml", "-o", "j.json", "--format", "json"))
        self.assertEqual(document["terms"], 6)
        one, other = self.read_json("m.json"), self.read_json("j.json")
        for model in (one, other):
            self.assertEqual(model["version"], 2)
            self.assertEqual(model["origin"].pop("tool"), "by hand")
            del model["origin"], model["training"]["data_sha256"]
        self.assertEqual(one, other)

    def test_a_share_of_the_loss_and_the_other_label_are_understood(self):
        turned = [-b for b in self.fit.beta]
        self.write("coef.csv", "term,estimate\n" + "".join(f"{t},{b!r}\n" for t, b in zip(TERMS, turned)))
        self.import_files("--event", "no")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "-o", "a.json")
        answers = self.read_json("a.json")
        epsilon = answers["epsilon"]["value"]
        self.assertAlmostEqual(epsilon, -0.01 * self.fit.log_likelihood / len(self.fit.rows), 12)
        rows = [answer["counterfactual"] for answer in answers["results"] if "counterfactual" in answer]
        self.assertGreaterEqual(len(rows), 15)
        for row in rows:
            self.assertGreaterEqual(self.fit.worst_score(row, epsilon), 0)

    def test_what_needs_rows_says_so(self):
        self.import_files()
        run = self.run_ellice("explain", "m.json", "people.csv", "--set", "true", "-o", "a.json")
        self.assertEqual(run.returncode, WRONG_USAGE, run.stderr)
        self.assertIn("rows", run.stderr)
        self.assertNotIn("a.json", self.files())

    def test_mistakes_are_named(self):
        def refused(status, *words, arguments=None):
            run = self.run_ellice(*(arguments or ("import", "--coefficients", "coef.csv", "--covariance", "cov.csv",
                                                  *self.numbers, "--schema", "s.yaml", "-o", "m.json")))
            self.assertEqual(run.returncode, status, run.stderr)
            for word in words:
                self.assertIn(word, run.stderr)
            self.assertNotIn("m.json", self.files())

        refused(WRONG_USAGE, "--covariance", arguments=("import", "--coefficients", "coef.csv", "--schema", "s.yaml", "-o", "m.json"))
        refused(WRONG_USAGE, "--log-likelihood", "deviance", arguments=(
            "import", "--coefficients", "coef.csv", "--covariance", "cov.csv", "--rows", 500, "--schema", "s.yaml", "-o", "m.json"))
        self.write("fit.json", "{}")
        refused(BAD_INPUT, "terms", arguments=("import", "fit.json", "--schema", "s.yaml", "-o", "m.json"))
        self.write("fit.json", {"terms": ["const"], "estimates": [1], "covariance": [[1]], "rows": 5})
        refused(WRONG_USAGE, "fit.json holds how many rows", "leave out --rows",
                arguments=("import", "fit.json", "--rows", 5, "--schema", "s.yaml", "-o", "m.json"))
        refused(WRONG_USAGE, "needs --log-likelihood", arguments=("import", "fit.json", "--schema", "s.yaml", "-o", "m.json"))
        self.numbers = ("--rows", 500, "--log-likelihood", -20)
        refused(BAD_INPUT, "curvature")
        self.numbers = ("--rows", 500, "--log-likelihood", repr(self.fit.log_likelihood))
        self.write("s.yaml", SCHEMA.replace("  debt:", "  debts:"))
        refused(BAD_INPUT, "\"debts\"", "drop")

    def test_numbers_that_are_none_are_named(self):
        command = ("import", "--coefficients", "coef.csv", "--covariance", "cov.csv", "--schema", "s.yaml", "-o", "m.json")
        self.expect_failure(BAD_INPUT, ["coef.csv", "log-likelihood of nan"], *command, "--rows", 500, "--log-likelihood", "nan")
        self.write("coef.csv", "term,estimate\n" + "".join(
            f"{t},{'1e300' if t == 'debt' else repr(b)}\n" for t, b in zip(TERMS, self.fit.beta)))
        self.expect_failure(BAD_INPUT, ["coef.csv", "\"debt\"", "1e100"], *command, *self.numbers)

    def test_files_that_are_nothing_are_named_beside_rows(self):
        self.write("rows.csv", "income,debt,purpose,member,approved\n1000,1,car,no,yes\n2000,1,car,no,no\n")
        for content in (b"", b"[]", b"{\"format\": \"x\"}", b"[" * 2000, b"\x1f\x8b\x08\x00gz"):
            self.write("m.bin", content)
            self.expect_failure(BAD_INPUT, ["m.bin"], "import", "m.bin", "--data", "rows.csv", "--schema", "s.yaml", "-o", "m.json")


if __name__ == "__main__":
    unittest.main()
