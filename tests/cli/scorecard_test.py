"""Scorecards: tables and PMML of points, whole and broken, and plans in their own words."""
import csv
import math
import random
import unittest

from cli_test_case import BAD_INPUT, WRONG_USAGE, CliTestCase

SCHEMA = """target: {column: paid, favourable: "yes"}
features:
  utilisation: {kind: numeric, step: 0.01, min: 0, max: 1.5}
  months:      {kind: integer, direction: increase, min: 0, max: 120}
  housing:     {kind: categorical, levels: [rent, own, parents]}
"""
CARD = """feature,from,to,level,points,reason
base,,,,410,
utilisation,-9,-9,no record,20,U9
utilisation,,0.3,,35,U1
utilisation,0.3,0.6,,72,U1
utilisation,0.6,,,-20,U2
months,,12,,6,M1
months,12,36,,43,M1
months,36,,,62,
housing,,,rent,0,
housing,,,own,31.5,
housing,,,parents,12,
"""


def points(utilisation, months, housing):
    """The card, read by hand."""
    used = 20 if utilisation == -9 else 35 if utilisation < 0.3 else 72 if utilisation < 0.6 else -20
    known = 6 if months < 12 else 43 if months < 36 else 62
    return 410 + used + known + {"rent": 0, "own": 31.5, "parents": 12}[housing]


