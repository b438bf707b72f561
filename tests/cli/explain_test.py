"""Recourse as its users meet it: every answer is re-checked here from the model file and the definitions alone."""
import csv
import io
import json
import math
import re
import unittest

from certificate_test import encode, solve
from cli_test_case import BAD_INPUT, DONE, NOT_CERTIFIED, WRONG_USAGE, CliTestCase

CERTIFIED = ("optimal", "certified", "already_robust")


def robust_logit(model, epsilon, point):
    layer = model["network"]["layers"][0]
    theta = layer["weights"][0] + layer["bias"]
    x = [*encode(model, point), 1]
    u = solve(model["curvature"]["hessian"], x)
    norm = math.sqrt(sum(a * b for a, b in zip(x, u)))
    return sum(a * b for a, b in zip(theta, x)) - math.sqrt(2 * epsilon) * norm


class Explain(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("demo", "--people", "12", "--quiet", "-o", "page.html", "--csv", "people.csv")
        self.ellice("train", "--dataset", "lending", "--quiet", "-o", "m.json")
        self.model = self.read_json("m.json")

    def explain(self, *options, people="people.csv"):
        self.ellice("explain", "m.json", people, "--quiet", "--format", "json", "-o", "plans.json", *options)
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)
        return self.read_json("plans.json")

    def test_answers_are_robust_and_keep_the_schema(self):
        plans = self.explain("--epsilon", "1%")
        self.assertEqual(plans["format"], "ellice.recourse")
        self.assertEqual(plans["epsilon"]["rule"], "1%")
        epsilon = 0.01 * self.model["training"]["objective"]
        self.assertAlmostEqual(plans["epsilon"]["value"], epsilon, 15)
        self.assertEqual([r["query_index"] for r in plans["results"]], list(range(12)))
        features = self.model["schema"]["features"]
        for result in plans["results"]:
            self.assertIn(result["status"], CERTIFIED)
            query, answer = result["query"], result["counterfactual"]
            self.assertGreaterEqual(robust_logit(self.model, epsilon, answer), 0)
            self.assertEqual({c["feature"] for c in result["changes"]}, {n for n in query if query[n] != answer[n]})
            for name, feature in features.items():
                if query[name] == answer[name]:
                    continue
                self.assertFalse(feature.get("immutable", False))
                self.assertNotIn(name, result.get("held", []))
                if "levels" in feature:
                    order = feature["levels"]
                    self.assertIn(answer[name], order)
                    if feature.get("direction") == "increase":
                        self.assertGreater(order.index(answer[name]), order.index(query[name]))
                    continue
                if feature.get("direction") == "increase":
                    self.assertGreater(answer[name], query[name])
                if feature.get("direction") == "decrease":
                    self.assertLess(answer[name], query[name])
                if "step" in feature:
                    self.assertAlmostEqual((answer[name] - feature.get("min", 0)) / feature["step"] % 1, 0, 9)
                self.assertGreaterEqual(answer[name], feature.get("min", -math.inf))
                self.assertLessEqual(answer[name], feature.get("max", math.inf))

    def test_constraints_of_the_run_hold(self):
        self.write("limits.yaml", "lock: [savings]\nqueries:\n  2: {lock: [income], bounds: {debt: [null, 9000]}}\n")
        plans = self.explain("--epsilon", "0.001", "--bounds", "income=:45000", "--direction", "loan_amount=any",
                             "--constraints", "limits.yaml")
        self.assertEqual(plans["options"]["lock"], ["savings"])
        self.assertEqual(plans["options"]["bounds"], {"income": [None, 45000]})
        for result in plans["results"]:
            if "counterfactual" not in result:
                continue
            query, answer = result["query"], result["counterfactual"]
            self.assertEqual(query["savings"], answer["savings"])
            if answer["income"] != query["income"]:
                self.assertLessEqual(answer["income"], 45000)
            if result["query_index"] == 2:
                self.assertEqual(query["income"], answer["income"])

    def test_bytes_do_not_depend_on_threads(self):
        texts = set()
        for threads in (1, 2, 5):
            texts.add(self.ellice("explain", "m.json", "people.csv", "--epsilon", "2%", "--format", "json", "--quiet",
                                  "--threads", threads))
        self.assertEqual(len(texts), 1)

    def test_formats_agree(self):
        plans = self.explain("--epsilon", "1%")["results"]
        options = ("explain", "m.json", "people.csv", "--epsilon", "1%", "--quiet", "--format")
        lines = self.ellice(*options, "jsonl").splitlines()
        # A record of a file is signed with what the file says was asked, which a line does not.
        unsigned = [{key: value for key, value in plan.items() if key != "sha256"} for plan in plans]
        self.assertEqual([json.loads(line) for line in lines], unsigned)
        rows = list(csv.DictReader(io.StringIO(self.ellice(*options, "csv"))))
        self.assertEqual(len(rows), len(plans))
        for row, plan in zip(rows, plans):
            self.assertEqual(row["status"], plan["status"])
            self.assertEqual(float(row["income"]), plan["counterfactual"]["income"])
            self.assertEqual(float(row["distance_l2"]), plan["distance"]["l2"])
        table = self.ellice(*options, "table")
        self.assertIn("raise income", table.lower())
        page = self.ellice(*options, "html")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn("default-src 'none'", page)
        self.assertNotRegex(page.split('<script type="module">')[0], "https?:")
        recourse = self.page_data(page)[1]
        self.assertEqual([r["query"] for r in recourse["results"] if r["plan"] == 0], [p["query"] for p in plans])
        self.write("page.json", json.dumps(recourse, ensure_ascii=False))
        self.assertIn("0 fail", self.ellice("verify", "m.json", "page.json"))

    def test_columns_may_be_reordered_and_the_target_left_out(self):
        plans = self.explain("--epsilon", "1%")["results"]
        rows = list(csv.DictReader(io.StringIO((self.folder / "people.csv").read_text())))
        names = [n for n in reversed(rows[0]) if n != "approved"]
        out = io.StringIO()
        writer = csv.DictWriter(out, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        self.write("other.csv", out.getvalue())
        self.assertEqual(self.explain("--epsilon", "1%", people="other.csv")["results"], plans)

    def test_identifiers_are_echoed(self):
        lines = (self.folder / "people.csv").read_text().splitlines()
        self.write("named.csv", "\n".join(["case," + lines[0]] + [f"C-{i},{l}" for i, l in enumerate(lines[1:])]) + "\n")
        results = self.explain("--epsilon", "1%", "--id", "case", people="named.csv")["results"]
        self.assertEqual([r["id"] for r in results], [f"C-{i}" for i in range(12)])

    def test_a_bad_row_stops_the_run_or_becomes_invalid(self):
        lines = (self.folder / "people.csv").read_text().splitlines()
        cells = lines[2].split(",")
        cells[lines[0].split(",").index("income")] = "lots"
        self.write("bad.csv", "\n".join([lines[0], lines[1], ",".join(cells), lines[3]]) + "\n")
        self.expect_failure(BAD_INPUT, ["bad.csv", "income", '"lots"'], "explain", "m.json", "bad.csv", "--epsilon", "1%",
                            "--format", "json", "-o", "x.json")
        results = self.explain("--epsilon", "1%", "--on-error", "skip", people="bad.csv")["results"]
        self.assertEqual([r["status"] == "invalid" for r in results], [False, True, False])
        self.assertIn("lots", results[1]["message"])

    def test_constraints_that_fit_nothing_are_refused(self):
        for text, words in (("lock: [age, incme]", ["c.yaml:1: lock[1]", 'unknown feature "incme"', "income"]),
                            ("bounds:\n  incme: [0, 1]", ["c.yaml:2: bounds.incme", "income"]),
                            ("queries: {3: {direction: {incme: increase}}}", ["c.yaml:1", "queries.3.direction.incme"]),
                            ("queries: {12: {lock: [income]}}", ["c.yaml: queries.12", "people.csv has 12 rows"])):
            self.write("c.yaml", text)
            for verb, option in (("explain", "--epsilon"), ("frontier", "--epsilons")):
                self.expect_failure(BAD_INPUT, words, verb, "m.json", "people.csv", option, "1%", "--constraints", "c.yaml",
                                    "--format", "json")
        self.write("c.yaml", "queries: {11: {lock: [income]}}")
        plans = self.explain("--epsilon", "1%", "--constraints", "c.yaml")
        self.assertEqual(plans["results"][11]["counterfactual"]["income"], plans["results"][11]["query"]["income"])

    def test_an_epsilon_that_overflows_is_refused(self):
        for form in ("table", "json", "html"):
            self.expect_failure(WRONG_USAGE, ["epsilon = 1.7e+308 is too large"], "explain", "m.json", "people.csv",
                                "--epsilon", "1.7e308", "--format", form)
        self.expect_failure(WRONG_USAGE, ["epsilon = 1.7e+308 is too large"], "frontier", "m.json", "people.csv",
                            "--epsilons", "0.1,1.7e308")
        self.assertNotRegex(self.ellice("explain", "m.json", "people.csv", "--epsilon", "1e100", "--format", "html")
                            .split('<script type="module">')[0], r"\b(nan|inf)\b")

    def test_the_table_rounds_what_was_given(self):
        lines = (self.folder / "people.csv").read_text().splitlines()
        cells = lines[1].split(",")
        cells[lines[0].split(",").index("income")] = "27361.819047619049"
        self.write("ugly.csv", lines[0] + "\n" + ",".join(cells) + "\n")
        text = self.ellice("explain", "m.json", "ugly.csv", "--epsilon", "1%", "--all-features")
        self.assertIn("27 361.8 ", text)
        self.assertNotIn("27 361.81", text)

    def test_a_ragged_row_stops_the_run_or_becomes_invalid(self):
        lines = (self.folder / "people.csv").read_text().splitlines()
        self.write("bad.csv", "\n".join([lines[0], lines[1], lines[2] + ",1", "", lines[3][:9], lines[4]]) + "\n")
        self.expect_failure(BAD_INPUT, ["bad.csv: line 3: found", "cells, expected"], "explain", "m.json", "bad.csv",
                            "--epsilon", "1%", "--format", "json", "-o", "x.json")
        results = self.explain("--epsilon", "1%", "--on-error", "skip", people="bad.csv")["results"]
        self.assertEqual([r["status"] == "invalid" for r in results], [False, True, True, True, False])
        for result, line in zip(results[1:4], (3, 4, 5)):
            self.assertIn(f"bad.csv: line {line}: ", result["message"])
            self.assertNotIn("query", result)
        whole = self.explain("--epsilon", "1%")["results"]
        self.assertEqual(results[4]["counterfactual"], whole[3]["counterfactual"])
        for form in ("table", "csv", "jsonl", "html"):
            self.assertIn("line 5", self.ellice("explain", "m.json", "bad.csv", "--epsilon", "1%", "--on-error", "skip",
                                                "--id", lines[0].split(",")[0], "--format", form), form)

    def test_too_large_an_epsilon_is_refused_with_proof(self):
        plans = self.explain("--epsilon", "60%")
        for result in plans["results"]:
            self.assertEqual(result["status"], "infeasible")
            why = result["infeasible"]
            self.assertLess(why["proof"]["upper_bound"], 0)
            self.assertLess(why["max_epsilon"], plans["epsilon"]["value"])
            self.assertNotIn("counterfactual", result)
        for value in (0, plans["results"][0]["infeasible"]["max_epsilon"] / 2, plans["epsilon"]["value"]):
            plans["results"][0]["infeasible"]["max_epsilon"] = value
            self.write("altered.json", plans)
            self.assertEqual(self.run_ellice("verify", "m.json", "altered.json").returncode, NOT_CERTIFIED, value)
        run = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "60%", "--strict", "--format", "json", "-o", "p.json")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertIn("12 of 12", run.stderr)

    def test_every_altered_answer_is_found(self):
        plans = self.explain("--epsilon", "1%")
        def altered(change):
            copy = json.loads(json.dumps(plans))
            change(copy)
            self.write("altered.json", copy)
            return self.run_ellice("verify", "m.json", "altered.json").returncode
        def set_at(*path, value):
            def change(document):
                for key in path[:-1]:
                    document = document[key]
                document[path[-1]] = value
            return change
        first = plans["results"][0]
        income = first["counterfactual"]["income"]
        for path, value in ((("results", 0, "counterfactual", "income"), income + 100),
                            (("results", 0, "distance", "l2"), first["distance"]["l2"] * 1.001),
                            (("results", 0, "robust_logit"), 1), (("results", 0, "logit"), 9),
                            (("results", 0, "changes", 0, "to"), 1),
                            (("results", 0, "status"), "infeasible"),
                            (("epsilon", "value"), plans["epsilon"]["value"] * 2),
                            (("options", "threshold"), 0.5),
                            (("options", "lock"), ["income"]),
                            (("results", 0, "certificate", "robust_logit"), 2),
                            (("results", 0, "query_index"), 1), (("results", 1, "query_index"), 0), (("results", 1, "plan"), 1),
                            (("results", 0, "gap"), -0.1), (("results", 0, "status"), "already_robust"),
                            (("results", 0, "query_violations"), ["none at all"]),
                            (("results", 0, "query", "income"), first["query"]["income"] + 1)):
            self.assertEqual(altered(set_at(*path, value=value)), NOT_CERTIFIED, path)
        self.assertEqual(altered(lambda d: d["results"][0].pop("certificate")), NOT_CERTIFIED)
        self.assertEqual(altered(lambda d: d["options"].update(exact={"max_changes": 1, "sparse": False})), NOT_CERTIFIED)
        self.assertEqual(altered(lambda d: d["options"].update(exact={"max_changes": 0, "sparse": False})), BAD_INPUT)
        self.assertEqual(altered(lambda d: d["options"].update(surprise=1)), BAD_INPUT)
        self.assertEqual(altered(set_at("epsilon", "rule", value="much")), NOT_CERTIFIED)
        self.assertEqual(altered(set_at("epsilon", "rule", value="2%")), NOT_CERTIFIED)
        self.assertEqual(altered(set_at("method", value="guessing")), BAD_INPUT)
        self.assertEqual(altered(set_at("model_sha256", value="0" * 64)), BAD_INPUT)
        self.assertEqual(altered(lambda d: d.update(surprise=1)), BAD_INPUT)

    def test_the_other_methods_answer_through_the_same_door(self):
        for options in (("--method", "gradient"), ("--method", "gradient", "--preset", "printed"),
                        ("--method", "gradient", "--preset", "as-run"), ("--method", "data", "--dataset", "lending"),
                        ("--cost", "l1"), ("--cost", "l1+l2"), ("--cost", "mixed")):
            plans = self.explain("--epsilon", "1%", *options)
            statuses = {r["status"] for r in plans["results"]}
            self.assertTrue(statuses <= {*CERTIFIED, "not_found", "uncertified"}, statuses)
            if "--preset" not in options:  # these promise nothing
                self.assertTrue(statuses & set(CERTIFIED), options)

    def test_exact_is_never_farther_than_the_papers_method(self):
        exact = self.explain("--epsilon", "1%")["results"]
        paper = self.explain("--epsilon", "1%", "--method", "gradient")["results"]
        for ours, theirs in zip(exact, paper):
            if theirs["status"] == "certified":
                self.assertLessEqual(ours["distance"]["weighted"], theirs["distance"]["weighted"] * 1.01)

    def test_frontier_rises(self):
        frontier = json.loads(self.ellice("frontier", "m.json", "people.csv", "--epsilons", "0,0.1%,1%,5%,80%", "--format", "json"))
        for result in frontier["results"]:
            distances = [p["distance"] for p in result["points"] if p["feasible"]]
            self.assertEqual(distances, sorted(distances))
            self.assertFalse(result["points"][-1]["feasible"])
            for point in result["points"]:
                self.assertEqual(point["feasible"], point["epsilon"] <= result["max_epsilon"])
        self.assertIn("max epsilon", self.ellice("frontier", "m.json", "people.csv"))


