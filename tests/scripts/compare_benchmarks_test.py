import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from script_test_case import SCRIPTS

sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
from compare_benchmarks import compare, mann_whitney, ratios  # noqa: E402

# Stands in for a program of benchmarks: times in times.json beside it, 1 % up and down from run to run.
PROGRAM = """#!{python}
import json, pathlib, re, sys
folder = pathlib.Path(__file__).parent
options = dict(word.removeprefix("--benchmark_").split("=", 1) for word in sys.argv[1:])
runs = folder / (pathlib.Path(__file__).name + ".runs")
turn = len(runs.read_text()) if runs.exists() else 0
runs.write_text("x" * (turn + 1))
speed = 1 + turn % 5  # a processor that changes its clock between runs
entries = [dict(name=name, cpu_time=speed * time * (1 + 0.005 * (turn * 7 % 5 - 2) * (name != "BM_reference")), time_unit="us")
           for name, time in json.loads((folder / "times.json").read_text()).items() if re.search(options["filter"], name)]
entries.append(dict(name="BM_needs_data", error_occurred=True, error_message="no data"))
pathlib.Path(options["out"]).write_text(json.dumps(dict(benchmarks=entries)))
"""


class MannWhitney(unittest.TestCase):
    def test_known_values(self):
        # The race of hares and tortoises: finishing order T H H H H H T T T T T H.
        tortoises, hares = [1, 7, 8, 9, 10, 11], [2, 3, 4, 5, 6, 12]
        self.assertEqual(mann_whitney(tortoises, hares)[0], 25)
        self.assertEqual(mann_whitney(hares, tortoises)[0], 11)
        self.assertEqual(mann_whitney([1, 2, 3], [4, 5, 6]), (0, 1))
        self.assertEqual(mann_whitney([4, 5, 6], [1, 2, 3]), (9, 1 / 20))
        # Tables of the exact distribution: P(U >= 21) for 5 against 5 is 12 of 252 ways.
        self.assertEqual(mann_whitney([3, 7, 8, 9, 10], [1, 2, 4, 5, 6]), (22, 7 / 252))
        self.assertEqual(mann_whitney([3, 6, 8, 9, 10], [1, 2, 4, 5, 7]), (21, 12 / 252))

    def test_ties_count_half(self):
        self.assertEqual(mann_whitney([1, 1], [1, 1]), (2, 1))
        self.assertEqual(mann_whitney([2, 3], [1, 2]), (3.5, 2 / 6))

    def test_equals_enumeration(self):
        source = random.Random(4)
        for _ in range(60):
            values = [source.randrange(8) for _ in range(source.randrange(4, 10))]
            size = source.randrange(1, len(values))

            def pairs(chosen):
                inside = [values[i] for i in chosen]
                outside = [values[i] for i in range(len(values)) if i not in chosen]
                return sum((a > b) + 0.5 * (a == b) for a in inside for b in outside)

            attained = pairs(range(size))
            all_ways = [pairs(chosen) for chosen in itertools.combinations(range(len(values)), size)]
            u, chance = mann_whitney(values[:size], values[size:])
            self.assertEqual(u, attained)
            self.assertAlmostEqual(chance, sum(way >= attained for way in all_ways) / len(all_ways))


class Compare(unittest.TestCase):
    BEFORE = [1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 0.99, 1.00]

    def verdict(self, now):
        (finding,) = compare({"a": self.BEFORE}, {"a": now})
        return finding.verdict

    def test_finds_what_is_slower_by_more_than_five_percent(self):
        self.assertEqual(self.verdict([1.10 * x for x in self.BEFORE]), "slower")
        self.assertEqual(self.verdict([1.04 * x for x in self.BEFORE]), "same")
        self.assertEqual(self.verdict(self.BEFORE), "same")

    def test_finds_what_is_faster(self):
        self.assertEqual(self.verdict([x / 1.10 for x in self.BEFORE]), "faster")
        self.assertEqual(self.verdict([x / 1.04 for x in self.BEFORE]), "same")

    def test_does_not_take_chance_for_a_finding(self):
        # Its median is 8 % up, but it goes up and down by more than that.
        self.assertEqual(self.verdict([0.8, 1.3, 0.95, 1.08, 1.2, 0.9, 1.4, 1.09, 1.0]), "same")
        self.assertEqual(self.verdict([1.5, 1.5]), "same")  # too few to tell

    def test_states_the_change_of_the_median(self):
        (finding,) = compare({"a": [2, 1, 3]}, {"a": [5, 4, 3]})
        self.assertEqual(finding.change, 2)

    def test_names_what_is_new_or_gone(self):
        self.assertEqual([(finding.name, finding.verdict) for finding in compare({"a": [1], "b": [1]}, {"b": [1], "c": [1]})],
                         [("a", "gone"), ("b", "same"), ("c", "new")])


