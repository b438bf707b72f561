"""Weights of rows and classes, from the column of a table to certified plans."""
import math
import random
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, CliTestCase

SCHEMA = """target: {column: ok, favourable: 1}
features:
  a: {kind: numeric}
  b: {kind: numeric}
"""


def rows(count=120):
    source = random.Random(5)
    result = []
    for _ in range(count):
        a, b = source.gauss(10, 3), source.gauss(0, 0.2)
        ok = int(source.random() < 1 / (1 + math.exp(1.5 - (a - 10) / 3 + 4 * b)))
        result.append((a, b, source.randint(1, 4), ok))
    return result


def table(entries):
    return "a,b,w,ok\n" + "".join(f"{a!r},{b!r},{w},{ok}\n" for a, b, w, ok in entries)


def in_original_units(model):
    """Coefficients, then the intercept."""
    layer, encoder = model["network"]["layers"][0], model["encoder"]
    slopes = [w / s for w, s in zip(layer["weights"][0], encoder["scale"])]
    return slopes + [layer["bias"][0] - sum(w * m for w, m in zip(slopes, encoder["mean"]))]


class Weights(CliTestCase):
    def train(self, entries, *options):
        self.write("d.csv", table(entries))
        self.write("s.yaml", SCHEMA + ("" if "--weights" in options else "drop: [w]\n"))
        self.ellice("train", "d.csv", "--schema", "s.yaml", "--folds", 0, "-o", "m.json", *options)
        return self.read_json("m.json")

    def test_a_whole_weight_is_a_row_that_stands_there_as_often(self):
        repeated = [row for row in rows() for _ in range(row[2])]
        weighted = self.train(rows(), "--l2", 0, "--weights", "w")
        self.assertEqual(weighted["training"]["weights"], {"column": "w", "class_weight": "none"})
        self.assertEqual((weighted["version"], weighted["training"]["rows"]), (2, 120))
        plain = self.train(repeated, "--l2", 0)
        self.assertEqual(plain["version"], 1)
        for found, wanted in zip(in_original_units(weighted), in_original_units(plain)):
            self.assertAlmostEqual(found, wanted, delta=1e-8 * max(1, abs(wanted)))
        self.assertAlmostEqual(weighted["training"]["loss"], plain["training"]["loss"], delta=1e-12)

    def test_balanced_classes_get_the_mean_probability_of_one_half(self):
        # At the optimum without a penalty the weighted mean of y − p is 0, and that of y is 1/2.
        model = self.train(rows(), "--l2", 0, "--class-weight", "balanced", "--weights", "w")
        *slopes, intercept = in_original_units(model)
        mass = [sum(w for *_, w, ok in rows() if ok == k) for k in (0, 1)]
        mean = sum(w / (2 * mass[ok]) / (1 + math.exp(-slopes[0] * a - slopes[1] * b - intercept))
                   for a, b, w, ok in rows())
        self.assertNotEqual(*mass)
        self.assertAlmostEqual(mean, 0.5, delta=1e-9)

    def test_plans_are_certified_and_altered_weights_are_found(self):
        for options in (("--weights", "w"), ("--class-weight", "balanced"),
                        ("--weights", "w", "--model", "softmax"),
                        ("--weights", "w", "--model", "mlp", "--hidden", 4, "--epochs", 40, "--refit")):
            model = self.train(rows(), "--store-rows", *options)
            for kind in ("last-layer", "true"):
                # The column may stand in queries.
                self.ellice("explain", "m.json", "d.csv", "--epsilon", "1%", "--set", kind, "--declined",
                            "-o", "p.json")
                self.ellice("verify", "m.json", "p.json")
            model["rows"]["weights"][5] *= 1.01
            self.write("altered.json", model)
            run = self.run_ellice("verify", "altered.json", "p.json")
            self.assertNotEqual(run.returncode, 0)

    def test_rows_are_found_again_in_the_table(self):
        self.train(rows(), "--weights", "w", "--class-weight", "balanced", "--holdout", 0.2)
        self.ellice("explain", "m.json", "d.csv", "--epsilon", "1%", "--set", "true", "--data", "d.csv",
                    "--declined", "-o", "p.json")
        self.ellice("verify", "m.json", "p.json", "--data", "d.csv")

    def test_what_cannot_be_said_is_refused_with_a_reason(self):
        self.train(rows(), "--weights", "w")
        for epsilon in ("auto", "survival:95%"):
            run = self.run_ellice("explain", "m.json", "d.csv", "--epsilon", epsilon, "-o", "p.json")
            self.assertEqual(run.returncode, WRONG_USAGE)
            self.assertIn("rows have weights", run.stderr)
        wrong = table(rows()[:9] + [(1.0, 1.0, 0, 1)])
        self.write("d.csv", wrong)
        run = self.run_ellice("train", "d.csv", "--schema", "s.yaml", "--weights", "w", "-o", "x.json")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("d.csv:11", run.stderr)
        self.assertIn("number > 0", run.stderr)
        run = self.run_ellice("train", "d.csv", "--schema", "s.yaml", "--weights", "a", "-o", "x.json")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("feature", run.stderr)
        run = self.run_ellice("train", "--dataset", "lending", "--weights", "w", "-o", "x.json")
        self.assertEqual(run.returncode, WRONG_USAGE)


if __name__ == "__main__":
    unittest.main()
