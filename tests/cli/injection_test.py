"""Names, levels, units and identifiers that try to speak to the terminal, to a spreadsheet or to the reader of a file."""
import csv
import io
import json
import unittest

from cli_test_case import BAD_INPUT, DONE, CliTestCase

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
REVERSED = "\u202egnihtyna"
NASTY = ("\x1b[31mred", "a\x1b]0;t\x07", "two\nlines", "back\bspace", "\u009b31m", REVERSED, "=cmd|'/c calc'!A0")
CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))} - {"\n"}


def as_csv(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


class Injection(CliTestCase):
    def make(self, name, level, unit):
        """Loans with a feature, a level and a unit of these names; a model of them."""
        rows = [(name, "debt", "purpose", "approved")]
        for i in range(40):
            rows.append((20000 + 1000 * i + 3000 * (i % 7), i % 9, (level, "car", "home")[i % 3],
                         "yes" if i % 5 + i // 8 > 4 else "no"))
        self.write("t.csv", as_csv(rows))
        self.write("s.yaml", json.dumps({"target": {"column": "approved", "favourable": "yes"}, "features": {
            name: {"kind": "numeric", "unit": unit}, "debt": {"kind": "numeric"},
            "purpose": {"kind": "categorical", "levels": [level, "car", "home"]}}}))
        self.write("q.csv", as_csv([("who", name, "debt", "purpose"), (level, 20000, 8, level), ("x", 22000, 8, "car")]))
        self.write("f.csv", as_csv([(name, "debt", "purpose"), (20000, 8, level)]))

    def expect_harmless(self, text):
        found = sorted(repr(sign) for sign in CONTROLS if sign in text)
        self.assertEqual(found, [], text)

    def test_no_control_character_reaches_a_terminal(self):
        for nasty in NASTY:
            with self.subTest(nasty=nasty):
                self.make(nasty, nasty, nasty)
                for command in (("train", "t.csv", "--schema", "s.yaml", "-o", "m.json"),
                                ("explain", "m.json", "q.csv", "--epsilon", "1%", "--id", "who", "--all-features"),
                                ("explain", "m.json", "q.csv", "--epsilon", "90%", "--id", "who", "--lock", "debt"),
                                ("frontier", "m.json", "f.csv"), ("epsilon", "m.json", "--data", "t.csv"),
                                ("schema", "t.csv", "--target", "approved", "--favourable", "yes")):
                    run = self.run_ellice(*command)
                    self.assertEqual(run.returncode, DONE, run.stderr)
                    self.expect_harmless(run.stdout.replace(nasty, "") if command[0] == "schema" and "\n" not in nasty
                                         and "\x1b" not in nasty else run.stdout)
                    self.expect_harmless(run.stderr)

    def test_messages_are_one_line(self):
        for nasty in NASTY:
            with self.subTest(nasty=nasty):
                self.make(nasty, nasty, nasty)
                for command in (("train", "t.csv", "--schema", "s.yaml", "-o", "m.json", "--l2", "-1" + ESCAPE),
                                ("explain", nasty, "q.csv", "--epsilon", "1%"),
                                ("explain", "m.json", "q.csv", "--epsilon", nasty),
                                ("schema", "t.csv", "--target", nasty, "--favourable", nasty)):
                    run = self.run_ellice(*command)
                    self.assertIn(run.returncode, (2, BAD_INPUT))
                    self.expect_harmless(run.stderr)
                    self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_a_drafted_schema_holds_what_its_header_says_and_no_more(self):
        name = 'x\ntarget: {column: debt, favourable: "1"}'
        self.make(name, "boat", "EUR")
        self.write("d.yaml", self.ellice("schema", "t.csv", "--target", "approved", "--favourable", "yes"))
        self.ellice("train", "t.csv", "--schema", "d.yaml", "-o", "m.json")
        self.assertIn(name, self.read_json("m.json")["schema"]["features"])

    def test_json_holds_every_byte(self):
        for nasty in NASTY:
            self.make(nasty, nasty, nasty)
            self.ellice("train", "t.csv", "--schema", "s.yaml", "-o", "m.json")
            found = json.loads(self.ellice("explain", "m.json", "q.csv", "--epsilon", "1%", "--id", "who", "--format", "json"))
            self.assertEqual(found["results"][0]["id"], nasty)
            self.assertEqual(found["results"][0]["query"]["purpose"], nasty)
            self.assertIn(nasty, found["results"][0]["query"])

    def test_formulas_are_warned_about_and_disarmed_on_request(self):
        self.make("=name", "=level", "EUR")
        self.ellice("train", "t.csv", "--schema", "s.yaml", "-o", "m.json")
        explain = ("explain", "m.json", "q.csv", "--epsilon", "1%", "--id", "who", "--format", "csv", "--lock", "purpose")
        run = self.run_ellice(*explain)
        self.assertEqual(run.returncode, DONE)
        self.assertIn("--spreadsheet-safe", run.stderr)
        rows = list(csv.DictReader(io.StringIO(run.stdout)))
        self.assertEqual((rows[0]["id"], rows[0]["purpose"]), ("=level", "=level"))
        safe = self.run_ellice(*explain, "--spreadsheet-safe")
        self.assertNotIn("--spreadsheet-safe", safe.stderr)
        rows = list(csv.DictReader(io.StringIO(safe.stdout)))
        self.assertEqual((rows[0]["id"], rows[0]["purpose"]), ("'=level", "'=level"))
        self.assertIn("'=name", rows[0])
        self.make("name", "level", "EUR")
        self.ellice("train", "t.csv", "--schema", "s.yaml", "-o", "m.json")
        self.assertNotIn("spreadsheet", self.run_ellice(*explain).stderr)


if __name__ == "__main__":
    unittest.main()
