"""The true set on the command line."""
import json
import unittest

from cli_test_case import CliTestCase


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

    def test_a_failure_carries_the_breaking_model(self):
        answers = self.explain("--dataset", "lending")
        certificate = next(a["certificate"] for a in answers["results"] if "certificate" in a)
        certificate["threshold"] = certificate["robust_logit"] + 0.5
        self.write("c.json", json.dumps(certificate))
        run = self.run_ellice("verify", "m.json", "c.json", "--dataset", "lending", "--format", "json")
        self.assertEqual(run.returncode, 4)
        self.assertIn("breaking_model", json.loads(run.stdout)["results"][0])

    def test_networks_are_not_searched(self):
        self.ellice("train", "--dataset", "lending", "--model", "mlp", "--hidden", "4", "--epochs", "5", "-o", "n.json")
        run = self.run_ellice("explain", "n.json", "people.csv", "--epsilon", "1%", "--set", "true",
                              "--dataset", "lending")
        self.assertEqual(run.returncode, 2)
        self.assertIn("linear models only", run.stderr)


if __name__ == "__main__":
    unittest.main()
