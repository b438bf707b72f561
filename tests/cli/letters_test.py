"""Letters: one page for everybody who was declined, all of them or none."""
import csv
import hashlib
import html
import json
import os
import pathlib
import re
import unittest

from cli_test_case import BAD_INPUT, DONE, NOT_CERTIFIED, PROJECT, WRONG_USAGE, CliTestCase

PEOPLE = """who,income,debt,purpose,city
"Ann <b>O'Neil</b> & ""Sons"" jr",29000,6.5,car,Köln
=Bob,27500,3.5,boat,Bonn
../Eve,30000,9,boat,Köln
Rich,95000,1,home,Bonn
"""
OURS = PROJECT / "src" / "report" / "letters"


class Letters(CliTestCase):
    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", PEOPLE)

    def arguments(self, *more, folder="letters"):
        return ("explain", "m.json", "people.csv", "--epsilon", "1%", "--id", "who", "--letters", folder, "--lender",
                "Bank <i>of</i> Ellice", "--date", "2026-05-01", *more)

    def letters(self, *more, folder="letters"):
        run = self.run_ellice(*self.arguments(*more, folder=folder))
        self.assertEqual(run.returncode, DONE, run.stderr)
        pages = {path.name: path.read_text(encoding="utf-8") for path in sorted((self.folder / folder).glob("*.html"))}
        return run, pages

    def files(self):
        """Folders as well, with all that is in them."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*")}

    def test_go_to_the_declined_and_count_the_others(self):
        run, pages = self.letters()
        self.assertEqual(run.stdout, "")
        self.assertIn("wrote 3 letters to letters: 3 with a plan, 0 that say that there is none; no letter for 1 person "
                      "already accepted", run.stderr)
        self.assertEqual(list(pages), ["000001_Ann__b_O_Neil__b_____Sons__jr.html", "000002__Bob.html",
                                       "000003____Eve.html"])
        first = pages["000001_Ann__b_O_Neil__b_____Sons__jr.html"]
        for words in ("Ann &lt;b&gt;O&#39;Neil&lt;/b&gt; &amp; &quot;Sons&quot; jr", "1 May 2026", "Bank &lt;i&gt;of&lt;/i&gt; Ellice",
                      "Keep everything else as it is", "reviewed by a person", "The plan has no end date", "Our reference:"):
            self.assertIn(words, first)
        for page in pages.values():
            for word in ("logit", "query", "epsilon", "script", "{{"):
                self.assertNotIn(word, page)
        self.assertEqual(sorted(os.listdir(self.folder / "letters")), sorted([*pages, "answers.json", "index.csv"]))
        run, same = self.letters("--declined", folder="declined")
        self.assertIn("no letter for 1 person already accepted", run.stderr)
        self.assertEqual(list(same), list(pages))

    def test_name_certificates_that_stand_beside_them(self):
        """By the rule of the documents, in Python."""
        _, pages = self.letters()
        answers = self.read_json("letters/answers.json")["results"]
        with open(self.folder / "letters" / "index.csv", encoding="utf-8", newline="") as file:
            index = {row["file"]: row for row in csv.DictReader(file)}
        self.assertEqual(list(index), list(pages))
        self.assertEqual(index["000002__Bob.html"]["id"], "'=Bob")
        for name, page in pages.items():
            answer = answers[int(name[:6]) - 1]
            text = json.dumps(answer["certificate"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            digest = hashlib.sha256(text.encode()).hexdigest()
            self.assertIn(digest, page)
            self.assertEqual(index[name]["certificate_sha256"], digest)
            self.assertIn(index[name]["reference"], page)
            steps = re.search(r'<ol class="steps">(.*?)</ol>', page, re.S)[1].count("<li>")
            self.assertEqual(steps, len(answer["changes"]))
            self.assertGreater(steps, 0)
        self.ellice("verify", "m.json", "letters/answers.json")

    def test_tell_apart_people_whom_identifiers_do_not(self):
        self.write("people.csv", PEOPLE.replace("../Eve", "=Bob").replace("=Bob", " ", 1) + "=Bob,28000,4,boat,Bonn\n")
        run, pages = self.letters()
        self.assertIn("--id who: row 2 is empty there", run.stderr)
        self.assertIn("--id who: row 5 has an identifier that an earlier row has", run.stderr)
        self.assertEqual(list(pages), ["000001_Ann__b_O_Neil__b_____Sons__jr.html", "000002.html", "000003__Bob.html",
                                       "000005__Bob.html"])
        for count, ending in ((1, ""), (5, ""), (7, r" … \(7 in all\)")):
            self.write("people.csv", "who,income,debt,purpose,city\n" + "Ann,29000,6.5,car,Köln\n" * (count + 1))
            run = self.run_ellice(*self.arguments(folder=f"to {count}"))
            named = ", ".join(str(row) for row in range(2, min(count, 5) + 2))
            self.assertRegex(run.stderr, rf"--id who: rows? {named}{ending} ha(s|ve) an identifier")

    def test_speak_three_languages(self):
        for language, words in (("en", ("until 31 December 2026", "29,000", "EUR/year")),
                                ("de", ("bis zum 31. Dezember 2026", "29.000", "EUR/Jahr", "Mit freundlichen Grüßen")),
                                ("fr", ("jusqu’au 31 décembre 2026", "29\u202f000", "EUR/an", "1er mai 2026"))):
            _, pages = self.letters("--language", language, "--valid-until", "2026-12-31", folder=language)
            page = pages["000001_Ann__b_O_Neil__b_____Sons__jr.html"]
            for word in (*words, f'<html lang="{language}">'):
                self.assertIn(word, page)

    def test_say_in_plain_words_that_there_is_no_plan(self):
        run, pages = self.letters("--lock", "income,debt,purpose")
        self.assertIn("0 with a plan, 3 that say that there is none", run.stderr)
        for page in pages.values():
            self.assertIn("We have no plan to offer you", page)
            self.assertNotIn("Keep everything else", page)

    def test_warn_of_protected_reasons(self):
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        self.write("loans.yaml", schema.replace("direction: increase, unit", "protected: true, unit"))
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        run, _ = self.letters()
        self.assertRegex(run.stderr, r"warning: \d of 3 letters give a protected feature as a principal reason \(income in \d\)")

    def test_leave_answers_where_they_are_asked_for(self):
        self.letters("-o", "plans.json")
        self.assertEqual(len(self.read_json("plans.json")["results"]), 4)
        self.assertNotIn("answers.json", os.listdir(self.folder / "letters"))
        _, pages = self.letters("-o", "plans.csv", folder="others")  # which has no room for reasons
        for page in pages.values():
            self.assertIn("Why we could not accept it", page)

    def test_have_the_recommended_plan_and_files_beside_them_the_same(self):
        """Of the plans that JSON has with --trade-off: the one after which another change saves less than --worth."""
        self.ellice("explain", "m.json", "people.csv", "--id", "who", "--epsilon", "1%", "--trade-off", "--format", "json", "-o", "all.json")
        costs = {}
        for plan in self.read_json("all.json")["results"]:
            if plan["changes"]:
                costs.setdefault(plan["query_index"], []).append((len(plan["changes"]), plan["distance"]["weighted"]))
        self.assertTrue(any(len(plans) > 1 for plans in costs.values()))
        counts = set()
        for worth in (0, 0.2, 0.9):
            self.letters("--worth", str(worth), folder=f"by {worth}")
            answers = {answer["query_index"]: answer for answer in self.read_json(f"by {worth}/answers.json")["results"]}
            for person, plans in costs.items():
                place = 0
                while place + 1 < len(plans) and (1 - plans[place + 1][1] / plans[place][1]) / (
                        plans[place + 1][0] - plans[place][0]) >= worth:
                    place += 1
                self.assertEqual(len(answers[person]["changes"]), plans[place][0])
                self.assertEqual(answers[person]["plan"], 0)
                if place + 1 < len(plans):
                    self.assertEqual(answers[person]["status"], "certified")
                    self.assertIn("would lower the cost to", answers[person]["message"])
            counts.add(tuple(len(answers[person]["changes"]) for person in costs))
            self.ellice("verify", "m.json", f"by {worth}/answers.json")
        self.assertGreater(len(counts), 1)
        self.letters("--nearest", folder="nearest")
        for answer in self.read_json("nearest/answers.json")["results"]:
            if answer["changes"]:
                self.assertEqual(len(answer["changes"]), costs[answer["query_index"]][-1][0])

    def test_stand_beside_answers_that_verify_where_few_changes_leave_one_plan(self):
        """Six features of the same worth, four of which must change at least: the nearest plan changes all six."""
        names = [f"x{j}" for j in range(6)]
        state, rows = 1, []
        for _ in range(400):
            row = []
            for _ in names:
                state = state * 1103515245 % 2**31 + 12345
                row.append(state // 65536 % 101 / 100)
            state = state * 1103515245 % 2**31 + 12345
            rows.append([*row, "yes" if sum(row) + (state // 65536 % 101 - 50) / 100 > 3.3 else "no"])
        self.write("six.csv", ",".join([*names, "paid"]) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
        self.write("six.yaml", "target: {column: paid, favourable: 'yes'}\nfeatures:\n" +
                   "".join(f"  {name}: {{kind: numeric, min: 0, max: 1}}\n" for name in names))
        self.ellice("train", "six.csv", "--schema", "six.yaml", "-o", "m.json")
        self.write("people.csv", "who," + ",".join(names) + "\nA" + ",0" * 6 + "\nB" + ",0.05" * 6 + "\n")
        self.letters("--cost", "l2")
        document = self.read_json("letters/answers.json")
        self.assertEqual(len(document["results"]), 2)
        for answer in document["results"]:
            self.assertEqual(len(answer["changes"]), 4)
            self.assertRegex(answer["message"], "^6 changes would lower the cost to [0-9.]+$")
            self.assertNotIn("reason", answer)
        self.ellice("verify", "m.json", "letters/answers.json")
        # Words that nobody can check are not taken for a reason.
        document["results"][0]["reason"] = "9 changes would lower the cost to 0"
        self.write("forged.json", document)
        run = self.run_ellice("verify", "m.json", "forged.json", "--format", "json")
        self.assertEqual(run.returncode, NOT_CERTIFIED, run.stderr)
        self.assertIn("reason: it is not what the changes of the plans say", json.loads(run.stdout)["results"][0]["failures"])

    def test_state_no_guessed_value_as_somebodys_own(self):
        """An empty cell is read as the median; whoever has one gets no letter, and everybody hears of it."""
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        self.write("loans.yaml", schema + "missing: median\nmissing_values: [n/a]\n")
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        self.write("people.csv", "who,income,debt,purpose,city\nAnn,29000,6.5,car,Köln\nBob,27500,,boat,Bonn\n"
                                 "Eve,n/a,12,,Köln\nRich,95000,1,home,\n")
        run, pages = self.letters()
        self.assertEqual(list(pages), ["000001_Ann.html"])
        self.assertEqual((self.folder / "letters" / "index.csv").read_text(encoding="utf-8").count("\n"), 2)
        self.assertIn("wrote 1 letter to letters: 1 with a plan, 0 that say that there is none; no letter for 1 person "
                      "already accepted and 2 people whose row has empty cells", run.stderr)
        self.assertRegex(run.stderr, r"no letter for 2 people \(rows 2, 3, .*complete these rows and explain them again")
        answers = self.read_json("letters/answers.json")["results"]
        self.assertEqual(len(answers), 4)  # as they were
        debt, income, purpose = answers[1]["query"]["debt"], answers[2]["query"]["income"], answers[2]["query"]["purpose"]
        self.assertIn(f'people.csv:3: column "debt" as {debt:g}, people.csv:4: column "income" as {income:g}, '
                      f'people.csv:4: column "purpose" as {purpose} (and 1 more such cells)', run.stderr)
        self.ellice("verify", "m.json", "letters/answers.json")
        for form in ("table", "json", "csv"):
            run = self.run_ellice("explain", "m.json", "people.csv", "--id", "who", "--epsilon", "1%", "--format", form)
            self.assertEqual(run.returncode, DONE, run.stderr)
            self.assertEqual(run.stderr.count("empty cells are read as the median"), 1)
        # A level of its own is what the cell says, and no guess.
        self.write("loans.yaml", schema + "missing: level\n")
        self.write("loans.csv", (self.folder / "loans.csv").read_text(encoding="utf-8") + "30000,4,,Bonn,no\n")
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        self.write("people.csv", "who,income,debt,purpose,city\nBob,27500,6.5,,Bonn\n")
        run, pages = self.letters(folder="level")
        self.assertEqual(len(pages), 1)
        self.assertNotIn("empty cells", run.stderr)

    def test_name_the_day_by_which_a_horizon_ends(self):
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        self.write("loans.yaml", schema.replace("direction: increase, unit", "direction: increase, slow: 20000 per year, unit"))
        self.ellice("train", "loans.csv", "--schema", "loans.yaml", "-o", "m.json")
        _, pages = self.letters("--horizon", "18 months")
        plans = [page for page in pages.values() if "What you can do" in page and "Keep everything else" in page]
        self.assertTrue(plans)
        for page in plans:
            self.assertIn("all changes are made by 1 November 2027", page)
        self.expect_failure(WRONG_USAGE, ["--valid-until 2027-10-31 is before the end of the horizon, 2027-11-01 (18 months"],
                            *self.arguments("--horizon", "18 months", "--valid-until", "2027-10-31", folder="new"))

    def test_go_to_people_of_models_with_several_classes(self):
        self.write("c.csv", "x,y,kind\n" + "".join(f"{i % 7},{i * i % 11},{'abc'[(i % 7 + i * i % 11) // 6]}\n" for i in range(60)))
        self.write("c.yaml", "target: {column: kind, favourable: a, classes: [a, b, c]}\n"
                             "features: {x: {kind: numeric}, y: {kind: numeric}}\n")
        self.ellice("train", "c.csv", "--schema", "c.yaml", "--model", "softmax", "-o", "c.json")
        self.write("who.csv", "who,x,y\nA,6,10\nB,0,0\n")
        run = self.run_ellice("explain", "c.json", "who.csv", "--epsilon", "1%", "--id", "who", "--letters", "letters",
                              "--lender", "B", "--date", "2026-05-01")
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertIn("wrote 1 letter to letters: 1 with a plan", run.stderr)
        self.assertIn("no letter for 1 person already accepted", run.stderr)
        self.assertIn("lower from", (self.folder / "letters" / "000001_A.html").read_text(encoding="utf-8"))

    def test_are_the_same_every_time(self):
        self.letters(folder="a")
        self.letters("--threads", "1", folder="b")
        for path in (self.folder / "a").iterdir():
            self.assertEqual(path.read_bytes(), (self.folder / "b" / path.name).read_bytes(), path.name)

    def test_take_templates_and_messages_of_users(self):
        self.write("own.html", "<p title='{{reference}}'>{{addressee}}{{#plan}}{{#steps}}|{{feature}}>{{to}}{{/steps}}{{/plan}}</p>")
        self.write("own.yaml", (OURS / "en.yaml").read_text(encoding="utf-8").replace('thousands: ","', 'thousands: "_"'))
        _, pages = self.letters("--letter-template", "own.html", "--letter-messages", "own.yaml")
        self.assertTrue(html.unescape(pages["000002__Bob.html"]).split(">", 1)[1].startswith("=Bob|"))
        self.assertTrue(any(re.search(r"Income>\d\d_\d\d\d", page) for page in pages.values()), pages)

    def test_need_to_know_who_writes_when_and_to_whom(self):
        for missing in ("--id", "--lender", "--date"):
            arguments = list(self.arguments())
            at = arguments.index(missing)
            del arguments[at:at + 2]
            self.expect_failure(WRONG_USAGE, [f"--letters needs {missing}"], *arguments)
        self.expect_failure(WRONG_USAGE, ['--valid-until: found "soon", expected a day as YYYY-MM-DD'],
                            *self.arguments("--valid-until", "soon"))
        self.expect_failure(WRONG_USAGE, ["--valid-until 2026-04-30 is before --date 2026-05-01"],
                            *self.arguments("--valid-until", "2026-04-30"))
        self.expect_failure(WRONG_USAGE, ["--language", "es"], *self.arguments("--language", "es"))
        self.expect_failure(WRONG_USAGE, ["--lender is for --letters"], "explain", "m.json", "people.csv", "--lender", "B")
        arguments = list(self.arguments())
        arguments[arguments.index("--lender") + 1] = "  "
        self.expect_failure(WRONG_USAGE, ["--letters needs --lender"], *arguments)
        self.expect_failure(WRONG_USAGE, ['--letters: found "", expected a folder'], "explain", "m.json", "people.csv", "--letters", "")

    def test_write_numbers_that_can_be_told_apart(self):
        ours = (OURS / "en.yaml").read_text(encoding="utf-8")
        for mark, words in (('thousands: "."', "is the decimal mark, too"), ('thousands: "0"', "has a digit or a sign"),
                            ('thousands: "-"', "has a digit or a sign")):
            self.write("own.yaml", ours.replace('thousands: ","', mark))
            self.expect_failure(BAD_INPUT, ["own.yaml:", "thousands", words], *self.arguments("--letter-messages", "own.yaml"))

    def test_of_faulty_templates_and_messages_are_not_begun(self):
        self.write("own.html", "<p>\n{{adressee}}</p>")
        self.expect_failure(BAD_INPUT, ['own.html:2: unknown field "adressee"; did you mean "addressee"?'],
                            *self.arguments("--letter-template", "own.html"))
        self.write("own.html", "<script>\nx = '{{lender}}'</script>")
        self.expect_failure(BAD_INPUT, ["own.html:2: ", "script"], *self.arguments("--letter-template", "own.html"))
        self.expect_failure(BAD_INPUT, ["cannot read none.html"], *self.arguments("--letter-template", "none.html"))
        messages = (OURS / "fr.yaml").read_text(encoding="utf-8")
        self.write("own.yaml", re.sub("(?m)^keep:.*\n", "", messages))
        self.expect_failure(BAD_INPUT, ["own.yaml:", "keep"], *self.arguments("--letter-messages", "own.yaml"))
        self.write("own.yaml", messages.replace("{share}", "{shares}", 1))
        self.expect_failure(BAD_INPUT, ["own.yaml:", "condition_range", "{shares}"],
                            *self.arguments("--letter-messages", "own.yaml"))

    def test_leave_nothing_when_something_fails(self):
        self.write("people.csv", PEOPLE + "Last,much,1,home,Bonn\n")
        self.expect_failure(BAD_INPUT, ["people.csv", "income"], *self.arguments())
        (self.folder / "there").mkdir()
        self.expect_failure(BAD_INPUT, ["people.csv", "income"], *self.arguments(folder="there"))
        run, _ = self.letters("--on-error", "skip")
        self.assertIn("and 1 person whose row cannot be read", run.stderr)

    def test_need_a_folder_of_their_own(self):
        self.expect_failure(BAD_INPUT, ["cannot write people.csv: Not a directory", "name another folder"],
                            *self.arguments(folder="people.csv"))
        self.expect_failure(BAD_INPUT, ["cannot write no/where: No such file"], *self.arguments(folder="no/where"))
        self.letters()
        self.expect_failure(BAD_INPUT, ["letters: it is not empty"], *self.arguments())

    def test_need_a_folder_that_can_be_written(self):
        """As root, who may write everywhere else, in a file system that takes nothing."""
        locked = pathlib.Path(self.folder / "locked")
        if os.geteuid() == 0:
            self.expect_failure(BAD_INPUT, ["cannot write /proc/letters: "], *self.arguments(folder="/proc/letters"))
            self.expect_failure(BAD_INPUT, ["cannot write /proc/self"], *self.arguments(folder="/proc/self/letters"))
            return
        locked.mkdir()
        locked.chmod(0o555)
        self.expect_failure(BAD_INPUT, ["cannot write locked: Permission denied"], *self.arguments(folder="locked"))
        self.expect_failure(BAD_INPUT, ["cannot write locked/in: Permission denied"], *self.arguments(folder="locked/in"))

    def test_are_not_begun_where_a_pace_contradicts_the_rest(self):
        schema = (self.folder / "loans.yaml").read_text(encoding="utf-8")
        for entry, words in (("slow: 1 per year, immutable: true", ["loans.yaml:", "slow"]),
                             ("slow: 0 per year", ["loans.yaml:", "slow", "0 per year"]),
                             ("slow: 1 per decade", ["loans.yaml:", "1 per decade"]),
                             ("slow: often", ["loans.yaml:", "often"])):
            self.write("loans.yaml", schema.replace("{kind: numeric, min: 0}", "{kind: numeric, min: 0, " + entry + "}"))
            self.expect_failure(BAD_INPUT, words, "train", "loans.csv", "--schema", "loans.yaml", "-o", "new.json")
        self.write("loans.yaml", schema.replace("levels: [boat, car, home]", "levels: [boat, car, home], slow: 1 per year"))
        self.expect_failure(BAD_INPUT, ["loans.yaml:", "slow"], "train", "loans.csv", "--schema", "loans.yaml", "-o", "new.json")
        model = self.read_json("m.json")
        model["schema"]["features"]["city"]["slow"] = "1 per year"  # which is immutable
        self.write("bad.json", model)
        arguments = list(self.arguments("--horizon", "12 months"))
        arguments[1] = "bad.json"
        self.expect_failure(BAD_INPUT, ["bad.json"], *arguments)

    def test_miss_every_message_by_its_name(self):
        messages = (OURS / "de.yaml").read_text(encoding="utf-8")
        for key in ("subject", "condition_horizon", "no_plan_next", "closing"):
            self.write("own.yaml", re.sub(f"(?m)^{key}:.*\n", "", messages))
            self.expect_failure(BAD_INPUT, ["own.yaml:", f'key "{key}" is missing'], *self.arguments("--letter-messages", "own.yaml"))
        self.write("own.yaml", messages + "extra: what nobody says\n")
        self.expect_failure(BAD_INPUT, ["own.yaml:", "extra"], *self.arguments("--letter-messages", "own.yaml"))


if __name__ == "__main__":
    unittest.main()
