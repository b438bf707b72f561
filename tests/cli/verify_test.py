"""What verify says of whole files: altered ones fail, and what it cannot check it names."""
import json
import unittest

from cli_test_case import DONE, NOT_CERTIFIED, CliTestCase


class Verify(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n")

    def explain(self, *options):
        self.ellice("explain", "m.json", "people.csv", *options, "--format", "json", "-o", "plans.json")
        return self.read_json("plans.json")

    def verdict(self, plans, *options):
        """Exit status and the first result."""
        self.write("altered.json", plans)
        run = self.run_ellice("verify", "m.json", "altered.json", "--format", "json", *options)
        return run.returncode, json.loads(run.stdout)["results"][0]

    def test_says_what_it_could_not_check(self):
        plans = self.explain("--epsilon", "0.01")  # a category was searched
        status, result = self.verdict(plans)
        self.assertEqual((status, result["holds"], result["failures"]), (DONE, True, []))
        self.assertTrue(result["unverified"][0].startswith("gap"), result)
        table = self.ellice("verify", "m.json", "altered.json")
        self.assertIn("not checked: gap", table)
        self.assertIn("1 of those that hold", table)
        plans = self.explain("--epsilon", "0.01", "--lock", "purpose")  # nothing but numbers
        status, result = self.verdict(plans)
        self.assertEqual((status, result["unverified"]), (DONE, []))
        self.assertNotIn("not checked", self.ellice("verify", "m.json", "altered.json"))

    def test_finds_an_answer_whose_constraints_were_taken_from_the_request(self):
        plans = self.explain("--epsilon", "0.01", "--lock", "debt")
        self.assertEqual(plans["results"][0]["status"], "optimal")
        self.assertEqual(self.verdict(plans)[0], DONE)
        del plans["options"]["lock"]
        status, result = self.verdict(plans)
        self.assertEqual(status, NOT_CERTIFIED)
        self.assertIn("gap", result["failures"][0])

    def test_finds_another_largest_epsilon_of_the_true_set(self):
        plans = self.explain("--epsilon", "0.5", "--set", "true", "--data", "loans.csv")
        why = plans["results"][0]["infeasible"]
        status, result = self.verdict(plans, "--data", "loans.csv")
        self.assertEqual((status, result["unverified"]), (DONE, []), result)
        stated = why["max_epsilon"]
        for factor in (0, 0.5, 0.98, 1.02, 1.1):
            why["max_epsilon"] = factor * stated
            status, result = self.verdict(plans, "--data", "loans.csv")
            self.assertEqual(status, NOT_CERTIFIED, factor)
            self.assertIn("max_epsilon", result["failures"][0])


if __name__ == "__main__":
    unittest.main()
