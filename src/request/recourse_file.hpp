#pragma once

// The recourse file: what was asked, then one record per query and plan. Written in a stream, so
// that ten million answers need no memory.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sha256.hpp"
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
  bool declined = false;                          // of those alone whom the base model declines
  HeldJson method_options = {};                   // of the method, beyond the problem
  std::optional<ReasonReference> reference = {};  // of the reasons, where answers have them
  /// Where asked for: makes what gives the proof of the gap of each record, taken in order; an
  /// empty object where there is none.
  std::function<std::function<Json(const Json& record)>()> make_prover = {};
};

/// Everything but the results.
[[nodiscard]] Json to_json(const Request& request);

/// Whether a text holds records one per line: the first line is one, whole.
[[nodiscard]] bool is_json_lines(const std::string& text);
/// The lines that are not empty. Throws Error{input} naming a line that is no JSON.
[[nodiscard]] std::vector<Json> parse_json_lines(const std::string& text,
                                                 const std::string& source);

/// Records that follow one another, as the file holds them.
struct RecourseRecords {
  std::string text = {};      // each begins with the comma behind the one before
  std::string hashes = {};    // one behind the other
  std::size_t explained = 0;  // queries: each has one first plan
};

/// The file as pieces of text: begin, then answers (in order), then end. Every record has a hash of
/// itself and of what was asked, and the file one of all records (docs/reference/formats.md), so
/// that whatever is changed or left out afterwards is seen.
class RecourseWriter {
 public:
  explicit RecourseWriter(const Request& request);
  [[nodiscard]] std::string begin() const;
  /// What the records of answers are, wherever they will stand. Threads may ask for several at
  /// once, and add them in order afterwards, unless each has a turn.
  [[nodiscard]] RecourseRecords records(std::span<const Answer> answers) const;
  /// What the file holds of those that come next; a part of their text.
  [[nodiscard]] std::string_view add(const RecourseRecords& records);
  [[nodiscard]] std::string answer(const Answer& recourse) {
    return std::string(add(records({&recourse, 1})));
  }
  /// Proofs are found with what was learnt from those before.
  [[nodiscard]] bool takes_turns() const { return static_cast<bool>(prove_); }
  enum class Ending { whole, interrupted };
  [[nodiscard]] std::string end(Ending ending = Ending::whole);

 private:
  const Request* request_;
  std::string asked_;                              // hash
  std::function<Json(const Json& record)> prove_;  // may be empty
  Sha256 records_;
  bool first_ = true;
  std::size_t explained_ = 0;
};

}  // namespace ellice
