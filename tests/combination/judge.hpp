#pragma once

// Runs a case: trains, explains by every method that the case names, verifies its own files,
// evaluates and compares, and holds all of it against oracles.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "combination/cases.hpp"

namespace ellice::combination {

struct Failure {
  std::string kind = {};  // what cases of the same fault share
  std::string text = {};
};

/// How often what was met.
using Tally = std::map<std::string, std::uint64_t>;

struct Verdict {
  std::vector<Failure> failures = {};
  Tally tally = {};
};

/// Throws nothing but what nobody foresees.
[[nodiscard]] Verdict judge(const Case& given);

}  // namespace ellice::combination
