"""Networks on the command line."""
import json
import unittest

from cli_test_case import CliTestCase

TRAIN = ("train", "--dataset", "lending", "--model", "mlp", "--learning-rate", "0.01", "--epochs", "60")


class Networks(CliTestCase):
    def test_training_writes_a_model_with_all_layers(self):
        text = self.ellice(*TRAIN, "--hidden", "16", "-o", "m.json")
        self.assertIn("16 relu units", text)
        self.assertIn("curvature of rank", text)
        self.assertNotIn("eps_max", text)
        model = self.read_json("m.json")
        self.assertEqual(model["network"]["kind"], "mlp")
        self.assertEqual([len(layer["bias"]) for layer in model["network"]["layers"]], [16, 1])
        self.assertEqual(model["training"]["selection"]["validation"], 0.2)
        self.assertEqual(len(model["curvature"]["hessian"]), 17)

    def test_hidden_takes_several_layers(self):
        report = json.loads(self.ellice(*TRAIN, "--hidden", "8,4", "--activation", "tanh", "--format", "json",
                                        "-o", "m.json"))
        self.assertEqual(report["network"]["hidden"], [8, 4])
        self.assertIn("validation", report["accuracy"])

    def test_refit_ends_the_warning_about_the_last_layer(self):
        run = self.run_ellice(*TRAIN[:-2], "--epochs", "5", "-o", "m.json")
        self.assertEqual(run.returncode, 0)
        self.assertIn("--refit", run.stderr)
        run = self.run_ellice(*TRAIN[:-2], "--epochs", "5", "--refit", "-o", "m.json")
        self.assertNotIn("--refit", run.stderr)
        self.assertLess(self.read_json("m.json")["training"]["head_decrement"], 1e-18)

    def test_threads_do_not_change_the_file(self):
        for threads in ("1", "2"):
            self.ellice(*TRAIN, "--threads", threads, "-o", f"m{threads}.json")
        self.assertEqual(self.read_json("m1.json"), self.read_json("m2.json"))

    def test_bad_layers_are_refused(self):
        for hidden, word in (("0", "0"), ("16,x", "x"), ("2.5", "2.5")):
            run = self.run_ellice(*TRAIN, "--hidden", hidden, "-o", "m.json")
            self.assertEqual(run.returncode, 2, hidden)
            self.assertIn(word, run.stderr)
        run = self.run_ellice("train", "--dataset", "lending", "--hidden", "8", "-o", "m.json")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--model mlp", run.stderr)


