"""Files of earlier versions are made again and read back; the table of cases leaves nothing out."""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import golden
from cases import CASES, CERTIFICATES, UNCOVERED

PROGRAM = pathlib.Path(os.environ["ELLICE_PROGRAM"]).resolve()
EXPLAIN = [case for case in CASES if case.verb == "explain"]
RECOURSE = [case for case in EXPLAIN if case.file.endswith(".json")]
MOST_BYTES = 1_150_000  # a megabyte for what version 0.1.0 writes, and models of version 2 beside it


def stored(file):
    return golden.parse((golden.FOLDER / file).read_text(encoding="utf-8"), file)


def members(value, key):
    """Everything that stands under a key, however deep."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name == key:
                yield member
            yield from members(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from members(member, key)


class Files(unittest.TestCase):
    def test_are_what_the_program_prints(self):
        script = golden.PROJECT / "scripts" / "golden"
        run = subprocess.run([sys.executable, script, "--check", "--binary", PROGRAM, "--jobs", "2"],
                             capture_output=True, encoding="utf-8", check=False)
        print(run.stdout)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        # Only what needs data or libraries that are not here may be left out.
        skipped = re.findall(r"^(\S+): skipped: ", run.stdout, re.MULTILINE)
        free = {case.file for case in CASES if not case.needs_data and "proplace" not in case.command}
        self.assertFalse(free.intersection(skipped))

    def test_are_all_in_the_table(self):
        known = {entry.file for entry in (*CASES, *CERTIFICATES)}
        found = {str(path.relative_to(golden.FOLDER)) for path in golden.FOLDER.rglob("*")
                 if path.suffix in (".json", ".jsonl", ".csv") and path.parent.name not in ("inputs", "people")}
        self.assertEqual(found, known)

    def test_are_read_by_a_case(self):
        words = " ".join(" ".join(case.arguments()) for case in CASES)
        for folder in ("inputs", "people", "models"):
            for path in (golden.FOLDER / folder).iterdir():
                self.assertIn(f"{folder}/{path.name}", words)

    def test_are_what_fuzzing_begins_with(self):
        """A file of the corpus that has a golden one's name holds the same; of another model nothing would be read but its hash."""
        kinds = {"certificate": "certificates", "model": "models", "recourse": "recourse"}
        corpus = golden.PROJECT / "tests" / "fuzz" / "corpus"
        shared = [(path, golden.FOLDER / folder / path.name) for kind, folder in kinds.items()
                  for path in (corpus / kind).glob("*.json") if (golden.FOLDER / folder / path.name).exists()]
        self.assertGreater(len(shared), 20)
        for path, own in shared:
            with self.subTest(str(path.relative_to(corpus))):
                self.assertEqual(json.loads(path.read_text(encoding="utf-8")), json.loads(own.read_text(encoding="utf-8")))

    def test_fuzzing_begins_with_our_letters(self):
        """An older catalogue is refused at its first missing key, and nothing behind it would be read."""
        for path in (golden.PROJECT / "tests" / "fuzz" / "corpus" / "letter").iterdir():
            with self.subTest(path.name):
                self.assertEqual(path.read_bytes(), (golden.PROJECT / "src" / "report" / "letters" / path.name).read_bytes())

    def test_are_small(self):
        size = sum(path.stat().st_size for path in golden.FOLDER.rglob("*") if path.is_file() and path.suffix != ".py")
        self.assertLess(size, MOST_BYTES)


class Answers(unittest.TestCase):
    """The verifier accepts every recourse and certificate file that was ever stored."""

    def setUp(self):
        self.program = golden.Program(PROGRAM)
        self.addCleanup(self.program.close)

    def expect_verified(self, case, file):
        with self.subTest(file):
            run = self.program.verify(case, file)
            if case.needs_data and "scripts/get-datasets" in run.stderr:
                self.skipTest("skipped: no data at " + str(self.program.environment.get("ELLICE_DATA")))
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_of_recourse_files_hold(self):
        self.assertTrue(RECOURSE)
        for case in RECOURSE:
            self.expect_verified(case, case.file)

    def test_of_certificate_files_hold(self):
        self.assertTrue(CERTIFICATES)
        source = {case.file: case for case in RECOURSE}
        for entry in CERTIFICATES:
            self.expect_verified(source[entry.recourse], entry.file)


