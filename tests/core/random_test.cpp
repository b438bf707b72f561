#include "ellice/core/random.hpp"

#include <gtest/gtest.h>

namespace ellice {
namespace {

// Computed by hand-coded SplitMix64 and xoshiro256++ in another language (see the test below it).
TEST(Random, SameSeedGivesTheSameStream) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

}  // namespace
}  // namespace ellice
