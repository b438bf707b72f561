#pragma once

// The recourse file: what was asked, then one record per query and plan. Written in a stream, so
// that ten million answers need no memory.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/answer.hpp"
#include "request/problem.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

/// What was asked, without threads and paths, which change no answer.
struct Request {
  Problem problem = {};
  EpsilonRule rule = {};
  std::string method = {};
  std::uint64_t seed = 0;
  HeldJson method_options = {};                   // of the method, beyond the problem
  std::optional<ReasonReference> reference = {};  // of the reasons, where answers have them
};

/// Everything but the results.
[[nodiscard]] Json to_json(const Request& request);

/// The file as pieces of text: begin, then answers (in order), then end.
class RecourseWriter {
 public:
  explicit RecourseWriter(const Request& request) : request_(&request) {}
  [[nodiscard]] std::string begin() const;
  [[nodiscard]] std::string answer(const Answer& recourse);
  enum class Ending { whole, interrupted };
  [[nodiscard]] std::string end(Ending ending = Ending::whole) const;

 private:
  const Request* request_;
  bool first_ = true;
  std::size_t explained_ = 0;  // queries: each has one first plan
};

}  // namespace ellice
