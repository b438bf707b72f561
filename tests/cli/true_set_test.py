"""The true set on the command line."""
import json
import unittest

from cli_test_case import BAD_INPUT, LOANS, WRONG_USAGE, CliTestCase


class TrueSet(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("train", "--dataset", "lending", "-o", "m.json")
        self.ellice("demo", "--people", "4", "-o", "demo.html", "--csv", "people.csv")

    def explain(self, *options):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--set", "true", "--format", "json",
                    "-o", "a.json", *options)
        return self.read_json("a.json")

    def test_answers_hold_for_whoever_has_the_rows(self):
        answers = self.explain("--dataset", "lending")
        self.assertEqual(answers["set"], "true")
        self.assertEqual(answers["method"], "exact")
        certificates = [a["certificate"] for a in answers["results"] if "certificate" in a]
        self.assertTrue(certificates)
        self.assertIn("training objective", certificates[0]["claim"])
        self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json", "--dataset", "lending"))
        run = self.run_ellice("verify", "m.json", "a.json")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--store-rows", run.stderr)

    def test_stored_rows_suffice(self):
        self.ellice("train", "--dataset", "lending", "--store-rows", "-o", "m.json")
        self.explain()
        self.ellice("verify", "m.json", "a.json")
        self.ellice("frontier", "m.json", "people.csv", "--set", "true", "--epsilons", "0,1%")

    def test_rows_are_asked_for(self):
        run = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--set", "true")
        self.assertEqual(run.returncode, 2)
        for option in ("--data", "--dataset", "--store-rows"):
            self.assertIn(option, run.stderr)

    def test_data_of_another_model_are_refused(self):
        self.ellice("train", "--dataset", "lending", "--store-rows", "-o", "m.json")
        model = self.read_json("m.json")
        model["rows"]["labels"][0] = 1 - model["rows"]["labels"][0]
        self.write("m.json", json.dumps(model))
        run = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--set", "true")
        self.assertEqual(run.returncode, 3)
        self.assertIn("not those of the model", run.stderr)

    def test_a_model_file_with_another_objective_is_refused(self):
        self.explain("--dataset", "lending")
        certificate = next(a["certificate"] for a in self.read_json("a.json")["results"] if "certificate" in a)
        model = self.read_json("m.json")
        model["training"]["objective"] *= 1.001
        self.write("m.json", json.dumps(model))
        words = ["training.objective", "altered"]
        self.expect_failure(BAD_INPUT, words, "explain", "m.json", "people.csv", "--epsilon", "0.01", "--set", "true",
                            "--dataset", "lending")
        self.expect_failure(BAD_INPUT, words, "frontier", "m.json", "people.csv", "--epsilons", "0.01", "--set", "true",
                            "--dataset", "lending")
        with self.subTest("verify"):
            self.write("c.json", certificate)
            for name in ("a.json", "c.json"):
                self.expect_failure(BAD_INPUT, words, "verify", "m.json", name, "--dataset", "lending")

    def test_answers_state_how_long_they_last(self):
        for answer in self.explain("--dataset", "lending")["results"]:
            if "counterfactual" in answer:
                self.assertGreaterEqual(answer["robustness_radius"], self.read_json("a.json")["epsilon"]["value"])
                self.assertGreater(answer["predicted_survival"], 0.5)
        self.assertNotIn("not_stated", self.read_json("a.json"))

    def test_a_failure_carries_the_breaking_model(self):
        answers = self.explain("--dataset", "lending")
        certificate = next(a["certificate"] for a in answers["results"] if "certificate" in a)
        certificate["threshold"] = certificate["robust_logit"] + 0.5
        self.write("c.json", json.dumps(certificate))
        run = self.run_ellice("verify", "m.json", "c.json", "--dataset", "lending", "--format", "json")
        self.assertEqual(run.returncode, 4)
        self.assertIn("breaking_model", json.loads(run.stdout)["results"][0])

    def test_networks_are_searched_over_their_last_layer(self):
        train = ("train", "--dataset", "lending", "--model", "mlp", "--hidden", "4", "--epochs", "5", "-o", "n.json")
        self.ellice(*train)
        explain = ("explain", "n.json", "people.csv", "--set", "true", "--dataset", "lending", "--epsilon")
        self.expect_failure(WRONG_USAGE, ["refit it first", "--refit"], *explain, "1e-6")
        self.ellice(*train, "--refit")
        self.ellice(*explain, "1%", "--format", "json", "-o", "n-plans.json")
        plans = self.read_json("n-plans.json")
        self.assertEqual(plans["method"], "network")
        statuses = {answer["status"] for answer in plans["results"]}
        self.assertNotIn("optimal", statuses)
        claims = [answer["certificate"]["claim"] for answer in plans["results"] if "certificate" in answer]
        self.assertTrue(claims)
        self.assertIn("No change of the hidden layers is covered", claims[0])
        self.assertIn("hidden layers", plans["not_stated"]["predicted_survival"])
        for answer in plans["results"]:
            self.assertEqual("robustness_radius" in answer, "counterfactual" in answer)
            self.assertNotIn("predicted_survival", answer)
        self.assertIn("0 fail", self.ellice("verify", "n.json", "n-plans.json", "--dataset", "lending"))
        self.ellice("frontier", "n.json", "people.csv", "--set", "true", "--epsilons", "0,1%", "--dataset", "lending")

    def test_whole_numbers_and_levels_are_searched(self):
        plans = self.explain("--dataset", "lending")
        self.assertFalse(any("held" in answer for answer in plans["results"]))
        few = self.explain("--dataset", "lending", "--max-changes", "2")
        for answer in few["results"]:
            self.assertLessEqual(len(answer.get("changes", [])), 2)
        self.ellice("verify", "m.json", "a.json", "--dataset", "lending")
        self.explain("--dataset", "lending", "--sparse")
        for several in (("--plans", "2"), ("--trade-off",)):
            plans = self.explain("--dataset", "lending", *several)
            self.assertGreater(max(answer["plan"] for answer in plans["results"]), 0)
            self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json", "--dataset", "lending"))

    def test_rules_for_epsilon_mean_what_they_mean_for_the_ellipsoid(self):
        for rule in ("auto", "survival:90%", "accuracy:5%", "2%"):
            values = []
            for kind in ("true", "last-layer"):
                self.ellice("explain", "m.json", "people.csv", "--epsilon", rule, "--set", kind, "--dataset", "lending",
                            "--format", "json", "-o", "rule.json", "--quiet")
                values.append(self.read_json("rule.json")["epsilon"]["value"])
            self.assertEqual(values[0], values[1], rule)

    def test_the_nearest_training_row_is_found(self):
        plans = self.explain("--dataset", "lending", "--method", "data")
        self.assertLessEqual({answer["status"] for answer in plans["results"]}, {"certified", "already_robust", "not_found"})
        self.ellice("verify", "m.json", "a.json", "--dataset", "lending")

    def test_other_methods_are_refused(self):
        for method in ("gradient", "greedy", "gumbel"):
            self.expect_failure(WRONG_USAGE, ["true set", "exact", "network", "data"], "explain", "m.json", "people.csv",
                                "--epsilon", "1%", "--set", "true", "--dataset", "lending", "--method", method)


