"""Few changes, the trade-off and several plans from the command line."""
import csv
import io
import unittest

from cli_test_case import CliTestCase, DONE, WRONG_USAGE


class FewChanges(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("demo", "--people", "12", "--quiet", "-o", "page.html", "--csv", "people.csv")
        self.ellice("train", "--dataset", "lending", "-o", "m.json", "--quiet")

    def explain(self, *options, form="json"):
        return self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.002", "--quiet", "--format", form, *options)

    def test_a_trade_off_is_in_every_form_of_the_result(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.002", "--quiet", "--format", "json", "--trade-off", "-o", "plans.json")
        self.assertEqual(self.run_ellice("verify", "m.json", "plans.json").returncode, DONE)
        answers = [r for r in self.read_json("plans.json")["results"] if r.get("changes")]
        self.assertTrue(answers)
        for one, next_one in zip(answers, answers[1:]):
            self.assertIn("reason", one)
            if one["query_index"] != next_one["query_index"]:
                continue
            self.assertLess(one["distance"]["changed"], next_one["distance"]["changed"])
            self.assertGreater(one["distance"]["weighted"], next_one["distance"]["weighted"])
        self.assertIn("lower the cost from", self.explain("--trade-off", form="table"))
        self.assertIn("lower the cost from", self.explain("--trade-off", form="html"))
        rows = list(csv.DictReader(io.StringIO(self.explain("--trade-off", form="csv"))))
        self.assertTrue(any("lower the cost from" in row["reason"] for row in rows))

    def test_more_plans_than_exist_are_said_to_be_missing(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.002", "--quiet", "--format", "json", "--plans", "500", "--max-changes", "1",
                    "-o", "plans.json")
        last = {r["query_index"]: r for r in self.read_json("plans.json")["results"]}
        for result in last.values():
            if result["plan"] > 0:
                self.assertEqual(result["status"], "not_found")
                self.assertIn("no further plan", result["message"])

    def test_wishes_that_cannot_be_are_refused_in_words(self):
        for options, words in [
            (["--plans", "0"], "--plans"),
            (["--max-changes", "0"], "--max-changes"),
            (["--trade-off", "--plans", "2"], "--trade-off"),
            (["--trade-off", "--method", "data", "--dataset", "lending"], "--trade-off"),
            (["--sparse", "--method", "gradient"], "--sparse"),
            (["--plans", "2", "--method", "greedy"], "--plans"),
            (["--node-limit", "5", "--method", "data", "--dataset", "lending"], "--node-limit"),
            (["--cost", "mixed", "--sparsity-weight", "1"], "--sparsity-weight"),
        ]:
            run = self.run_ellice("explain", "m.json", "people.csv", "--epsilon", "0.002", *options)
            self.assertEqual(run.returncode, WRONG_USAGE, options)
            self.assertIn(words, run.stderr)


if __name__ == "__main__":
    unittest.main()