class Ratios(unittest.TestCase):
    def test_are_times_over_the_reference_in_any_unit(self):
        report = {"benchmarks": [{"name": "BM_reference", "cpu_time": 20, "time_unit": "us"},
                                 {"name": "BM_a", "cpu_time": 3, "time_unit": "ms"},
                                 {"name": "BM_b", "cpu_time": 500, "time_unit": "ns"},
                                 {"name": "BM_c", "error_occurred": True}]}
        self.assertEqual(ratios(report), {"BM_a": 150, "BM_b": 0.025})


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for module in ("data", "solver"):
            program = self.root / f"{module}_benchmarks"
            program.write_text(PROGRAM.format(python=sys.executable))
            program.chmod(0o755)
        self.accepted = self.root / "accepted.json"

    def run_with(self, *arguments, **times):
        (self.root / "times.json").write_text(json.dumps({"BM_reference": 10, **times}))
        run = subprocess.run([sys.executable, SCRIPTS / "compare_benchmarks.py", "--programs", self.root, "--accepted", self.accepted,
                              *arguments], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_accepts_then_compares(self):
        self.assertEqual(self.run_with("--accept", BM_csv=30, BM_cone=5)[0], 0)
        stored = json.loads(self.accepted.read_text())["ratios"]
        self.assertEqual(sorted(stored), ["data/BM_cone", "data/BM_csv", "solver/BM_cone", "solver/BM_csv"])
        self.assertEqual(len(stored["data/BM_csv"]), 9)
        self.assertAlmostEqual(sorted(stored["data/BM_csv"])[4], 3)
        status, output, _ = self.run_with("--compare", BM_csv=30, BM_cone=5)
        self.assertEqual(status, 0)
        self.assertIn("slower: 0, faster: 0, same: 4, new: 0, gone: 0", output)
        status, output, _ = self.run_with("--compare", BM_csv=30, BM_cone=5.5)
        self.assertEqual(status, 1)
        self.assertIn("slower by more than 5 %: data/BM_cone (+10.0 %)", output)
        self.assertNotIn("5 %: data/BM_csv", output)

    def test_a_pattern_leaves_the_others_alone(self):
        self.run_with("--accept", BM_csv=30, BM_cone=5)
        before = json.loads(self.accepted.read_text())["ratios"]
        self.run_with("--accept", "cone", BM_csv=60, BM_cone=10)
        after = json.loads(self.accepted.read_text())["ratios"]
        self.assertEqual(after["data/BM_csv"], before["data/BM_csv"])
        self.assertAlmostEqual(sorted(after["data/BM_cone"])[4], 1)
        status, output, _ = self.run_with("--compare", "cone", BM_csv=60, BM_cone=10)
        self.assertEqual(status, 0)
        self.assertIn("same: 2, new: 0, gone: 0", output)

    def test_refuses_what_it_cannot_do(self):
        for arguments, reason in ((["--compare"], "nothing in"), (["--accept", "--repetitions", "3"], "fewer than 7"),
                                  (["--accept", "nothing_like_it"], "no benchmark is called"), ([], "required"),
                                  (["--accept", "--programs", self.root / "empty"], "no *_benchmarks in")):
            status, _, messages = self.run_with(*arguments, BM_csv=30)
            self.assertEqual(status, 2)
            self.assertIn(reason, messages)


if __name__ == "__main__":
    unittest.main()
