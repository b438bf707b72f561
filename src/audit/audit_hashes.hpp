#pragma once

// The hashes of a recourse file, by which a slip is seen that no other statement contradicts: a
// message in other words, an option left out, a record exchanged.

#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"

namespace ellice::audit {

class Hashes {
 public:
  /// Of a file of answers; it must outlive this.
  explicit Hashes(const Json& file);

  /// Files of version 0.1.0 have none at all.
  [[nodiscard]] bool are_stated() const { return are_stated_; }

  /// What is wrong with the one of a record, in words; empty where it is right.
  [[nodiscard]] std::string fault(const Json& record) const;
  /// Of the whole file.
  [[nodiscard]] std::string fault() const;

 private:
  const Json* file_;
  std::string asked_;
  bool are_stated_ = false;
};

}  // namespace ellice::audit
