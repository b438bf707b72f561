#pragma once

// The hashes of a recourse file, by which a slip is seen that no other statement contradicts: a
// message in other words, an option left out, a record exchanged.

#include <string>
#include <string_view>

#include "core/sha256.hpp"
#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

class Hashes {
 public:
  /// Of a file of answers, of which only what was asked counts; `are_stated` as are_in() says.
  Hashes(const Json& file, bool are_stated);

  /// Files of version 0.1.0 have none at all.
  [[nodiscard]] static bool are_in(const Json& file);
  [[nodiscard]] bool are_stated() const { return are_stated_; }

  /// Whether what stands in a file under this key is not known before its records are.
  [[nodiscard]] static bool is_at_the_end(std::string_view key);
  /// The one that a record states; empty where it states none.
  [[nodiscard]] static std::string stated_in(const Json& record);

  /// What is wrong with the one of a record, in words; empty where it is right.
  [[nodiscard]] std::string fault(const Json& record) const;
  /// What the next records state, one behind the other.
  void add(std::string_view stated);
  /// Of the whole file, of whose members only those at the end count; asked once.
  [[nodiscard]] std::string fault_of_file(const Json& file);

 private:
  std::string asked_;
  bool are_stated_;
  Sha256 records_ = {};
};

}  // namespace ellice::audit
