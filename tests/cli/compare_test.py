"""A new model beside the old one: distances and promises against a computation from the model files alone."""
import json
import math
import random
import unittest

from cli_test_case import BAD_INPUT, LOANS_SCHEMA, NOT_CERTIFIED, CliTestCase


def rows(seed, count=300):
    """Loans of which the label is noisy, so that two samples give two models."""
    draw = random.Random(seed)
    lines = ["income,debt,purpose,city,approved"]
    for _ in range(count):
        income, debt = draw.uniform(15000, 80000), draw.uniform(0, 20)
        purpose, city = draw.choice(["boat", "car", "home"]), draw.choice(["Bonn", "Köln"])
        score = (income - 45000) / 9000 - (debt - 9) / 4 + (purpose == "home") + draw.gauss(0, 1.5)
        lines.append(f"{income:.0f},{debt:.2f},{purpose},{city},{'yes' if score > 0 else 'no'}")
    return "\n".join(lines) + "\n"


def encoded(model, row):
    encoder = model["encoder"]
    result = []
    for column, mean, scale in zip(encoder["columns"], encoder["mean"], encoder["scale"]):
        name, _, level = column.partition("=")
        raw = float(row[name] == level) if level else row[name]
        if name == "city":
            raw = float(row[name] == "Köln")
        result.append((raw - mean) / scale)
    return result


def logit(model, row):
    layer = model["network"]["layers"][0]
    return math.fsum(w * z for w, z in zip(layer["weights"][0], encoded(model, row))) + layer["bias"][0]


def moved(old, new):
    """θ of the new model in the old one's columns, from the scores at rows where one column is 1 and all others 0."""
    size = len(old["encoder"]["columns"])
    order = [new["encoder"]["columns"].index(c) for c in old["encoder"]["columns"]]

    def score(z):  # of a point in the old model's columns
        raw = [v * s + m for v, s, m in zip(z, old["encoder"]["scale"], old["encoder"]["mean"])]
        layer = new["network"]["layers"][0]
        return layer["bias"][0] + math.fsum(
            layer["weights"][0][k] * (r - new["encoder"]["mean"][k]) / new["encoder"]["scale"][k]
            for k, r in zip(order, raw))
    bias = score([0] * size)
    return [score([float(j == k) for k in range(size)]) - bias for j in range(size)] + [bias]


