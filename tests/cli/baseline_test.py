"""The methods of others on the command line."""
import json
import unittest

from cli_test_case import CliTestCase

TRAIN = ("train", "--dataset", "lending", "--learning-rate", "0.01", "--epochs", "60")
METHODS = (("trex", "--tau", "0.6"), ("trex-i", "--tau", "0.6"), ("delta", "--delta", "0.01"),
           ("proplace", "--delta", "0.01"), ("roar", "--delta", "0.05"))
STATUSES = {"certified", "uncertified", "already_robust", "not_found"}


class Baselines(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("train", "--dataset", "lending", "-o", "m.json")
        self.ellice("demo", "--people", "4", "-o", "demo.html", "--csv", "people.csv")

    def methods(self):
        """Those of this build: one without CBC cannot solve programs."""
        has_cbc = "no CBC" not in self.ellice("--version")
        return [options for options in METHODS if has_cbc or options[0] != "proplace"]

    def test_without_cbc_says_what_to_install(self):
        if "no CBC" not in self.ellice("--version"):
            self.skipTest("skipped: built with CBC")
        self.train_network("--hidden", "6,6")
        for model, method in (("m.json", "proplace"), ("n.json", "proplace"), ("n.json", "delta")):
            text = self.refused(model, "--set", "last-layer", "--method", method, "--delta", "0.01", "--dataset", "lending")
            self.assertIn("coinor-libcbc-dev", text)
            self.assertIn("build again", text)
        # One hidden layer and linear models need no program.
        self.explain("m.json", "delta", "--delta", "0.01")

    def train_network(self, *options):
        self.ellice(*TRAIN, "--model", "mlp", *options, "-o", "n.json")

    def explain(self, model, *options):
        self.ellice("explain", model, "people.csv", "--epsilon", "0.001", "--set", "last-layer", "--dataset",
                    "lending", "--format", "json", "-o", "a.json", "--method", *options)
        return self.read_json("a.json")

    def refused(self, model, *options):
        run = self.run_ellice("explain", model, "people.csv", "--epsilon", "0.001", *options)
        self.assertEqual(run.returncode, 2, run.stderr)
        return run.stderr

    def test_every_method_answers_through_the_same_door(self):
        self.train_network("--hidden", "8")
        for model in ("m.json", "n.json"):
            for variant in ("published", "corrected"):
                for options in self.methods():
                    answers = self.explain(model, *options, "--variant", variant)
                    self.assertEqual(answers["method"], options[0])
                    self.assertEqual(answers["options"][options[0]]["variant"], variant)
                    for result in answers["results"]:
                        self.assertIn(result["status"], STATUSES)
                        self.assertEqual("certificate" in result,
                                         result["status"] in ("certified", "already_robust"))
                        if result["status"] in ("uncertified", "not_found"):
                            self.assertTrue(result["message"])
                        if variant == "published":
                            self.assertIn("counterfactual", result)
                    self.ellice("verify", model, "a.json")

    def test_threads_do_not_change_the_answers(self):
        for options in self.methods():
            files = []
            for threads in ("1", "3"):
                files.append(self.explain("m.json", *options, "--threads", threads))
            self.assertEqual(*files)

    def test_missing_and_foreign_options_are_refused_with_what_to_do(self):
        rows = ("--dataset", "lending")
        self.assertIn("--tau 0.6", self.refused("m.json", "--method", "trex", *rows))
        self.assertIn("--delta 0.01", self.refused("m.json", "--method", "delta", *rows))
        self.assertIn("--delta 0.1", self.refused("m.json", "--method", "roar"))
        self.assertIn("trex-i", self.refused("m.json", "--tau", "0.5"))
        self.assertIn("proplace", self.refused("m.json", "--method", "trex", "--tau", "0.5", "--delta", "1"))
        self.assertIn("--preset", self.refused("m.json", "--variant", "published"))
        self.assertIn("--method proplace", self.refused("m.json", "--method", "roar", "--delta", "1", "--hull-rows", "3"))
        self.assertIn("[0, 1]", self.refused("m.json", "--method", "trex", "--tau", "1.5", *rows))
        self.assertIn("x", self.refused("m.json", "--method", "delta", "--delta", "x", *rows))
        self.assertIn("published", self.refused("m.json", "--method", "roar", "--delta", "1", "--variant", "old"))
        self.assertIn("--data FILE.csv", self.refused("m.json", "--method", "delta", "--delta", "0.01"))

    def test_networks_without_relu_are_refused_where_relu_is_needed(self):
        self.train_network("--hidden", "4", "--activation", "tanh")
        for method in ("delta", "proplace"):
            text = self.refused("n.json", "--set", "last-layer", "--method", method, "--delta", "0.01",
                                "--dataset", "lending")
            self.assertIn("tanh", text)
            self.assertIn("--activation relu", text)
        self.explain("n.json", "roar", "--delta", "0.05")
        self.explain("n.json", "trex-i", "--tau", "0.6")

    def test_verify_says_of_answers_without_a_claim_that_they_have_none(self):
        answers = self.explain("m.json", "trex-i", "--tau", "0.55")
        statuses = {r["query_index"]: r["status"] for r in answers["results"]}
        self.assertIn("uncertified", statuses.values())
        report = json.loads(self.ellice("verify", "m.json", "a.json", "--format", "json"))
        for result in report["results"]:
            claims = statuses[result["query_index"]] in ("certified", "already_robust")
            self.assertIs(result["holds"], True if claims else None)
        # What is wrong is wrong without a claim, too.
        answers["results"][0]["distance"]["l2"] += 1
        self.write("b.json", answers)
        run = self.run_ellice("verify", "m.json", "b.json", "--format", "json")
        self.assertIs(json.loads(run.stdout)["results"][0]["holds"], False)

    def test_tables_show_published_answers_rounded(self):
        for options in (("trex-i", "--tau", "0.6"), ("roar", "--delta", "0.05")):
            text = self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.001", "--dataset", "lending", "--method",
                               *options, "--variant", "published")
            self.assertNotRegex(text, r"→ +[0-9]+\.[0-9]{5}")
            self.assertIn("moved like numbers", text)

    def test_a_delta_beyond_every_row_names_the_largest(self):
        answers = self.explain("m.json", "delta", "--delta", "50")
        for result in answers["results"]:
            self.assertEqual(result["status"], "not_found")
            self.assertIn("largest delta", result["message"])


if __name__ == "__main__":
    unittest.main()
