#pragma once

#include <string>
#include <vector>

#include "ellice/model/model.hpp"
#include "request/problem.hpp"
#include "support/network_model.hpp"

namespace ellice::problem_zoo {

/// A random network over features of every kind, small enough for brute force, its training rows,
/// and what its schema forbids.
struct MixedCase {
  Model model = {};
  RowMatrix raw = {};
  StoredRows rows = {};
};

Dataset mixed_dataset(std::uint64_t seed, bool restricted);

MixedCase mixed_case(std::uint64_t seed, bool restricted);

std::vector<Query> first_rows(const MixedCase& mixed, Index count);

}  // namespace ellice::problem_zoo
