"""Reasons of refusals as their readers meet them; contributions are recomputed here from the model file."""
import json
import unittest

from certificate_test import encode
from cli_test_case import BAD_INPUT, DONE, NOT_CERTIFIED, WRONG_USAGE, CliTestCase


class Reasons(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.model = self.read_json("m.json")
        self.write("codes.yaml", 'debt: {too_high: {code: "12", text: Debts are high}}\ncity: {code: C}\n')

    def explain(self, *options):
        self.ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--range", "off", "--quiet",
                    "--format", "json", "-o", "plans.json", *options)
        return self.read_json("plans.json")

    def logit(self, z):
        layer = self.model["network"]["layers"][0]
        return sum(w * x for w, x in zip(layer["weights"][0], z)) + layer["bias"][0]

    def expect_contributions(self, plans):
        weights = self.model["network"]["layers"][0]["weights"][0]
        columns = self.model["encoder"]["columns"]
        reference = plans["reasons"]["encoded"]
        declined = 0
        for result in plans["results"]:
            z = encode(self.model, result["query"])
            self.assertEqual("reasons" in result, self.logit(z) < 0)
            if "reasons" not in result:
                continue
            declined += 1
            reasons = result["reasons"]
            own = {}
            for name, w, x, r in zip(columns, weights, z, reference):
                feature = name.split("=")[0]
                own[feature] = own.get(feature, 0) + w * (x - r)
            against = sorted((c, name) for name, c in own.items() if c < 0)
            self.assertEqual([i["feature"] for i in reasons["items"]], [name for _, name in against[:4]])
            for item in reasons["items"]:
                self.assertAlmostEqual(item["contribution"], own[item["feature"]], 12)
                self.assertEqual(item["value"], result["query"][item["feature"]])
            total = sum(i["contribution"] for i in reasons["items"]) + reasons["others"] + reasons["residual"]
            self.assertAlmostEqual(total, self.logit(z) - self.logit(reference), 12)
            self.assertEqual(reasons["reference"], plans["reasons"]["text"])
        self.assertGreater(declined, 2)

    def test_contributions_are_those_of_the_model(self):
        plans = self.explain()
        self.assertEqual(plans["reasons"]["kind"], "borderline")
        self.expect_contributions(plans)
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)

    def test_training_rows_give_the_mean_of_the_accepted(self):
        plans = self.explain("--data", "loans.csv")
        self.assertEqual(plans["reasons"]["kind"], "accepted")
        rows = [encode(self.model, r["query"]) for r in plans["results"]]
        accepted = [z for z in rows if self.logit(z) >= 0]
        self.assertEqual(plans["reasons"]["rows"], len(accepted))
        for found, *column in zip(plans["reasons"]["encoded"], *accepted):
            self.assertAlmostEqual(found, sum(column) / len(accepted), 12)
        self.expect_contributions(plans)
        for options in ((), ("--data", "loans.csv")):
            self.assertEqual(self.run_ellice("verify", "m.json", "plans.json", *options).returncode, DONE)
        plans["reasons"]["encoded"][0] += 0.01
        self.write("plans.json", plans)
        run = self.run_ellice("verify", "m.json", "plans.json", "--data", "loans.csv")
        self.assertEqual(run.returncode, NOT_CERTIFIED)

    def test_altered_reasons_are_found(self):
        plans = self.explain("--reason-codes", "codes.yaml")
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)
        result = next(r for r in plans["results"] if "reasons" in r)
        result["reasons"]["items"][0]["contribution"] *= 2
        self.write("plans.json", plans)
        run = self.run_ellice("verify", "m.json", "plans.json")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertIn("contribution", run.stdout)

    def test_codes_are_in_every_form(self):
        plans = self.explain("--reason-codes", "codes.yaml")
        items = [i for r in plans["results"] for i in r.get("reasons", {"items": []})["items"]]
        coded = [i for i in items if "code" in i]
        self.assertIn(("12", "Debts are high"), {(i["code"], i["text"]) for i in coded})
        self.assertNotIn("income", {i["feature"] for i in coded})
        common = ("explain", "m.json", "loans.csv", "--epsilon", "1%", "--quiet", "--reason-codes", "codes.yaml")
        lines = self.ellice(*common, "--range", "off", "--format", "jsonl").splitlines()
        self.assertEqual([json.loads(line).get("reasons") for line in lines],
                         [r.get("reasons") for r in plans["results"]])
        page = self.ellice(*common, "--format", "html")
        self.assertIn("Debts are high", json.dumps([r.get("reasons") for r in self.page_data(page)[1]["results"]]))
        self.assertIn("principal reasons (logit, base model): ", self.ellice(*common))

    def test_labels_are_for_people_and_names_for_files(self):
        self.write_loans()
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        schema = schema.replace("{kind: numeric, min: 0}", "{kind: numeric, min: 0, label: Outstanding debts}")
        schema = schema.replace("levels: [boat, car, home]}",
                                "levels: {boat: a vessel, car: a vehicle, home: a dwelling}, label: What it is for}")
        schema = schema.replace("immutable: true", "protected: true, label: Place of living")
        self.write("named.yaml", schema)
        self.ellice("train", "loans.csv", "--schema", "named.yaml", "--quiet", "-o", "m.json")
        self.model = self.read_json("m.json")
        common = ("explain", "m.json", "loans.csv", "--epsilon", "1%", "--range", "off")
        table = self.run_ellice(*common, "--all-features")
        page = self.run_ellice(*common, "--format", "html")
        for run in (table, page):
            self.assertEqual(run.returncode, DONE, run.stderr)
            for words in ("Outstanding debts", "What it is for", "a dwelling", "Place of living"):
                self.assertIn(words, run.stdout)
            self.assertNotIn("debt is ", run.stdout.split('<script type="module">')[0])
            self.assertIn("is protected by the schema (Place of living)", run.stderr)
        self.assertIn("which the schema protects", table.stdout)
        for line in table.stdout.splitlines():
            self.assertFalse(line.startswith(("  debt ", "  purpose ", "  city ")), line)
        plans = self.explain()
        self.assertEqual(set(plans["results"][0]["query"]), {"income", "debt", "purpose", "city"})
        items = [i for r in plans["results"] for i in r.get("reasons", {"items": []})["items"]]
        self.assertIn("city", {i["feature"] for i in items})
        self.assertTrue({i["value"] for i in items if i["feature"] == "purpose"} <= {"boat", "car", "home"})
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)
        header = self.ellice(*common, "--quiet", "--format", "csv").splitlines()[0]
        self.assertIn("income,debt,purpose,city", header)

    def test_no_warning_without_protected_reasons(self):
        run = self.run_ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--range", "off")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertNotIn("protect", run.stdout + run.stderr)

    def test_bad_tables_are_refused(self):
        common = ("explain", "m.json", "loans.csv", "--epsilon", "1%", "--reason-codes", "bad.yaml")
        self.write("bad.yaml", "debt: {code: a}\nincom: {code: b}\n")
        self.expect_failure(BAD_INPUT, ["bad.yaml:2", "incom", "income"], *common)
        self.write("bad.yaml", "debt:\n  too_high: {text: no code}\n")
        self.expect_failure(BAD_INPUT, ["bad.yaml:2", "debt.too_high", "code"], *common)
        self.expect_failure(BAD_INPUT, ["none.yaml"], *common[:-1], "none.yaml")
        self.expect_failure(WRONG_USAGE, ["--reason-codes", "csv"], *common, "--format", "csv")

    def test_networks_have_reasons_too(self):
        self.ellice("train", "--dataset", "lending", "--model", "mlp", "--hidden", "6", "--epochs", "30", "--quiet",
                    "-o", "n.json")
        self.ellice("demo", "--people", "3", "--quiet", "-o", "page.html", "--csv", "people.csv")
        for options, kind in (((), "centre"), (("--dataset", "lending"), "accepted")):
            self.ellice("explain", "n.json", "people.csv", "--epsilon", "0.001", "--set", "last-layer", "--quiet",
                        "--format", "json", "-o", "plans.json", *options)
            plans = self.read_json("plans.json")
            self.assertEqual(plans["reasons"]["kind"], kind)
            for reasons in (r["reasons"] for r in plans["results"] if "reasons" in r):
                total = sum(i["contribution"] for i in reasons["items"]) + reasons["others"]
                self.assertAlmostEqual(total, reasons["logit"] - reasons["reference_logit"], 10)
            self.assertEqual(self.run_ellice("verify", "n.json", "plans.json").returncode, DONE)


if __name__ == "__main__":
    unittest.main()
