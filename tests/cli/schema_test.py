"""Drafts of schemas from files as people have them, and what may happen with nothing but the draft."""
import json
import math
import random
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, CliTestCase

LADDER = ("Hauptschule", "Realschule", "Abitur", "Bachelor", "Master")
TOWNS = [f"{first}{last}" for first in ("Neu", "Alt", "Ober", "Unter", "Groß", "Klein", "Wald", "Stein")
         for last in ("stadt", "dorf", "heim", "hausen", "bach", "feld", "burg", "tal", "see", "au")]
HEADER = ("Kundennummer", "Name", "PLZ", "Wohnort", "Antragsdatum", "Alter", "Geschlecht", "Staatsangehörigkeit",
          "Familienstand", "Kinder", "Schulabschluss", "Wohnsituation", "Jahreseinkommen", "Schulden", "Zinssatz",
          "Beschäftigt seit Jahren", "Währung", "Bemerkung", "bewilligt")


def german(number, digits=2):
    """1234.5 as 1.234,50."""
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def person(source, index):
    age = source.randint(19, 75)
    tenure = min(age - 16, int(source.expovariate(1 / 7)))
    income = round(source.lognormvariate(10.3, 0.4) / 100) * 100
    debt = max(0.0, source.gauss(0.35, 0.2)) * income
    rate = round(source.uniform(1.5, 9.5), 2)
    school = source.randrange(5)
    score = ((income - 30000) / 12000 - 8 * (debt / income - 0.35) + 0.08 * (tenure - 6) + 0.25 * school - 0.5
             + 0.02 * (age - 45) - 0.2 * (rate - 5))
    label = "ja" if source.random() < 1 / (1 + math.exp(-score)) else "nein"
    return [f"K-{10000 + index}", f"Weiß {index}", f"{source.randrange(1067, 99998):05}", source.choice(TOWNS),
            f"{source.randint(1, 28):02}.{source.randint(1, 12):02}.2024", "k.A." if index % 50 == 7 else str(age),
            source.choice("mw"), source.choice(("deutsch", "türkisch", "polnisch")),
            source.choice(("ledig", "verheiratet", "geschieden")), str(source.randrange(4)), LADDER[school],
            source.choice(("Miete", "Miete", "Miete", "MIETE", "miete ", "Eigentum", "frei")),
            "-" if index % 40 == 3 else german(income) + " €", german(debt), german(rate) + " %",
            "?" if index % 60 == 5 else str(tenure), "EUR", f"ruft wieder an wegen der Zinsen {index}", label]


def as_csv(rows):
    return "".join(";".join(row) + "\r\n" for row in rows).encode("cp1252")