class WrongRequest(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", "income,debt,purpose,city\n30000,5,car,Bonn\n")

    def refused(self, status, words, *options, people="people.csv"):
        self.expect_failure(status, words, "explain", "m.json", people, "--format", "json", "-o", "p.json", *options)

    def test_usage(self):
        for bad in ("-1", "nan", "inf", "ten", "10%%", ""):
            self.refused(WRONG_USAGE, ["--epsilon"], "--epsilon=" + bad)
        self.refused(WRONG_USAGE, ["incom", 'did you mean "income"?'], "--epsilon", "0", "--lock", "incom")
        self.refused(WRONG_USAGE, ["--bounds", "lo:hi"], "--epsilon", "0", "--bounds", "income=5")
        self.refused(WRONG_USAGE, ["minimum 9 is above the maximum 5"], "--epsilon", "0", "--bounds", "income=9:5")
        self.refused(WRONG_USAGE, ["purpose", "categorical"], "--epsilon", "0", "--bounds", "purpose=1:2")
        self.refused(WRONG_USAGE, ["--direction", "decrease"], "--epsilon", "0", "--direction", "debt=down")
        self.refused(WRONG_USAGE, ["--threshold", "p=0.7"], "--epsilon", "0", "--threshold", "p=2")
        self.refused(WRONG_USAGE, ["--method data", "--data"], "--epsilon", "0", "--method", "data")
        self.refused(WRONG_USAGE, ["--plans"], "--epsilon", "0", "--method", "gradient", "--plans", "3")
        self.expect_failure(WRONG_USAGE, ["--sparsity-weight"], "frontier", "m.json", "people.csv", "--sparsity-weight", "1", "--cost", "mixed")

    def test_queries(self):
        for text, words in (("", ["empty"]), ("income,debt,purpose,city\n", ["no rows"]),
                            ("income,debt,purpose\n1,2,car\n", ['"city" is missing']),
                            ("income,debt,purpose,city,shoe\n1,2,car,Bonn,3\n", ["shoe"]),
                            ("income,debt,purpose,city\n1,2,yacht,Bonn\n", ["yacht", "boat"]),
                            ("income,debt,purpose,city\nnan,2,car,Bonn\n", ["nan", "income"]),
                            ("income,debt,purpose,city\n1e200,2,car,Bonn\n", [":2:", "income", "too far"])):
            self.write("q.csv", text)
            self.refused(BAD_INPUT, ["q.csv", *words], "--epsilon", "0.01", people="q.csv")

    def test_a_query_that_breaks_its_own_constraints_is_answered(self):
        self.write("q.csv", "income,debt,purpose,city\n30000,-5,car,Bonn\n")
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "0.001", "--range", "off", "--format", "json", "-o", "p.json")
        result = self.read_json("p.json")["results"][0]
        self.assertIn("debt", result["query_violations"][0])
        self.assertEqual(self.run_ellice("verify", "m.json", "p.json").returncode, DONE)

    def test_threshold_as_a_probability(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0", "--threshold", "p=0.7", "--range", "off",
                    "--format", "json", "-o", "p.json")
        plans = self.read_json("p.json")
        self.assertAlmostEqual(plans["options"]["threshold"], math.log(7 / 3), 12)
        answer = plans["results"][0]
        self.assertAlmostEqual(1 / (1 + math.exp(-answer["logit"])), 0.7, 6)