class Compare(CliTestCase):
    def setUp(self):
        super().setUp()
        self.write("schema.yaml", LOANS_SCHEMA)
        for name, seed in (("old", 1), ("new", 2)):
            self.write(f"{name}.csv", rows(seed))
            self.ellice("train", f"{name}.csv", "--schema", "schema.yaml", "-o", f"{name}.json")
        self.old, self.new = self.read_json("old.json"), self.read_json("new.json")

    def compare(self, *arguments, status=0):
        run = self.run_ellice("compare", *arguments, "--format", "json")
        self.assertEqual(run.returncode, status, run.stderr)
        return json.loads(run.stdout)

    def explain(self, epsilon, name):
        self.ellice("explain", "old.json", "old.csv", "--declined", "--epsilon", epsilon, "-o", name)

    def distance(self):
        layer = self.old["network"]["layers"][0]
        delta = [a - b for a, b in zip(moved(self.old, self.new), layer["weights"][0] + layer["bias"])]
        hessian = self.old["curvature"]["hessian"]
        return math.fsum(delta[i] * hessian[i][j] * delta[j] for i in range(len(delta)) for j in range(len(delta))) / 2

    def test_distance_is_that_of_the_same_scores_in_old_columns(self):
        found = self.compare("old.json", "new.json")
        self.assertAlmostEqual(found["distance"] / self.distance(), 1, places=9)
        self.assertEqual(self.compare("old.json", "old.json")["distance"] < 1e-25, True)

    def test_every_promise_for_models_as_far_away_is_kept(self):
        self.explain(repr(1.01 * self.distance()), "plans.json")
        found = self.compare("old.json", "new.json", "plans.json")
        self.assertGreater(len(found["plans"]), 20)
        self.assertTrue(all(plan["promised"] and plan["holds"] for plan in found["plans"]))
        answers = {a["query_index"]: a for a in self.read_json("plans.json")["results"]}
        for plan in found["plans"]:
            row = answers[plan["query_index"]]["counterfactual"]
            self.assertAlmostEqual(plan["new_margin"], logit(self.new, row), places=9)
            self.assertAlmostEqual(plan["old_margin"], logit(self.old, row), places=9)

    def test_a_broken_plan_is_named_and_ends_with_status_4(self):
        self.explain("1e-9", "plans.jsonl")
        found = self.compare("old.json", "new.json", "plans.jsonl", status=NOT_CERTIFIED)
        answers = [json.loads(line) for line in (self.folder / "plans.jsonl").read_text(encoding="utf-8").splitlines()]
        rows_by_query = {a["query_index"]: a["counterfactual"] for a in answers if "counterfactual" in a}
        broken = {q for q, row in rows_by_query.items() if logit(self.new, row) < 0}
        self.assertGreater(len(broken), 0)
        self.assertLess(len(broken), len(rows_by_query))
        self.assertEqual({p["query_index"] for p in found["plans"] if not p["holds"]}, broken)
        self.assertFalse(any(p["promised"] for p in found["plans"]))
        run = self.run_ellice("compare", "old.json", "new.json", "plans.jsonl")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        for query in broken:
            self.assertRegex(run.stdout, rf"(?m)^ *{query} ")
        self.assertIn("ellice explain", run.stderr)

    def test_another_damping_is_another_set(self):
        layer = self.old["network"]["layers"][0]
        delta = [a - b for a, b in zip(moved(self.old, self.new), layer["weights"][0] + layer["bias"])]
        damping = 0.1
        damped = self.distance() + (damping - self.old["training"]["l2"]) / 2 * math.fsum(d * d for d in delta)
        self.assertGreater(0.99 * damped, 1.01 * self.distance())
        for times, is_promised in ((0.99, False), (1.01, True)):
            self.ellice("explain", "old.json", "old.csv", "--declined", "--epsilon", repr(times * damped), "--damping",
                        repr(damping), "-o", "plans.json")
            run = self.run_ellice("compare", "old.json", "new.json", "plans.json", "--format", "json")
            plans = json.loads(run.stdout)["plans"]
            self.assertGreater(len(plans), 20)
            self.assertEqual({plan["promised"] for plan in plans}, {is_promised})
            if is_promised:
                self.assertTrue(all(plan["holds"] for plan in plans))

    def test_a_plan_for_less_than_a_yes_is_none(self):
        self.ellice("explain", "old.json", "old.csv", "--declined", "--epsilon", repr(1.01 * self.distance()),
                    "--threshold", "-1.5", "-o", "plans.json")
        found = self.compare("old.json", "new.json", "plans.json", status=NOT_CERTIFIED)
        answers = {a["query_index"]: a for a in self.read_json("plans.json")["results"]}
        refused = [p for p in found["plans"] if p["old_margin"] < 0]
        self.assertGreater(len(refused), 5)
        for plan in found["plans"]:
            self.assertEqual(plan["holds"], logit(self.new, answers[plan["query_index"]]["counterfactual"]) >= 0)
            self.assertFalse(plan["promised"])

    def test_any_acceptable_class_keeps_a_promise(self):
        def graded(seed):
            draw = random.Random(seed)
            lines = ["x,y,grade"]
            for _ in range(300):
                x, y = draw.gauss(0, 1), draw.gauss(0, 1)
                score = x + y + draw.gauss(0, 1.5)
                lines.append(f"{x:.3f},{y:.3f},{'low' if score < -0.8 else 'medium' if score < 0.8 else 'high'}")
            return "\n".join(lines) + "\n"

        def winner(model, row):
            z = [(row[n] - m) / s for n, m, s in zip(*(model["encoder"][k] for k in ("columns", "mean", "scale")))]
            layer = model["network"]["layers"][0]
            scores = [math.fsum(w * v for w, v in zip(weights, z)) + b for weights, b in zip(layer["weights"], layer["bias"])]
            return model["decision"]["classes"][scores.index(max(scores))]

        self.write("s.yaml", "target: {column: grade, favourable: high}\nfeatures:\n  x: {kind: numeric}\n  y: {kind: numeric}\n")
        for name, seed in (("a", 1), ("b", 2)):
            self.write(f"{name}.csv", graded(seed))
            self.ellice("train", f"{name}.csv", "--schema", "s.yaml", "--model", "softmax", "-o", f"{name}.json")
        self.ellice("explain", "a.json", "a.csv", "--epsilon", "1e-6", "--target", "medium,high", "-o", "plans.json")
        old, new = self.read_json("a.json"), self.read_json("b.json")
        found = json.loads(self.run_ellice("compare", "a.json", "b.json", "plans.json", "--format", "json").stdout)
        answers = {a["query_index"]: a["counterfactual"] for a in self.read_json("plans.json")["results"]}
        other = 0
        for plan in found["plans"]:
            row = answers[plan["query_index"]]
            self.assertEqual(plan["holds"], winner(new, row) != "low")
            other += plan["holds"] and winner(new, row) != winner(old, row)
        self.assertGreater(other, 0)

    def test_records_of_another_model_are_refused(self):
        self.explain("1%", "plans.jsonl")
        self.expect_failure(BAD_INPUT, ["plans.jsonl", "another model"], "compare", "new.json", "old.json", "plans.jsonl")

    def test_objective_and_decisions_on_the_old_rows(self):
        found = self.compare("old.json", "new.json", "--data", "old.csv")
        table = [line.split(",") for line in rows(1).splitlines()[1:]]
        theta, training = moved(self.old, self.new), self.old["training"]
        total, turned = 0, 0
        for income, debt, purpose, city, approved in table:
            row = {"income": float(income), "debt": float(debt), "purpose": purpose, "city": city}
            score = logit(self.new, row)
            total += math.log1p(math.exp(-score if approved == "yes" else score))
            turned += (score >= 0) != (logit(self.old, row) >= 0)
        objective = total / len(table) + training["l2"] / 2 * sum(v * v for v in theta)
        self.assertAlmostEqual(found["excess"], objective - training["objective"], places=8)
        self.assertEqual((found["rows"], found["rows_turned"]), (len(table), turned))

    def test_what_cannot_be_compared_is_refused_by_name(self):
        self.explain("1%", "plans.json")
        self.expect_failure(BAD_INPUT, ["plans.json", "another model", "first"], "compare", "new.json", "old.json",
                            "plans.json")
        fewer = "\n".join(",".join(line.split(",")[1:]) for line in rows(3).splitlines()) + "\n"
        self.write("fewer.csv", fewer)
        self.write("fewer.yaml", "\n".join(line for line in LOANS_SCHEMA.splitlines() if "income" not in line))
        self.ellice("train", "fewer.csv", "--schema", "fewer.yaml", "-o", "fewer.json")
        self.expect_failure(BAD_INPUT, ["feature", "income"], "compare", "old.json", "fewer.json")

    def test_a_level_that_the_new_model_does_not_know_breaks_the_plan(self):
        self.explain("1e-9", "plans.json")
        self.write("other.csv", rows(4).replace("boat", "van"))
        self.write("other.yaml", LOANS_SCHEMA.replace("boat", "van"))
        self.ellice("train", "other.csv", "--schema", "other.yaml", "-o", "other.json")
        found = self.compare("old.json", "other.json", "plans.json", status=NOT_CERTIFIED)
        self.assertIsNone(found["distance"])
        self.assertIn("levels", found["without_distance"])
        unknown = [p for p in found["plans"] if "reason" in p]
        self.assertGreater(len(unknown), 0)
        self.assertTrue(all("boat" in p["reason"] and not p["holds"] for p in unknown))


if __name__ == "__main__":
    unittest.main()
