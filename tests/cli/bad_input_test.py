"""Bad input: status 3, a message that names place, finding and remedy, and nothing written."""
import copy
import json
import unittest

from cli_test_case import BAD_INPUT, LOANS, LOANS_SCHEMA, CliTestCase

OLD_MODEL = b"an older model"


class BadInput(CliTestCase):
    """Every failure happens over an existing output file, which must stay as it is."""

    def setUp(self):
        super().setUp()
        self.write("m.json", OLD_MODEL)

    def expect_refused(self, words, data=LOANS, schema=LOANS_SCHEMA):
        self.write("loans.csv", data)
        self.write("loans.yaml", schema)
        self.expect_failure(BAD_INPUT, words, "train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        self.expect_failure(BAD_INPUT, words, "train", "loans.csv", "--schema", "loans.yaml", "-o", "new.json")

    def expect_draft_refused(self, words, data, *options, target="approved", favourable="yes"):
        self.write("loans.csv", data)
        self.expect_failure(BAD_INPUT, words, "schema", "loans.csv", "--target", target, "--favourable", favourable,
                            "-o", "m.json", *options)


class BadTable(BadInput):
    def test_with_a_missing_column(self):
        self.expect_refused(['loans.csv: column "debt" is missing', 'did you mean "debts"?'],
                            LOANS.replace("debt", "debts", 1))
        self.expect_refused(['loans.csv: column "approved" is missing', "there are: income, debt"],
                            LOANS.replace("approved", "y", 1))

    def test_with_an_extra_column(self):
        lines = LOANS.splitlines()
        data = "\n".join([lines[0] + ",id"] + [f"{line},{i}" for i, line in enumerate(lines[1:])])
        self.expect_refused(['loans.csv: column 6 ("id") is not in the schema', 'add "id" to drop'], data)

    def test_with_a_header_that_repeats_a_name(self):
        words = ['loans.csv: line 1: the column name "debt" appears twice (columns 2 and 3)', "rename one"]
        self.expect_refused(words, LOANS.replace("purpose", "debt", 1))
        self.expect_draft_refused(words, LOANS.replace("purpose", "debt", 1))

    def test_with_a_ragged_row(self):
        self.expect_refused(["loans.csv: line 3: found 4 cells, expected 5"], LOANS.replace("48000,7.25,", "48000,", 1))
        self.expect_refused(["loans.csv: line 3: found 6 cells, expected 5", "quote"],
                            LOANS.replace("48000", "48,000", 1))

    def test_with_text_in_a_numeric_column(self):
        self.expect_refused(['loans.csv:3: column "debt": found "7.25 EUR", expected a finite number'],
                            LOANS.replace("7.25", "7.25 EUR", 1))

    def test_with_numbers_that_are_not_finite(self):
        for text in ("nan", "NaN", "inf", "-Infinity", "1e999"):
            self.expect_refused([f'loans.csv:3: column "debt": found "{text}", expected a finite number',
                                 "leave the cell empty"], LOANS.replace("7.25", text, 1))

    def test_with_empty_cells(self):
        self.expect_refused(['loans.csv:3: column "debt": found an empty cell', '"missing: median"'],
                            LOANS.replace("7.25", "", 1))
        self.expect_refused(['loans.csv:3: column "approved": found an empty cell', "the target must not be missing"],
                            LOANS.replace("Bonn,yes", "Bonn,", 1), LOANS_SCHEMA + "missing: median\n")

    def test_with_a_fraction_in_an_integer_column(self):
        self.expect_refused(['loans.csv:2: column "debt": found "4.5"', "make the feature numeric"],
                            schema=LOANS_SCHEMA.replace("debt:    {kind: numeric", "debt:    {kind: integer"))

    def test_that_is_empty(self):
        words = ["loans.csv: the file is empty; expected a header line"]
        self.expect_refused(words, "")
        self.expect_draft_refused(words, "")

    def test_without_rows(self):
        header = LOANS.splitlines(keepends=True)[0]
        self.expect_refused(["loans.csv: found a header but no rows"], header)
        self.expect_draft_refused(["loans.csv", "a header but no rows"], header)

    def test_with_one_class_only(self):
        self.expect_refused(['loans.csv: column "approved": found only one class, "yes"', "both classes"],
                            LOANS.replace(",no\n", ",yes\n"))
        self.expect_draft_refused(['"approved" holds only "yes"', "two classes"], LOANS.replace(",no\n", ",yes\n"))

    def test_without_the_favourable_value(self):
        self.expect_refused(['loans.csv: column "approved": the favourable value "granted" does not occur',
                             'found "yes", "no"', "target.favourable"],
                            schema=LOANS_SCHEMA.replace('"yes"', "granted"))
        self.expect_draft_refused(['"approved" never holds "granted"', "it holds: no, yes"], LOANS,
                                  favourable="granted")
        self.expect_draft_refused(['no column "aproved"', 'did you mean "approved"?'], LOANS, target="aproved")

    def test_with_an_unknown_level(self):
        self.expect_refused(['loans.csv:4: column "purpose": found "yacht", expected a level',
                             "there are: boat, car, home"], LOANS.replace("9,car", "9,yacht", 1))

    def test_that_is_not_utf8(self):
        for data, line, column in ((LOANS.encode("latin-1"), 2, 4), (LOANS.replace("city", "cité").encode("latin-1"), 1, 4)):
            words = [f"loans.csv: line {line}: column {column} holds the byte 0x", "not UTF-8", "save the file as UTF-8"]
            self.expect_refused(words, data)
            self.expect_draft_refused(words, data, "--encoding", "utf8")
        self.expect_refused(["loans.csv: the text is UTF-16; save the file as UTF-8"], LOANS.encode("utf-16"))

    def test_that_is_not_a_table(self):
        self.expect_refused(["loans.csv: line 1", "separated by ';'?"], LOANS.replace(",", ";"))
        self.expect_refused(["loans.csv: line 1", "no header"], "5.1,3.5\n4.9,3\n")
        self.expect_refused(["loans.csv: line 2: column 1", "never closed"], LOANS.replace("52000", '"52000', 1))

    def test_that_cannot_be_read(self):
        self.write("loans.yaml", LOANS_SCHEMA)
        for path, reason in (("nowhere.csv", "No such file"), (".", "Is a directory")):
            self.expect_failure(BAD_INPUT, [f"cannot read {path}: {reason}"], "train", path, "--schema", "loans.yaml",
                                "-o", "m.json")

    def test_from_standard_input_is_called_so(self):
        self.write("loans.yaml", LOANS_SCHEMA)
        self.expect_failure(BAD_INPUT, ["standard input: the file is empty"], "train", "-", "--schema", "loans.yaml",
                            "-o", "m.json")

    def test_whose_classes_a_plane_separates_needs_a_penalty(self):
        self.write("loans.csv", LOANS)
        self.write("loans.yaml", LOANS_SCHEMA.replace("  debt:", "  score: {kind: numeric}\n  debt:"))
        rows = [line.split(",") for line in LOANS.splitlines()]
        scores = ["score"] + ["3" if row[-1] == "yes" else "1" for row in rows[1:]]
        self.write("loans.csv", "".join(",".join([score, *row]) + "\n" for score, row in zip(scores, rows)))
        self.expect_failure(BAD_INPUT, ["loans.csv", "separated", "--l2 0.001"], "train", "loans.csv", "--schema",
                            "loans.yaml", "--l2", "0", "-o", "m.json")


class BadSchema(BadInput):
    def test_with_an_unknown_key(self):
        self.expect_refused(['loans.yaml:3: features.income.direktion: unknown key "direktion"',
                             'did you mean "direction"?'], schema=LOANS_SCHEMA.replace("direction", "direktion"))
        self.expect_refused(['loans.yaml:7: mising: unknown key "mising"', 'did you mean "missing"?'],
                            schema=LOANS_SCHEMA + "mising: median\n")

    def test_with_a_contradictory_range(self):
        self.expect_refused(['loans.yaml:4: features.debt.max: found "-1", expected at least min, which is 0'],
                            schema=LOANS_SCHEMA.replace("debt:    {kind: numeric, min: 0", "debt: {kind: numeric, min: 0, max: -1"))

    def test_with_an_unknown_kind(self):
        self.expect_refused(['loans.yaml:4: features.debt.kind: found "number", expected one of numeric'],
                            schema=LOANS_SCHEMA.replace("debt:    {kind: numeric", "debt: {kind: number"))

    def test_with_two_columns_of_one_name(self):
        self.expect_refused(['loans.yaml:2: features: "purpose=car"', "rename"],
                            schema=LOANS_SCHEMA + "  purpose=car: {kind: numeric}\n")

    def test_that_is_not_text(self):
        self.expect_refused(["loans.yaml:6: found the byte 0xF6", "save the file as UTF-8"],
                            schema=LOANS_SCHEMA.encode("latin-1"))
        self.expect_refused(["loans.yaml", "not YAML"], schema="target: {column: approved")
        self.expect_refused(["loans.yaml"], schema="")

    def test_that_cannot_be_read(self):
        self.write("loans.csv", LOANS)
        self.expect_failure(BAD_INPUT, ["cannot read nowhere.yaml: No such file"], "train", "loans.csv", "--schema",
                            "nowhere.yaml", "-o", "m.json")


class BadModel(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.model = self.read_json("m.json")

    def expect_refused(self, words, change):
        """`change` alters a copy of the model in place, or returns what is to be written instead."""
        model = copy.deepcopy(self.model)
        self.write("bad.json", change(model) or model)
        self.expect_failure(BAD_INPUT, words, "verify", "bad.json", "m.json")

    def test_that_is_truncated(self):
        text = json.dumps(self.model)
        for length in (0, 1, len(text) // 2, len(text) - 1):
            self.expect_refused(["bad.json: not JSON", "is the file complete?"], lambda _, n=length: text[:n].encode() or b"\n")

    def test_of_a_newer_version(self):
        self.expect_refused(["bad.json: version: found 3, expected 1 to 2, "], lambda m: m.update(version=3))
        self.expect_refused(['bad.json: format: found "other", expected "ellice.model"'], lambda m: m.update(format="other"))

    def test_whose_hessian_is_not_positive_definite(self):
        def negate(model):
            model["curvature"]["hessian"][2][2] *= -1

        def skew(model):
            model["curvature"]["hessian"][0][1] += 1
        self.expect_refused(["bad.json: curvature.hessian", "positive definite", "train the model again"], negate)
        self.expect_refused(["bad.json: curvature.hessian", "symmetric", "train the model again"], skew)

    def test_whose_sizes_disagree(self):
        def shorten(*path):
            def change(model):
                part = model
                for key in path:
                    part = part[key]
                part.pop()
            return change
        self.expect_refused(["bad.json: network.layers[0].weights[0]: found 5 numbers, expected 6"],
                            shorten("network", "layers", 0, "weights", 0))
        self.expect_refused(["bad.json: network.layers[0].bias: found 0 numbers, expected 1"],
                            shorten("network", "layers", 0, "bias"))
        self.expect_refused(["bad.json: encoder.mean: found 5 numbers, expected 6"], shorten("encoder", "mean"))
        self.expect_refused(["bad.json: encoder.columns: found 5 columns, expected 6"], shorten("encoder", "columns"))
        self.expect_refused(["bad.json: curvature.hessian: found 6 rows, expected 7"], shorten("curvature", "hessian"))
        self.expect_refused(["bad.json: curvature.hessian[3]: found 6 numbers, expected 7"],
                            shorten("curvature", "hessian", 3))
        self.expect_refused(["bad.json: decision.classes", "two different labels"], shorten("decision", "classes"))

    def test_with_a_value_that_cannot_be(self):
        self.expect_refused(['bad.json: unknown key "comment"'], lambda m: m.update(comment="hello"))
        self.expect_refused(["bad.json: encoder.scale[0]: found 0, expected > 0"],
                            lambda m: m["encoder"]["scale"].__setitem__(0, 0))
        self.expect_refused(["bad.json: training.l2: found -1, expected a number >= 0"], lambda m: m["training"].update(l2=-1))
        self.expect_refused(["bad.json: features.debt.min"], lambda m: m["schema"]["features"]["debt"].update(min="low"))

    def test_without_one_of_its_parts(self):
        for part in ("schema", "encoder", "network", "decision", "training", "curvature"):
            self.expect_refused([f'bad.json: key "{part}" is missing'], lambda m, p=part: m.pop(p) and None)


if __name__ == "__main__":
    unittest.main()
