import unittest

from script_test_case import ScriptTestCase


class CheckLayering(ScriptTestCase):
    script = "check_layering.py"

    def expect_breach(self, path, include, reason):
        self.write(path, f"#pragma once\n\n#include {include}\n")
        self.assertEqual(self.check(), (1, [f'{path}:3: "{include[1:-1]}": {reason}']))

    def test_accepts_includes_to_the_left(self):
        self.write("include/ellice/model/loss.hpp", '#include <vector>\n#include "ellice/core/types.hpp"\n')
        self.write("src/model/loss.cpp", '#include "model/kernel.hpp"\n#include "core/blas.hpp"\n#include "kernel.hpp"\n')
        self.write("apps/cli/main.cpp", '#include "verbs.hpp"\n#include "ellice/report/text.hpp"\n')
        self.write("tests/core/a_test.cpp", '#include "study/plan.hpp"\n')
        self.assertEqual(self.check(), (0, []))

    def test_accepts_every_public_header_in_the_front_door_and_no_other(self):
        self.write("include/ellice/ellice.hpp", '#include "ellice/core/error.hpp"\n#include "ellice/report/text.hpp"\n')
        self.assertEqual(self.check(), (0, []))
        self.expect_breach("include/ellice/ellice.hpp", '"core/blas.hpp"', "is a private header")

    def test_catches_a_public_header_to_the_right(self):
        self.expect_breach("src/core/json.cpp", '"ellice/data/schema.hpp"',
                           "module core stands to the left of data")

    def test_catches_it_in_angle_brackets(self):
        self.expect_breach("include/ellice/data/csv.hpp", "<ellice/model/loss.hpp>",
                           "module data stands to the left of model")

    def test_catches_a_private_header_to_the_right(self):
        self.expect_breach("src/solver/cholesky.cpp", '"sets/hessian.hpp"',
                           "module solver stands to the left of sets")

    def test_accepts_a_private_header_in_an_app(self):
        self.write("apps/cli/train.cpp", '#include "report/text.hpp"\n')
        self.assertEqual(self.check(), (0, []))

    def test_catches_a_private_header_in_an_example(self):
        self.expect_breach("examples/01_certify.cpp", '"core/blas.hpp"', "is a private header")

    def test_catches_a_private_header_in_a_public_one(self):
        self.expect_breach("include/ellice/solver/cholesky.hpp", '"core/blas.hpp"', "is a private header")

    def test_catches_a_way_around(self):
        self.expect_breach("src/core/json.cpp", '"../data/rows.hpp"', "climbs out of its folder")

    def test_catches_a_library_that_prints(self):
        for line in ('fprintf(stderr, "%g", x);', "std::cout << x;", "std::printf(text);"):
            with self.subTest(line):
                self.write("src/core/json.cpp", f"// stdout\nvoid f() {{ {line} }}\n")
                self.assertEqual(self.check(), (1, ["src/core/json.cpp:2: the library does not print"]))
        self.write("src/core/json.cpp", "")
        self.write("apps/cli/main.cpp", "std::cout << x;\n")
        self.assertEqual(self.check(), (0, []))

    def test_lets_the_checker_of_answers_see_requests_and_itself(self):
        self.write("include/ellice/request/cost.hpp", '#include "ellice/core/types.hpp"\n')
        self.write("include/ellice/core/types.hpp", "#pragma once\n")
        self.write("src/audit/audit_bounds.hpp", '#include "ellice/request/cost.hpp"\n')
        self.write("src/audit/auditor.cpp", '#include "audit/audit_bounds.hpp"\n')
        self.assertEqual(self.check(), (0, []))

    def test_catches_what_the_checker_of_answers_includes_of_a_finder(self):
        for header in ("request/feasible_set", "solver/cone_intersection", "certificate/certifier", "sets/true_set",
                       "request/problem", "sets/question"):
            with self.subTest(header):
                self.write(f"src/{header}.hpp", "#pragma once\n")
                self.write("src/audit/auditor.cpp", f'#include "{header}.hpp"\n')
                self.assertEqual(self.check(), (1, [
                    f'src/audit/auditor.cpp:1: "{header}.hpp": the checker of answers would reach what finds them']))

    def test_catches_what_it_reaches_through_others(self):
        self.write("src/request/feasible_set.hpp", "#pragma once\n")
        self.write("src/request/cost.hpp", '#include "request/feasible_set.hpp"\n')
        self.write("src/search/search.cpp", '#include "request/feasible_set.hpp"\n')
        self.write("src/audit/audit_bounds.cpp", '#include "request/cost.hpp"\n')
        self.assertEqual(self.check(), (1, [
            'src/request/cost.hpp:1: "request/feasible_set.hpp": the checker of answers would reach what finds them']))

    def test_catches_a_verifier_that_asks_the_set_of_the_issuer(self):
        self.write("src/sets/true_set.hpp", "#pragma once\n")
        self.write("src/certificate/certifier.cpp", '#include "sets/true_set.hpp"\n')
        self.assertEqual(self.check(), (0, []))
        self.write("src/certificate/verification.cpp", '#include "sets/true_set.hpp"\n')
        self.assertEqual(self.check(), (1, [
            'src/certificate/verification.cpp:1: "sets/true_set.hpp": the checker of answers would reach what finds them']))

    def test_catches_an_unknown_module(self):
        self.expect_breach("src/utils/all.cpp", '"ellice/core/types.hpp"', "utils is not a module")


if __name__ == "__main__":
    unittest.main()
