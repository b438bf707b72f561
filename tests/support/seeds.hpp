#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace ellice::testing_support {

/// The seeds of a property: `count` of them from `first` on, which are tried always, and, with
/// ELLICE_SEED=N in the environment, as many from N on. scripts/property_tests.py finds the tests
/// that call this in their own body; scripts/check has them draw anew, round after round.
inline std::vector<std::uint64_t> seeds(std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> result;
  for (std::uint64_t k = 0; k < count; ++k) result.push_back(first + k);
  if (const char* fresh = std::getenv("ELLICE_SEED"); fresh != nullptr && *fresh != '\0') {
    for (std::uint64_t k = 0; k < count; ++k) result.push_back(std::stoull(fresh) + k);
  }
  return result;
}

}  // namespace ellice::testing_support
