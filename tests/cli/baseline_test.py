"""The methods of others on the command line."""
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
                for options in METHODS:
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
        for options in METHODS:
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

    def test_a_delta_beyond_every_row_names_the_largest(self):
        answers = self.explain("m.json", "delta", "--delta", "50")
        for result in answers["results"]:
            self.assertEqual(result["status"], "not_found")
            self.assertIn("largest delta", result["message"])


if __name__ == "__main__":
    unittest.main()
