import re
import unittest

from script_test_case import ScriptTestCase

TWO = """#include "support/seeds.hpp"
TEST(Cone, HoldsForEverySeed) {
  for (const std::uint64_t seed : testing_support::seeds(1, 40)) EXPECT_GT(seed, 0);
}
TEST(Cone, HasNoSeeds) { EXPECT_TRUE(my_seeds(3)); }
TEST_F(ConeFixture, AlsoDraws) {
  for (auto seed : seeds(0, 4)) use(seed);
}
"""


class PropertyTests(ScriptTestCase):
    script = "property_tests.py"

    def test_names_the_tests_that_draw(self):
        self.write("tests/solver/cone_test.cpp", TWO)
        self.write("tests/data/csv_test.cpp", "TEST(Csv, Draws) { seeds(0, 1); }\n")
        self.write("tests/support/seeds.hpp", "inline std::vector<int> seeds(int first, int count);\n")
        status, lines = self.check()
        self.assertEqual((status, len(lines)), (0, 1))
        names = ["data.Csv.Draws", "solver.Cone.HoldsForEverySeed", "solver.Cone.HasNoSeeds", "solver.ConeFixture.AlsoDraws",
                 "solver.Cone.HoldsForEverySeedAndMore", "data_Csv.Draws"]
        self.assertEqual([name for name in names if re.search(lines[0], name)],
                         ["data.Csv.Draws", "solver.Cone.HoldsForEverySeed", "solver.ConeFixture.AlsoDraws"])

    def test_fails_where_none_does(self):
        self.write("tests/solver/cone_test.cpp", "TEST(Cone, HasNoSeeds) {}\n")
        self.assertEqual(self.check(), (1, []))


if __name__ == "__main__":
    unittest.main()