class Reach(CliTestCase):
    def test_a_level_beyond_reach_names_one_within(self):
        """Ten rows: what 95 of 100 retrainings accept is more than any row has."""
        self.train_loans()
        self.write("q.csv", "income,debt,purpose,city\n30000,5,car,Bonn\n")
        run = self.run_ellice("explain", "m.json", "q.csv")
        proposed = re.search(r"whoever is declined by one of them will get no answer; ask for less, as in (--epsilon survival:\d0%) \(", run.stderr)
        self.assertTrue(proposed, run.stderr)
        run = self.run_ellice("explain", "m.json", "q.csv", *proposed[1].split())
        self.assertNotIn("warning", run.stderr)
        run = self.run_ellice("explain", "m.json", "q.csv", "--epsilon", "3")
        proposed = re.search(r"give a smaller one, as in --epsilon (0\.\d+)", run.stderr)
        self.assertTrue(proposed, run.stderr)
        self.assertNotIn("warning", self.run_ellice("explain", "m.json", "q.csv", "--epsilon", proposed[1]).stderr)


class Enumeration(CliTestCase):
    """Whole numbers of which a rule leaves (0, 0), (1, 0) and (0, 1), and between them what would pass."""

    def setUp(self):
        super().setUp()
        rows = [(x, y, "yes" if 2 * x + y + (7 * i) % 5 > 6 else "no")
                for i, (x, y) in enumerate([(x, y) for x in range(4) for y in range(4)] * 3)]
        self.write("t.csv", "x,y,ok\n" + "".join(f"{x},{y},{ok}\n" for x, y, ok in rows))
        self.write("t.yaml", "target: {column: ok, favourable: \"yes\"}\nfeatures: {x: {kind: integer}, y: {kind: integer}}\n"
                             "constraints: [\"2 * x + 2 * y <= 3\"]\n")
        self.write("q.csv", "x,y\n0,0\n")
        self.ellice("train", "t.csv", "--schema", "t.yaml", "--quiet", "-o", "m.json")

    def explain(self, threshold, form="json"):
        return self.ellice("explain", "m.json", "q.csv", "--epsilon", "0.0001", "--threshold", str(threshold), "--quiet",
                           "--format", form, "-o", "-")

    def test_proves_what_no_weights_show(self):
        model = self.read_json("m.json")
        score = {point: robust_logit(model, 0.0001, {"x": point[0], "y": point[1]}) for point in ((0, 0), (1, 0), (0, 1), (1.5, 0))}
        best = max(score[1, 0], score[0, 1])
        self.assertEqual(best, score[1, 0])
        self.assertEqual(json.loads(self.explain(best - 0.01))["results"][0]["status"], "optimal")
        between = (best + score[1.5, 0]) / 2
        self.write("p.json", self.explain(between))
        answer = self.read_json("p.json")["results"][0]
        self.assertEqual(answer["status"], "infeasible")
        self.assertEqual(answer["infeasible"]["proof"], {"enumeration": True})
        self.assertIn("rule 2 * x + 2 * y <= 3", answer["infeasible"]["blocking"])
        self.assertEqual(answer["infeasible"]["best"]["point"], {"x": 1, "y": 0})
        run = self.run_ellice("verify", "m.json", "p.json")
        self.assertEqual(run.returncode, DONE, run.stderr)
        proved = next(line for line in run.stdout.splitlines() if line.startswith("proved: "))
        for claim in ("status", "infeasible.proof", "infeasible.best", "infeasible.blocking", "infeasible.max_epsilon"):
            self.assertIn(claim, proved)
        text = self.explain(between, "table")
        self.assertIn("that is allowed was searched, and none passes", text)
        self.assertNotIn("nan", text)
        page = self.explain(between, "html")
        self.assertEqual(self.page_data(page)[1]["results"][0]["infeasible"]["proof"], {"enumeration": True})