class MessyExport(CliTestCase):
    """Every fault at once: Latin-1, semicolons, decimal commas, signs, marks, spellings, repeated rows."""

    def setUp(self):
        super().setUp()
        source = random.Random(11)
        self.rows = [person(source, index) for index in range(600)]
        again = [["K-20000", *row[1:]] for row in self.rows[:9]]
        other = [["K-30000", *row[1:-1], "ja" if row[-1] == "nein" else "nein"] for row in self.rows[20:23]]
        self.write("bank.csv", as_csv([HEADER, *self.rows, *again, *other]))
        self.write("people.csv", as_csv([HEADER, *[row for row in self.rows if row[-1] == "nein"][:30]]))
        self.draft = ("schema", "bank.csv", "--target", "bewilligt", "--favourable", "ja")

    def test_the_draft_says_what_it_found(self):
        run = self.run_ellice(*self.draft, "-o", "s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        for words in ("the text is Latin-1", 'cells are separated by ";"', "decimals stand behind a comma",
                      '"." stands between groups', '"Jahreseinkommen" has numbers with €', '"Zinssatz" has numbers with %',
                      "cells that hold ?, -, k.A. count as empty", "9 of 612 rows repeat", "6 of 612 rows contradict",
                      '"MIETE"', "80 levels, of which plans may use the"):
            self.assertIn(words, run.stderr)
        draft = json.loads(self.ellice(*self.draft, "--format", "json"))
        schema = draft["schema"]
        self.assertEqual(schema["drop"], ["Kundennummer", "Name", "PLZ", "Antragsdatum", "Währung", "Bemerkung"])
        features = schema["features"]
        kept = {name for name, feature in features.items() if feature.get("immutable") or feature.get("protected")}
        self.assertEqual(kept, {"Alter", "Geschlecht", "Staatsangehörigkeit", "Familienstand", "Kinder", "Zinssatz"})
        self.assertEqual(features["Schulabschluss"],
                         {"kind": "ordinal", "levels": list(LADDER), "direction": "increase"})
        self.assertEqual(features["Jahreseinkommen"], {"kind": "integer", "step": 100, "unit": "EUR"})
        self.assertEqual(features["Beschäftigt seit Jahren"]["slow"], "1 per year")
        self.assertEqual(schema["format"], {"separator": ";", "decimal": ",", "thousands": ".", "encoding": "latin1",
                                            "symbols": {"Jahreseinkommen": ["€"], "Zinssatz": ["%"]}})
        self.assertTrue(any(guess["doubtful"] for guess in draft["guesses"]))

    def test_no_plan_changes_what_the_draft_protects(self):
        self.ellice(*self.draft, "--merge-levels", "-o", "s.yaml")
        self.ellice("train", "bank.csv", "--schema", "s.yaml", "--l2", "0.01", "-o", "m.json")
        features = self.read_json("m.json")["schema"]["features"]
        found = json.loads(self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--format", "json"))
        changes = [change for record in found["results"] for change in record["changes"]]
        self.assertGreater(len(changes), 30)
        for change in changes:
            feature = features[change["feature"]]
            self.assertFalse(feature.get("immutable") or feature.get("protected"), change)
            if feature.get("direction") == "increase" and feature["kind"] != "ordinal":
                self.assertGreater(change["to"], change["from"])
        # The queries were read like the table: a person's own numbers are those of the file.
        declined = [row for row in self.rows if row[-1] == "nein"]
        for record, row in zip(found["results"], declined):
            self.assertEqual(record["query"]["Schulden"], float(row[13].replace(".", "").replace(",", ".")))
            self.assertEqual(record["query"]["Wohnsituation"].lower(), row[11].strip().lower())
        self.write("a.json", found)
        self.ellice("verify", "m.json", "a.json")

    def test_strict_drafts_leave_nothing_open(self):
        self.expect_failure(BAD_INPUT, ["bank.csv: a person should decide", "Wohnsituation", "contradict"], *self.draft,
                            "--strict-draft", "-o", "s.yaml")
        self.write("plain.csv", "income,debt,ok\n" + "".join(f"{i * i % 97},{i % 7}.5,{i % 2}\n" for i in range(30)))
        self.ellice("schema", "plain.csv", "--target", "ok", "--favourable", "1", "--strict-draft", "-o", "p.yaml")


class Options(CliTestCase):
    def test_what_is_said_stands_over_what_is_found(self):
        self.write("t.csv", "a;b;y\n1,234;x;1\n2,345;?;0\n3,456;z;1\n4,567;x;0\n")
        draft = ("schema", "t.csv", "--target", "y", "--favourable", "1", "--format", "json")
        for options, expected in (((), {"separator": ";", "decimal": ","}),
                                  (("--decimal", ","), {"separator": ";", "decimal": ","}),
                                  (("--thousands", ","), {"separator": ";", "thousands": ","})):
            found = json.loads(self.ellice(*draft, *options))
            self.assertEqual(found["schema"]["format"], expected)
            self.assertEqual(found["schema"]["missing_values"], ["?"])
            self.assertEqual(len(found["doubts"]), 0 if options else 1, found["doubts"])
        found = json.loads(self.ellice(*draft, "--missing", "none"))
        self.assertNotIn("missing_values", found["schema"])
        self.assertEqual(found["schema"]["features"]["b"]["levels"], ["?", "x", "z"])
        found = json.loads(self.ellice(*draft, "--missing", "z,x"))
        self.assertEqual(found["schema"]["missing_values"], ["z", "x"])

    def test_wrong_options(self):
        self.write("t.csv", "a;b;y\n1;2;1\n2;3;0\n")
        draft = ("schema", "t.csv", "--target", "y", "--favourable", "1")
        for options, words in ((("--separator", "x"), ["--separator", '"x"', "tab"]),
                               (("--decimal", "comma"), ["--decimal", '"comma"']),
                               (("--thousands", "x"), ["--thousands", "none"]),
                               (("--decimal", ",", "--thousands", ","), ["--decimal", "--thousands"]),
                               (("--encoding", "utf16"), ["utf16", "latin1"]),
                               (("--missing", "NA,,x"), ["--missing", "NA,?,-"])):
            self.expect_failure(WRONG_USAGE, words, *draft, *options, "-o", "s.yaml")
        self.expect_failure(BAD_INPUT, ["t.csv", "is the file separated by ';'? it is read as separated by a tab"], *draft, "--separator", "tab", "-o", "s.yaml")

    def test_labels_that_differ_in_case_are_refused(self):
        self.write("t.csv", "a,y\n1,yes\n2,no\n3,YES\n")
        self.expect_failure(BAD_INPUT, ["t.csv", '"YES" (1 rows)', '"yes" (1 rows)', "two classes"], "schema", "t.csv",
                            "--target", "y", "--favourable", "yes", "-o", "s.yaml")

    def test_who_a_person_is_never_changes_in_a_plan(self):
        """People who apply several times: their names and numbers repeat too often to be told from categories."""
        rows = "".join(f"{4711 + 37 * (i % 25)},Anna {i % 25},a{i % 25}@mail.example,{i * i % 97},{i % 2}\n" for i in range(60))
        self.write("t.csv", "customer_id,Name,email,income,ok\n" + rows)
        schema = json.loads(self.ellice("schema", "t.csv", "--target", "ok", "--favourable", "1", "--format", "json"))["schema"]
        self.assertEqual({name for name, feature in schema["features"].items() if feature.get("immutable")}, {"customer_id", "email"})
        self.assertEqual(schema["drop"], ["Name"])

    def test_standard_input_is_read_once(self):
        table = "größe;y\n" + "".join(f"{i},5;{i % 2}\n" for i in range(20))
        run = self.run_ellice("schema", "-", "--target", "y", "--favourable", "1", stdin=table.encode("cp1252"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, '"größe": *{kind: numeric')
        self.assertIn("encoding: latin1", run.stdout)


if __name__ == "__main__":
    unittest.main()