class Recourse(CliTestCase):
    """Train once, then ask for answers in every way."""

    def setUp(self):
        super().setUp()
        self.ellice(*TRAIN, "--hidden", "8", "--seed", "3", "-o", "m.json")
        self.ellice("demo", "--people", "4", "-o", "demo.html", "--csv", "people.csv")

    def explain(self, *options, model="m.json"):
        self.ellice("explain", model, "people.csv", "--format", "json", "-o", "a.json", *options)
        return self.read_json("a.json")

    def expect_verified(self, model="m.json", *options):
        self.ellice("verify", model, "a.json", *options)

    def test_every_set_gives_answers_that_verify(self):
        for name, options in (("full", ()), ("last-layer", ("--set", "last-layer")),
                              ("isotropic", ("--set", "isotropic")),
                              ("last-layer", ("--set", "last-layer", "--damping", "0.1"))):
            answers = self.explain("--epsilon", "0.0001", *options)
            self.assertEqual(answers["set"], name)
            self.assertEqual(answers["method"], "network")
            self.assertTrue(any(result["status"] == "certified" for result in answers["results"]))
            self.expect_verified()

    def test_the_papers_methods_for_few_changes_and_categories_verify(self):
        for options in (("greedy",), ("greedy", "--greedy-step", "quadratic"), ("gumbel", "--extra-samples", "20")):
            answers = self.explain("--epsilon", "0.0001", "--method", *options)
            self.assertEqual(answers["method"], options[0])
            self.assertIn(options[0], answers["options"])
            self.assertTrue(any(result["status"] == "certified" for result in answers["results"]))
            self.expect_verified()
        run = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "0.0001", "--method", "gumbel",
                              "--preset", "printed")
        self.assertEqual(run.returncode, 2)
        self.assertIn("corrected", run.stderr)

    def test_whole_numbers_and_levels_are_kept_only_when_asked(self):
        for nodes, is_held in (("0", True), ("50", False)):
            answers = self.explain("--epsilon", "0.0001", "--discrete-nodes", nodes)
            held = [result["held"] for result in answers["results"] if "held" in result]
            self.assertEqual(bool(held), is_held)
            self.expect_verified()

    def test_an_altered_network_answer_is_found(self):
        answers = self.explain("--epsilon", "0.0001")
        index = next(i for i, r in enumerate(answers["results"]) if "certificate" in r)
        for key in ("robust_logit", "logit", "real_logit", "predicted_logit", "damping"):
            broken = json.loads(json.dumps(answers))
            broken["results"][index]["certificate"][key] += 1e-3
            self.write("b.json", broken)
            self.assertIn(self.run_ellice("verify", "m.json", "b.json").returncode, (3, 4), key)

    def test_an_ensemble_holds_for_each_of_its_models(self):
        self.ellice(*TRAIN, "--hidden", "6", "--seed", "3", "-o", "m2.json")
        answers = self.explain("--epsilon", "0.0001", "--ensemble", "m2.json")
        self.assertEqual(answers["set"], "ensemble")
        certified = [r for r in answers["results"] if r["status"] == "certified"]
        self.assertTrue(certified)
        self.assertEqual([len(r["certificate"]["members"]) for r in certified], [1] * len(certified))
        self.expect_verified("m.json", "--ensemble", "m2.json")
        run = self.run_ellice("verify", "m.json", "a.json")
        self.assertNotEqual(run.returncode, 0)

    def test_what_cannot_be_reached_is_reduced_and_says_how_far(self):
        answers = self.explain("--epsilon", "10")
        for result in answers["results"]:
            self.assertIn(result["status"], ("reduced", "not_found"))
            if result["status"] == "reduced":
                self.assertLess(result["attained_epsilon"], 10)
                self.assertEqual(result["certificate"]["epsilon"], result["attained_epsilon"])
        self.expect_verified()
        strict = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "10", "--strict")
        self.assertEqual(strict.returncode, 4)

    def test_refitting_writes_the_model_that_the_answers_are_for(self):
        answers = self.explain("--epsilon", "0.0001", "--set", "last-layer", "--method", "gradient",
                               "--dataset", "lending", "--refit", "r.json")
        self.assertLess(self.read_json("r.json")["training"]["head_decrement"], 1e-15)
        self.expect_verified("r.json")
        self.assertEqual(self.run_ellice("verify", "m.json", "a.json").returncode, 3)
        self.assertEqual(answers["method"], "gradient")

    def test_refitting_a_linear_model_changes_nothing(self):
        self.ellice("train", "--dataset", "lending", "-o", "l.json")
        self.ellice("explain", "l.json", "people.csv", "--epsilon", "1%", "--method", "gradient",
                    "--dataset", "lending", "--refit", "r.json", "--format", "json", "-o", "a.json")
        old = self.read_json("l.json")["network"]["layers"][0]["weights"][0]
        new = self.read_json("r.json")["network"]["layers"][0]["weights"][0]
        self.assertLess(max(abs(a - b) for a, b in zip(old, new)), 1e-8)
        self.expect_verified("r.json")

    def test_an_attack_is_reported_with_the_answer(self):
        answers = self.explain("--epsilon", "0.01", "--dataset", "lending", "--attack")
        attacked = [r["attack"] for r in answers["results"] if "certificate" in r]
        self.assertTrue(attacked)
        for attack in attacked:
            self.assertLessEqual(attack["excess_objective"], 0.01 * (1 + 1e-9))
            self.assertEqual(attack["broken"], attack["logit"] < 0)
        self.expect_verified()

    def test_calibration_is_stored_and_used(self):
        self.expect_failure(3, ["--epsilon auto", "ellice calibrate"], "explain", "m.json", "people.csv",
                            "--epsilon", "auto")
        sha = self.explain("--epsilon", "0")["model_sha256"]
        self.ellice("calibrate", "m.json", "--dataset", "lending", "--threat", "retrain", "--people", "10",
                    "--retrain", "3", "--levels", "6", "--share", "0.5", "--deviations", "0")
        recommended = self.read_json("m.json")["recommended"]["full"]
        answers = self.explain("--epsilon", "auto")
        self.assertEqual(answers["epsilon"]["value"], recommended["epsilon"])
        self.assertEqual(answers["model_sha256"], sha)
        self.expect_verified()

    def test_bad_requests_say_what_to_do(self):
        self.ellice("train", "--dataset", "lending", "-o", "l.json")
        self.expect_failure(2, ["full", "last-layer"], "explain", "l.json", "people.csv", "--epsilon", "1%", "--set", "full")
        self.expect_failure(2, ["--method data"], "explain", "m.json", "people.csv", "--epsilon", "0.001",
                            "--cost", "l1")
        self.expect_failure(2, ["--attack", "--data"], "explain", "m.json", "people.csv", "--epsilon", "0.001", "--attack")
        for epsilon in ("-1", "nan", "inf"):
            self.expect_failure(2, [epsilon], "explain", "m.json", "people.csv", f"--epsilon={epsilon}")

    def test_a_dead_network_is_answered_honestly(self):
        model = self.read_json("m.json")
        for layer in model["network"]["layers"][:-1]:
            penalty = sum(bias * bias for bias in layer["bias"])
            layer["bias"] = [-1e6] * len(layer["bias"])
            model["training"]["objective"] += model["training"]["l2"] / 2 * (1e12 * len(layer["bias"]) - penalty)
        self.write("dead.json", model)
        answers = self.explain("--epsilon", "0.001", model="dead.json")
        self.assertTrue(all(r["status"] in ("not_found", "already_robust", "reduced") for r in answers["results"]))


if __name__ == "__main__":
    unittest.main()
