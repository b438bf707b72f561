"""Few changes, the trade-off and several plans from the command line."""
import csv
import io
import json
import os
import random
import re
import subprocess
import unittest

from cli_test_case import CliTestCase, DONE, PROGRAM, WRONG_USAGE


class RoundedForPeople(CliTestCase):
    """Tables and pages round; what is nearest, or has the fewest changes, between rounded values stays in sight."""

    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        lines = ["x,y,job,ok"]
        for _ in range(600):
            x, y, job = draw.gauss(50, 20), draw.gauss(20, 8), draw.choice("ab")
            score = 0.02 * (x - 50) + 0.1 * (y - 20) + (2 if job == "b" else -2) + draw.gauss(0, 1)
            lines.append(f"{x:.3f},{y:.0f},{job},{'yes' if score > 0 else 'no'}")
        self.write("d.csv", "\n".join(lines) + "\n")

    def train(self, kind, rule=""):
        self.write("s.yaml", "target: {column: ok, favourable: yes}\nfeatures:\n  x: {kind: numeric}\n"
                   f"  y: {{kind: {kind}}}\n  job: {{kind: categorical, levels: [a, b], weight: 0.05}}\n{rule}")
        self.ellice("train", "d.csv", "--schema", "s.yaml", "-o", "m.json")

    def explain(self, *options):
        return self.ellice("explain", "m.json", "q.csv", "--epsilon", "0.002", "--quiet", *options)

    def answer(self, *options):
        return json.loads(self.explain("--format", "json", *options))["results"][0]

    def test_more_changes_than_are_needed_are_not_called_the_fewest(self):
        self.train("numeric")
        low, high = -30.0, 30.0
        for _ in range(40):  # y at which x alone has to rise to 50.72, which is on no grid for people
            y = (low + high) / 2
            self.write("q.csv", f"x,y,job\n45.2,{y!r},b\n")
            found = self.answer("--lock", "y,job")
            high, low = (y, low) if found["status"] == "already_robust" or (
                "counterfactual" in found and found["counterfactual"]["x"] < 50.72) else (high, y)
        self.write("q.csv", f"x,y,job\n45.2,{high!r},b\n")
        limits = ("--lock", "job", "--bounds", "x=:50.75", "--bounds", f"y=:{high + 0.2!r}", "--sparse")
        exact = self.answer(*limits)
        self.assertEqual((exact["status"], exact["distance"]["changed"]), ("optimal", 1))
        text = self.explain("--nearest", *limits)
        self.assertIn("certified plan · 2 changes", text)
        self.assertNotIn("nearest certified plan", text)
        shown = self.page_data(self.explain("--nearest", "--format", "html", *limits))[1]["results"][0]
        self.assertNotEqual(shown["status"], "optimal")
        self.assertNotEqual(shown.get("gap"), 0)

    def test_what_a_case_without_rounded_rows_would_save_is_not_denied(self):
        self.train("integer", 'constraints: ["if job changes then x rises by at least 0.5"]\n')
        self.write("q.csv", "x,y,job\n50.2,18,a\n")
        limits = ("--bounds", "x=50:50.75")
        exact = self.answer(*limits)
        self.assertEqual(exact["counterfactual"]["job"], "b")
        page = self.explain("--nearest", "--format", "html", *limits)
        self.assertGreater(self.page_data(page)[1]["results"][0]["gap"], 0.9)


class FewChanges(CliTestCase):
    def setUp(self):
        super().setUp()
        self.ellice("demo", "--people", "12", "--quiet", "-o", "page.html", "--csv", "people.csv")
        self.ellice("train", "--dataset", "lending", "-o", "m.json", "--quiet")

    def explain(self, *options, form="json"):
        return self.ellice("explain", "m.json", "people.csv", "--epsilon", "0.002", "--quiet", "--format", form, *options)

    def test_a_trade_off_fits_into_the_terminal(self):
        for columns, most in ((None, 100), ("80", 80), ("wide", 100), ("140", 140)):
            environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
            if columns:
                environment["COLUMNS"] = columns
            text = subprocess.run([PROGRAM, "explain", "m.json", "people.csv", "--epsilon", "0.002", "--quiet"], cwd=self.folder,
                                  env=environment, check=True, stdout=subprocess.PIPE).stdout.decode()
            tables = re.findall(r"(?ms)^     changes .*?(?=^  \* recommended)", text)
            self.assertGreater(len(tables), 3)
            widths = [len(line) for table in tables for line in table.splitlines()]
            self.assertLessEqual(max(widths), most)
            self.assertGreater(max(widths), most - 20)
            self.assertIn("loan amount", text)
            self.assertNotIn("loan_amount −", text)  # a reason, in the words of plans

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
        self.assertIn("after which another change saves less than 20 % of the cost", self.explain("--trade-off", form="table"))
        shown = self.page_data(self.explain("--trade-off", form="html"))[2]
        self.assertEqual((shown["trade_off"], shown["worth"]), (True, 0.2))
        rows = list(csv.DictReader(io.StringIO(self.explain("--trade-off", form="csv"))))
        self.assertTrue(any("lower the cost from" in row["reason"] for row in rows))

    def recommended(self, plans, worth):
        """Of the answers of one person, as the rule has it: (changes, cost) in order."""
        for (k, cost), (more, less) in zip(plans, plans[1:]):
            if (cost - less) / cost / (more - k) < worth:
                return k
        return plans[-1][0]

    def test_tables_recommend_what_the_rule_says(self):
        self.explain("-o", "nearest.json")
        nearest = {r["query_index"]: r for r in self.read_json("nearest.json")["results"]}
        self.assertTrue(all(r["plan"] == 0 for r in nearest.values()))
        marked = set()
        for worth in ("0%", "20%", "60%", "100%"):
            table = self.explain("--worth", worth, form="table")
            for block in table.split("query ")[1:13]:
                lines = block.splitlines()
                head = next((i for i, line in enumerate(lines) if line.split() == ["changes", "cost", "saves", "plan"]), None)
                if head is None:
                    continue
                plans, chosen = [], None
                for line in lines[head + 2:]:
                    if "recommended:" in line:
                        break
                    if line.startswith(" " * 20):  # a long plan goes on
                        continue
                    words = line.replace("*", " ").split()
                    plans.append((int(words[0]), float(words[1])))
                    if line.strip().startswith("*"):
                        chosen = plans[-1][0]
                self.assertGreater(len(plans), 1)
                self.assertLessEqual(plans[-1][0], 4)
                self.assertEqual(sorted(plans), plans)
                self.assertEqual(sorted(plans, key=lambda one: -one[1]), plans)
                self.assertEqual(chosen, self.recommended(plans, float(worth[:-1]) / 100), block)
                self.assertIn(f" · {chosen} change", lines[0])
                marked.add((worth, chosen))
        self.assertGreater(len({chosen for _, chosen in marked}), 1)
        self.assertIn("nearest certified plan", self.explain("--nearest", form="table"))

    def test_what_is_worth_it_must_be_a_share(self):
        for wrong in ("x", "-1%", "120%", "2"):
            run = self.run_ellice("explain", "m.json", "people.csv", "--worth", wrong)
            self.assertEqual(run.returncode, WRONG_USAGE)
            self.assertIn("--worth", run.stderr)

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
