"""What verify says of whole files: altered ones fail, and what it cannot check it names."""
import copy
import csv
import hashlib
import io
import json
import unittest

from certificate_test import encode
from cli_test_case import BAD_INPUT, DONE, LOANS, NOT_CERTIFIED, CliTestCase


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

    def test_says_once_what_it_does_not_check_in_any_record(self):
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n31000,7,boat,Bonn\n")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--format", "jsonl", "-o", "plans.jsonl")
        text = self.ellice("verify", "m.json", "plans.jsonl")
        self.assertEqual(text.count("not checked"), 1)
        self.assertIn("not checked in any of them: all but the certificate", text)
        self.assertIn("2 answers: 2 certificates", text)

    def test_proves_that_nothing_is_cheaper(self):
        # What a search found: fewer changes do not suffice, further plans are the cheapest of theirs.
        for options in (["--sparse"], ["--plans", "2"], ["--trade-off"], ["--max-changes", "1"], ["--proof"]):
            plans = self.explain("--epsilon", "0.01", *options)
            status, result = self.verdict(plans)
            self.assertEqual((status, result["holds"], result["unverified"]), (DONE, True, []), options)
        for lock in ("purpose", "city"):  # nothing but numbers, and a category besides
            plans = self.explain("--epsilon", "0.01", "--lock", lock)
            status, result = self.verdict(plans)
            self.assertEqual((status, result["unverified"]), (DONE, []))
            self.assertNotIn("not checked: gap", self.ellice("verify", "m.json", "altered.json"))

    def test_finds_an_answer_whose_constraints_were_taken_from_the_request(self):
        plans = self.explain("--epsilon", "0.01", "--lock", "debt")
        self.assertEqual(plans["results"][0]["status"], "optimal")
        self.assertEqual(self.verdict(plans)[0], DONE)
        del plans["options"]["lock"]
        status, result = self.verdict(plans)
        self.assertEqual(status, NOT_CERTIFIED)
        self.assertIn("gap", result["failures"][0])

    def test_finds_another_largest_epsilon_of_the_true_set(self):
        plans = self.explain("--epsilon", "0.5", "--set", "true", "--data", "loans.csv", "--lock", "purpose")
        why = plans["results"][0]["infeasible"]
        status, result = self.verdict(plans, "--data", "loans.csv")
        self.assertEqual(status, DONE, result)
        self.assertFalse([text for text in result["unverified"] if text.startswith("max_epsilon")], result)
        stated = why["max_epsilon"]
        for factor in (0, 0.5, 0.98, 1.02, 1.1):
            why["max_epsilon"] = why["max_epsilon_bounds"]["lower"] = factor * stated
            status, result = self.verdict(plans, "--data", "loans.csv")
            self.assertEqual(status, NOT_CERTIFIED, factor)
            self.assertIn("max_epsilon", result["failures"][0])

    def file_verdict(self, plans, *options):
        """Exit status and what is wrong with the file as a whole."""
        self.write("altered.json", plans)
        run = self.run_ellice("verify", "m.json", "altered.json", "--format", "json", *options)
        return run.returncode, json.loads(run.stdout)["failures"] if run.stdout else run.stderr

    def test_sees_that_people_are_missing(self):
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n31000,7,boat,Bonn\n32000,7,car,Bonn\n")
        plans = self.explain("--epsilon", "0.01")
        self.assertEqual(self.file_verdict(plans), (DONE, []))
        everybody = plans["results"]
        for kept in ([], everybody[1:], everybody[:2], [everybody[0], everybody[2]]):
            plans["results"] = kept
            for explained in (3, len(kept)):
                plans["explained"] = explained
                status, failures = self.file_verdict(plans)
                self.assertEqual(status, NOT_CERTIFIED, (kept, explained))
                self.assertTrue(failures, (kept, explained))
        plans["results"] = everybody
        del plans["explained"]
        self.assertEqual(self.file_verdict(plans)[0], NOT_CERTIFIED)

    def test_sees_that_what_was_asked_does_not_go_together(self):
        plans = self.explain("--epsilon", "1%", "--method", "network", "--seed", "3")
        self.assertEqual(self.file_verdict(plans), (DONE, []))
        for key, value in (("method", "data"), ("seed", 4), ("epsilon", {**plans["epsilon"], "rule": "2%"}),
                           ("epsilon", {**plans["epsilon"], "rule": "0.01"}),
                           ("epsilon", {**plans["epsilon"], "rule": "as we like"})):
            with self.subTest(key, value=value):
                self.assertIn(self.file_verdict({**plans, key: value})[0], (NOT_CERTIFIED, BAD_INPUT))
        plans["options"]["loc"] = ["debt"]
        self.assertEqual(self.file_verdict(plans)[0], BAD_INPUT)

    def test_sees_a_reason_that_the_plans_do_not_give(self):
        plans = self.explain("--epsilon", "0.01", "--plans", "2")
        self.assertEqual(self.file_verdict(plans), (DONE, []))
        plans["results"][1]["reason"] = "leaves income alone, unlike plan 1; changes city instead"
        self.assertEqual(self.file_verdict(plans)[0], NOT_CERTIFIED)

    def test_says_of_every_field_how_well_it_stands(self):
        for options in (["--epsilon", "0.01", "--plans", "2"], ["--epsilon", "40%", "--lock", "income,debt"]):
            plans = self.explain(*options)
            self.ellice("verify", "m.json", "plans.json", "--format", "json", "-o", "v.json")
            fields = self.read_json("v.json")["fields"]
            names = set(plans) - {"format", "version", "results", "epsilon"} | {"epsilon.rule", "epsilon.value"}
            for record in plans["results"]:
                names |= set(record) - {"infeasible"} | {f"infeasible.{key}" for key in record.get("infeasible", {})}
            self.assertEqual(set(fields), names)
            text = self.ellice("verify", "m.json", "plans.json")
            for line in ("proved: ", "recomputed: ", "consistent: "):
                self.assertIn("\n" + line, text)
            self.assertNotIn("not checked", text)
        self.assertEqual(fields["infeasible.max_epsilon"], {"proved": 1})

    def test_sees_by_its_hash_what_nothing_else_contradicts(self):
        self.write("people.csv", "income,debt,purpose,city\n30000,8,car,Bonn\n31000,7,boat,Bonn\n")
        plans = self.explain("--epsilon", "0.01", "--seed", "3", "--lock", "city")
        self.assertEqual(self.file_verdict(plans), (DONE, []))

        def changes():
            yield "seed", {**plans, "seed": 4}
            yield "lock", {**plans, "options": {k: v for k, v in plans["options"].items() if k != "lock"}}
            first, second = plans["results"]
            yield "message", {**plans, "results": [{**first, "message": "all is well"}, second]}
            yield "no hash", {**plans, "results": [{k: v for k, v in first.items() if k != "sha256"}, second]}
            yield "no hash of the file", {k: v for k, v in plans.items() if k != "sha256"}
            yield "interrupted", {**plans, "interrupted": True}
        for name, changed in changes():
            with self.subTest(name):
                self.assertEqual(self.file_verdict(changed)[0], NOT_CERTIFIED)
        # As docs/reference/formats.md says how.
        asked = {k: v for k, v in plans.items() if k not in ("results", "explained", "interrupted", "sha256")}
        hashes = []
        for record in plans["results"]:
            rest = {k: v for k, v in record.items() if k != "sha256"}
            hashes.append(self.sha256(self.sha256(self.canonical(asked)) + self.canonical(rest)))
            self.assertEqual(record["sha256"], hashes[-1])
        rest = self.canonical({"explained": 2})
        self.assertEqual(plans["sha256"], self.sha256("".join(hashes) + self.sha256(self.canonical(asked)) + rest))

    @staticmethod
    def canonical(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def sha256(text):
        return hashlib.sha256(text.encode()).hexdigest()

    def test_names_who_is_missing(self):
        rows = ["30000,8,car,Bonn", "31000,7,boat,Bonn", "nobody,7,car,Bonn", "32000,7,car,Bonn", "33000,6,car,Bonn"]
        self.write("people.csv", "\n".join(["income,debt,purpose,city", *rows]) + "\n")
        plans = self.explain("--epsilon", "0.01", "--on-error", "skip")
        self.assertEqual(self.file_verdict(plans, "--queries", "people.csv"), (DONE, []))
        for record in plans["results"]:
            del record["sha256"]
        del plans["sha256"]
        others = {**plans, "results": [*plans["results"][:3], *plans["results"][4:3:-1], plans["results"][3]]}
        others["results"] = [{**one, "query_index": k} for k, one in enumerate(others["results"])]
        self.assertEqual(self.file_verdict(others, "--queries", "people.csv")[0], NOT_CERTIFIED)
        kept = {**plans, "results": [plans["results"][k] for k in (0, 3)], "explained": 2}
        self.assertEqual(self.file_verdict(kept)[0], NOT_CERTIFIED)
        self.write("altered.json", {**kept, "interrupted": True})
        run = self.run_ellice("verify", "m.json", "altered.json")
        self.assertEqual(run.returncode, DONE)
        self.assertIn("2 people before the last answer are missing (query 1 to 2); whether anybody follows", run.stdout)
        run = self.run_ellice("verify", "m.json", "altered.json", "--queries", "people.csv")
        self.assertEqual(run.returncode, DONE)
        self.assertIn("3 people of the query file are missing (query 1 to 2, 4)", run.stdout)
        self.assertIn("3 people of the query file are missing (query 1 to 2, 4)", run.stderr)
        self.ellice("verify", "m.json", "altered.json", "--queries", "people.csv", "--format", "json", "-o", "v.json")
        self.assertEqual(self.read_json("v.json")["missing"], [[1, 2], [4, 4]])
        self.write("altered.json", {**kept, "interrupted": True, "explained": 3})
        self.assertEqual(self.run_ellice("verify", "m.json", "altered.json").returncode, NOT_CERTIFIED)

    def test_holds_the_models_curvature_against_the_rows(self):
        model = self.read_json("m.json")
        self.assertEqual(self.file_verdict(self.explain("--epsilon", "0.01"), "--data", "loans.csv")[0], DONE)
        model["curvature"]["hessian"] = [[4 * entry for entry in row] for row in model["curvature"]["hessian"]]
        self.write("m.json", model)
        plans = self.explain("--epsilon", "0.01")
        status, why = self.file_verdict(plans, "--data", "loans.csv")
        self.assertEqual(status, BAD_INPUT)
        self.assertIn("Hessian", why)


class Declined(CliTestCase):
    """Answers for those alone whom the model declines; who that is, is computed here."""

    def setUp(self):
        super().setUp()
        self.train_loans()
        model = self.read_json("m.json")
        layer = model["network"]["layers"][0]
        self.ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--quiet", "--format", "json", "-o", "all.json")
        self.all = self.read_json("all.json")["results"]
        self.declined = [r["query_index"] for r in self.all
                         if sum(w * x for w, x in zip(layer["weights"][0], encode(model, r["query"]))) + layer["bias"][0] < 0]
        self.finished = self.run_ellice("explain", "m.json", "loans.csv", "--epsilon", "1%", "--format", "json", "-o", "plans.json",
                                   "--declined")
        self.plans = self.read_json("plans.json")

    def test_others_are_left_out_and_counted(self):
        self.assertTrue(0 < len(self.declined) < len(self.all))
        self.assertEqual([r["query_index"] for r in self.plans["results"]], self.declined)
        self.assertEqual(self.plans["options"]["declined"], True)
        self.assertIn(f"{len(self.all) - len(self.declined)} of {len(self.all)} people are accepted", self.finished.stderr)
        same = [r for r in self.all if r["query_index"] in self.declined]
        for one, other in zip(self.plans["results"], same):
            for record in (one, other):
                record.pop("sha256")
            self.assertEqual(one, other)

    def test_nobody_who_is_left_out_is_missing(self):
        for options in ((), ("--queries", "loans.csv")):
            run = self.run_ellice("verify", "m.json", "plans.json", *options)
            self.assertEqual(run.returncode, DONE, run.stdout + run.stderr)

    def test_a_declined_person_who_is_left_out_is_missing(self):
        lost = self.plans["results"].pop()
        self.plans["explained"] -= 1
        for record in (self.plans, *self.plans["results"]):
            record.pop("sha256")
        self.write("plans.json", self.plans)
        run = self.run_ellice("verify", "m.json", "plans.json", "--queries", "loans.csv")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertIn(f"no answer to query {lost['query_index']}", run.stdout)

    def test_where_nobody_is_declined_the_file_is_empty_and_holds(self):
        lines = (self.folder / "loans.csv").read_text(encoding="utf-8").splitlines()
        self.write("rich.csv", "\n".join([lines[0], *(l for i, l in enumerate(lines[1:]) if i not in self.declined)]) + "\n")
        self.ellice("explain", "m.json", "rich.csv", "--epsilon", "1%", "--quiet", "--format", "json", "-o", "none.json",
                    "--declined")
        self.assertEqual(self.read_json("none.json")["results"], [])
        self.assertEqual(self.run_ellice("verify", "m.json", "none.json", "--queries", "rich.csv").returncode, DONE)
        self.assertEqual(self.run_ellice("verify", "m.json", "none.json").returncode, NOT_CERTIFIED)


class Identifiers(CliTestCase):
    def test_are_those_of_the_table_of_people(self):
        self.train_loans()
        header, *rows = LOANS.splitlines()
        self.write("named.csv", f"who,{header}\n" + "".join(f"P{k},{row}\n" for k, row in enumerate(rows)))
        self.ellice("explain", "m.json", "named.csv", "--id", "who", "--epsilon", "1%", "-o", "plans.json")
        self.ellice("verify", "m.json", "plans.json", "--queries", "named.csv")
        self.write("others.csv", f"who,{header}\n" + "".join(f"Q{k},{row}\n" for k, row in enumerate(rows)))
        run = self.run_ellice("verify", "m.json", "plans.json", "--queries", "others.csv")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertIn("id is not that of the row", run.stdout)
        # A file without identifiers, or a table, is as before.
        self.ellice("verify", "m.json", "plans.json", "--queries", "loans.csv")


class Spelling(CliTestCase):
    def test_people_are_read_as_the_schema_says(self):
        self.train_loans()
        schema = self.read_json("m.json")["schema"]
        self.write("bank.csv", "income;debt;purpose;city;approved\n" + "\n".join(
            ";".join([a.replace("000", ".000"), b.replace(".", ","), c, d, e])
            for a, b, c, d, e in (line.split(",") for line in LOANS.splitlines()[1:])) + "\n")
        schema["format"] = {"separator": ";", "decimal": ",", "thousands": "."}
        self.write("bank.yaml", json.dumps(schema))
        self.ellice("train", "bank.csv", "--schema", "bank.yaml", "-o", "bank.json")
        self.ellice("explain", "bank.json", "bank.csv", "--epsilon", "1%", "-o", "plans.json")
        self.assertIn("0 fail", self.ellice("verify", "bank.json", "plans.json", "--queries", "bank.csv"))


class Lines(CliTestCase):
    """Records one per line: their certificates are checked, and nothing else is said to hold."""

    def setUp(self):
        super().setUp()
        self.train_loans()
        self.write("people.csv", "income,debt,purpose,city\n29000,6.5,car,Köln\n30000,9,boat,Bonn\n")
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--range", "off", "-o", "plans.jsonl")
        text = (self.folder / "plans.jsonl").read_text(encoding="utf-8")
        self.records = [json.loads(line) for line in text.splitlines()]

    def verify(self, records, status):
        self.write("altered.jsonl", "\n".join(map(json.dumps, records)) + "\n")
        run = self.run_ellice("verify", "m.json", "altered.jsonl", "--format", "json")
        self.assertEqual(run.returncode, status, run.stderr)
        return json.loads(run.stdout)

    def test_certificates_hold(self):
        found = self.verify(self.records, DONE)
        self.assertEqual([r["holds"] for r in found["results"]], [True, True])
        self.assertTrue(all(r["unverified"] for r in found["results"]))

    def test_another_row_or_a_smaller_one_fails(self):
        self.records[0]["counterfactual"]["income"] -= 1000
        self.assertEqual([r["holds"] for r in self.verify(self.records, NOT_CERTIFIED)["results"]], [False, True])
        self.records[0]["certificate"]["point"]["income"] -= 1000
        self.assertEqual([r["holds"] for r in self.verify(self.records, NOT_CERTIFIED)["results"]], [False, True])

    def test_what_a_line_cannot_show_is_not_said_to_hold(self):
        self.records[1] = {"query_index": 1, "plan": 0, "status": "infeasible", "query": self.records[1]["query"]}
        found = self.verify(self.records, DONE)
        self.assertIsNone(found["results"][1]["holds"])
        self.assertTrue(found["results"][1]["unverified"])

    def test_tables_with_certificates_are_the_same(self):
        explain = ("explain", "m.json", "people.csv", "--epsilon", "1%", "--range", "off")
        self.ellice(*explain, "--certificates", "-o", "plans.csv")
        found = json.loads(self.ellice("verify", "m.json", "plans.csv", "--format", "json"))
        self.assertEqual([r["holds"] for r in found["results"]], [True, True])
        table = list(csv.DictReader(io.StringIO((self.folder / "plans.csv").read_text(encoding="utf-8"))))
        table[1]["income"] = str(float(table[1]["income"]) - 1000)
        with (self.folder / "altered.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, table[0])
            writer.writeheader()
            writer.writerows(table)
        run = self.run_ellice("verify", "m.json", "altered.csv", "--format", "json")
        self.assertEqual(run.returncode, NOT_CERTIFIED)
        self.assertEqual([r["holds"] for r in json.loads(run.stdout)["results"]], [True, False])
        self.ellice(*explain, "-o", "bare.csv")
        self.expect_failure(BAD_INPUT, ["bare.csv", "no column certificate", "--certificates"], "verify", "m.json", "bare.csv")

    def test_a_record_that_is_there_twice_fails(self):
        found = self.verify([*self.records, self.records[0]], NOT_CERTIFIED)
        self.assertEqual([r["holds"] for r in found["results"]], [True, True, False])

    def test_numbers_that_are_none_of_a_record_are_refused(self):
        for key, value in (("query_index", -7), ("plan", -1), ("plan", 2**32 + 3)):
            self.write("bad.jsonl", json.dumps({**self.records[0], key: value}) + "\n")
            self.expect_failure(BAD_INPUT, ["bad.jsonl", key, str(value)], "verify", "m.json", "bad.jsonl")

    def test_a_line_that_is_none_is_named(self):
        self.write("bad.jsonl", json.dumps(self.records[0]) + "\n{\n")
        self.expect_failure(BAD_INPUT, ["bad.jsonl", "line 2"], "verify", "m.json", "bad.jsonl")


class RecordByRecord(CliTestCase):
    """Files that are read piece by piece, on several threads."""

    def setUp(self):
        super().setUp()
        self.train_loans()
        rows = [f"{20000 + 137 * k},{6 + k % 5},{('car', 'boat')[k % 2]},Bonn" for k in range(150)]
        self.write("people.csv", "income,debt,purpose,city\n" + "\n".join(rows) + "\n")

    def said(self, name, threads):
        run = self.run_ellice("verify", "m.json", name, "--format", "json", "--threads", threads)
        return run.returncode, run.stdout, run.stderr.replace(name, "FILE")

    def expect_alike(self, name, *others):
        """All threads, and all files, get the same answer, which this gives."""
        first = self.said(name, 1)
        for threads in (2, 3):
            self.assertEqual(self.said(name, threads), first, name)
        for other in others:
            self.assertEqual(self.said(other, 2), first, other)
        return first

    def test_any_number_of_threads_says_the_same(self):
        for options in (["--format", "json"], ["--format", "json", "--plans", "3"], ["--format", "jsonl"],
                        ["--format", "csv", "--certificates"]):
            name = f"plans.{options[1]}"
            self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", *options, "-o", name)
            status, found, _ = self.expect_alike(name)
            self.assertEqual(status, DONE)
            self.assertGreater(json.loads(found)["checked"], 100)

    def test_the_layout_of_a_file_says_nothing(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--plans", "2", "--format", "json", "-o", "plans.json")
        plans = self.read_json("plans.json")
        altered = {"whole": plans, "moved": {**plans, "results": plans["results"][1:] + plans["results"][:1]},
                   "short": {**plans, "results": plans["results"][:-1]}, "twice": {**plans, "results": 2 * plans["results"]},
                   "bare": {key: value for key, value in plans.items() if key != "sha256"},
                   "late": {**{k: v for k, v in plans.items() if k != "options"}, "options": plans["options"]},
                   "foreign": {**plans, "unknown": 1}, "empty": {**plans, "results": []}}
        forged = copy.deepcopy(plans)
        forged["results"][70]["certificate"]["robust_logit"] += 1e-6
        altered["forged"] = forged
        for what, document in altered.items():
            for name, indent in (("laid_out.json", 2), ("compact.json", None), ("wide.json", 7)):
                self.write(name, json.dumps(document, indent=indent))
            status, _, _ = self.expect_alike("laid_out.json", "compact.json", "wide.json")
            self.assertEqual(status == DONE, what in ("whole", "late"), what)

    def test_a_file_that_is_cut_or_broken_is_refused(self):
        self.ellice("explain", "m.json", "people.csv", "--epsilon", "1%", "--format", "json", "-o", "plans.json")
        text = (self.folder / "plans.json").read_text(encoding="utf-8")
        middle = text.index("\n    },\n    {", len(text) // 2)
        for broken in (text[:middle], text[:middle + 6], text[:middle + 6] + text[middle + 7:], text + "x", text[:-3], text.replace('"plan"', '"plan" 1', 1)):
            self.write("broken.json", broken)
            status, _, said = self.expect_alike("broken.json")
            self.assertEqual(status, BAD_INPUT, said)
            self.assertIn("not JSON", said)


if __name__ == "__main__":
    unittest.main()