class Page(CliTestCase):
    """The page says all that was asked, and its curves are those of the plans."""

    def setUp(self):
        super().setUp()
        self.ellice("demo", "--people", "3", "--quiet", "-o", "demo.html", "--csv", "people.csv")
        self.ellice("train", "--dataset", "lending", "--folds", "0", "--quiet", "-o", "m.json")

    def test_lists_all_that_was_asked(self):
        self.write("c.yaml", "lock: [education]\nqueries:\n  1: {lock: [guarantor], bounds: {debt: [100, 9000]}}\n")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--horizon", "12 months", "--constraints", "c.yaml",
                    "--direction", "loan_amount=decrease", "--seed", "7", "--date", "2026-11-16", "--quiet", "-o", "p.html")
        page = (self.folder / "p.html").read_text(encoding="utf-8")
        shown = self.page_data(page)[2]
        asked = "\n".join(f"{name}: {text}" for name, text in shown["asked"] + shown["options"])
        model = self.read_json("m.json")
        version = self.ellice("--version").split()[1]
        for words in ("2026-11-16", "12 months", "1%: a certified plan is", "education: stays as it is", "loan amount: may only decrease",
                      "query 1: debt: at least 100, at most 9 000; guarantor: stays as it is", "employment_years <= age - 16",
                      model["training"]["data_sha256"], version, "seed: 7", "worth: ",
                      "options.used.node_limit"):
            self.assertIn(words, asked)
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--format", "json", "-o", "p.json", "--quiet")
        self.assertIn(self.read_json("p.json")["model_sha256"], asked)
        self.refused("--date", "2026-11-16", "--format", "json")

    def refused(self, *options):
        self.expect_failure(WRONG_USAGE, ["--date is for --letters and --format html"], "explain", "m.json", "people.csv", *options)

    def test_draws_curves_through_the_plans(self):
        """The point of the ε that was asked lies as high as the cost of the plan that is recommended."""
        for options in ((), ("--nearest",), ("--max-changes", "2"), ("--sparse",), ("--set", "true", "--dataset", "lending")):
            self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--quiet", "-o", "p.html", *options)
            page = (self.folder / "p.html").read_text(encoding="utf-8")
            _, recourse, shown = self.page_data(page)
            self.assertEqual(len(shown["curves"]), 3)
            for curve in shown["curves"]:
                at = [p for p in curve["points"] if p["epsilon"] == recourse["epsilon"]["value"]]
                plans = [r for r in recourse["results"] if r["query_index"] == curve["query_index"]]
                self.assertEqual(len(at), 1)
                self.assertIn(at[0]["cost"], [p["distance"]["weighted"] for p in plans])
                self.assertEqual(curve["points"], sorted(curve["points"], key=lambda p: p["epsilon"]))


