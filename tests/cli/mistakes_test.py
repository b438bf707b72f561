"""Mistakes that people make: one table with what they type, the exit status, what the message finds and what it says to do next.

Each runs in a folder with a table, its schema, a model, another model, people, and plans for them; nothing there may change.
"""
import json
import shlex
import unittest

from cli_test_case import (BAD_INPUT, DONE, FAILURE, LOANS, LOANS_SCHEMA, NOT_CERTIFIED, WRONG_USAGE, CliTestCase)

PEOPLE = "who,income,debt,purpose,city\nAnn,29000,6.5,car,Köln\nBob,27500,3.5,boat,Bonn\n"
EXPLAIN = "explain m.json people.csv --epsilon 1% --id who "
TRAIN = "train loans.csv --schema loans.yaml -o new.json "
SCHEMA = "schema loans.csv --target approved --favourable yes -o new.yaml "
LETTERS = EXPLAIN + "--letters letters --lender Bank --date 2026-05-01 "


def person(cells):
    return {"people.csv": f"who,income,debt,purpose,city\n{cells}\n"}


def table(old, new, count=-1):
    return {"loans.csv": LOANS.replace(old, new, count)}


def schema(old, new):
    assert old in LOANS_SCHEMA
    return {"loans.yaml": LOANS_SCHEMA.replace(old, new)}


def altered(name, change):
    """The file of this name that the program wrote, changed as a document."""
    def alter(folder):
        document = json.loads((folder / name).read_text(encoding="utf-8"))
        change(document)
        return json.dumps(document)
    return {name: alter}


def cut(name):
    return {name: lambda folder: (folder / name).read_text(encoding="utf-8")[:300]}


def change_income(plans):
    plans["results"][0]["counterfactual"]["income"] += 1


