import unittest

from script_test_case import ScriptTestCase


class CheckNames(ScriptTestCase):
    script = "check_names.py"

    def source(self, path, text):
        self.write(path, f"namespace ellice {{\n\nnamespace {{\n\n{text}\n\n}}  // namespace\n\nint shared() {{ return 1; }}\n\n}}  // namespace ellice\n")

    def expect(self, text, *lines):
        self.source("src/core/b.cpp", text)
        self.assertEqual(self.check(), (1 if lines else 0, list(lines)))

    def setUp(self):
        super().setUp()
        self.source("src/core/a.cpp", "constexpr double most = 1e-3;\nstruct Pair {\n  int one;\n};\n"
                                      "bool agree(double a, const Row& b) {\n  const int limit = 1;\n}\nusing Rows = int;")

    def test_catches_a_constant(self):
        self.expect("constexpr int most = 3;", "src/core/b.cpp:5: a.cpp has most as well")

    def test_catches_a_type_and_an_alias(self):
        self.expect("class Pair {};", "src/core/b.cpp:5: a.cpp has Pair as well")
        self.expect("using Rows = long;", "src/core/b.cpp:5: a.cpp has Rows as well")

    def test_catches_a_function_with_other_names_of_parameters(self):
        self.expect("int agree(double one,\n          const Row& other) {\n}", "src/core/b.cpp:5: a.cpp has agree as well")

    def test_accepts_overloads_locals_and_names_of_elsewhere(self):
        self.expect("bool agree(float a) {\n  const int limit = 2;\n}\nusing other::Pair;")

    def test_accepts_the_same_name_in_another_module(self):
        self.source("src/data/b.cpp", "constexpr int most = 3;")
        self.assertEqual(self.check(), (0, []))

    def test_accepts_what_is_compiled_apart(self):
        self.source("apps/cli/train.cpp", "struct Arguments {};")
        self.source("apps/cli/study.cpp", "struct Arguments {};")
        self.assertEqual(self.check(), (0, []))

    def test_catches_a_type_that_two_headers_define(self):
        for path in ("src/core/pair.hpp", "src/data/pair.hpp"):
            self.write(path, "namespace ellice {\n\nstruct Split {\n  int one;\n};\n\nclass Other;\n\n}  // namespace ellice\n")
        self.assertEqual(self.check(), (1, ["src/data/pair.hpp:3: src/core/pair.hpp defines ellice::Split as well"]))

    def test_accepts_types_of_other_namespaces_and_specialisations(self):
        for path, space in (("src/core/pair.hpp", "ellice"), ("src/data/pair.hpp", "ellice::plain")):
            self.write(path, f"namespace {space} {{\n\nstruct Split {{}};\n\ntemplate <>\nstruct Hash<{path[4:8]}> {{}};\n\n}}  // namespace {space}\n")
        self.assertEqual(self.check(), (0, []))

    def test_tests_count_as_a_module_each(self):
        self.source("tests/core/a_test.cpp", "struct Case {};\nTEST(One, Two) {}")
        self.source("tests/core/b_test.cpp", "struct Case {};\nTEST(One, Two) {}")
        self.assertEqual(self.check(), (1, ["tests/core/b_test.cpp:5: a_test.cpp has Case as well"]))


if __name__ == "__main__":
    unittest.main()