def people(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        yield (-9 if draw.random() < 0.1 else round(1.3 * draw.random(), 2), draw.randrange(0, 60), draw.choice(["rent", "own", "parents"]))


def rows(count=600):
    draw = random.Random(11)
    lines = ["utilisation,months,housing,paid"]
    for one in people(count, 5):
        chance = 1 / (1 + math.exp(-math.log(2) / 20 * (points(*one) - 480)))
        lines.append(",".join(map(str, one)) + (",yes" if draw.random() < chance else ",no"))
    return "\n".join(lines) + "\n"


def pmml(*characteristics, head='<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4">', attributes='initialScore="410"'):
    return (f'{head}<Header><Application name="Bank"/></Header><Scorecard functionName="regression" {attributes}><MiningSchema/>'
            f'<Characteristics>{"".join(characteristics)}</Characteristics></Scorecard></PMML>')


def characteristic(field, *attributes, name=None):
    return f'<Characteristic name="{name or field}" reasonCode="R-{field}">{"".join(attributes)}</Characteristic>'


def attribute(score, predicate, more=""):
    return f'<Attribute partialScore="{score}"{more}>{predicate}</Attribute>'


def simple(field, operator, value=""):
    return f'<SimplePredicate field="{field}" operator="{operator}" value="{value}"/>'


def both(*parts, operator="and"):
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


UTILISATION = characteristic(
    "utilisation", attribute(20, simple("utilisation", "equal", -9), ' reasonCode="U9"'), attribute(35, simple("utilisation", "lessThan", 0.3)),
    attribute(72, both(simple("utilisation", "greaterOrEqual", 0.3), simple("utilisation", "lessThan", 0.6))),
    attribute(-20, simple("utilisation", "greaterOrEqual", 0.6)))
MONTHS = characteristic("months", attribute(6, both(simple("months", "lessThan", 12), simple("months", "isMissing"), operator="or")),
                        attribute(43, both(simple("months", "greaterOrEqual", 12), simple("months", "lessThan", 36))),
                        attribute(62, simple("months", "greaterOrEqual", 36)))
HOUSING = characteristic("housing", attribute(0, simple("housing", "equal", "rent")), attribute(31.5, simple("housing", "equal", "own")),
                         attribute(12, '<SimpleSetPredicate field="housing" booleanOperator="isIn"><Array type="string">parents</Array></SimpleSetPredicate>'))


class ScorecardTest(CliTestCase):
    SCALE = ("--pdo", "20", "--score", "480", "--odds", "1")

    def setUp(self):
        super().setUp()
        self.write("d.csv", rows())
        self.write("s.yaml", SCHEMA)
        self.write("card.csv", CARD)
        self.write("q.csv", "id,utilisation,months,housing\n" + "".join(f"P{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(people(40, 9))))

    def importing(self, card="card.csv", *more, schema="s.yaml"):
        return ("import", "--scorecard", card, *self.SCALE, "--data", "d.csv", "--schema", schema, "-o", "m.json", *more)

    def explained(self, *more):
        self.ellice("explain", "m.json", "q.csv", "--id", "id", "--epsilon", "0.1%", *more, "-o", "a.json")
        self.ellice("verify", "m.json", "a.json")
        return self.read_json("a.json")["results"]

    def expect_points(self, results, needed, better=lambda a, b: a >= b, of=points):
        plans = 0
        for result in results:
            now = of(**result["query"])
            self.assertAlmostEqual(result["score"]["now"], now)
            self.assertAlmostEqual(result["score"]["needed"], needed)
            if "counterfactual" not in result:
                continue
            after = of(**result["counterfactual"])
            self.assertAlmostEqual(result["score"]["after"], after)
            self.assertTrue(better(after, needed))
            self.assertAlmostEqual(sum(change["points"] for change in result["changes"]), after - now)
            plans += len(result["changes"]) > 0
        self.assertGreater(plans, 8)

    def test_plans_have_the_points_that_the_card_asks_for(self):
        self.ellice(*self.importing())
        self.expect_points(self.explained(), 480)

    def test_the_cut_off_decides(self):
        self.ellice(*self.importing("card.csv", "--cut-off", "500"))
        self.expect_points(self.explained(), 500)
        self.expect_points(self.explained("--threshold", "1"), 480 + 20 / math.log(2))

    def test_more_points_may_be_worse(self):
        lines = CARD.splitlines()
        turned = [lines[0]]
        for line in csv.DictReader(lines):
            line["points"] = str(-float(line["points"]))
            turned.append(",".join(line.values()))
        self.write("risk.csv", "\n".join(turned) + "\n")
        self.ellice("import", "--scorecard", "risk.csv", "--pdo=-20", "--score=-480", "--odds", "1", "--cut-off=-490", "--data", "d.csv",
                    "--schema", "s.yaml", "-o", "m.json")
        results = self.explained()
        self.expect_points(results, -490, lambda a, b: a <= b, lambda **row: -points(**row))
        self.assertTrue(all(result["score"]["less_is_better"] for result in results))
        self.assertIn("at most -490 is needed", self.ellice("explain", "m.json", "q.csv", "--id", "id", "--epsilon", "0.1%"))

    def test_a_sign_that_is_turned_is_said(self):
        turned = [value if before != "--pdo" else "-20" for before, value in zip(("",) + self.importing(), self.importing())]
        turned[turned.index("--pdo"):turned.index("--pdo") + 2] = ["--pdo=-20"]
        self.assertIn("worse than a coin", self.run_ellice(*turned).stderr)
        self.assertNotIn("coin", self.run_ellice(*self.importing()).stderr)

    def test_tables_letters_and_reasons_speak_of_points(self):
        self.ellice(*self.importing("card.csv", "--cut-off", "500"))
        text = self.ellice("explain", "m.json", "q.csv", "--id", "id", "--epsilon", "0.1%", "--nearest")
        self.assertIn("principal reasons (points, scorecard)", text)
        self.assertRegex(text, r"score: [0-9.]+ points now, [0-9.]+ with these changes; 500 are needed")
        self.assertRegex(text, r"raise months from 8 to 12 \(anything at least 12 and below 36; \+37 points\)")
        self.assertNotRegex(text, r"declined[^\n]*\n[^\n]*\n  score: 500 points now")  # who has the cut-off is accepted
        results = self.explained("--declined", "--lender", "A Bank", "--date", "2026-01-05", "--letters", "letters")
        codes = {reason["code"] for result in results for reason in result["reasons"]["items"] if "code" in reason}
        self.assertLessEqual({"U2", "M1"}, codes)
        for result in results:
            for reason in result["reasons"]["items"]:
                self.assertAlmostEqual(reason["points"], reason["contribution"] * 20 / math.log(2))
        letters = "".join(path.read_text(encoding="utf-8") for path in (self.folder / "letters").iterdir() if path.suffix == ".html")
        self.assertIn("(+37 points)", letters)
        self.assertRegex(letters, r"In points of our scorecard: [0-9.,]+ now, [0-9.,]+ after these changes; 500 or more are needed\.")
        page = self.ellice("explain", "m.json", "q.csv", "--id", "id", "--epsilon", "0.1%", "--format", "html")
        self.assertIn('"needed": 500', page)

    def test_other_points_do_not_verify(self):
        self.ellice(*self.importing())
        self.explained()
        whole = self.read_json("a.json")
        index = next(i for i, result in enumerate(whole["results"]) if result.get("changes"))

        def altered(change):
            document = self.read_json("a.json")
            change(document["results"][index])
            for result in document["results"]:
                result.pop("sha256", None)
            document.pop("sha256", None)
            self.write("b.json", document)
            return self.run_ellice("verify", "m.json", "b.json")

        self.assertEqual(altered(lambda one: None).returncode, 0)
        for change, word in ((lambda one: one["score"].update(now=one["score"]["now"] + 1), "score.now"),
                             (lambda one: one["score"].update(after=999), "score.after"), (lambda one: one["score"].update(needed=479), "score.needed"),
                             (lambda one: one.pop("score"), "score is missing"), (lambda one: one["score"].update(less_is_better=True), "less_is_better"),
                             (lambda one: one["changes"][0].update(points=1), "points are 1"), (lambda one: one["changes"][0].pop("points"), "missing")):
            done = altered(change)
            self.assertNotEqual(done.returncode, 0, word)
            self.assertIn(word, done.stdout + done.stderr)

    def test_pmml_says_the_same(self):
        self.ellice(*self.importing())
        expected = self.read_json("m.json")
        for version in ("4_2", "4_3", "4_4"):
            self.write("card.pmml", pmml(UTILISATION, MONTHS, HOUSING, head=f'<PMML version="{version[0]}.{version[2]}" xmlns="http://www.dmg.org/PMML-{version}">'))
            self.ellice(*self.importing("card.pmml"))
            model = self.read_json("m.json")
            self.assertEqual(model["deployed"], expected["deployed"])
            self.assertEqual([one["points"] for one in model["scorecard"]["characteristics"]],
                             [one["points"] for one in expected["scorecard"]["characteristics"]])
            self.assertEqual(model["scorecard"]["characteristics"][0]["reasons"][3], "U9")
        self.write("p.pmml", pmml(UTILISATION, MONTHS, HOUSING, head="<PMML>").replace("</", "\0").replace("<", "<p:").replace("\0", "</p:"))
        self.ellice(*self.importing("p.pmml"))
        self.assertEqual(self.read_json("m.json")["deployed"], expected["deployed"])

    def test_tables_are_read_as_banks_write_them(self):
        self.ellice(*self.importing())
        expected = self.read_json("m.json")["deployed"]
        commas = "feature;from;to;level;points\nbase;;;;410\nutilisation;-9;-9;no record;20\nutilisation;;0,3;;35\n"
        commas += "utilisation;0,30;0,6;;72\nutilisation;0,60;;;-20\nmonths;;12;;6\nmonths;12;36;;43\nmonths;36;;;62\n"
        commas += "housing;;;rent;0\nhousing;;;own;31,5\nhousing;;;parents;12\n"
        self.write("commas.csv", commas)
        self.ellice(*self.importing("commas.csv"))
        self.assertEqual(self.read_json("m.json")["deployed"], expected)
        bins = 'variable,bin,points\nbasepoints,,410\nutilisation,-9,20\nutilisation,"[-Inf,0.3)",35\nutilisation,"[0.3,0.6)",72\n'
        bins += 'utilisation,"[0.6,Inf)",-20\nmonths,"[-Inf,12)",6\nmonths,"[12,36)",43\nmonths,"[36,Inf)",62\nmonths,missing,0\n'
        bins += "housing,rent,0\nhousing,own,31.5\nhousing,parents,12\n"
        self.write("bins.csv", bins)
        self.ellice(*self.importing("bins.csv"))
        self.assertEqual(self.read_json("m.json")["deployed"], expected)

    def test_nobody_is_beyond_the_outer_ends_of_a_card(self):
        closed = CARD.replace("utilisation,,0.3,", "utilisation,0,0.3,").replace("0.6,,,-20", "0.6,1.5,,-20") \
            .replace("months,,12", "months,0,12").replace("36,,,62", "36,61,,62")
        self.write("closed.csv", closed)
        done = self.run_ellice(*self.importing("closed.csv"))
        self.assertIn("utilisation: people and plans have at least 0 and below 1.5, or a code", done.stderr)
        self.assertIn("months: people and plans have at least 0 and at most 60; the card has no points for others", done.stderr)
        self.write("beyond.csv", "utilisation,months,housing\n0.1,7,rent\n0.1,61,rent\n")
        self.expect_failure(BAD_INPUT, ['beyond.csv:3', '"months"', 'found "61"', "a number that has a bin: at least 0 and at most 60"],
                            "explain", "m.json", "beyond.csv")
        # Neither a range of the run nor one that is lifted leads beyond, and where there is an end there may be no plan.
        self.write("few.csv", "utilisation,months,housing\n0.7,7,rent\n0.9,3,parents\n")
        for wish in (["--bounds", "months=0:500", "--range", "off"], ["--range", "off"], ["--epsilon", "40%"]):
            self.ellice("explain", "m.json", "few.csv", *wish, "--format", "json", "-o", "r.json")
            self.ellice("verify", "m.json", "r.json")
            for result in self.read_json("r.json")["results"]:
                for row in filter(None, [result.get("counterfactual"), (result.get("infeasible") or {}).get("best", {}).get("row")]):
                    self.assertLessEqual(row["months"], 60)
                    self.assertLess(row["utilisation"], 1.5)

    def test_no_plan_leads_to_an_open_end(self):
        draw = random.Random(3)
        self.write("p.csv", "u\n0.7\n0.5\n")
        for least, step in ((0, 0.2), (0, 0.1), (0, 0.05)):
            for edge in (0.1, 0.3, 0.4):
                shares = [draw.choice((0.01, 0.05, 0.25, 0.35, 0.55, 0.75, 0.99)) for _ in range(400)]
                self.write("e.csv", "u,paid\n" + "".join(f"{u},{'yes' if draw.random() < (0.74 if u <= edge else 0.26) else 'no'}\n" for u in shares))
                self.write("open.csv", f"feature,bin,points\nbase,,450\nu,\"({least},{edge}]\",60\nu,\"({edge},1)\",0\n")
                self.write("u.yaml", f'target: {{column: paid, favourable: "yes"}}\nfeatures: {{u: {{kind: numeric, step: {step}}}}}\n')
                self.ellice("import", "--scorecard", "open.csv", *self.SCALE, "--data", "e.csv", "--schema", "u.yaml", "-o", "o.json")
                self.ellice("explain", "o.json", "p.csv", "--epsilon", "0.1%", "--range", "off", "-o", "a.json")
                self.ellice("verify", "o.json", "a.json")
                for result in self.read_json("a.json")["results"]:
                    if "counterfactual" not in result:
                        self.assertLess(edge, step)  # no number of the grid has points enough
                        continue
                    u = result["counterfactual"]["u"]
                    self.assertTrue(0 < u <= edge, u)
                    self.assertAlmostEqual(u / step, round(u / step), 9)

    def test_both_ends_belong_to_bins_of_whole_numbers_alone(self):
        head = "feature,from,to,level,points\nbase,,,,410\nhousing,,,rent,0\nhousing,,,own,31.5\nhousing,,,parents,12\n"
        one = "utilisation,-9,-9,no record,20\nutilisation,,,,35\n"  # the same points for every share
        self.write("half.csv", head + one + "months,,12,,6\nmonths,12,36,,43\nmonths,36,,,62\n")
        self.ellice(*self.importing("half.csv"))
        expected = self.read_json("m.json")["deployed"]
        self.write("both.csv", head + one + "months,,11,,6\nmonths,12,35,,43\nmonths,36,,,62\n")
        self.ellice(*self.importing("both.csv", "--closed", "both"))
        self.assertEqual(self.read_json("m.json")["deployed"], expected)
        shares = "utilisation,-9,-9,no record,20\nutilisation,,0.29,,35\nutilisation,0.3,0.59,,72\nutilisation,0.6,,,-20\n"
        self.write("gap.csv", head + shares + "months,,11,,6\nmonths,12,35,,43\nmonths,36,,,62\n")
        self.expect_failure(BAD_INPUT, ['gap.csv:8: feature "utilisation": numbers between 0.29 and 0.3 have no points'],
                            *self.importing("gap.csv", "--closed", "both"))

    def test_rules_with_if_are_kept_and_linear_ones_refused(self):
        self.write("if.yaml", SCHEMA + 'constraints: ["if housing changes then months rises by at least 6", "if utilisation falls then months rises"]\n')
        self.ellice(*self.importing("card.csv", schema="if.yaml"))
        moved = 0
        for result in self.explained():
            if not result.get("changes"):
                continue
            old, new = result["query"], result["counterfactual"]
            if old["housing"] != new["housing"]:
                self.assertGreaterEqual(new["months"], old["months"] + 6)
                moved += 1
            if new["utilisation"] < old["utilisation"]:
                self.assertGreater(new["months"], old["months"])
                moved += 1
        self.assertGreater(moved, 3)
        self.write("linear.yaml", SCHEMA + 'constraints: ["months <= 100 * utilisation"]\n')
        self.expect_failure(BAD_INPUT, ["no linear rule", "months"], *self.importing("card.csv", schema="linear.yaml"))

    def test_without_rows_by_the_covariance(self):
        terms = ["(Intercept)", "utilisation=-9", "utilisation[0.3,0.6)", "utilisation[0.6,inf)", "months[12,36)", "months[36,inf)", "housing=own",
                 "housing=parents"]
        table = list(csv.DictReader(rows().splitlines()))

        def columns(row):
            u, m = float(row["utilisation"]), int(row["months"])
            return [1, u == -9, 0.3 <= u < 0.6, u >= 0.6, 12 <= m < 36, m >= 36, row["housing"] == "own", row["housing"] == "parents"]

        theta = [math.log(2) / 20 * value for value in (410 + 35 + 6 - 480, -15, 37, -55, 37, 56, 31.5, 12)]
        size = len(terms)
        information = [[0.0] * size for _ in terms]
        likelihood = 0
        for row in table:
            x = [float(value) for value in columns(row)]
            p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(theta, x))))
            likelihood += math.log(p if row["paid"] == "yes" else 1 - p)
            for i in range(size):
                for j in range(size):
                    information[i][j] += p * (1 - p) * x[i] * x[j]
        inverse = invert(information)
        self.write("cov.csv", "," + ",".join(f'"{term}"' for term in terms) + "\n" +
                   "".join(f'"{term}",' + ",".join(map(repr, line)) + "\n" for term, line in zip(terms, inverse)))
        without = ("import", "--scorecard", "card.csv", *self.SCALE, "--cut-off", "490", "--covariance", "cov.csv", "--rows", str(len(table)),
                   "--log-likelihood", repr(likelihood), "--schema", "s.yaml", "-o", "m.json")
        self.assertIn("95 % confidence region", self.ellice(*without))
        self.ellice("explain", "m.json", "q.csv", "--id", "id", "-o", "a.json")
        self.ellice("verify", "m.json", "a.json")
        self.expect_points(self.read_json("a.json")["results"], 490)
        self.expect_failure(WRONG_USAGE, ["either --data"], *without, "--data", "d.csv")
        self.expect_failure(WRONG_USAGE, ["--covariance, --rows and --log-likelihood"], *[a for a in without if a not in ("--rows", str(len(table)))])
        self.write("few.csv", (self.folder / "cov.csv").read_text(encoding="utf-8").replace("utilisation=-9", "utilisation=-8"))
        self.expect_failure(BAD_INPUT, ["utilisation", "-9", "no term"], *[a if a != "cov.csv" else "few.csv" for a in without])

    BROKEN_TABLES = [
        ("months,10,20,,7,", ":13"), ("months,36,,,40,", ":13"), ("months,50,a,,40,", ":13: to"), ("months,b,50,,40,", ":13: from"),
        ("months,,,,40,", ":13"), ("months,,,old,40,", ":13"), ("month,,12,,4,", ":13"), (",,12,,4,", ":13: feature"),
        ("months,12,24,,,", ":13: points"), ("months,12,24,,x,", ":13: points"), ("base,,,,3,", ":13"), ("housing,,,villa,3,", ":13"),
        ("housing,,,own,3,", ":13"), ("housing,1,2,,3,", ":13"), ("utilisation,-9,-9,again,3,", ":13"), ("utilisation,0.5,0.4,,3,", ":13"),
        ("months,inf,,,3,", ":13: from"), ("months,,-inf,,3,", ":13: to"), ("months,12", ": line 13"), ("income,,,,3,", ":13"),
    ]
    BROKEN_CARDS = [
        ("", "card"), ("feature,from,to\nmonths,,12\n", "found the columns"), ("feature,points\nmonths,3\n", "found the columns"),
        ("feature,from,to,points\n", "no bins"), ("feature,from,to,points\nmonths,,12,1\n", "card.csv:2"),
        ("feature,from,to,points\nmonths,,12,1\nmonths,13,,2\n", "card.csv:3"), ("feature,from,to,points\nmonths,-9,-9,1\n", "card.csv:2"),
        ("feature,from,to,points,level\nhousing,,,1,own\nhousing,,,2,rent\n", "parents"), ("feature,bin,points\nmonths,\"[1,x)\",2\n", "card.csv:2: bin"),
        ("feature,bin,points\nutilisation,\"(-inf,1]\",2\nutilisation,\"[1,inf)\",2\n", "card.csv:3"),
    ]
    BROKEN_PMML = [
        ("<PMML", "no XML"), ("<XML/>", "<XML>"), ("<PMML/>", "<Scorecard>"), (pmml(), "<Characteristic>"), (pmml(characteristic("months")), "<Attribute>"),
        (pmml(UTILISATION, UTILISATION), "utilisation"), (pmml(characteristic("months", attribute("x", simple("months", "lessThan", 1)))), "partialScore"),
        (pmml(characteristic("months", "<Attribute/>")), "partialScore"), (pmml(characteristic("months", attribute(1, ""))), "no predicate"),
        (pmml(characteristic("months", attribute(1, "<True/>"))), "<True>"), (pmml(characteristic("months", attribute(1, simple("", "lessThan", 1)))), "no field"),
        (pmml(characteristic("months", attribute(1, simple("months", "like", 1)))), "like"),
        (pmml(characteristic("months", attribute(1, simple("months", "lessThan", "x")))), "x"),
        (pmml(characteristic("months", attribute(1, simple("months", "lessThan", 1)), attribute(1, simple("age", "greaterOrEqual", 1)))), "age"),
        (pmml(characteristic("age", attribute(1, simple("age", "lessThan", 1)), attribute(1, simple("age", "greaterOrEqual", 1)))), "age"),
        (pmml(characteristic("months", attribute(1, simple("months", "lessThan", 5)), attribute(1, simple("months", "greaterOrEqual", 4)))), "overlaps"),
        (pmml(characteristic("months", attribute(1, simple("months", "lessThan", 5)), attribute(1, simple("months", "greaterThan", 7)))), "between 5 and 7"),
        (pmml(characteristic("months", attribute(1, simple("months", "lessThan", 5)), attribute(1, both(simple("months", "greaterOrEqual", 5), operator="xor")))), "xor"),
        (pmml(characteristic("housing", attribute(1, simple("housing", "equal", "own")))), "rent"),
        (pmml(characteristic("housing", attribute(1, '<SimpleSetPredicate field="housing" booleanOperator="isNotIn"><Array>own</Array></SimpleSetPredicate>'))), "isNotIn"),
        (pmml(characteristic("housing", attribute(1, '<SimpleSetPredicate field="housing" booleanOperator="isIn"><Array/></SimpleSetPredicate>'))), "empty"),
        (pmml(characteristic("months", attribute(1, "<ComplexPartialScore/>"))), "<ComplexPartialScore>"),
        (pmml(UTILISATION, attributes='initialScore="many"'), "initialScore"),
        (pmml(UTILISATION).replace("<Scorecard", '<TransformationDictionary><DerivedField name="ratio"/></TransformationDictionary><Scorecard'), "ratio"),
    ]

    def test_broken_files_are_refused_by_place(self):
        for line, message in self.BROKEN_TABLES:
            self.write("card.csv", CARD + line + "\n")
            with self.subTest(line=line):
                self.expect_failure(BAD_INPUT, ["card.csv" + message], *self.importing())
        for text, message in self.BROKEN_CARDS:
            self.write("card.csv", text)
            with self.subTest(text=text):
                self.expect_failure(BAD_INPUT, ["card.csv", message], *self.importing())
        for text, message in self.BROKEN_PMML:
            self.write("card.pmml", text)
            with self.subTest(text=text):
                self.expect_failure(BAD_INPUT, ["card.pmml", message], *self.importing("card.pmml"))

    def test_options_that_do_not_go_together_are_said(self):
        self.expect_failure(WRONG_USAGE, ["--pdo, --score and --odds"], "import", "--scorecard", "card.csv", "--data", "d.csv", "--schema", "s.yaml",
                            "-o", "m.json")
        self.expect_failure(WRONG_USAGE, ["--data", "--covariance"], "import", "--scorecard", "card.csv", *self.SCALE, "--schema", "s.yaml", "-o", "m.json")
        for option in ("--pdo", "--odds"):
            wrong = [value if before != option else "0" for before, value in zip(("",) + self.importing(), self.importing())]
            self.expect_failure(BAD_INPUT, ["card.csv", "pdo"], *wrong)


def invert(matrix):
    """Gauss and Jordan, in plain floats."""
    size = len(matrix)
    rows_ = [list(line) + [float(i == j) for j in range(size)] for i, line in enumerate(matrix)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows_[k][i]))
        rows_[i], rows_[pivot] = rows_[pivot], rows_[i]
        rows_[i] = [value / rows_[i][i] for value in rows_[i]]
        for k in range(size):
            if k != i:
                factor = rows_[k][i]
                rows_[k] = [a - factor * b for a, b in zip(rows_[k], rows_[i])]
    return [line[size:] for line in rows_]


if __name__ == "__main__":
    unittest.main()