# What is typed; the exit status; what is found; what to do next; files that are other than usual.
MISTAKES = (
    # Verbs, options and their order.
    ("trian loans.csv", WRONG_USAGE, 'no verb "trian"', 'did you mean "train"?'),
    ("loans.csv", WRONG_USAGE, 'no verb "loans.csv"', "see `ellice --help`"),
    ("--versoin", WRONG_USAGE, "no option --versoin", 'did you mean "--version"?'),
    ("man explian", WRONG_USAGE, 'no verb "explian"', 'did you mean "explain"?'),
    ("completion powershell", WRONG_USAGE, "powershell", "bash, zsh, fish"),
    (EXPLAIN + "--treshold 0", WRONG_USAGE, "no option --treshold", 'did you mean "--threshold"?'),
    (EXPLAIN + "--quite", WRONG_USAGE, "no option --quite", 'did you mean "--quiet"?'),
    ("help explian", WRONG_USAGE, 'no verb "explian"', 'did you mean "explain"?'),
    (EXPLAIN + "-o people.csv", WRONG_USAGE, "would replace a file that is read", "name another one"),
    (EXPLAIN + "-o m.json", WRONG_USAGE, "would replace a file that is read", "name another one"),
    ("train loans.csv --schema loans.yaml -o loans.csv", WRONG_USAGE, "would replace a file that is read", "name another one"),
    (EXPLAIN + "-o new.xlsx", WRONG_USAGE, "the ending .xlsx", "give .json, .jsonl, .csv, .html"),
    (EXPLAIN + "--method exat", WRONG_USAGE, 'no "exat"', 'did you mean "exact"?'),
    ("compare other.json m.json plans.json", BAD_INPUT, "made for another model", "give the one they were made for first"),
    (EXPLAIN + "surplus.csv", WRONG_USAGE, "surplus.csv", "see `ellice explain --help`"),
    ("explain m.json people.csv --epsilon 5 %", WRONG_USAGE, "%", "see `ellice explain --help`"),
    ("explain m.json", WRONG_USAGE, "queries is required", "see `ellice explain --help`"),
    ("schema loans.csv --favourable yes", WRONG_USAGE, "--target is required", "see `ellice schema --help`"),
    ("train loans.csv -o new.json", WRONG_USAGE, "needs --schema", "`ellice schema loans.csv --target COLUMN --favourable VALUE`"),
    ("train --dataset germn -o new.json", WRONG_USAGE, 'no built-in data set "germn"', 'did you mean "german"?'),
    ("study plan.yaml", WRONG_USAGE, "a folder for the results is needed", "-o FOLDER"),
    ("explain people.csv m.json", WRONG_USAGE, "the model comes first", "`ellice explain m.json people.csv`"),
    ("verify plans.json m.json", BAD_INPUT, 'plans.json: format: found "ellice.recourse"', "give a file of that kind in this place"),
    ("verify m.json m.json", BAD_INPUT, 'm.json: format: found "ellice.model"', "give a file of that kind in this place"),
    ("train loans.yaml --schema loans.csv -o new.json", BAD_INPUT, "loans.csv:1: found", "expected a map with the keys target and features"),
    ("train loans.csv --schema m.json -o new.json", BAD_INPUT, 'm.json:3: version: unknown key "version"', "there are: target, drop, features"),
    # Values of options.
    (EXPLAIN + "--threshold 0.7", DONE, "--threshold 0.7 is a logit", "write --threshold p=0.7"),
    (EXPLAIN + "--threshold 70%", WRONG_USAGE, 'found "70%"', "a probability such as p=0.7"),
    (EXPLAIN + "--threshold p=70", WRONG_USAGE, 'found "p=70"', "e.g. p=0.7"),
    ("explain m.json people.csv --id who --epsilon 1", DONE, "whoever is declined by one of them will get no answer", "give a smaller one"),
    ("explain m.json people.csv --id who --epsilon -0.1", WRONG_USAGE, 'found "-0.1"', "such as 0.01"),
    ("explain m.json people.csv --id who --epsilon 5,5%", WRONG_USAGE, 'found "5,5%"', "such as 10%"),
    ("explain m.json people.csv --id who --epsilon survival:0.95", WRONG_USAGE, 'found "survival:0.95"', "e.g. survival:95%"),
    (EXPLAIN + "--lock incom", WRONG_USAGE, 'unknown feature "incom"', 'did you mean "income"?'),
    (EXPLAIN + "--lock 'income debt'", WRONG_USAGE, 'unknown feature "income debt"', "there are: income, debt, purpose, city"),
    (EXPLAIN + "--bounds income=50000:20000", WRONG_USAGE, "the minimum 50000 is above the maximum 20000", "give bounds with values between"),
    (EXPLAIN + "--bounds income=20000: --bounds income=30000:", WRONG_USAGE, "income has two values for its minimum, 20000 and 30000", "give one"),
    (EXPLAIN + "--bounds debt=:9 --bounds debt=1:8", WRONG_USAGE, "debt has two values for its maximum, 9 and 8", "give one"),
    (EXPLAIN + "--direction debt=increase --direction debt=decrease", WRONG_USAGE, "debt is to increase and to decrease", "give one"),
    (EXPLAIN + "--direction income=decrease", DONE, "income: direction decrease in place of increase, which the schema has", "leave it out"),
    (EXPLAIN + "--bounds debt=-3:", DONE, "debt: minimum -3 in place of 0, which the schema has", "leave it out"),
    (EXPLAIN + "--constraints c.yaml", DONE, "query 1: income: direction any in place of increase", "leave it out",
     {"c.yaml": "queries: {1: {direction: {income: any}}}\n"}),
    (EXPLAIN + "--direction city=increase", DONE, "city: direction increase changes no plan, since the feature is immutable", "leave it out"),
    (EXPLAIN + "--lock debt --bounds debt=1:8", DONE, "debt: minimum 1, maximum 8 changes no plan, since the feature is locked", "do not lock it"),
    (EXPLAIN + "--lock income,debt,purpose", DONE, "nothing may change, since every feature is locked or immutable", "lock fewer"),
    (EXPLAIN + "--bounds income=20k:", WRONG_USAGE, 'found "20k"', "expected a finite number or nothing"),
    (EXPLAIN + "--bounds income", WRONG_USAGE, 'found "income"', "e.g. income=20000:50000"),
    (EXPLAIN + "--bounds city=0:1", WRONG_USAGE, "it is binary and has no numbers", "lock it, or restrict `allowed`"),
    (EXPLAIN + "--direction debt=down", WRONG_USAGE, 'found "debt=down"', "e.g. debt=decrease"),
    (EXPLAIN + "--direction purpose=increase", WRONG_USAGE, "a categorical feature has no order", "make it ordinal, or restrict `allowed`"),
    (EXPLAIN + "--method data", WRONG_USAGE, "needs the training rows", "give --data FILE.csv"),
    (EXPLAIN + "--method roar", WRONG_USAGE, "needs --delta", "e.g. --delta 0.1"),
    (EXPLAIN + "--set full", WRONG_USAGE, "is for networks with hidden layers", "use the last-layer set"),
    (EXPLAIN + "--set ensemble", WRONG_USAGE, "at least one model beside the first", "name the others in --ensemble"),
    (EXPLAIN + "--attack --data loans.csv", WRONG_USAGE, "--attack is for networks", "leave it out"),
    (EXPLAIN + "--target yes", WRONG_USAGE, "the model has one logit", "train with --model softmax"),
    (EXPLAIN + "--margin 1", WRONG_USAGE, "--margin is for softmax models", "use --threshold 1"),
    (EXPLAIN + "--max-changes 0", WRONG_USAGE, 'found "0"', "expected a whole number >= 1"),
    (EXPLAIN + "--horizon soon", WRONG_USAGE, 'found "soon"', 'as in "12 months"'),
    (EXPLAIN + "--worth 20", WRONG_USAGE, 'found "20"', "as in 20%"),
    (EXPLAIN + "--format xml", WRONG_USAGE, "xml", "there are: table, json, jsonl, csv, html"),
    (TRAIN + "--holdout 20%", WRONG_USAGE, 'found "20%"', "expected a finite number in [0, 1)"),
    (TRAIN + "--hidden 3", WRONG_USAGE, "hidden layers", "need --model mlp"),
    # Files that are not there, or not what they should be.
    ("explain m.json nowhere.csv --epsilon 1%", BAD_INPUT, "cannot read nowhere.csv: No such file", "give a file that is there"),
    ("explain nowhere.json people.csv", BAD_INPUT, "cannot read nowhere.json: No such file", "give a file that is there"),
    ("explain m.json . --epsilon 1%", BAD_INPUT, "cannot read .: Is a directory", "give a file that is there"),
    (EXPLAIN + "-o none/plans.json", FAILURE, "cannot write none/plans.json: No such file", "name another place"),
    (EXPLAIN + "-o .", FAILURE, "cannot write .: Is a directory", "name another place"),
    (EXPLAIN, BAD_INPUT, "m.json: not JSON", "is the file complete?", cut("m.json")),
    (EXPLAIN, BAD_INPUT, "m.json: version: found 3, expected 1 to 2", "use the program that wrote it",
     altered("m.json", lambda model: model.update(version=3))),
    (EXPLAIN, BAD_INPUT, "m.json: version: found 0, expected 1", "write it again", altered("m.json", lambda model: model.update(version=0))),
    (EXPLAIN, BAD_INPUT, "holds a NUL byte", "save spreadsheets as CSV", {"people.csv": b"PK\x03\x04\x14\x00\x06\x00"}),
    (EXPLAIN + "--constraints c.yaml", BAD_INPUT, 'c.yaml:1: lok: unknown key "lok"', 'did you mean "lock"?', {"c.yaml": "lok: [debt]\n"}),
    (EXPLAIN + "--set true --data people.csv", BAD_INPUT, 'people.csv: column "approved" is missing', "there are: who, income"),
    # People in files.
    (EXPLAIN, BAD_INPUT, "the file is empty", "expected a header line", {"people.csv": ""}),
    (EXPLAIN, BAD_INPUT, "the text is UTF-16", "save the file as UTF-8", {"people.csv": PEOPLE.encode("utf-16")}),
    (EXPLAIN, BAD_INPUT, 'line 1 is a hint for spreadsheets ("sep=")', "remove that line", {"people.csv": "sep=;\n" + PEOPLE}),
    (EXPLAIN, BAD_INPUT, "separated by ';'?", "`ellice schema` finds out", {"people.csv": PEOPLE.replace(",", ";")}),
    (EXPLAIN, BAD_INPUT, 'column "debt": found "6,5"', "expected a finite number", person('Ann,29000,"6,5",car,Köln')),
    (EXPLAIN, BAD_INPUT, "found 6 cells, expected 5", "quote cells that hold a comma", person("Ann,29000,6,5,car,Köln")),
    (EXPLAIN, BAD_INPUT, 'found "29000 EUR"', "expected a finite number", person("Ann,29000 EUR,6.5,car,Köln")),
    (EXPLAIN, BAD_INPUT, 'found "NA"', "for a missing one leave the cell empty", person("Ann,NA,6.5,car,Köln")),
    (EXPLAIN, BAD_INPUT, "found an empty cell", 'set "missing: median"', person("Ann,,6.5,car,Köln")),
    (EXPLAIN, BAD_INPUT, 'found "Car"', 'did you mean "car"?', person("Ann,29000,6.5,Car,Köln")),
    (EXPLAIN, BAD_INPUT, 'found "yacht"', "there are: boat, car, home", person("Ann,29000,6.5,yacht,Köln")),
    (EXPLAIN, BAD_INPUT, 'column "city" is missing', "there are: income, debt, purpose, town",
     {"people.csv": PEOPLE.replace("city", "town")}),
    (EXPLAIN, BAD_INPUT, "which is not UTF-8", "format: {encoding: latin1}", {"people.csv": PEOPLE.encode("latin-1")}),
    (EXPLAIN, BAD_INPUT, 'people.csv:2: column "income": "29.000" could be 29 or 29000', 'write it without the "."',
     person("Ann,29.000,6.5,car,Köln")),
    (EXPLAIN, DONE, "--id who: row 2 is empty there", "counted from 1 below the header", {"people.csv": PEOPLE.replace("Bob", " ")}),
    (EXPLAIN, DONE, "--id who: row 2 has an identifier that an earlier row has", "counted from 1 below the header",
     {"people.csv": PEOPLE.replace("Bob", "Ann")}),
    ("explain m.json people.csv --epsilon 1%", BAD_INPUT, '"who") is not in the schema', "as --id"),
    ("explain m.json people.csv --epsilon 1% --id nme", BAD_INPUT, 'no column "nme"', "there are: who, income"),
    # Tables and schemas.
    (SCHEMA.replace("yes", "Yes"), BAD_INPUT, 'never holds "Yes"', "it holds: no, yes"),
    (SCHEMA.replace("approved", "Approved"), BAD_INPUT, 'no column "Approved"', 'did you mean "approved"?'),
    (SCHEMA, BAD_INPUT, 'holds only "yes"', "two classes", table(",no\n", ",yes\n")),
    (SCHEMA, BAD_INPUT, '"YES" (1 rows)', "two classes", table("yes", "YES", 1)),
    (SCHEMA, BAD_INPUT, "a header but no rows", "expected at least two", {"loans.csv": LOANS.splitlines()[0] + "\n"}),
    (TRAIN, BAD_INPUT, 'found "YES"', 'or "yes" as the schema spells', table("yes", "YES", 1)),
    (TRAIN, BAD_INPUT, 'column "city" is missing', "there are: income, debt", table("city", "town")),
    (TRAIN, BAD_INPUT, "separated by ';'?", "`ellice schema` finds out", table(",", ";")),
    (TRAIN, BAD_INPUT, 'features.income.max: found "1"', "expected at least min, which is 99", schema("min: 0, direction", "min: 99, max: 1, direction")),
    (TRAIN, BAD_INPUT, 'features.income.direction: found "up"', "expected one of any, increase, decrease", schema("increase", "up")),
    (TRAIN, BAD_INPUT, 'column "dept" is missing', 'did you mean "debt"?', schema("debt: ", "dept: ")),
    (TRAIN, BAD_INPUT, 'features.debt.slow: found "often"', 'as in "1 per year"', schema("debt:    {", "debt:    {slow: often, ")),
    (TRAIN, BAD_INPUT, 'unknown key "rules"', "there are: target, drop, features, one_hot, constraints",
     {"loans.yaml": LOANS_SCHEMA + 'rules: ["debt <= income"]\n'}),
    # Letters.
    (EXPLAIN + "--lender Bank", WRONG_USAGE, "--lender is for --letters", "give --letters FOLDER"),
    (LETTERS.replace("--lender Bank", ""), WRONG_USAGE, "--letters needs --lender", "NAME"),
    (LETTERS.replace("--id who", ""), WRONG_USAGE, "--letters needs --id", "COLUMN"),
    (LETTERS.replace("2026-05-01", "01.05.2026"), WRONG_USAGE, 'found "01.05.2026"', "expected a day as YYYY-MM-DD"),
    (LETTERS + "--date 2026-05-02", WRONG_USAGE, '--date stands 2 times ("2026-05-01", "2026-05-02")', "give it once"),
    (LETTERS + "--valid-until 2026-02-30", WRONG_USAGE, 'found "2026-02-30"', "expected a day as YYYY-MM-DD"),
    (LETTERS + "--letter-template empty.html", BAD_INPUT, "there is no field in it", "put {{#plan}}", {"empty.html": ""}),
    (LETTERS + "--language es", WRONG_USAGE, "es", "en, de, fr"),
    (LETTERS.replace("--letters letters", "--letters people.csv"), BAD_INPUT, "cannot write people.csv: Not a directory", "name another folder"),
    (LETTERS.replace("--letters letters", "--letters no/where"), BAD_INPUT, "cannot write no/where: No such file", "name another folder"),
    # What was answered.
    ("verify other.json plans.json", BAD_INPUT, "the answers are for another model", "verify them against the model that they were found for"),
    ("compare m.json other.json people.csv", WRONG_USAGE, "people.csv is a table", "`explain --format json`"),
    ("compare people.csv m.json", BAD_INPUT, 'people.csv: not JSON: it begins "who,income,', "give a file that was written as JSON"),
    ("verify m.json loans.csv", BAD_INPUT, "loans.csv: there is no column query_index", "`explain --format csv --certificates` writes it"),
    ("verify m.json plans.json", BAD_INPUT, "plans.json: not JSON", "is the file complete?", cut("plans.json")),
    ("verify m.json plans.json", BAD_INPUT, "plans.json: version: found 9", "use the program that wrote it",
     altered("plans.json", lambda plans: plans.update(version=9))),
    ("verify m.json plans.json", NOT_CERTIFIED, "1 of 2 answers failed", "ask for new ones", altered("plans.json", change_income)),
    ("evaluate m.json people.csv --data loans.csv", WRONG_USAGE, "the rows that it answers are needed", "--queries FILE.csv"),
    ("evaluate m.json plans.json", WRONG_USAGE, "evaluate needs the training rows", "give --data FILE.csv"),
    ("evaluate m.json plans.json --data people.csv", BAD_INPUT, 'column "approved" is missing', "there are: who, income"),
)


