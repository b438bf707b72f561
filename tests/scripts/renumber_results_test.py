import unittest

from script_test_case import ScriptTestCase

# In this order: Result 4, 2, 7, 1, 3 become 1 to 5, Theorem 2 and 1 become 1 and 2.
THEORY = """# Theory

### Result 4 (first)

### Theorem 2 (of its own count; the paper's Theorem 1)

### Result 2 (second)

By Result 4 and Theorem 2.

### Result 7 (third)

### Result 1 (fourth)

### Theorem 1 (second)

### Result 3 (last)
"""


class RenumberResults(ScriptTestCase):
    script = "renumber_results.py"

    def setUp(self):
        super().setUp()
        self.write("docs/theory.md", THEORY)

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def expect(self, old, new, path="src/model/loss.cpp"):
        """That --write turns one text into the other."""
        self.write("docs/theory.md", THEORY)
        self.write(path, old)
        status, lines = self.check("--write")
        self.assertEqual((status, self.read(path)), (0, new), lines)

    def expect_problem(self, citation, problem):
        self.write("src/model/loss.cpp", f"int one;\n// {citation}\n")
        status, lines = self.check("--write")
        self.assertEqual((status, lines[-1]), (1, f"src/model/loss.cpp:2: {problem}"))
        self.assertEqual(self.read("docs/theory.md"), THEORY)

    def test_counts_the_headings_of_each_kind_in_their_order(self):
        self.assertEqual(self.check("--write")[0], 0)
        headings = [line for line in self.read("docs/theory.md").splitlines() if line.startswith("### ")]
        self.assertEqual(headings, ["### Result 1 (first)", "### Theorem 1 (of its own count; the paper's Theorem 1)",
                                    "### Result 2 (second)", "### Result 3 (third)", "### Result 4 (fourth)",
                                    "### Theorem 2 (second)", "### Result 5 (last)"])
        self.assertIn("By Result 1 and Theorem 1.", self.read("docs/theory.md"))

    def test_rewrites_every_kind_of_file(self):
        for path in ("README.md", "docs/true_set.md", "docs/decisions/0001-errors.md", "include/ellice/model/loss.hpp",
                     "src/model/loss.cpp", "tests/model/loss_test.cpp", "benchmarks/survival.py", "studies/quick.yaml"):
            self.expect("# theory.md, Result 4\n", "# theory.md, Result 1\n", path)

    def test_leaves_what_is_built_and_the_tests_of_citations_alone(self):
        for path in ("build/dev/loss.cpp", ".git/loss.md", "tests/scripts/citations_test.py", "scripts/check.py"):
            self.expect("# theory.md, Result 99\n", "# theory.md, Result 99\n", path)

    def test_a_number_is_replaced_once(self):
        self.expect("// Result 4, Result 1 and Result 3.", "// Result 1, Result 4 and Result 5.")

    def test_reads_lists(self):
        self.expect("// Results 4, 1 and 3; Result 2 or 7", "// Results 1, 4 and 5; Result 2 or 3")

    def test_a_range_of_neighbours_stays_one(self):
        self.expect("// Results 1 to 7", "// Results 1 to 5")
        self.expect("// theory.md, Result 1 to Result 7.", "// theory.md, Result 1 to Result 5.")

    def test_other_ranges_become_lists_of_the_same_results(self):
        # 1, 2 and 3 are the fourth, the second and the last.
        self.expect("// Results 1 to 3", "// Results 2, 4 and 5")
        self.expect("// theory.md, Result 1 to Result 3.", "// theory.md, Result 2, Result 4 and Result 5.")
        self.expect("// (Theorem 2, Result 2 to Result 4).", "// (Theorem 1, Result 1, Result 2 and Result 5).")

    def test_reads_citations_across_lines(self):
        self.expect("  // see theory.md, Result\n  // 4).", "  // see theory.md, Result\n  // 1).")
        self.expect("Results 1 to\n7 hold", "Results 1 to\n5 hold", "docs/survival.md")

    def test_leaves_results_of_others_alone(self):
        for text in ("the paper's Theorem 2", "Higham, Theorem 2.4", "the paper's\n// Theorem 2", "Results 2.5"):
            self.expect(f"// {text}\n", f"// {text}\n")

    def test_only_shows_what_it_would_do_unless_told(self):
        self.write("src/model/loss.cpp", "int one;\n// theory.md, Result 4\n")
        status, lines = self.check()
        self.assertEqual(status, 0)
        self.assertIn("src/model/loss.cpp:2: Result 4 → Result 1", lines)
        self.assertEqual(self.read("src/model/loss.cpp"), "int one;\n// theory.md, Result 4\n")
        self.assertEqual(self.read("docs/theory.md"), THEORY)

    def test_a_second_run_finds_nothing(self):
        self.expect("// Results 1 to 3, Theorem 1", "// Results 2, 4 and 5, Theorem 2")
        self.assertEqual(self.check("--write"), (0, []))

    def test_refuses_what_is_not_in_the_theory(self):
        self.expect_problem("theory.md, Result 5", "cites Result 5, which is not in docs/theory.md")
        self.expect_problem("Results 1 to 6", "cites Result 6, which is not in docs/theory.md")

    def test_refuses_what_may_be_no_citation(self):
        self.expect_problem("by Result 4, 2 of them",
                            "2 after one Result may be no citation; write Results, or Result 2")
        self.expect_problem("Theorem 1 to Result 3", "Theorem 1 to Result 3 is no range")

    def test_refuses_two_headings_of_one_number(self):
        self.write("docs/theory.md", THEORY + "\n### Result 4 (again)\n")
        self.assertEqual(self.check("--write"), (1, ["docs/theory.md: there are two headings Result 4"]))


if __name__ == "__main__":
    unittest.main()
