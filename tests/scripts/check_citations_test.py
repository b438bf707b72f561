import unittest

from script_test_case import ScriptTestCase


class CheckCitations(ScriptTestCase):
    script = "check_citations.py"

    def setUp(self):
        super().setUp()
        self.write("docs/theory.md", "### Theorem 12\n\nThen, by (2.31),\n\n### Lemma 4.2\n")

    def expect_problem(self, citation, problem):
        self.write("src/model/loss.cpp", f"int one;\n// {citation}\n")
        self.assertEqual(self.check(), (1, [f"src/model/loss.cpp:2: {problem}"]))

    def test_accepts_what_exists(self):
        self.write("include/ellice/model/loss.hpp",
                   "// theory.md, Theorem 12: a claim.\n/// See theory.md, (2.31) and theory.md, Lemma 4.2.\n")
        self.assertEqual(self.check(), (0, []))

    def test_reads_a_citation_across_lines(self):
        self.write("src/model/loss.cpp", "  // see theory.md,\n  // Theorem 12, and docs/theory.md, Lemma\n  // 4.2.\n")
        self.assertEqual(self.check(), (0, []))

    def test_catches_an_absent_theorem(self):
        self.expect_problem("theory.md, Theorem 3", "Theorem 3 is not in docs/theory.md")

    def test_catches_a_number_that_only_begins_another(self):
        self.expect_problem("theory.md, Theorem 1", "Theorem 1 is not in docs/theory.md")
        self.expect_problem("theory.md, Lemma 4", "Lemma 4 is not in docs/theory.md")

    def test_catches_an_absent_equation(self):
        self.expect_problem("theory.md, (2.3)", "(2.3) is not in docs/theory.md")

    def test_catches_a_mention_without_a_result(self):
        self.expect_problem("proved in theory.md", "names no result, e.g. theory.md, (2.3)")

    def test_catches_any_citation_when_there_is_no_theory(self):
        (self.root / "docs/theory.md").unlink()
        self.expect_problem("theory.md, Theorem 12", "Theorem 12 is not in docs/theory.md")


if __name__ == "__main__":
    unittest.main()