class Mistakes(CliTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = CliTestCase("ellice")
        case.setUp()
        cls.addClassCleanup(case.doCleanups)
        case.train_loans("m.json", "--folds", "0")
        case.train_loans("other.json", "--folds", "0", "--l2", "0.1")
        case.write("people.csv", PEOPLE)
        case.ellice(*shlex.split(EXPLAIN), "-o", "plans.json")
        cls.stored = case.files()

    def restore(self, changes):
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in self.stored.items():
            self.write(name, content)
        for name, content in changes.items():
            self.write(name, content(self.folder) if callable(content) else content)

    def test_each_is_found_and_says_what_to_do_next(self):
        for typed, status, finding, remedy, *changes in MISTAKES:
            with self.subTest(typed, changes=changes):
                self.restore(*changes or [{}])
                before = self.files()
                run = self.run_ellice(*shlex.split(typed))
                self.assertEqual(run.returncode, status, run.stdout + run.stderr)
                message = next((line for line in run.stderr.splitlines() if finding in line), "")
                self.assertTrue(message.startswith("ellice: "), run.stderr)
                self.assertIn(remedy, message)
                self.assertIn("warning" if status == DONE else "ellice: ", message)
                self.assertEqual(self.files(), before)

    def test_are_many_and_differ(self):
        self.assertGreaterEqual(len(MISTAKES), 50)
        self.assertEqual(len({(typed, finding) for typed, _, finding, *_ in MISTAKES}), len(MISTAKES))
        for typed, _, finding, remedy, *_ in MISTAKES:
            self.assertTrue(finding and remedy and finding != remedy, typed)


if __name__ == "__main__":
    unittest.main()
