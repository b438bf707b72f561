#pragma once

// Cases in processes of their own, so that one that crashes or does not end is a failure like any
// other, and the rest go on.

#include <cstdint>
#include <functional>

#include "combination/judge.hpp"

namespace ellice::combination {

struct Limits {
  unsigned seconds = 60;  // processor time of one case
};

/// The verdict of one case in a child process; a signal is a failure.
[[nodiscard]] Verdict judge_apart(const Case& given, const Limits& limits);

/// The verdicts of the cases first, first + step, … (count of them), many in one child; `tell` gets
/// them in order.
void judge_range(std::uint64_t first, std::uint64_t step, std::uint64_t count, const Limits& limits,
                 const std::function<void(std::uint64_t seed, const Verdict&)>& tell);

}  // namespace ellice::combination
