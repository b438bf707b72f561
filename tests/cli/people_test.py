"""Tables of people as they are sent: in another encoding, from a pipe, with points that could mean thousands."""
import json
import os
import threading
import unittest

from cli_test_case import BAD_INPUT, DONE, LOANS, LOANS_SCHEMA, NOT_CERTIFIED, CliTestCase


class People(CliTestCase):
    def test_reads_people_in_utf8_where_the_schema_says_latin1_and_says_so(self):
        schema = LOANS_SCHEMA.replace("city:", "größe:") + "format: {encoding: latin1}\n"
        self.write("l.yaml", schema)
        self.write("l.csv", LOANS.replace("city", "größe").encode("latin-1"))
        self.ellice("train", "l.csv", "--schema", "l.yaml", "-o", "l.json")
        people = "income,debt,purpose,größe\n29000,6.5,car,Köln\n27500,3.5,boat,Bonn\n"
        answers = []
        for encoding in ("utf-8", "utf-8-sig", "latin-1"):
            self.write("p.csv", people.encode(encoding))
            run = self.run_ellice("explain", "l.json", "p.csv", "--epsilon", "1%", "--format", "json")
            self.assertEqual(run.returncode, DONE, run.stderr)
            answers.append(run.stdout)
            self.assertEqual("p.csv is UTF-8, not Latin-1 as the schema's format says" in run.stderr, encoding != "latin-1", run.stderr)
        self.assertEqual(len(set(answers)), 1)
        run = self.run_ellice("explain", "l.json", "-", "--epsilon", "1%", "--format", "json", stdin=people.encode())
        self.assertIn("standard input is UTF-8", run.stderr)
        self.assertEqual(run.stdout, answers[0])
        self.write("p.csv", people.encode() + "30000,5,home,Köln\n".encode("latin-1"))  # two files put together
        run = self.run_ellice("explain", "l.json", "p.csv", "--epsilon", "1%", "--format", "json")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertRegex(run.stderr, "p.csv: line 4: .*not UTF-8")
        self.write("p.csv", people.encode("utf-16"))
        self.expect_failure(BAD_INPUT, ["p.csv: the text is UTF-16"], "explain", "l.json", "p.csv", "--epsilon", "1%")
        self.write("l8.csv", LOANS.replace("city", "größe"))
        run = self.run_ellice("train", "l8.csv", "--schema", "l.yaml", "-o", "l8.json")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertIn("l8.csv is UTF-8, not Latin-1", run.stderr)

    def test_reads_people_from_a_pipe_that_has_a_name(self):
        """As `<(...)` of a shell gives it, which can be read once only."""
        self.train_loans()
        people = b"income,debt,purpose,city\n29000,6.5,car,K\xc3\xb6ln\n"
        os.mkfifo(self.folder / "pipe")
        writer = threading.Thread(target=(self.folder / "pipe").write_bytes, args=(people,))
        writer.start()
        run = self.run_ellice("explain", "m.json", "pipe", "--epsilon", "1%", "--format", "csv")
        writer.join()
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertEqual(run.stdout.count("\n"), 2)

    def test_asks_what_a_point_before_three_digits_means(self):
        """By the training rows: 27500 to 61000 of income, 1.25 to 12 of debt."""
        self.train_loans()
        def outcome(cells, *options):
            self.write("p.csv", f"income,debt,purpose,city\n{cells},car,Bonn\n")
            return self.run_ellice("explain", "m.json", "p.csv", "--epsilon", "1%", "--format", "csv", *options)
        for cells in ("29.000,6.5", "52.500,6.5"):
            run = outcome(cells)
            self.assertEqual(run.returncode, BAD_INPUT)
            self.assertIn(f'"{cells[:6]}" could be {float(cells[:6]):g} or {cells[:6].replace(".", "")}', run.stderr)
            self.assertIn("invalid", outcome(cells, "--on-error", "skip").stdout)
        for cells in ("29000,6.500", "29000.000,6.5", "29000,0.125"):  # 6.5, and nothing else
            run = outcome(cells)
            self.assertEqual(run.returncode, DONE, run.stderr)
            self.assertNotIn("read as", run.stderr)
        run = outcome("29000,20.000")  # as far from the training rows as 20 000
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertIn('p.csv:2: column "debt": "20.000" is read as 20, not as 20000', run.stderr)
        # Whole numbers have no decimals, wherever they are; the schema's own marks are no doubt.
        self.write("loans.yaml", LOANS_SCHEMA.replace("debt:    {kind: numeric", "debt:    {kind: numeric, step: 1"))
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        run = outcome("29000,20.000")
        self.assertEqual(run.returncode, BAD_INPUT, run.stderr)
        self.assertIn("whole numbers", run.stderr)
        self.write("german.csv", LOANS.replace(",", ";").replace(".", ","))
        self.write("german.yaml", LOANS_SCHEMA + 'format: {separator: ";", decimal: ",", thousands: "."}\n')
        self.ellice("train", "german.csv", "--schema", "german.yaml", "-o", "g.json")
        self.write("p.csv", "income;debt;purpose;city\n29.000;6,5;car;Bonn\n")
        run = self.run_ellice("explain", "g.json", "p.csv", "--epsilon", "1%", "--format", "json")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertEqual(json.loads(run.stdout)["results"][0]["query"]["income"], 29000)
        self.assertNotIn("read as", run.stderr)

    def test_asks_what_a_point_between_groups_means(self):
        """The reverse: "." stands between groups, and the training rows have 27500 to 61000 of income, 1,25 to 12 of debt."""
        def outcome(cells, model="g.json", separator=";"):
            self.write("p.csv", separator.join(("income", "debt", "purpose", "city")) + f"\n{cells}\n")
            return self.run_ellice("explain", model, "p.csv", "--epsilon", "1%", "--format", "json")
        self.write("german.csv", LOANS.replace(",", ";").replace(".", ","))
        self.write("german.yaml", LOANS_SCHEMA + 'format: {separator: ";", decimal: ",", thousands: ".", '
                                                 'symbols: {income: ["€"], debt: ["%"]}}\n')
        self.ellice("train", "german.csv", "--schema", "german.yaml", "-o", "g.json")
        for cell, group, decimal in (("7.325 %", 7325, 7.325), ("11.000", 11000, 11), ("0.125", 125, 0.125)):
            run = outcome(f"29.000 €;{cell};car;Bonn")
            self.assertEqual(run.returncode, BAD_INPUT)
            self.assertIn(f'p.csv:2: column "debt": "{cell}" could be {group} or {decimal}, and the training rows have 1.25 to 12; '
                          'write it without the ".", or with "," before its decimals', run.stderr)
        for cells, income, debt in (("29.000 €;6,5 %;car;Bonn", 29000, 6.5), ("€ 29.000,5;7,325;car;Bonn", 29000.5, 7.325),
                                    ("29000;6;car;Bonn", 29000, 6), ("100.500;12;car;Bonn", 100500, 12),
                                    ("29.000;20.000;car;Bonn", 29000, 20000), ("1.029.000;1,250;car;Bonn", 1029000, 1.25)):
            run = outcome(cells)
            self.assertEqual(run.returncode, DONE, run.stderr)
            person = json.loads(run.stdout)["results"][0]["query"]
            self.assertEqual((person["income"], person["debt"]), (income, debt))
        self.write("english.csv", LOANS)
        self.write("english.yaml", LOANS_SCHEMA + 'format: {thousands: ","}\n')
        self.ellice("train", "english.csv", "--schema", "english.yaml", "-o", "e.json")
        self.assertIn('"7,325" could be 7325 or 7.325', outcome('29000,"7,325",car,Bonn', "e.json", ",").stderr)
        self.write("blank.yaml", LOANS_SCHEMA + 'format: {thousands: " "}\n')  # which nobody writes before decimals
        self.ellice("train", "english.csv", "--schema", "blank.yaml", "-o", "b.json")
        self.assertEqual(outcome("29000,7 325,car,Bonn", "b.json", ",").returncode, DONE)

    def test_holds_answers_against_the_file_whose_identifiers_they_echo(self):
        """`verify` and `evaluate` know which column of the people --id named: the one that is not in the schema."""
        self.train_loans()
        people = "income,who,debt,purpose,city\n29000,Ann,6.5,car,Köln\n27500,Bob,3.5,boat,Bonn\n"
        self.write("p.csv", people)
        self.ellice("explain", "m.json", "p.csv", "--id", "who", "--epsilon", "1%", "-o", "a.json")
        self.ellice("explain", "m.json", "p.csv", "--id", "who", "--epsilon", "1%", "-o", "a.csv")
        self.ellice("verify", "m.json", "a.json", "--queries", "p.csv")
        for answers in ("a.json", "a.csv"):
            self.ellice("evaluate", "m.json", answers, "--queries", "p.csv", "--data", "loans.csv", "--evaluators", "ellipsoid",
                        "--metrics", "l2")
        self.write("p.csv", people.replace("6.5", "6.25"))  # somebody else
        run = self.run_ellice("verify", "m.json", "a.json", "--queries", "p.csv")
        self.assertEqual(run.returncode, NOT_CERTIFIED, run.stderr)
        self.expect_failure(BAD_INPUT, ["is not that row of the query file"], "evaluate", "m.json", "a.json", "--queries", "p.csv",
                            "--data", "loans.csv")
        self.write("p.csv", people.replace("who", "who,where").replace("Ann", "Ann,x").replace("Bob", "Bob,y"))
        for verb in ("verify", "evaluate"):
            self.expect_failure(BAD_INPUT, ['("who") is not in the schema'], verb, "m.json", "a.json", "--queries", "p.csv",
                                "--data", "loans.csv")

    def test_names_numbers_far_outside_the_training_rows(self):
        """27500 to 61000 of income, 1.25 to 12 of debt; half of that further is not far."""
        self.train_loans()
        def run(*rows):
            self.write("p.csv", "income,debt,purpose,city\n" + "".join(f"{row},car,Bonn\n" for row in rows))
            run = self.run_ellice("explain", "m.json", "p.csv", "--epsilon", "1%", "--format", "json")
            self.assertEqual(run.returncode, DONE, run.stderr)
            return run
        near = run("29000,6.5", "77000,17.25", "11000,0", "29000,0.5")
        self.assertNotIn("far outside", near.stderr)
        far = run("29000,6.5", "31700000,6.5", "30000,-5", "29000,200", "1000,200")
        self.assertIn('p.csv:3: column "income" is 31700000 (training rows: 27500 to 61000), p.csv:4: column "debt" is -5 '
                      '(training rows: 1.25 to 12), p.csv:5: column "debt" is 200 (training rows: 1.25 to 12) '
                      '(and 2 more such cells)', far.stderr)
        self.assertEqual(json.loads(far.stdout)["results"][0]["query"], json.loads(near.stdout)["results"][0]["query"])
        self.assertEqual([answer["query"]["debt"] for answer in json.loads(far.stdout)["results"]], [6.5, 6.5, -5, 200, 200])


if __name__ == "__main__":
    unittest.main()
