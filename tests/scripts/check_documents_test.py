import unittest

from script_test_case import ScriptTestCase


class CheckDocuments(ScriptTestCase):
    script = "check_documents.py"

    def setUp(self):
        super().setUp()
        self.write("README.md", "[theory](docs/theory.md), [notation](docs/notation.md)\n")
        self.write("docs/theory.md", "### Theorem 1 (closed form; the paper's Theorem 7)\n\n### Result 12 (a bound)\n")
        self.write("docs/notation.md", "| symbol | in the code |\n|---|---|\n| ε | `epsilon` |\n")
        self.write("include/ellice/solver/newton.hpp", "double epsilon;\n")
        self.write("src/solver/newton.cpp", "// loss_of(x)\n")
        self.write("scripts/test", "")

    def page(self, text):
        """README.md with one more line."""
        self.write("README.md", f"[theory](docs/theory.md), [notation](docs/notation.md)\n{text}\n")

    def expect_none(self, text):
        self.page(text)
        self.assertEqual(self.check(), (0, []))

    def expect_problem(self, text, problem):
        self.page(text)
        self.assertEqual(self.check(), (1, [f"README.md:2: {problem}"]))

    def test_accepts_what_exists(self):
        self.expect_none("[a](docs/theory.md#bounds) ![b](scripts/test) [c](https://example.org/x) [d](#here)")
        self.expect_none("`scripts/test`, `./scripts/test -R x`, `src/solver/`, `solver/newton`, `newton.hpp`, `docs`")
        self.expect_none("Theorem 1, Results 12, the paper's Theorem 3")
        self.expect_none("```sh\nscripts/test people/of_mine.csv\n```\n\n    src/solver/newton.cpp loans/2.csv")

    def test_files_of_users_and_builds_are_not_ours(self):
        self.expect_none("`m.json`, `FOLDER/results.sqlite`, `build/dev/x.cpp`, `../shared/datasets`, `1/n`")

    def test_catches_a_link_that_leads_nowhere(self):
        self.expect_problem("[a](docs/tour.md)", "the link docs/tour.md leads nowhere")
        self.expect_problem("![a](docs/a.svg)", "the link docs/a.svg leads nowhere")

    def test_a_link_begins_in_the_folder_of_its_page(self):
        self.write("docs/notation.md", "[theory](docs/theory.md)\n")
        self.assertEqual(self.check(), (1, ["docs/notation.md:1: the link docs/theory.md leads nowhere"]))

    def test_catches_a_file_that_vanished(self):
        self.expect_none("`src/solver/newton.cpp` `newton.cpp`")
        (self.root / "src/solver/newton.cpp").unlink()
        status, lines = self.check()
        self.assertEqual((status, lines), (1, ["README.md:2: there is no src/solver/newton.cpp",
                                               "README.md:2: there is no file newton.cpp"]))

    def test_catches_a_module_that_vanished(self):
        self.expect_problem("`sets/ellipsoid`", "there is no sets/ellipsoid")
        self.expect_problem("`solver/newt`", "there is no solver/newt")

    def test_catches_a_file_of_ours_in_a_command(self):
        self.page("```sh\nscripts/tests --all\n```\n\n    scripts/tests")
        self.assertEqual(self.check(), (1, ["README.md:3: there is no scripts/tests",
                                            "README.md:6: there is no scripts/tests"]))

    def test_catches_an_absent_result(self):
        self.expect_problem("(Result 1)", "Result 1 is not in docs/theory.md")
        self.expect_problem("Theorem\n7", "Theorem 7 is not in docs/theory.md")

    def test_catches_a_name_that_is_not_in_the_sources(self):
        self.write("docs/notation.md", "| ε | `epsilon`, `eps` |\n")
        self.assertEqual(self.check(), (1, ["docs/notation.md:1: eps is not in the sources"]))

    def test_catches_what_nobody_links_to(self):
        self.write("docs/decisions/0001-errors.md", "# Errors\n")
        self.write("docs/results/figure.svg", "<svg/>")
        self.assertEqual(self.check(), (1, ["docs/decisions/0001-errors.md:1: no document links to it",
                                            "docs/results/figure.svg:1: no document links to it"]))

    def test_reads_every_page_of_the_tree_but_built_ones(self):
        self.write("studies/README.md", "`scripts/none`\n")
        self.write("build/dev/README.md", "`scripts/none`\n")
        self.assertEqual(self.check(), (1, ["studies/README.md:1: there is no scripts/none"]))


if __name__ == "__main__":
    unittest.main()
