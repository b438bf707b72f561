"""What a user does: draft a schema, train, look at the result."""
import json
import unittest

from cli_test_case import LOANS, LOANS_SCHEMA, PROJECT, CliTestCase

VERBS = ("schema", "train", "verify", "options")


class Workflow(CliTestCase):
    def test_a_drafted_schema_trains_a_model(self):
        self.write("loans.csv", LOANS)
        self.ellice("schema", "loans.csv", "--target", "approved", "--favourable", "yes", "-o", "s.yaml")
        report = self.ellice("train", "loans.csv", "--schema", "s.yaml", "-o", "m.json")
        self.assertIn("10 used: 5 yes, 5 no", report)
        model = self.read_json("m.json")
        self.assertEqual((model["format"], model["version"]), ("ellice.model", 1))
        self.assertEqual(model["decision"], {"threshold": 0, "classes": ["no", "yes"]})
        self.assertEqual(model["encoder"]["columns"],
                         ["income", "debt", "purpose=boat", "purpose=car", "purpose=home", "city"])
        self.assertEqual(sorted(self.files()), ["loans.csv", "m.json", "s.yaml"])

    def test_the_draft_goes_to_standard_output_by_default(self):
        self.write("loans.csv", LOANS)
        arguments = ("schema", "loans.csv", "--target", "approved", "--favourable", "yes")
        text = self.ellice(*arguments)
        self.assertIn("income:", text)
        self.write("draft.yaml", text)
        self.ellice("train", "loans.csv", "--schema", "draft.yaml", "-o", "m.json")
        document = json.loads(self.ellice(*arguments, "--format", "json"))
        self.assertEqual((document["format"], document["version"]), ("ellice.schema", 1))
        self.assertEqual(document["schema"], self.read_json("m.json")["schema"])

    def test_the_report_says_the_same_as_the_model_file(self):
        report = self.train_loans()
        model = self.read_json("m.json")
        self.assertEqual((report["format"], report["version"]), ("ellice.training", 1))
        self.assertEqual(report["rows"], {"used": 10, "favourable": 5, "holdout": 0, "dropped": {}})
        self.assertEqual(report["columns"], len(model["encoder"]["columns"]))
        for key in ("loss", "objective"):
            self.assertEqual(report[key], model["training"][key])

    def test_data_and_results_can_be_piped(self):
        self.write_loans()
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        run = self.run_ellice("train", "-", "--schema", "loans.yaml", "-o", "-", stdin=LOANS.encode())
        self.assertEqual(run.returncode, 0)
        self.assertEqual(json.loads(run.stdout), self.read_json("m.json"))
        self.assertIn("accuracy", run.stderr)
        self.assertFalse(run.stderr.endswith("\n\n"))
        draft = self.ellice("schema", "-", "--target", "approved", "--favourable", "yes", stdin=LOANS.encode())
        self.assertIn("standard input", draft)

    def test_the_embedded_data_needs_no_file(self):
        report = json.loads(self.ellice("train", "--dataset", "lending", "--format", "json", "-o", "m.json"))
        model = self.read_json("m.json")
        self.assertEqual(model["training"]["selection"]["recipe"], "lending")
        self.assertGreater(report["accuracy"]["cross_validated"], 0.5)

    def test_quiet_says_nothing_on_standard_error(self):
        self.write_loans()
        train = ("train", "loans.csv", "--schema", "loans.yaml", "--quiet", "-o")
        for arguments in ((*train, "m.json"), (*train, "-"), (*train, "m.json", "--l2", "0", "--loss", "squared"),
                          ("schema", "loans.csv", "--target", "approved", "--favourable", "yes", "--quiet",
                           "-o", "s.yaml")):
            run = self.run_ellice(*arguments)
            self.assertEqual((run.returncode, run.stderr), (0, ""), arguments)

    def test_a_model_file_depends_on_neither_threads_nor_repetition(self):
        for options in (("--holdout", "0.25"), ("--balance", "--seed", "7", "--store-rows")):
            models = set()
            reports = set()
            for threads in (1, 2, 5, 5):
                reports.add(self.ellice("train", "--dataset", "lending", "-o", "m.json", "--threads", threads,
                                        *options))
                models.add((self.folder / "m.json").read_bytes())
            self.assertEqual((len(models), len(reports)), (1, 1), options)

    def test_another_seed_holds_out_other_rows(self):
        for seed in (0, 1):
            self.train_loans(f"{seed}.json", "--holdout", "0.4", "--seed", seed)
        self.assertNotEqual(self.read_json("0.json")["encoder"], self.read_json("1.json")["encoder"])

    def test_the_largest_seed_survives(self):
        largest = 2**64 - 1
        self.train_loans("m.json", "--seed", largest)
        self.assertEqual(self.read_json("m.json")["training"]["seed"], largest)

    def test_an_output_file_is_replaced_whole(self):
        self.write("m.json", "x" * 100000)
        self.train_loans()
        self.assertEqual(self.read_json("m.json")["format"], "ellice.model")

    def test_features_are_matched_by_name_not_by_place(self):
        self.train_loans()
        rows = [line.split(",") for line in LOANS.splitlines()]
        self.write("turned.csv", "".join(",".join(reversed(row)) + "\n" for row in rows))
        self.ellice("train", "turned.csv", "--schema", "loans.yaml", "-o", "turned.json")
        turned, model = self.read_json("turned.json"), self.read_json("m.json")
        for part in ("encoder", "network", "curvature"):
            self.assertEqual(turned[part], model[part])

    def test_a_file_as_other_programs_write_it_gives_the_same_model(self):
        self.train_loans()
        quoted = "".join(",".join(f'"{cell}"' for cell in line.split(",")) + "\r\n" for line in LOANS.splitlines())
        self.write("quoted.csv", "\ufeff" + quoted + "\r\n")
        self.ellice("train", "quoted.csv", "--schema", "loans.yaml", "-o", "quoted.json")
        quoted, model = self.read_json("quoted.json"), self.read_json("m.json")
        del quoted["training"]["data_sha256"], model["training"]["data_sha256"]
        self.assertEqual(quoted, model)

    def test_a_singular_hessian_is_reported(self):
        self.write("loans.yaml", LOANS_SCHEMA)
        self.write("loans.csv", LOANS)
        run = self.run_ellice("train", "loans.csv", "--schema", "loans.yaml", "--l2", "0", "--loss", "squared",
                              "-o", "m.json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("warning: H is singular", run.stderr)
        self.assertGreater(self.read_json("m.json")["curvature"]["shift"], 0)


class Help(CliTestCase):
    def test_shows_examples_of_the_program_and_of_every_verb(self):
        text = self.ellice("--help")
        self.assertIn("Examples:", text)
        for verb in VERBS:
            self.assertIn(f"\n  {verb} ", text)
            self.assertIn(f"  ellice {verb}", self.ellice(verb, "--help"))

    def test_the_examples_work(self):
        self.write_loans()
        for line in self.ellice("schema", "--help").splitlines() + self.ellice("train", "--help").splitlines():
            if line.startswith("  ellice ") and "german" not in line:
                self.ellice(*line.split()[1:])

    def test_names_the_version(self):
        self.assertRegex(self.ellice("--version"), r"^ellice \d+\.\d+\.\d+ \(")

    def test_the_option_reference_is_up_to_date(self):
        self.assertEqual(self.ellice("options", "--markdown"),
                         (PROJECT / "docs/reference/options.md").read_text(encoding="utf-8"))

    def test_every_option_of_the_reference_is_in_the_help(self):
        help_text = "".join(self.ellice(verb, "--help-all") for verb in ("train", "explain", "epsilon", "evaluate", "serve"))
        # Keys of requests to the service are no options of a command.
        options = self.ellice("options", "--markdown").split("## serve: keys of a request")[0]
        for line in options.splitlines():
            if line.startswith("| `") and not line.startswith("| `recipe`"):
                self.assertIn("--" + line.split("`")[1].replace("_", "-"), help_text)


if __name__ == "__main__":
    unittest.main()
