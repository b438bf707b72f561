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


if __name__ == "__main__":
    unittest.main()