class Coverage(unittest.TestCase):
    """What the program offers, and the table does not ask for, is named in UNCOVERED with a reason."""

    def setUp(self):
        self.program = golden.Program(PROGRAM)
        self.addCleanup(self.program.close)

    def help_of(self, verb):
        run = self.program.run(verb, "--help-all")
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_every_option_and_every_choice_of_explain(self):
        asked = {word for case in EXPLAIN for word in case.arguments() if word.startswith("--")} | {"--format"}
        asked |= {f"{flag}={value}" for case in EXPLAIN for flag in asked for value in case.option(flag)}
        asked |= {f"--format={pathlib.PurePath(case.file).suffix[1:]}" for case in EXPLAIN}
        options, choices, defaults = offered_by(self.help_of("explain"))
        self.assertGreater(len(options), 50)
        self.assertGreater(len(choices), 40)
        choices = {choice for choice in choices if choice.split("=")[0] not in UNCOVERED}
        self.assertFalse((options | choices) - asked - defaults - set(UNCOVERED), "no golden case has these")
        self.assertLessEqual(set(UNCOVERED), (options | choices) - asked, "these are not offered, or have a case")

    def test_every_choice_that_other_verbs_alone_offer(self):
        """What they share with explain is tested there."""
        _, known, _ = offered_by(self.help_of("explain"))
        for verb in ("frontier", "epsilon", "calibrate", "evaluate"):
            cases = [case for case in CASES if case.verb == verb]
            _, choices, defaults = offered_by(self.help_of(verb))
            flags = {choice.split("=")[0] for choice in choices}
            asked = {f"{flag}={value}" for case in cases for flag in flags for value in case.option(flag)}
            with self.subTest(verb):
                self.assertTrue(cases)
                self.assertFalse(choices - known - asked - defaults, f"no golden case of {verb} has these")

    def test_every_status(self):
        """The reader of answers names those that there are."""
        case = RECOURSE[0]
        answers = stored(case.file)
        answers["results"][0]["status"] = "unheard-of"
        altered = pathlib.Path(self.program.folder.name) / "altered.json"
        altered.write_text(json.dumps(answers), encoding="utf-8")
        run = self.program.verify(case, altered)
        names = re.search(r"expected one of ([\w, -]+)", run.stderr)
        self.assertTrue(names, run.stderr)
        statuses = set(re.split(", | or ", names[1]))
        self.assertIn("already_robust", statuses)
        self.assertEqual(statuses, {one["status"] for case in RECOURSE for one in stored(case.file)["results"]})

    def test_every_set_method_and_cost_is_answered(self):
        _, choices, _ = offered_by(self.help_of("explain"))
        for key in ("set", "method", "cost"):
            offered = {choice.split("=")[1] for choice in choices if choice.startswith(f"--{key}=")} - {"auto"}
            self.assertGreater(len(offered), 3)
            self.assertEqual({stored(case.file)[key] for case in RECOURSE}, offered)

    def test_every_set_has_a_certificate(self):
        _, choices, _ = offered_by(self.help_of("explain"))
        offered = {choice.split("=")[1] for choice in choices if choice.startswith("--set=")} - {"auto"}
        self.assertEqual({stored(entry.file)["set"] for entry in CERTIFICATES}, offered)

    def test_every_evaluator(self):
        names = re.search(r"models that judge: ([\w, -]+)", " ".join(self.help_of("evaluate").split()))
        offered = set(re.findall(r"[\w-]+", names[1].split(" --")[0]))
        self.assertIn("retrain", offered)
        files = [case.file for case in CASES if case.verb == "evaluate"]
        self.assertEqual({one["name"] for file in files for one in stored(file)["evaluators"]}, offered)

    def test_every_kind_of_model_and_feature(self):
        models = [stored(case.file) for case in CASES if case.verb == "train"]
        _, choices, _ = offered_by(self.help_of("train"))
        for flag, key in (("model", "kind"), ("loss", "loss_kind"), ("activation", "activation")):
            offered = {choice.split("=")[1] for choice in choices if choice.startswith(f"--{flag}=")}
            self.assertTrue(offered)
            offered.discard("additive")  # logistic in its file, on bins
            self.assertLessEqual(offered, set(filter(lambda v: isinstance(v, str), members(models, key))))
        features = [feature for model in models for feature in model["schema"]["features"].values()]
        self.assertEqual({feature["kind"] for feature in features},
                         {"numeric", "integer", "ordinal", "binary", "categorical", "binned"})
        reference = (golden.PROJECT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
        table = re.search(r"\| key of a feature \|.*?\n\n", reference, re.DOTALL)[0].strip()
        keys = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
        self.assertIn("immutable", keys)
        self.assertEqual({key for feature in features for key in feature}, keys)
        schemas = [model["schema"] for model in models]
        self.assertEqual({schema.get("missing", "error") for schema in schemas}, {"error", "level", "median"})
        rules = " ".join(rule for schema in schemas for rule in schema.get("constraints", []))
        for words in ("<=", "rises then", "falls then", "changes then", "becomes home then", "by at least", "stays"):
            self.assertIn(words, rules)
        self.assertTrue(any("one_hot" in schema for schema in schemas))
        self.assertTrue(any("recommended" in model for model in models))
        self.assertTrue(any("rows" in model for model in models))


def offered_by(text):
    """Options, choices `--option=value` and default choices in the help of a verb."""
    options, choices, defaults = set(), set(), set()
    for line in re.findall(r"^ +-.*", text, re.MULTILINE):
        name = re.match(r" +(?:-\w,)?(--[\w-]+)", line)[1]
        options.add(name)
        if listed := re.search(r":\{([^}]*)\} ?[=\[]([\w-]*)", line):
            choices |= {f"{name}={value}" for value in listed[1].split(",")}
            defaults.add(f"{name}={listed[2]}")
    return options, choices, defaults


class Comparison(unittest.TestCase):
    """An alteration anywhere in a file is seen, rounding is not."""

    def altered(self, value):
        """Documents that differ from this one in one place."""
        if isinstance(value, dict):
            for key in value:
                yield {name: member for name, member in value.items() if name != key}
                yield {("other" if name == key else name): member for name, member in value.items()}
                if key == "sha256":
                    continue  # follows from the rest
                for member in self.altered(value[key]):
                    yield {**value, key: member}
        elif isinstance(value, list):
            if value:
                yield value[:-1]
            for index, member in enumerate(value):
                for other in self.altered(member):
                    yield [*value[:index], other, *value[index + 1:]]
        elif isinstance(value, bool):
            yield not value
        elif isinstance(value, (int, float)):
            yield value + 1
            yield value * (1 + 1e-6) if abs(value) > 0.1 and isinstance(value, float) else -value - 1
            yield str(value)
            yield None
        elif isinstance(value, str):
            yield value + "."
            if digit := re.search(r"\d", value):
                yield value[:digit.start()] + ("4" if digit[0] == "3" else "3") + value[digit.end():]

    def test_sees_every_alteration(self):
        document = stored(RECOURSE[0].file)
        count = 0
        for other in self.altered(document):
            self.assertTrue(list(golden.differences(document, other)), other)
            count += 1
        self.assertGreater(count, 500)

    def test_names_the_place(self):
        old = {"results": [{"status": "optimal", "distance": {"l2": 0.5}}]}
        new = copy.deepcopy(old)
        new["results"][0]["distance"]["l2"] = 0.51
        self.assertEqual(list(golden.differences(old, new)), [("results[0].distance.l2", 0.5, 0.51)])

    def test_takes_rounding_for_the_same(self):
        pairs = ((0.1, 0.1 + 1e-12), (1e300, 1e300 * (1 + 1e-15)), (0, 1e-17), (2, 2.0000000001), (-0.0, 0),
                 ("within 0.0123456789012 of", "within 0.0123456789013 of"))
        for old, new in pairs:
            self.assertFalse(list(golden.differences(old, new)), (old, new))

    def test_takes_nothing_else_for_the_same(self):
        pairs = ((2, 3), (0, 1e-11), (1, True), (0, False), (1, "1"), (None, 0), ("A11", "A12"), ("1 of 2", "1 of 3"),
                 ("0.5 of x", "0.6 of x"), ("0.5 of x", "0.5 of y"), ("e12", "e13"), ([], {}), ([1], [1, 1]))
        for old, new in pairs:
            self.assertTrue(list(golden.differences(old, new)), (old, new))
            self.assertTrue(list(golden.differences(new, old)), (new, old))


if __name__ == "__main__":
    unittest.main()
