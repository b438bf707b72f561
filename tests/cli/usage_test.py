"""Wrong usage: status 2, and a message that says what would have been right."""
import unittest

from cli_test_case import WRONG_USAGE, CliTestCase


class Usage(CliTestCase):
    def setUp(self):
        super().setUp()
        self.write_loans()

    def expect_wrong(self, words, *arguments):
        self.expect_failure(WRONG_USAGE, words, *arguments)

    def test_without_a_verb(self):
        self.expect_wrong(["schema, train, import, explain, verify", "`ellice --help`"])

    def test_with_an_unknown_verb(self):
        self.expect_wrong(['no verb "trian"', 'did you mean "train"?', "`ellice --help`"], "trian", "loans.csv")
        self.expect_wrong(['no verb "pinguin"', "there are: demo, schema, train, import, explain, verify, compare, frontier, shapes, epsilon, calibrate, serve and 6 more"], "pinguin")

    def test_with_an_unknown_option(self):
        self.expect_wrong(["--hold-out", 'did you mean "--holdout"?', "`ellice train --help`"],
                          "train", "--dataset", "lending", "--hold-out", "0.2", "-o", "m.json")
        self.expect_wrong(["--outptu", 'did you mean "--output"?'], "train", "--dataset", "lending", "--outptu=m.json")
        self.expect_wrong(["surplus", "`ellice verify --help`"], "verify", "m.json", "c.json", "surplus")
        self.expect_wrong(["--verbose", "`ellice --help`"], "--verbose")

    def test_without_what_is_required(self):
        self.expect_wrong(["--output", "required", "`ellice train --help`"], "train", "--dataset", "lending")
        self.expect_wrong(["--target", "required"], "schema", "loans.csv", "--favourable", "yes")
        self.expect_wrong(["file", "required"], "verify", "m.json")

    def test_of_train_without_a_schema_says_how_to_get_one(self):
        self.expect_wrong(["needs --schema", "`ellice schema loans.csv --target COLUMN --favourable VALUE` drafts one"],
                          "train", "loans.csv", "-o", "m.json")
        self.expect_wrong(["train needs a CSV file with --schema, or --dataset", "lending"], "train", "-o", "m.json")

    def test_with_values_out_of_range(self):
        for option, value, expected in (("--l2", "-1", "a finite number >= 0"), ("--l2", "nan", "a finite number >= 0"),
                                        ("--l2", "1e999", "a finite number >= 0"),
                                        ("--holdout", "1", "a finite number in [0, 1)"),
                                        ("--threads", "-1", "a whole number >= 0"),
                                        ("--max-iterations", "0", "a whole number >= 1"),
                                        ("--gradient-tolerance", "0", "a finite number > 0"),
                                        ("--seed", "-1", "a whole number from 0 to 18446744073709551615"),
                                        ("--seed", 2**64, "a whole number from 0 to 18446744073709551615")):
            self.expect_wrong([f'{option}: found "{value}", expected {expected}', "`ellice train --help`"],
                              "train", "--dataset", "lending", option, value, "-o", "m.json")

    def test_with_values_of_the_wrong_kind(self):
        for option, value in (("--l2", "much"), ("--seed", "1.5"), ("--threads", "two"), ("--format", "xml"),
                              ("--model", "forest"), ("--log-level", "loud")):
            self.expect_wrong([option, value, "`ellice train --help`"], "train", "--dataset", "lending", option, value,
                              "-o", "m.json")

    def test_with_an_unknown_data_set(self):
        self.expect_wrong(["nope", "lending"], "train", "--dataset", "nope", "-o", "m.json")
        self.expect_wrong(['did you mean "german"?'], "train", "--dataset", "germn", "-o", "m.json")

    def test_with_a_data_set_and_data(self):
        self.expect_wrong(["--dataset lending brings its own data and schema", "leave out loans.csv"],
                          "train", "loans.csv", "--dataset", "lending", "-o", "m.json")
        self.expect_wrong(["leave out --schema"], "train", "--schema", "loans.yaml", "--dataset", "lending", "-o", "m.json")


if __name__ == "__main__":
    unittest.main()
