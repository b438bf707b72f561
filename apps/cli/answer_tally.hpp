#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <string>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"

namespace ellice::cli {

/// What is said of all answers at the end. Those of parts add up to that of the whole.
class AnswerTally {
 public:
  void add(const Answer& answer, const Schema& schema);
  void add(const AnswerTally& later);

  [[nodiscard]] std::size_t queries() const { return queries_; }
  /// First plans that are certified for the ε that was asked.
  [[nodiscard]] std::size_t certified() const;
  /// Features that were kept because their kind is not searched.
  [[nodiscard]] const std::set<std::string>& held() const { return held_; }
  /// Protected features among principal reasons, by their titles, and of how many refusals.
  [[nodiscard]] const std::set<std::string>& protected_titles() const { return protected_; }
  [[nodiscard]] std::size_t protected_refusals() const { return protected_refusals_; }

 private:
  std::size_t queries_ = 0;
  std::array<std::size_t, EnumNames<Status>::names.size()> statuses_ = {};
  std::set<std::string> held_ = {};
  std::set<std::string> protected_ = {};
  std::size_t protected_refusals_ = 0;
};

}  // namespace ellice::cli
