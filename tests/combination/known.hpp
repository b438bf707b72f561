#pragma once

// Faults that are known and are being mended elsewhere: counted and shown, but no reason to fail.
// Each with its reason; the list is to be empty.

#include <string>
#include <vector>

namespace ellice::combination {

struct KnownFault {
  std::string words = {};  // that the kind of a failure holds
  std::string reason = {};
};

[[nodiscard]] const std::vector<KnownFault>& known_faults();

/// The fault that a kind of failure belongs to, or null.
[[nodiscard]] const KnownFault* find_known(const std::string& kind);

}  // namespace ellice::combination
