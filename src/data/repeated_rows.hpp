#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ellice {

/// Counts rows that are there already, and rows that say the same of somebody but for the label. It
/// compares 64-bit hashes of the first two million rows.
class RepeatedRows {
 public:
  /// The columns that are compared, and the target.
  RepeatedRows(std::vector<std::size_t> columns, std::size_t target)
      : columns_(std::move(columns)), target_(target) {}

  void add(std::span<const std::string_view> cells);

  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<std::string> doubts() const;
  [[nodiscard]] std::size_t duplicates() const { return duplicates_; }
  /// Rows whose values stand with several labels.
  [[nodiscard]] std::size_t contradicting() const;

 private:
  static constexpr std::size_t most_rows = 2'000'000;
  struct Seen {
    std::uint64_t label = 0;
    std::uint32_t rows = 0;
    bool has_labels = false;  // several
  };

  [[nodiscard]] std::string extent() const;

  std::vector<std::size_t> columns_;
  std::size_t target_;
  std::size_t rows_ = 0;
  std::size_t duplicates_ = 0;
  std::unordered_map<std::uint64_t, Seen> seen_;
};

}  // namespace ellice
