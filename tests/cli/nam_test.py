"""Neural additive models on the command line."""
import json
import unittest

from cli_test_case import CliTestCase

TRAIN = ("train", "--dataset", "lending", "--model", "nam", "--hidden", "6,4", "--learning-rate", "0.02",
         "--epochs", "60", "--seed", "3")


def hidden_units(layer, inputs):
    """What a hidden layer of relu units gives."""
    return [max(0.0, bias + sum(w * x for w, x in zip(row, inputs)))
            for row, bias in zip(layer["weights"], layer["bias"])]


def score(network, columns):
    """The score of a row of model space, by the model file's numbers alone."""
    *hidden, head = network["layers"]
    for layer in hidden:
        columns = hidden_units(layer, columns)
    return head["bias"][0] + sum(w * x for w, x in zip(head["weights"][0], columns))


class Training(CliTestCase):
    def test_the_file_says_what_belongs_to_whom(self):
        text = self.ellice(*TRAIN, "--monotone", "income=increase", "-o", "m.json")
        self.assertIn("6, 4 relu units of each feature", text)
        self.assertIn("income increase", text)
        model = self.read_json("m.json")
        network = model["network"]
        self.assertEqual((model["version"], network["kind"]), (2, "nam"))
        names = list(model["schema"]["features"])
        ways = {name: group["monotone"] for name, group in zip(names, network["groups"])}
        self.assertEqual({name for name in ways if ways[name] != "any"}, {"income"})
        self.assertEqual(sum(group["columns"] for group in network["groups"]), len(model["encoder"]["columns"]))

    def test_a_score_is_a_sum_over_features(self):
        self.ellice(*TRAIN, "-o", "m.json")
        network = self.read_json("m.json")["network"]
        columns = [0.37 * k % 1.3 - 0.4 for k in range(sum(group["columns"] for group in network["groups"]))]
        nothing = score(network, [0.0] * len(columns))
        total, first = nothing, 0
        for group in network["groups"]:
            alone = [x if first <= k < first + group["columns"] else 0.0 for k, x in enumerate(columns)]
            total += score(network, alone) - nothing
            first += group["columns"]
        self.assertAlmostEqual(total, score(network, columns), delta=1e-12)

    def test_wrong_wishes_are_refused(self):
        for options, words in ((("--monotone", "income"), "income=increase"),
                               (("--monotone", "income=up"), "increase, decrease"),
                               (("--monotone", "purpose=increase"), "purpose"),
                               (("--monotone", "incomes=increase"), "incomes"),
                               (("--monotone", "income=increase", "--monotone", "income=decrease"), "one of the two"),
                               (("--monotone", "income=increase", "--refit"), "--refit")):
            run = self.run_ellice(*TRAIN, *options, "-o", "m.json")
            self.assertEqual(run.returncode, 2, options)
            self.assertIn(words, run.stderr)
        run = self.run_ellice("train", "--dataset", "lending", "--monotone", "income=increase", "-o", "m.json")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--model nam", run.stderr)


class Recourse(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice(*TRAIN, "--refit", "--store-rows", "-o", "m.json")
        self.ellice("demo", "--people", "4", "-o", "demo.html", "--csv", "people.csv")

    def test_every_set_gives_answers_that_verify_whatever_the_threads(self):
        for name in ("full", "last-layer", "isotropic", "true"):
            texts = set()
            for threads in ("1", "3"):
                self.ellice("explain", "m.json", "people.csv", "--format", "json", "-o", "a.json", "--set", name,
                            "--epsilon", "0.0003", "--threads", threads)
                texts.add(json.dumps(self.read_json("a.json")))
            self.assertEqual(len(texts), 1, name)
            answers = json.loads(texts.pop())
            self.assertTrue(any(result["status"] == "certified" for result in answers["results"]), name)
            self.ellice("verify", "m.json", "a.json")

    def test_a_certificate_of_other_weights_does_not_hold(self):
        self.ellice("explain", "m.json", "people.csv", "--format", "json", "-o", "a.json", "--set", "full",
                    "--epsilon", "0.0003")
        model = self.read_json("m.json")
        model["network"]["layers"][1]["weights"][0][6] = 0.25
        self.write("altered.json", json.dumps(model))
        run = self.run_ellice("verify", "altered.json", "a.json")
        self.assertEqual(run.returncode, 3)
        self.assertIn("network.layers[1].weights", run.stderr)


class Shapes(CliTestCase):
    def test_every_form_is_written_by_its_ending(self):
        self.ellice(*TRAIN, "--store-rows", "-o", "m.json")
        self.assertIn("loan_amount", self.ellice("shapes", "m.json", "--epsilon", "1%"))
        for ending, begin in (("svg", "<svg"), ("html", "<!DOCTYPE html>"), ("json", "{")):
            self.ellice("shapes", "m.json", "--epsilon", "1%", "-o", f"s.{ending}")
            self.assertTrue((self.folder / f"s.{ending}").read_text(encoding="utf-8").startswith(begin), ending)
        shapes = self.read_json("s.json")
        self.assertEqual(shapes["centred_over"], "rows")
        for feature in shapes["features"]:
            for low, middle, high in zip(feature["low"], feature["contribution"], feature["high"]):
                self.assertLessEqual(low, middle)
                self.assertLessEqual(middle, high)

    def test_a_score_is_what_the_shapes_add_up_to(self):
        self.ellice("train", "--dataset", "lending", "--folds", "0", "-o", "linear.json")
        self.ellice("shapes", "linear.json", "--epsilon", "1%", "-o", "s.json")
        self.ellice(*TRAIN, "-o", "m.json")
        for name in ("linear.json", "m.json"):
            self.ellice("shapes", name, "--epsilon", "1%", "-o", "s.json")
            shapes, model = self.read_json("s.json"), self.read_json(name)
            columns, total, column = [], shapes["base"], 0
            for feature in shapes["features"]:
                k = len(feature["values"]) // 2
                total += feature["contribution"][k]
                if feature["kind"] == "categorical":
                    columns += [1.0 if i == k else 0.0 for i in range(len(feature["values"]))]
                    column += len(feature["values"])
                    continue
                raw = k if feature["kind"] in ("binary", "ordinal") else feature["values"][k]
                columns.append((raw - model["encoder"]["mean"][column]) / model["encoder"]["scale"][column])
                column += 1
            self.assertAlmostEqual(total, score(model["network"], columns), delta=1e-9)

    def test_other_models_are_refused(self):
        self.ellice("train", "--dataset", "lending", "--model", "mlp", "--hidden", "3", "--epochs", "5", "-o", "m.json")
        run = self.run_ellice("shapes", "m.json", "--epsilon", "1%")
        self.assertEqual(run.returncode, 2)
        self.assertIn("nam", run.stderr)


if __name__ == "__main__":
    unittest.main()
