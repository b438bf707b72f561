"""Certificates written without the library, from the model file and the theorem alone, and their forgeries."""
import copy
import fractions
import json
import math
import unittest

from cli_test_case import BAD_INPUT, DONE, NOT_CERTIFIED, CliTestCase
from model_file_test import canonical_sha256

EPSILON = 0.0078125
APPLICANT = {"age": 35, "dependants": 1, "education": "bachelor", "employment_years": 7, "income": 52000,
             "savings": 8000, "debt": 4000, "housing": "own", "purpose": "car", "loan_amount": 9000,
             "duration_months": 36, "guarantor": "yes"}
RICH = {"income": 90000, "debt": 1.5, "purpose": "home", "city": "Köln"}


def number_text(value):
    return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)


def claim(epsilon, threshold):
    return (f"Every model θ with ½(θ−θ̂)ᵀH(θ−θ̂) ≤ {number_text(epsilon)} gives this point a logit of at least "
            f"{number_text(threshold)}, where θ̂ and H are the parameters and the Hessian in the model file. To second "
            f"order these are the models whose training objective is within {number_text(epsilon)} of the optimum; "
            "models outside this ellipsoid are not covered.")


def solve(matrix, right_side):
    """Gaussian elimination in rational numbers: exact, so that pivoting is needed for zeros only."""
    rows = [[fractions.Fraction(v) for v in row] + [fractions.Fraction(b)] for row, b in zip(matrix, right_side)]
    size = len(rows)
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k])]
    return [row[-1] for row in rows]


def encode(model, point):
    raw = []
    for name, feature in model["schema"]["features"].items():
        if feature["kind"] in ("numeric", "integer"):
            raw.append(point[name])
        elif feature["kind"] == "categorical":
            raw += [int(point[name] == level) for level in feature["levels"]]
        else:
            raw.append(feature["levels"].index(point[name]))
    encoder = model["encoder"]
    return [(v - mean) / scale for v, mean, scale in zip(raw, encoder["mean"], encoder["scale"])]


def certificate(model, point, epsilon=EPSILON, threshold=0):
    layer = model["network"]["layers"][0]
    theta = [fractions.Fraction(v) for v in layer["weights"][0] + layer["bias"]]
    encoded = encode(model, point)
    x = [fractions.Fraction(v) for v in [*encoded, 1]]
    u = solve(model["curvature"]["hessian"], x)
    norm = math.sqrt(sum(a * b for a, b in zip(x, u)))
    logit = sum(a * b for a, b in zip(theta, x))
    radius = math.sqrt(2 * epsilon)
    return {"format": "ellice.certificate", "version": 1, "model_sha256": canonical_sha256(model),
            "set": "last-layer", "epsilon": epsilon, "threshold": threshold, "point": point, "encoded": encoded,
            "logit": float(logit), "robust_logit": float(logit) - radius * norm,
            "worst_model": [float(t) - radius / norm * float(v) for t, v in zip(theta, u)],
            "claim": claim(epsilon, threshold)}


def numbers_in(value, path=()):
    """The path of every number in a JSON document."""
    if isinstance(value, (int, float)):
        yield path
    elif isinstance(value, (dict, list)):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_in(member, (*path, key))


def replaced(document, path, value):
    result = copy.deepcopy(document)
    holder = result
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return result


