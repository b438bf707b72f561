#pragma once

#include "combination/cases.hpp"

namespace ellice::combination {

/// How the numbers of a feature lie.
struct Spread {
  double center = 0;
  double width = 1;
  bool is_constant = false;
};

struct Population {
  Schema schema = {};
  std::vector<Spread> spreads = {};  // by feature; of levels it says nothing
};

/// Two to five features of all kinds with all that the format can ask of them, rules and
/// implications; two or three classes.
[[nodiscard]] Population draw_population(Random& random);

/// Rows with the target, of which each class has some.
[[nodiscard]] Table draw_rows(const Population& population, Random& random);

/// Ordinary people, and people at bounds, outside ranges, huge, tiny, with empty cells and levels
/// that nobody knows.
[[nodiscard]] Table draw_people(const Population& population, Random& random);

/// Gives some features a pace. Of a stream of its own, so that cases without are as they were.
void draw_paces(Population& population, Random& random);

/// Bins some numbers that no rule names. Of a stream of its own as well.
void draw_bins(Population& population, Random& random);

}  // namespace ellice::combination
