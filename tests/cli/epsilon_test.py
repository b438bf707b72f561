"""The verb `epsilon`, and the rules of --epsilon, as their users meet them."""
import json
import unittest

from cli_test_case import BAD_INPUT, LOANS, NOT_CERTIFIED, WRONG_USAGE, CliTestCase

Z95 = 1.6448536269514722


class Epsilon(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()

    def document(self, *options):
        return json.loads(self.ellice("epsilon", "m.json", "--format", "json", "--quiet", *options))

    def test_without_data_shows_what_needs_none(self):
        found = self.document("--survival", "0.95", "--epsilons", "0,0.01")
        self.assertEqual(found["format"], "ellice.epsilon")
        self.assertAlmostEqual(found["survival"][0]["epsilon"], Z95**2 / 20)
        self.assertEqual(found["suggested"]["epsilon"], found["survival"][0]["epsilon"])
        self.assertGreater(found["epsilon_max"], 0)
        self.assertEqual([level["epsilon"] for level in found["levels"]], [0, 0.01, found["survival"][0]["epsilon"]])
        self.assertEqual(found["levels"][0]["survival"], 0.5)
        self.assertNotIn("accuracy", found["levels"][0])
        self.assertIn("eps_max", self.ellice("epsilon", "m.json"))

    def test_with_data_shows_accuracy_and_recourse(self):
        found = self.document("--data", "loans.csv")
        for level in found["levels"]:
            self.assertLessEqual(level["accuracy"]["worst"], level["accuracy"]["mean"] + 1e-12)
            self.assertIn("share_with_recourse", level)
        self.assertIn("worst seen", self.ellice("epsilon", "m.json", "--data", "loans.csv"))

    def test_fresh_rows_need_more(self):
        self.ellice("train", "--dataset", "lending", "--folds", "0", "-o", "m.json", "--quiet")
        rows = self.document()["rows"]
        data = ("--dataset", "lending", "--epsilons", "0", "--people", "10")
        same, fresh = (self.document("--retrain", how, *data) for how in ("same", f"fresh:{rows}"))
        self.assertEqual(len(fresh["survival"]), 3)
        for a, b in zip(same["survival"], fresh["survival"]):
            self.assertGreater(b["epsilon"], 1.5 * a["epsilon"])
        for level in fresh["levels"]:
            low, high = level["interval"]
            self.assertTrue(low <= level["survival"] <= high, level)
        self.assertNotIn("interval", same["levels"][0])

    def test_fresh_rows_for_many_parameters_need_the_training_rows(self):
        run = self.run_ellice("epsilon", "m.json", "--retrain", "fresh:10", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("follow the errors of their model", run.stderr)
        found = json.loads(run.stdout)
        self.assertEqual(found["survival"], [])
        self.assertNotIn("survival", found["levels"][0])
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")
        for verb, option in (("explain", "--epsilon"), ("frontier", "--epsilons")):
            self.expect_failure(WRONG_USAGE, ["training rows", "fresh:10"], verb, "m.json", "people.csv", option,
                                "survival:60%", "--retrain", "fresh:10")
        self.expect_failure(BAD_INPUT, ["no epsilon gives", "99.0 %"], "epsilon", "m.json", "--retrain", "fresh:10",
                            "--data", "loans.csv", "--survival", "0.99")

    def test_the_check_is_the_same_for_any_number_of_threads(self):
        self.ellice("train", "--dataset", "lending", "--folds", "0", "-o", "lending.json", "--quiet")
        runs = [self.ellice("epsilon", "lending.json", "--dataset", "lending", "--check", "--refits", "5", "--splits", "2",
                            "--people", "5", "--epsilons", "0", "--threads", threads, "--quiet", "--format", "json")
                for threads in ("1", "3")]
        self.assertEqual(*runs)
        self.assertEqual(len(json.loads(runs[0])["check"]["same"]), 3)

    def test_rules_work_where_epsilon_does(self):
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")
        for rule, data in (("survival:60%", ()), ("accuracy:20%", ("--data", "loans.csv")), ("auto", ())):
            self.ellice("frontier", "m.json", "people.csv", "--epsilons", rule, *data)
            self.ellice("explain", "m.json", "people.csv", "--epsilon", rule, "--format", "json", "-o", "plans.json", *data)
            self.assertEqual(self.read_json("plans.json")["epsilon"]["rule"], rule)

    def test_an_altered_radius_or_survival_is_found(self):
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.001", "--retrain", "fresh:50", "--format", "json",
                    "-o", "plans.json")
        plans = self.read_json("plans.json")
        self.assertEqual(plans["options"]["retrain"], "fresh:50")
        self.ellice("verify", "m.json", "plans.json")
        for key in ("robustness_radius", "predicted_survival"):
            altered = json.loads(json.dumps(plans))
            altered["results"][0][key] *= 1 + 1e-6
            self.write("altered.json", altered)
            run = self.run_ellice("verify", "m.json", "altered.json")
            self.assertEqual(run.returncode, NOT_CERTIFIED)
            self.assertIn(key, run.stdout + run.stderr)
        plans["options"]["retrain"] = "fresh:0"
        self.write("altered.json", plans)
        self.expect_failure(BAD_INPUT, ["retrain"], "verify", "m.json", "altered.json")

    def test_refuses_what_it_cannot_understand(self):
        for words, options in ((["--survival", "below 1"], ("--survival", "1")),
                               (["--survival", "above 0"], ("--survival", "0.95,0")),
                               (["--retrain", "fresh:0", "N >= 1"], ("--retrain", "fresh:0")),
                               (["survival:100%"], ("--epsilons", "survival:100%")),
                               (["training rows"], ("--epsilons", "accuracy:5%")),
                               (["training rows"], ("--check",))):
            self.expect_failure(WRONG_USAGE, words, "epsilon", "m.json", *options)

    def test_refuses_data_of_another_model(self):
        self.write("other.csv", LOANS.replace("52000", "52001"))
        for options in ((), ("--check",)):
            self.expect_failure(BAD_INPUT, ["other.csv", "not the file that the model was trained on"],
                                "epsilon", "m.json", "--data", "other.csv", *options)
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")
        self.expect_failure(BAD_INPUT, ["other.csv", "not the file"], "explain", "m.json", "people.csv",
                            "--epsilon", "accuracy:5%", "--data", "other.csv")

    def test_refuses_data_with_other_columns(self):
        self.write("other.csv", LOANS.replace("debt", "debts", 1))
        self.expect_failure(BAD_INPUT, ['column "debt" is missing'], "epsilon", "m.json", "--data", "other.csv")

    def test_a_network_gets_no_survival(self):
        self.write_loans()
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "--model", "mlp", "--hidden", "3", "--epochs", "5",
                    "-o", "n.json", "--quiet")
        run = self.run_ellice("epsilon", "n.json", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("ellice calibrate", run.stderr)
        self.assertNotIn("survival", json.loads(run.stdout)["levels"][0])


if __name__ == "__main__":
    unittest.main()