class Horizon(CliTestCase):
    """Debts fall by at most one and a half a year."""

    def setUp(self):
        super().setUp()
        self.write_loans()
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        self.write("slow.yaml", schema.replace("{kind: numeric, min: 0}", "{kind: numeric, min: 0, slow: 1.5 per year}"))
        self.ellice("train", "loans.csv", "--schema", "slow.yaml", "--quiet", "-o", "m.json")

    def explain(self, *options, output="plans.json"):
        self.ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--range", "off", "--quiet", "--format", "json",
                    "-o", output, *options)
        return self.read_json(output)

    @staticmethod
    def debt_moves(plans):
        return [abs(r["counterfactual"]["debt"] - r["query"]["debt"]) for r in plans["results"] if "counterfactual" in r]

    def test_what_is_slow_moves_no_farther(self):
        free = self.explain()
        self.assertNotIn("horizon", free["options"])
        self.assertGreater(max(self.debt_moves(free)), 1.5)
        for horizon, most in (("12 months", 1.5), ("1 year", 1.5), ("2 months", 0.25), ("730.5 days", 3.0)):
            plans = self.explain("--horizon", horizon)
            self.assertEqual(plans["options"]["horizon"], horizon)
            moves = self.debt_moves(plans)
            self.assertGreater(len(moves), 5)
            self.assertLessEqual(max(moves), most)
            if most < 2:  # beyond that nobody needs it
                self.assertAlmostEqual(max(moves), most, 12)
            self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)

    def test_a_plan_that_is_too_fast_is_found_out(self):
        plans = self.explain()
        plans["options"]["horizon"] = "12 months"
        for record in (plans, *plans["results"]):
            record.pop("sha256")
        self.write("plans.json", plans)
        run = self.run_ellice("verify", "m.json", "plans.json")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertIn("debt: ", run.stdout)
        self.assertIn("lies outside", run.stdout)

    def test_the_horizon_is_named_where_it_blocks(self):
        plans = self.explain("--lock", "income,purpose", "--horizon", "1 month")
        blocking = [name for r in plans["results"] if "infeasible" in r for name in r["infeasible"]["blocking"]]
        self.assertIn("debt: changes by at most 0.125 within 1 month (1.5 per year)", blocking)
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)

    def test_the_file_of_constraints_may_say_it(self):
        self.write("limits.yaml", "horizon: 12 months\n")
        self.assertEqual(self.explain("--constraints", "limits.yaml"), self.explain("--horizon", "12 months"))
        self.write("limits.yaml", "lock: [income]\nhorizon: soon\n")
        self.expect_failure(BAD_INPUT, ["limits.yaml:2", "horizon", "soon", "12 months"], "explain", "m.json", "loans.csv",
                            "--constraints", "limits.yaml")
        self.expect_failure(WRONG_USAGE, ["--horizon", "soon", "12 months"], "explain", "m.json", "loans.csv",
                            "--horizon", "soon")

    def test_a_horizon_that_limits_nothing_is_warned_of(self):
        self.train_loans()
        run = self.run_ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--horizon", "1 year")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertIn("--horizon limits nothing", run.stderr)


if __name__ == "__main__":
    unittest.main()
