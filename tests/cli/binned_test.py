"""Numbers that a model sees by their bins: drafted, trained on, explained in their own units, verified."""
import csv
import io
import json
import random
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, CliTestCase


def rows(count=400):
    """Good payers use 30 to 60 % of their limit; some have no record (-9)."""
    draw = random.Random(5)
    lines = ["utilisation,months,paid"]
    for _ in range(count):
        utilisation = -9 if draw.random() < 0.1 else round(draw.random(), 2)
        months = draw.randrange(0, 60)
        good = (0.3 < utilisation <= 0.6) + months / 60 + 0.4 * draw.gauss(0, 1) > 0.7
        lines.append(f"{utilisation},{months},{'yes' if good else 'no'}")
    return "\n".join(lines) + "\n"


SCHEMA = """target: {column: paid, favourable: "yes"}
features:
  utilisation: {kind: binned, edges: [0.3, 0.6, 0.9], special: {"-9": no record}, unit: share}
  months:      {kind: binned, edges: [12, 24, 36], min: 0, max: 60, direction: increase}
"""


class BinnedTest(CliTestCase):
    def setUp(self):
        super().setUp()
        self.write("d.csv", rows())
        self.write("s.yaml", SCHEMA)
        self.write("q.csv", "utilisation,months\n0.75,30\n-9,2\n0.1,40\n")
        self.ellice("train", "d.csv", "--schema", "s.yaml", "--model", "additive", "--store-rows", "-o", "m.json")

    def test_model_files_are_of_version_2(self):
        model = self.read_json("m.json")
        self.assertEqual(model["version"], 2)
        self.assertEqual(model["encoder"]["columns"][:5], ["utilisation=(-inf,0.3]", "utilisation=(0.3,0.6]",
                                                           "utilisation=(0.6,0.9]", "utilisation=(0.9,inf)", "utilisation=-9"])
        shares = model["training"]["penalty_factors"]
        self.assertAlmostEqual(sum(shares[:5]), 1)
        self.assertAlmostEqual(sum(shares[5:]), 1)

    def test_plans_are_in_original_units_and_verify(self):
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "-o", "r.json")
        answers = self.read_json("r.json")["results"]
        edges = {"utilisation": (0.31, 0.6), "months": (25, 37)}
        moved = 0
        for answer in answers:
            for change in answer.get("changes", []):
                self.assertIn(change["to"], edges[change["feature"]])
                moved += 1
        self.assertGreater(moved, 0)
        self.ellice("verify", "m.json", "r.json")
        text = self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%")
        self.assertIn("utilisation", text)
        table = list(csv.DictReader(io.StringIO(self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--format", "csv"))))
        self.assertEqual(len(table), 3)
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--set", "true", "-o", "t.json")
        self.ellice("verify", "m.json", "t.json")

    def test_a_changed_file_does_not_verify(self):
        self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "-o", "r.json")
        document = self.read_json("r.json")
        changed = next(answer for answer in document["results"] if answer.get("changes"))
        feature = changed["changes"][0]["feature"]
        changed["counterfactual"][feature] = changed["query"][feature]
        self.write("r.json", document)
        self.assertNotEqual(self.run_ellice("verify", "m.json", "r.json").returncode, 0)

    def test_pages_letters_and_reasons_say_codes_in_words(self):
        page = self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--format", "html")
        self.assertIn("utilisation", page)
        self.write("named.csv", "id,utilisation,months\nA,0.75,10\nB,-9,2\n")
        self.ellice("explain", "m.json", "named.csv", "--epsilon", "1%", "--declined", "--id", "id", "--lender", "A Bank", "--date", "2026-01-05", "--letters",
                    "letters", "-o", "r.json")
        letters = "".join(path.read_text(encoding="utf-8") for path in (self.folder / "letters").iterdir() if path.suffix == ".html")
        self.assertIn("no record", letters)
        self.assertNotRegex(letters, "(?<![0-9a-f])-9")  # but in the number of a letter, such as 7dcc-61de-99ff

    def test_drafts_find_codes_and_quantiles(self):
        self.ellice("schema", "d.csv", "--target", "paid", "--favourable", "yes", "--bins", "4", "-o", "draft.yaml")
        text = (self.folder / "draft.yaml").read_text(encoding="utf-8")
        self.assertIn("kind: binned", text)
        self.assertIn('special: {"-9": code -9}', text)
        self.ellice("train", "d.csv", "--schema", "draft.yaml", "--model", "additive", "-o", "n.json")
        self.ellice("schema", "d.csv", "--target", "paid", "--favourable", "yes", "--bins", "4", "--special=-9,5", "-o", "other.yaml")
        self.assertIn('"5": code 5', (self.folder / "other.yaml").read_text(encoding="utf-8"))
        self.expect_failure(WRONG_USAGE, ["--bins"], "schema", "d.csv", "--target", "paid", "--favourable", "yes", "--bins", "1")
        self.expect_failure(WRONG_USAGE, ["standard input"], "schema", "-", "--target", "paid", "--favourable", "yes", "--bins", "3",
                            stdin=rows().encode())

    def test_what_cannot_be_done_is_said(self):
        self.expect_failure(WRONG_USAGE, ["binned feature", "utilisation"], "explain", "m.json", "q.csv", "--epsilon", "1%",
                            "--method", "gradient")
        self.write("plain.yaml", 'target: {column: paid, favourable: "yes"}\nfeatures: {utilisation: {kind: numeric}, months: {kind: integer}}\n')
        self.expect_failure(WRONG_USAGE, ["--model additive", "binned"], "train", "d.csv", "--schema", "plain.yaml", "--model", "additive",
                            "-o", "x.json")


if __name__ == "__main__":
    unittest.main()