class Certificate(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans("m.json", "--l2", "0.05")
        self.model = self.read_json("m.json")
        self.good = certificate(self.model, RICH)

    def verify(self, document):
        self.write("c.json", document)
        return self.run_ellice("verify", "m.json", "c.json")

    def expect_verdict(self, status, document):
        run = self.verify(document)
        self.assertEqual(run.returncode, status, f"{document}\n{run.stdout}{run.stderr}")
        return run

    def expect_refused(self, words, document, model="m.json"):
        self.write("c.json", document)
        self.expect_failure(BAD_INPUT, words, "verify", model, "c.json")

    def test_from_the_theorem_alone_is_accepted(self):
        self.assertGreater(self.good["robust_logit"], 0)
        self.assertIn("1 certificates and 0 proofs of infeasibility hold, 0 fail", self.expect_verdict(DONE, self.good).stdout)
        for epsilon, threshold in ((0, 0), (1e-5, 0.125), (EPSILON, -3)):
            self.expect_verdict(DONE, certificate(self.model, RICH, epsilon, threshold))

    def test_from_the_theorem_alone_is_accepted_for_any_condition_of_h(self):
        for l2 in ("1e-8", "1e-12"):  # all that keeps the full sets of 0/1 columns from being singular
            report = json.loads(self.ellice("train", "--dataset", "lending", "--folds", "0", "--l2", l2,
                                            "--format", "json", "-o", "m.json"))
            self.assertEqual(report["shift"], 0)
            self.assertGreater(report["condition_number"], 0.1 / float(l2))
            for epsilon in (1e-20, 0.0078125):
                self.expect_verdict(DONE, certificate(self.read_json("m.json"), APPLICANT, epsilon))

    def test_can_come_from_standard_input_and_be_reported_as_json(self):
        text = self.ellice("verify", "m.json", "-", "--format", "json", stdin=json.dumps(self.good).encode())
        document = json.loads(text)
        self.assertEqual((document["format"], document["checked"], document["failed"]),
                         ("ellice.verification", 1, 0))
        self.assertEqual(document["model_sha256"], self.good["model_sha256"])
        self.assertAlmostEqual(document["results"][0]["robust_logit"], self.good["robust_logit"], delta=1e-12)

    def test_for_a_point_that_falls_short_fails(self):
        poor = certificate(self.model, {**RICH, "income": 20000, "purpose": "car"})
        self.assertLess(poor["robust_logit"], 0)
        run = self.expect_verdict(NOT_CERTIFIED, poor)
        self.assertIn("below the threshold", run.stdout)
        self.assertIn("c.json: 1 of 1 answers failed", run.stderr)
        self.expect_verdict(NOT_CERTIFIED, certificate(self.model, RICH, epsilon=50))

    def test_with_any_number_altered_fails(self):
        altered = 0
        for path in numbers_in({key: self.good[key] for key in self.good if key != "version"}):
            value = self.good
            for key in path:
                value = value[key]
            for other in (value * (1 + 1e-7) if value else 1e-7, value + 1, -value):
                if other != value and not (path == ("epsilon",) and other < 0):
                    self.expect_verdict(NOT_CERTIFIED, replaced(self.good, path, other))
                    altered += 1
        self.assertGreater(altered, 50)

    def test_with_another_level_or_claim_fails(self):
        self.expect_verdict(NOT_CERTIFIED, replaced(self.good, ("point", "purpose"), "car"))
        self.expect_verdict(NOT_CERTIFIED, replaced(self.good, ("point", "city"), "Bonn"))
        self.expect_verdict(NOT_CERTIFIED, {**self.good, "claim": self.good["claim"] + " Always."})

    def test_of_another_model_is_refused(self):
        self.train_loans("other.json", "--l2", "0.06")
        self.expect_refused(["c.json", "another model", self.good["model_sha256"],
                             "verify it against the model"], self.good, "other.json")
        network = copy.deepcopy(self.model)
        network["network"]["layers"][0]["bias"][0] += 1e-9
        self.write("altered.json", network)
        self.expect_refused(["another model"], self.good, "altered.json")

    def test_survives_calibration_and_stored_rows(self):
        self.write("m.json", {**self.model, "recommended": {"last-layer": {"epsilon": 0.01}}})
        self.expect_verdict(DONE, self.good)
        self.train_loans("m.json", "--l2", "0.05", "--store-rows")
        self.expect_verdict(DONE, self.good)

    def test_that_is_not_well_formed_is_refused(self):
        self.expect_refused(["c.json: epsilon: found -0.5, expected a number >= 0"], {**self.good, "epsilon": -0.5})
        self.expect_refused(["c.json: version: found 2, expected 1"], {**self.good, "version": 2})
        self.expect_refused(['c.json: format: found "ellice.model"'], self.model)
        self.expect_refused(["c.json: set: found \"round\", expected one of last-layer, full"],
                            {**self.good, "set": "round"})
        self.expect_refused(['c.json: key "damping" is missing'], {**self.good, "set": "full"})
        self.expect_refused(['c.json: unknown key "note"'], {**self.good, "note": "trust me"})
        self.expect_refused(['unknown key "point.age"'], replaced(self.good, ("point", "age"), 30))
        self.expect_refused(["c.json: point.purpose: found \"yacht\"", "there are: boat, car, home"],
                            replaced(self.good, ("point", "purpose"), "yacht"))
        self.expect_refused(["c.json: encoded: found 5 numbers, expected 6"],
                            {**self.good, "encoded": self.good["encoded"][:-1]})
        self.expect_refused(["c.json: logit: found \"1\", expected a number"], {**self.good, "logit": "1"})
        text = json.dumps(self.good)
        self.expect_refused(["c.json: not JSON", "is the file complete?"], text[:len(text) // 2])
        self.expect_refused(["c.json: not JSON"], text.replace(str(EPSILON), "NaN", 1))
        self.expect_refused(['c.json: key "epsilon" stands twice'], text[:-1] + ', "epsilon": 0}')
        self.expect_refused(["c.json: not JSON"], "")
        for key in self.good:
            rest = {name: value for name, value in self.good.items() if name != key}
            self.expect_refused([f'c.json: key "{key}" is missing'], rest)

    def test_without_a_readable_file_is_refused(self):
        self.expect_failure(BAD_INPUT, ["cannot read nowhere.json"], "verify", "m.json", "nowhere.json")
        self.expect_failure(BAD_INPUT, ["cannot read nowhere.json"], "verify", "nowhere.json", "m.json")
        self.expect_failure(BAD_INPUT, ["standard input: not JSON"], "verify", "m.json", "-")


if __name__ == "__main__":
    unittest.main()
