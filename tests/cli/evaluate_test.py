"""The verb `evaluate` as its users meet it."""
import csv
import io
import json
import unittest

from cli_test_case import BAD_INPUT, LOANS, WRONG_USAGE, CliTestCase

PEOPLE = "income,debt,purpose,city\n30000,8,car,Bonn\n28000,9,boat,Köln\n60000,1,home,Köln\n31000,7,car,Bonn\n"
FEW = ("--retrain-models", "3", "--dropout-models", "10", "--awp-models", "5", "--bootstrap-models", "4")
ALL = "retrain,dropout,awp,awp-targeted,ellipsoid,true,bootstrap"


class Evaluate(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", PEOPLE)
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "2%", "--range", "off", "--timings", "--format", "json",
                    "-o", "plans.json", "--quiet")

    def evaluate(self, *options, file="plans.json"):
        return json.loads(self.ellice("evaluate", "m.json", file, "--data", "loans.csv", "--format", "json", "--quiet",
                                      *FEW, *options))

    def foreign(self, name="theirs.csv", order=None, skip=(), rename=None, repeat=()):
        """The plans as somebody else would write them."""
        plans = {r["query_index"]: r["counterfactual"] for r in self.read_json("plans.json")["results"]}
        columns = order or ["query_index", "income", "debt", "purpose", "city"]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([(rename or {}).get(c, c) for c in columns])
        for i in [*plans, *repeat]:
            if i not in skip:
                writer.writerow([i if c == "query_index" else plans[i][c] for c in columns])
        self.write(name, out.getvalue())
        return name

    def test_judges_a_recourse_file(self):
        found = self.evaluate("--evaluators", ALL, "--target-epsilon", "2%")
        self.assertEqual(found["format"], "ellice.evaluation")
        self.assertEqual(found["target_epsilon"]["rule"], "2%")
        self.assertEqual(found["rows"], 3)
        self.assertEqual(found["left_out"]["accepted"], 1)
        self.assertEqual(found["metrics"]["validity"]["mean"], 1)
        self.assertEqual(found["metrics"]["seconds"]["count"], 3)
        by_name = {e["name"]: e for e in found["evaluators"]}
        self.assertEqual(",".join(by_name), ALL)
        # What was certified for this very set holds for it.
        self.assertEqual(by_name["ellipsoid"]["robustness"], 1)
        for name in ("dropout", "awp"):
            for objective in by_name[name]["objectives"]:
                self.assertLessEqual(objective, found["base_objective"] + found["target_epsilon"]["value"] + 1e-12)
        plans = {r["query_index"]: r for r in self.read_json("plans.json")["results"]}
        for row in found["results"]:
            plan = plans[row["query_index"]]
            self.assertAlmostEqual(row["l2"], plan["distance"]["l2"], places=9)
            self.assertAlmostEqual(row["l1"], plan["distance"]["l1"], places=9)
            self.assertEqual(row["changed"], plan["distance"]["changed"])
            self.assertAlmostEqual(row["evaluators"]["ellipsoid"]["worst_logit"], plan["robust_logit"], places=9)

    def test_prints_a_table(self):
        text = self.ellice("evaluate", "m.json", "plans.json", "--data", "loans.csv", *FEW)
        for words in ("3 people explained", "1 accepted as they are", "validity", "outlier factor", "retrain", "of all",
                      "one optimum"):
            self.assertIn(words, text)

    def test_judges_the_same_answers_in_every_form_alike(self):
        reference = self.evaluate("--target-epsilon", "2%")  # a table of answers does not say for which they were made
        for fmt in ("jsonl", "csv"):
            self.ellice("explain", "m.json", "people.csv", "--epsilon", "2%", "--range", "off", "--format", fmt, "-o",
                        "plans." + fmt, "--quiet")
        for file in ("plans.jsonl", "plans.csv", self.foreign(order=["city", "debt", "query_index", "purpose", "income"])):
            found = self.evaluate("--queries", "people.csv", "--target-epsilon", "2%", file=file)
            for ours, theirs in zip(reference["results"], found["results"]):
                ours.pop("seconds", None)
                self.assertEqual(ours, theirs, file)
            self.assertEqual(reference["evaluators"], found["evaluators"])

    def test_judges_at_the_epsilon_of_the_answers_and_says_how_many_survive_all(self):
        found = self.evaluate("--evaluators", "ellipsoid,bootstrap")
        plans = self.read_json("plans.json")
        self.assertEqual(found["target_epsilon"]["value"], plans["epsilon"]["value"])
        self.assertEqual(found["evaluators"][0]["robust"], 3)  # which is what they were certified for
        survivors = sum(all(e["holds"] for e in row["evaluators"].values()) and row["valid"] for row in found["results"])
        self.assertEqual(found["survive_all"], survivors)
        self.assertIn(f"survive all: {survivors} of 3", self.ellice("evaluate", "m.json", "plans.json", "--data", "loans.csv",
                                                                      "--evaluators", "ellipsoid,bootstrap", *FEW))

    def test_a_file_of_the_declined_alone_lacks_nobody(self):
        self.ellice("explain", "m.json", "people.csv", "--declined", "--epsilon", "2%", "--range", "off", "-o", "declined.json", "--quiet")
        found = self.evaluate("--evaluators", "ellipsoid", file="declined.json")
        self.assertEqual((found["rows"], found["found"]), (3, 3))
        document = self.read_json("declined.json")
        document["results"].pop()
        self.write("fewer.json", document)
        self.expect_failure(BAD_INPUT, ["fewer.json", "no answer any more"], "evaluate", "m.json", "fewer.json", "--data", "loans.csv")

    def test_is_the_same_for_any_number_of_threads(self):
        runs = [self.evaluate("--evaluators", ALL, "--threads", threads) for threads in ("1", "2")]
        self.assertEqual(*runs)

    def test_compares_two_files_by_row(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0", "--range", "off", "--format", "json", "-o",
                    "plain.json", "--quiet")
        found = self.evaluate("--against", "plain.json", "--target-epsilon", "2%", "--evaluators", "ellipsoid")
        compared = {c["name"]: c for c in found["comparison"]}
        self.assertGreater(compared["l2"]["difference"]["mean"], 0)
        self.assertEqual(compared["l2"]["larger"], 3)
        self.assertEqual(compared["ellipsoid"]["difference"]["mean"], 1)
        self.assertAlmostEqual(compared["ellipsoid"]["permutation_p"], 0.25)
        text = self.ellice("evaluate", "m.json", "plans.json", "--data", "loans.csv", "--against", "plain.json", *FEW)
        self.assertIn("plans.json minus plain.json", text)

    def test_missing_answers_are_an_error_or_not_found(self):
        theirs = self.foreign(skip=(1, 2))
        self.expect_failure(BAD_INPUT, ["theirs.csv", "1 of 4 queries", "query_index 1", "--missing not-found"],
                            "evaluate", "m.json", theirs, "--queries", "people.csv", "--data", "loans.csv")
        found = self.evaluate("--queries", "people.csv", "--missing", "not-found", "--target-epsilon", "2%",
                              "--evaluators", "ellipsoid", file=theirs)
        self.assertEqual((found["rows"], found["found"]), (3, 2))
        self.assertAlmostEqual(found["evaluators"][0]["robustness"], 2 / 3)
        self.assertEqual(found["evaluators"][0]["robustness_valid_only"], 1)

    def test_refuses_tables_that_do_not_fit(self):
        self.foreign("other.csv", rename={"debt": "debts"})
        self.foreign("twice.csv", repeat=(0,))
        self.foreign("nobody.csv", rename={"query_index": "row"})
        for file, words in (("other.csv", ["debts", "debt"]), ("twice.csv", [":6:", "query_index 0", "already"]),
                            ("nobody.csv", ["query_index"])):
            self.expect_failure(BAD_INPUT, [file, *words], "evaluate", "m.json", file, "--queries", "people.csv", "--data",
                                "loans.csv")
        self.expect_failure(WRONG_USAGE, ["--queries"], "evaluate", "m.json", "twice.csv", "--data", "loans.csv")
        self.expect_failure(BAD_INPUT, ["none.json"], "evaluate", "m.json", "none.json", "--data", "loans.csv")
        self.expect_failure(BAD_INPUT, ["m.json", "format"], "evaluate", "m.json", "m.json", "--data", "loans.csv")

    def test_notices_other_queries_and_missing_answers(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "2%", "--range", "off", "--format", "csv", "-o",
                    "plans.csv", "--quiet")
        head, *rows = PEOPLE.splitlines()
        self.write("shuffled.csv", "\n".join([head, *reversed(rows)]) + "\n")
        judge = ("evaluate", "m.json", "plans.csv", "--data", "loans.csv", "--queries")
        self.expect_failure(BAD_INPUT, ["plans.csv:2", "distance_l2", "row 0", "another order"], *judge, "shuffled.csv")
        self.expect_failure(BAD_INPUT, ["plans.json", "row 0 is not that row"], "evaluate", "m.json", "plans.json", "--data",
                            "loans.csv", "--queries", "shuffled.csv")
        # Rows taken out of our own file would make it look better.
        plans = self.read_json("plans.json")
        self.assertEqual(plans["explained"], 4)
        for kept in ([0, 1, 2], [0, 1, 3], [3]):
            self.write("fewer.json", {**plans, "results": [plans["results"][i] for i in kept]})
            missing = next(i for i in range(4) if i not in kept)
            self.expect_failure(BAD_INPUT, ["fewer.json", f"{4 - len(kept)} of 4", f"query_index {missing}", "--missing not-found"],
                                "evaluate", "m.json", "fewer.json", "--data", "loans.csv")
        found = self.evaluate("--queries", "people.csv", "--missing", "not-found", "--evaluators", "ellipsoid",
                              "--target-epsilon", "2%", file="fewer.json")
        self.assertEqual((found["rows"], found["found"]), (3, 1))
        self.assertAlmostEqual(found["evaluators"][0]["robustness"], 1 / 3)
        lines = [json.dumps(r) for r in plans["results"]]
        self.write("gap.jsonl", "\n".join(lines[:1] + lines[2:]))
        self.expect_failure(BAD_INPUT, ["gap.jsonl", "1 of 4", "query_index 1"], "evaluate", "m.json", "gap.jsonl", "--data",
                            "loans.csv")

    def test_judges_rows_that_nobody_can_have_and_says_so(self):
        self.write("whole.yaml", "target: {column: approved, favourable: \"yes\"}\nfeatures:\n"
                   "  income: {kind: integer, min: 0}\n  debt: {kind: numeric, max: 12}\n"
                   "  purpose: {kind: categorical, levels: [boat, car, home]}\n"
                   "  city: {kind: binary, levels: [Bonn, Köln], immutable: true}\n")
        self.ellice("train", "loans.csv", "--schema", "whole.yaml", "-o", "w.json")
        self.write("theirs.csv", "query_index,income,debt,purpose,city\n0,90000.5,1,car,Bonn\n1,90000,13,boat,Bonn\n"
                   "2,,,,\n3,90000,1,car,Bonn\n")
        options = ("evaluate", "w.json", "theirs.csv", "--queries", "people.csv", "--data", "loans.csv", "--evaluators",
                   "ellipsoid", "--target-epsilon", "0.001")
        found = json.loads(self.ellice(*options, "--format", "json"))
        self.assertEqual(found["violating"], 2)
        by_row = {r["query_index"]: r for r in found["results"]}
        self.assertEqual(by_row[0]["violations"], ["income: 90000.5 is not an allowed value"])
        self.assertEqual(len(by_row[1]["violations"]), 2)
        self.assertNotIn("violations", by_row[3])
        self.assertTrue(by_row[0]["valid"])
        self.assertIn("2 of 3 answers break the schema", self.ellice(*options))

    def test_says_how_many_neighbours_there_were(self):
        found = self.evaluate("--evaluators", "ellipsoid", "--lof-neighbours", "50")
        self.assertEqual((found["options"]["lof_neighbours"], found["options"]["lof_neighbours_asked"]), (9, 50))
        self.assertNotIn("lof_neighbours_asked", self.evaluate("--evaluators", "ellipsoid", "--lof-neighbours", "9")["options"])
        self.assertIn("of 9 neighbours, not of 50", self.ellice("evaluate", "m.json", "plans.json", "--data", "loans.csv",
                                                                "--evaluators", "ellipsoid", "--lof-neighbours", "50"))

    def test_suggests_names(self):
        for option, value, words in (("--evaluators", "retrian", ["retrian", "did you mean \"retrain\"?"]),
                                     ("--metrics", "l2,changd", ["changd", "did you mean \"changed\"?"]),
                                     ("--variant", "publshed", ["--variant", "did you mean \"published\"?"]),
                                     ("--target-epsilon", "ten", ["ten"]), ("--target-epsilon", "0", ["epsilon", "> 0"])):
            self.expect_failure(WRONG_USAGE, words, "evaluate", "m.json", "plans.json", "--data", "loans.csv", option, value)

    def test_needs_the_rows_of_the_model(self):
        self.expect_failure(WRONG_USAGE, ["--data"], "evaluate", "m.json", "plans.json")
        self.write("others.csv", LOANS.replace("52000", "52500"))
        self.expect_failure(BAD_INPUT, ["others.csv", "SHA-256"], "evaluate", "m.json", "plans.json", "--data", "others.csv")
        self.expect_failure(WRONG_USAGE, ["shift", "--shift-data", "--holdout"], "evaluate", "m.json", "plans.json", "--data",
                            "loans.csv", "--evaluators", "shift")
        head, *rows = LOANS.splitlines()
        self.write("again.csv", "\n".join([head, *reversed(rows)]))
        for same in ("loans.csv", "again.csv"):
            self.expect_failure(BAD_INPUT, [same, "all of its 10 rows", "trained on"], "evaluate", "m.json", "plans.json",
                                "--data", "loans.csv", "--evaluators", "shift", "--shift-data", same)
        # Others of the same kind, one of them known.
        others = [head, rows[0], *(str(int(row.split(",")[0]) + 500) + row[5:] for row in rows[1:])]
        self.write("others.csv", "\n".join(others))
        found = self.evaluate("--evaluators", "shift", "--shift-data", "others.csv")
        self.assertEqual(found["evaluators"][0]["models"], 1)
        run = self.run_ellice("evaluate", "m.json", "plans.json", "--data", "loans.csv", "--evaluators", "shift",
                              "--shift-data", "others.csv")
        self.assertIn("1 of its 10 rows", run.stderr)

    def test_says_so_where_no_model_is_close_enough(self):
        options = ("evaluate", "m.json", "plans.json", "--data", "loans.csv", "--evaluators", "dropout",
                   "--target-epsilon", "1e-15", "--dropout-models", "2", "--variant", "published")
        text = self.ellice(*options)
        for words in ("undefined", "none of 4 models that were tried"):
            self.assertIn(words, text)
        found = json.loads(self.ellice(*options, "--format", "json"))
        self.assertIsNone(found["evaluators"][0]["robustness"])
        self.assertEqual(found["evaluators"][0]["tried"], 4)

    def test_warns_of_another_model_and_threshold(self):
        self.train_loans("other.json", "--l2", "0.01")
        run = self.run_ellice("evaluate", "other.json", "plans.json", "--data", "loans.csv", "--evaluators", "ellipsoid",
                              "--threshold", "p=0.6")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("made for another model", run.stderr)
        self.assertIn("made for the threshold 0", run.stderr)


if __name__ == "__main__":
    unittest.main()
