#pragma once

#include "ellice/model/deployed.hpp"

namespace ellice {

/// A program's model over the columns of an encoder (docs/theory.md, Result 56).
struct Folded {
  Network network = {};
  Penalty penalty = {};
  double excess = 0;    // of its penalty over the least with the same scores
  Vector offsets = {};  // see Deployed
  double constant = 0;
  Vector sizes = {};
};

/// `turned`: with the sign of the other label. Throws Error{input} naming the input that does not
/// fit.
[[nodiscard]] Folded fold(const DeployedModel& given, const Encoder& encoder, bool turned);

}  // namespace ellice
