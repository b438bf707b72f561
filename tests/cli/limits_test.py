"""Sizes: wide tables are worked on, or refused by name before the work begins."""
import random
import unittest

from cli_test_case import BAD_INPUT, DONE, WRONG_USAGE, CliTestCase


class Limits(CliTestCase):
    def write_wide(self, columns, rows, levels=0):
        generator = random.Random(columns)
        names = [f"x{j}" for j in range(columns)] + (["city"] if levels else [])
        lines = [",".join([*names, "y"])]
        for i in range(rows):
            cells = [f"{generator.gauss(0, 1):.3f}" for _ in range(columns)]
            if levels:
                cells.append(f"c{i % levels}")
            lines.append(",".join([*cells, "yes" if generator.random() < 0.5 else "no"]))
        self.write("t.csv", "\n".join(lines) + "\n")
        features = [f"  x{j}: {{kind: numeric}}" for j in range(columns)]
        if levels:
            features.append("  city: {kind: categorical, levels: [" + ", ".join(f"c{k}" for k in range(levels)) + "]}")
        self.write("s.yaml", "target: {column: y, favourable: \"yes\"}\nfeatures:\n" + "\n".join(features) + "\n")

    def test_many_columns_are_drafted_and_trained_on(self):
        self.write_wide(300, 400)
        self.ellice("schema", "t.csv", "--target", "y", "--favourable", "yes", "-o", "d.yaml")
        self.ellice("train", "t.csv", "--schema", "d.yaml", "--folds", "0", "-o", "m.json")

    def test_the_draft_of_very_many_columns_ends(self):
        self.write_wide(20000, 3)
        self.assertEqual(self.run_ellice("schema", "t.csv", "--target", "y", "--favourable", "yes", "-o", "d.yaml").returncode,
                         DONE)

    def test_too_many_levels_are_refused_by_name(self):
        self.write_wide(2, 50, levels=10000)
        self.expect_failure(BAD_INPUT, ["10002 columns", '"city" alone 10000', "merge rare levels"],
                            "train", "t.csv", "--schema", "s.yaml", "-o", "m.json")

    def test_a_network_that_is_too_large_is_refused_with_what_helps(self):
        self.expect_failure(WRONG_USAGE, ["--hidden 512,512", "needs about", "--memory-limit", "--no-full-curvature"],
                            "train", "--dataset", "lending", "--model", "mlp", "--hidden", "512,512", "-o", "m.json",
                            "--memory-limit", "2")

    def test_the_curvature_of_all_layers_can_be_left_out(self):
        self.write_loans()
        train = ("train", "loans.csv", "--schema", "loans.yaml", "--model", "mlp", "--hidden", "3", "--epochs", "50")
        self.ellice(*train, "-o", "with.json")
        self.ellice(*train, "-o", "without.json", "--no-full-curvature")
        self.assertIn("full", self.read_json("with.json")["curvature"])
        self.assertNotIn("full", self.read_json("without.json")["curvature"])
        run = self.run_ellice("explain", "without.json", "loans.csv", "--epsilon", "0.001", "--set", "last-layer")
        self.assertEqual(run.returncode, DONE, run.stderr)

    def test_the_limit_holds(self):
        self.write_wide(1500, 30)
        self.expect_failure(BAD_INPUT, ["1500 columns", "--memory-limit"], "train", "t.csv", "--schema", "s.yaml", "-o",
                            "m.json", "--memory-limit", "0.25")
        self.expect_failure(WRONG_USAGE, ["--memory-limit"], "train", "t.csv", "--schema", "s.yaml", "-o", "m.json",
                            "--memory-limit", "0")


if __name__ == "__main__":
    unittest.main()
