"""Models with more than two classes."""
import json
import random
import unittest

from cli_test_case import CliTestCase

SCHEMA = """target: {column: kind, favourable: red}
features:
  x: {kind: numeric}
  y: {kind: numeric}
  size: {kind: integer, min: 0, max: 9}
"""


class ClassesTest(CliTestCase):
    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        centres = {"red": (0, 2), "green": (-2, -1), "blue": (2, -1), "grey": (0, 0)}
        rows = ["x,y,size,kind"]
        for k in range(240):
            kind = list(centres)[k % 4]
            x, y = centres[kind]
            rows.append(f"{draw.gauss(x, 1):.3f},{draw.gauss(y, 1):.3f},{draw.randrange(10)},{kind}")
        self.write("d.csv", "\n".join(rows) + "\n")
        self.write("s.yaml", SCHEMA)
        self.write("q.csv", "x,y,size\n-2,-1.5,4\n2.5,-1,1\n0.2,3.5,5\n")

    def train(self, *options):
        self.ellice("train", "d.csv", "--schema", "s.yaml", "--model", "softmax", "--l2", "0.01", "-o", "m.json",
                    *options)

    def explain(self, *options):
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--format", "json", "-o", "a.json",
                    *options)
        return self.read_json("a.json")

    def scores(self, model, row):
        encoder = model["encoder"]
        z = [(row[c] - m) / s for c, m, s in zip(encoder["columns"], encoder["mean"], encoder["scale"])]
        head = model["network"]["layers"][-1]
        return [sum(w * v for w, v in zip(weights, z)) + b for weights, b in zip(head["weights"], head["bias"])]

    def test_answers_get_their_class_and_are_verified(self):
        self.train()
        model = self.read_json("m.json")
        classes = ["blue", "green", "grey", "red"]
        self.assertEqual(model["decision"]["classes"], classes)
        self.assertEqual(model["schema"]["target"]["classes"], classes)
        for target in classes:
            file = self.explain("--target", target, "--margin", "0.1")
            self.assertEqual(file["options"]["target"], [target])
            for answer in file["results"]:
                self.assertIn(answer["status"], ("optimal", "already_robust"))
                self.assertEqual(answer["target"], target)
                scores = self.scores(model, answer["counterfactual"])
                own = scores[classes.index(target)]
                leads = [own - score for k, score in enumerate(scores) if classes[k] != target]
                self.assertGreater(min(leads), 0.1)
                self.assertAlmostEqual(min(leads), answer["logit"], places=9)
                self.assertEqual([r["class"] for r in answer["certificate"]["rivals"]],
                                 [c for c in classes if c != target])
            self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json"))

    def test_the_favourable_class_is_the_default(self):
        self.train()
        self.assertEqual({answer["target"] for answer in self.explain()["results"]}, {"red"})

    def test_any_of_several_classes_will_do(self):
        self.train()
        either = self.explain("--target", "red,blue")
        self.assertEqual(either["options"]["target"], ["blue", "red"])
        self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json"))
        single = {c: self.explain("--target", c)["results"] for c in ("red", "blue")}
        for k, answer in enumerate(either["results"]):
            self.assertIn(answer["status"], ("certified", "already_robust"))
            for other in single.values():
                self.assertLessEqual(answer["distance"]["weighted"],
                                     other[k]["distance"]["weighted"] * (1 + 1e-9))

    def test_hidden_layers_work_the_same_way(self):
        self.train("--hidden", "8", "--refit", "--learning-rate", "0.01", "--epochs", "100")
        for answer in self.explain()["results"]:
            self.assertIn(answer["status"], ("certified", "already_robust", "reduced"))
        self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json"))

    def test_text_and_page_speak_of_the_class(self):
        self.train()
        text = self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%")
        self.assertIn("then every model of the set answers kind = red", text)
        self.assertIn("lead of red over the other classes", text)
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--format", "html", "-o", "p.html")
        page = (self.folder / "p.html").read_text(encoding="utf-8")
        model, recourse, shown = self.page_data(page)
        self.assertEqual((model["schema"]["target"]["column"], recourse["options"]["target"]), ("kind", ["red"]))
        self.assertEqual(dict(shown["asked"])["Wanted"], "kind = red")
        self.assertIn("a lead of 0 over blue, green, grey", page)

    def test_the_true_set_of_softmax_regression(self):
        self.train()
        rows = ("--data", "d.csv")
        for target in ("red", "grey", "red,blue"):
            file = self.explain("--set", "true", *rows, "--target", target, "--margin", "0.1")
            self.assertEqual(file["method"], "exact")
            self.assertNotIn("robustness_radius", file["not_stated"])
            self.assertIn("softmax", file["not_stated"]["predicted_survival"])
            for answer in file["results"]:
                self.assertIn(answer["status"], ("optimal", "certified", "already_robust"))
                self.assertIn("training objective", answer["certificate"]["claim"])
                self.assertGreaterEqual(answer["robustness_radius"], answer["certificate"]["epsilon"])
            self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json", *rows))
        # What claims a larger epsilon is broken by a model that verify names.
        file = self.explain("--set", "true", *rows, "--target", "grey")
        certificate = next(a["certificate"] for a in file["results"] if a["status"] != "already_robust")
        certificate["epsilon"] *= 4
        self.write("c.json", json.dumps(certificate))
        run = self.run_ellice("verify", "m.json", "c.json", *rows, "--format", "json")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("breaking_model", run.stdout)
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--set", "true", *rows)
        curve = json.loads(self.ellice("frontier", "m.json", "q.csv", "--set", "true", *rows, "--epsilons",
                                       "0,1%,2%", "--format", "json"))["results"][0]
        distances = [point["distance"] for point in curve["points"]]
        self.assertEqual(distances, sorted(distances))
        self.write("other.csv", (self.folder / "d.csv").read_text(encoding="utf-8").replace("grey", "red", 1))
        altered = self.read_json("m.json")
        altered["training"]["objective"] *= 1.01
        self.write("altered.json", altered)
        for status, model, options, words in ((2, "m.json", (), "--store-rows"),
                                              (3, "m.json", ("--data", "other.csv"), "other.csv"),
                                              (2, "m.json", ("--method", "gradient", *rows), "true set"),
                                              (3, "altered.json", rows, "training.objective")):
            self.expect_failure(status, [words], "explain", model, "q.csv", "--epsilon", "1%", "--set", "true", *options)

    def test_the_true_set_of_a_networks_last_layer(self):
        self.train("--hidden", "8", "--refit", "--learning-rate", "0.01", "--epochs", "100")
        rows = ("--data", "d.csv")
        for method in ("network", "data"):
            file = self.explain("--set", "true", *rows, "--target", "red", "--method", method)
            certified = [answer for answer in file["results"] if "certificate" in answer]
            self.assertTrue(certified)
            for answer in certified:
                self.assertIn("hidden layers fixed", answer["certificate"]["claim"])
            self.assertIn("0 fail", self.ellice("verify", "m.json", "a.json", *rows))
        self.explain("--set", "true", *rows)
        self.expect_failure(2, ["hidden layers", "--method network"], "explain", "m.json", "q.csv", "--epsilon", "1%",
                            "--set", "true", *rows, "--method", "exact")

    def test_what_makes_no_sense_is_refused(self):
        self.train()
        for options, words in ((("--target", "rde"), ("rde", "red")), (("--margin", "-1"), (">= 0",)),
                               (("--target", "red,green,blue,grey"), ("nothing to ask",)),
                               (("--set", "full"), ("last-layer",)), (("--threshold", "1"), ("--margin",)),
                               (("--epsilon", "auto"), ("softmax",)), (("--attack",), ("one logit",))):
            epsilon = () if "--epsilon" in options else ("--epsilon", "1%")
            run = self.run_ellice("explain", "m.json", "q.csv", *epsilon, *options)
            self.assertEqual(run.returncode, 2, run.stderr)
            for word in words:
                self.assertIn(word, run.stderr)
        for verb in (("calibrate", "m.json", "--data", "d.csv"), ("epsilon", "m.json")):
            run = self.run_ellice(*verb)
            self.assertEqual(run.returncode, 2)
            self.assertIn("one logit", run.stderr)
        self.ellice("train", "d.csv", "--schema", "s.yaml", "-o", "two.json")
        for options in (("--target", "red"), ("--margin", "0.1")):
            run = self.run_ellice("explain", "two.json", "q.csv", "--epsilon", "1%", *options)
            self.assertEqual(run.returncode, 2)
            self.assertIn("softmax", run.stderr)


if __name__ == "__main__":
    unittest.main()
