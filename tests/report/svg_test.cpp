#include "report/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ellice::svg {
namespace {

TEST(Escape, LeavesNothingThatAPageCouldTakeForMarkup) {
  EXPECT_EQ(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape("ε\n\x01"), "ε\n\uFFFD");
}

TEST(Ticks, AreRoundAndInside) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(3, 3, 5), std::vector<double>{3});
  EXPECT_FALSE(std::signbit(ticks(0, 1, 4).front()));
  for (const double high : {0.037, 1.2, 999.0, 4e6}) {
    const std::vector<double> found = ticks(0, high, 5);
    EXPECT_GE(found.size(), 3U);
    EXPECT_LE(found.size(), 9U);
    EXPECT_LE(found.back(), high * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace ellice::svg
