#include "ellice/request/constraints.hpp"

#include <gtest/gtest.h>

#include "ellice/core/json.hpp"
#include "ellice/core/random.hpp"

namespace ellice {
namespace {

const std::vector<std::string> features = {"a", "b", "c"};

FeatureLimits draw_limits(Random& random) {
  const auto coin = [&] { return random.below(2) == 0; };
  FeatureLimits limits{.locked = coin()};
  if (coin()) limits.min = random.normal();
  if (coin()) limits.max = random.normal();
  if (coin()) limits.direction = static_cast<Direction>(random.below(3));
  return random.below(3) == 0 ? FeatureLimits{} : limits;
}

Constraints draw(Random& random) {
  Constraints constraints{.range = static_cast<RangePolicy>(random.below(2))};
  for (const std::string& name : features) {
    if (random.below(2) == 0) constraints.features[name] = draw_limits(random);
    if (random.below(2) == 0) constraints.queries[random.below(3)][name] = draw_limits(random);
  }
  return constraints;
}

TEST(Constraints, BindTheSameWhenReadBackFromTheirJson) {
  int with_queries = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Constraints constraints = draw(random);
    const Json written = parse_json(to_text(to_json(constraints)), "constraints");
    JsonObject object(written, "constraints");
    const Constraints again = constraints_from_json(object);
    object.finish();
    EXPECT_EQ(again.range, constraints.range);
    for (std::size_t query = 0; query < 4; ++query) {
      for (const std::string& name : features)
        EXPECT_EQ(again.of(query, name), constraints.of(query, name)) << seed << ": " << name;
    }
    with_queries += constraints.queries.empty() ? 0 : 1;
  }
  EXPECT_GT(with_queries, 50);
}

}  // namespace
}  // namespace ellice
