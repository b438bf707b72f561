"""The verb `study` as its users meet it."""
import json
import pathlib
import signal
import subprocess
import time
import unittest

from cli_test_case import BAD_INPUT, DONE, PROGRAM, CliTestCase

PLAN = """
name: small
variant: corrected
seed: 3
folds: {count: 4, run: [1, 2]}
rows: {tuning: 6, test: 8}
target_epsilon: [10%, 0.02]
evaluators: {retrain: 4, dropout: 5, awp: 4, ellipsoid: 1}
hidden: {lending: [4]}
experiments:
  data-supported:
    datasets: [lending]
    models: [linear, mlp]
    methods:
      ElliCE: {method: data, grid: [0.002, reach*0.5]}
      DeltaRob: {method: delta, grid: [10%, 60%]}
  continuous:
    datasets: [lending]
    models: [linear]
    methods:
      exact: {method: auto, grid: [0.002, 0.02]}
      untuned: {method: auto, grid: [target]}
"""
CELLS = 2 * (2 * 2 + 2)


class Study(CliTestCase):
    def setUp(self):
        super().setUp()
        self.write("plan.yaml", PLAN)

    def tables(self, folder):
        """All tables but those of times."""
        files = (self.folder / folder / "tables").iterdir()
        return {path.name: path.read_bytes() for path in files if not path.name.startswith("runtime")}

    def test_every_cell_is_run_and_shown(self):
        text = self.ellice("study", "plan.yaml", "-o", "out", "--quiet")
        self.assertIn("ElliCE", text)
        self.assertIn("untuned", text)
        page = (self.folder / "out" / "index.html").read_text(encoding="utf-8")
        self.assertIn(f"{CELLS} of {CELLS} cells", page)
        self.assertNotIn("nan", page.lower().replace("finance", ""))
        self.assertEqual((self.folder / "out" / "plan.yaml").read_text(encoding="utf-8"), PLAN)
        self.assertTrue((self.folder / "out" / "figures" / "robustness-continuous-linear.svg").exists())
        self.assertEqual(list((self.folder / "out").glob("models-*")), [], "models are kept only while they are needed")
        # Our own folder against itself: nothing differs.
        same = json.loads(self.ellice("study", "compare", "out", "out", "--format", "json"))
        self.assertTrue(same["methods"])
        for method in same["methods"]:
            self.assertEqual(method["robust_a"], method["robust_b"])
            self.assertEqual(method["robustness"]["p"], 1)

    def test_a_killed_run_goes_on_and_ends_with_the_same_tables(self):
        self.ellice("study", "plan.yaml", "-o", "whole", "--quiet", "--threads", "1")
        run = subprocess.Popen([PROGRAM, "study", "plan.yaml", "-o", "cut", "--quiet", "--threads", "1"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        store = self.folder / "cut" / "results.sqlite"
        deadline = time.monotonic() + 30
        # Some cells, not all of them.
        while time.monotonic() < deadline and (not store.exists() or store.stat().st_size < 20000) and run.poll() is None:
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assertFalse((self.folder / "cut" / "index.html").exists(), "the run ended before it was killed")
        self.ellice("study", "plan.yaml", "-o", "cut", "--quiet", "--threads", "2")
        self.assertEqual(self.tables("cut"), self.tables("whole"))

    def test_a_finished_study_runs_nothing_again(self):
        self.ellice("study", "plan.yaml", "-o", "out", "--quiet")
        before = (self.folder / "out" / "results.sqlite").read_bytes()
        times = (self.folder / "out" / "tables" / "runtime-continuous.csv").read_bytes()
        self.ellice("study", "plan.yaml", "-o", "out", "--quiet")
        self.assertEqual((self.folder / "out" / "results.sqlite").read_bytes(), before)
        self.assertEqual((self.folder / "out" / "tables" / "runtime-continuous.csv").read_bytes(), times)

    def test_bad_plans_name_line_and_expectation(self):
        def altered(name, old, new):
            self.assertIn(old, PLAN)
            self.write(name, PLAN.replace(old, new))
        altered("a.yaml", "[lending]", "[lendink]")
        self.expect_failure(BAD_INPUT, ["a.yaml:", 'did you mean "lending"'], "study", "a.yaml", "-o", "out")
        altered("b.yaml", "method: delta", "method: detla")
        self.expect_failure(BAD_INPUT, ["b.yaml:", 'did you mean "delta"'], "study", "b.yaml", "-o", "out")
        altered("c.yaml", "[10%, 60%]", "[]")
        self.expect_failure(BAD_INPUT, ["c.yaml:", "the grid is empty"], "study", "c.yaml", "-o", "out")
        altered("d.yaml", "[10%, 0.02]", "[10%, 0.02, 10%]")
        self.expect_failure(BAD_INPUT, ["d.yaml:", "stands twice"], "study", "d.yaml", "-o", "out")

    def test_values_that_mean_nothing_are_refused_before_anything_is_run(self):
        for value in ("reach*x", "reach*-1", "abc", "-0.1"):
            self.write("plan.yaml", PLAN.replace("reach*0.5", value))
            self.expect_failure(BAD_INPUT, ["method ElliCE", value], "study", "plan.yaml", "-o", "out")
        self.write("plan.yaml", PLAN.replace("grid: [target]", "grid: [target, 0.01]"))
        self.expect_failure(BAD_INPUT, ["method untuned", "cannot be tuned"], "study", "plan.yaml", "-o", "out")
        self.assertFalse((self.folder / "out").exists())

    def test_more_folds_than_rows_of_a_class_are_refused(self):
        self.write("plan.yaml", PLAN.replace("count: 4", "count: 100000"))
        run = self.run_ellice("study", "plan.yaml", "-o", "out", "--quiet")
        self.assertNotEqual(run.returncode, DONE)
        self.assertIn("100000", run.stderr)

    def test_a_folder_of_another_study_is_left_alone(self):
        self.ellice("study", "plan.yaml", "-o", "out", "--quiet")
        before = (self.folder / "out" / "results.sqlite").read_bytes()
        self.write("other.yaml", PLAN.replace("seed: 3", "seed: 4"))
        run = self.run_ellice("study", "other.yaml", "-o", "out")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("another study", run.stderr)
        self.assertEqual((self.folder / "out" / "results.sqlite").read_bytes(), before)

    def test_plans_that_come_along_can_be_read(self):
        studies = pathlib.Path(__file__).resolve().parents[2] / "studies"
        for plan in studies.glob("*.yaml"):
            # A report of nothing is refused, but only once the plan has been read and checked.
            run = self.run_ellice("study", plan, "-o", "nowhere", "--report-only", "--quiet")
            self.assertEqual(run.returncode, BAD_INPUT)
            self.assertIn("nowhere holds no results to report", run.stderr)
            self.assertFalse((self.folder / "nowhere").exists())


if __name__ == "__main__":
    unittest.main()