class Loans(CliTestCase):
    """Verbs agree on a few rows, and every one refuses what is not about the training of the model."""

    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.01", "--set", "true", "--data", "loans.csv",
                    "--format", "json", "-o", "plans.json")

    def expect_refused(self, status, words, data):
        for command in (("explain", "m.json", "people.csv", "--epsilon", "0.01", "--set", "true"),
                        ("frontier", "m.json", "people.csv", "--epsilons", "0.01", "--set", "true"),
                        ("verify", "m.json", "plans.json"),
                        ("epsilon", "m.json")):
            self.expect_failure(status, words, *command, "--data", data)

    def test_of_another_file(self):
        self.write("other.csv", LOANS.replace("52000", "52001"))
        self.expect_refused(BAD_INPUT, ["other.csv", "not the file that the model was trained on"], "other.csv")

    def test_with_other_columns(self):
        self.write("other.csv", LOANS.replace("debt", "debts", 1))
        self.expect_refused(BAD_INPUT, ['column "debt" is missing'], "other.csv")

    def test_frontiers_say_whether_their_limit_is_proved(self):
        frontier = json.loads(self.ellice("frontier", "m.json", "people.csv", "--set", "true", "--epsilons", "0.01,0.5",
                                          "--data", "loans.csv", "--format", "json"))
        for curve in frontier["results"]:
            self.assertFalse(curve["points"][-1]["feasible"])
            self.assertTrue(curve["max_epsilon_is_proved"])

    def test_with_an_epsilon_that_the_objective_is_not_known_to(self):
        for epsilon in ("0", "1e-12"):
            self.expect_failure(WRONG_USAGE, [f"epsilon = {epsilon}", "at least"], "explain", "m.json", "people.csv",
                                "--epsilon", epsilon, "--set", "true", "--data", "loans.csv")
        self.expect_failure(WRONG_USAGE, ["epsilon = 1e-12", "at least"], "frontier", "m.json", "people.csv",
                            "--epsilons", "1e-12", "--set", "true", "--data", "loans.csv")
        plans = self.read_json("plans.json")
        plans["epsilon"]["value"] = 1e-12
        self.write("plans.json", plans)
        run = self.run_ellice("verify", "m.json", "plans.json", "--data", "loans.csv")
        self.assertIn(run.returncode, (WRONG_USAGE, BAD_INPUT))
        self.assertIn("at least", run.stderr)


if __name__ == "__main__":
    unittest.main()
