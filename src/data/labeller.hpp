#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ellice/data/dataset.hpp"

namespace ellice {

/// A cell of blanks only.
[[nodiscard]] bool is_empty_cell(std::string_view cell);

/// Throws: «PLACE: column …: found …, expected …».
[[noreturn]] void wrong_cell(const RowSource& source, std::string_view column,
                             std::string_view found, std::string_view expected);

/// Labels from the text of target cells, whatever their spelling ("1.0" is "1").
class Labeller {
 public:
  /// Source and target must outlive it.
  Labeller(const RowSource& source, const Target& target, ClassValues values);

  [[nodiscard]] int label(std::string_view cell);

  /// Sets the data set's classes and, where they were found, their order; throws unless there are
  /// rows of each.
  void finish(Dataset& data) const;

 private:
  [[nodiscard]] int label_two(std::string_view cell);
  [[nodiscard]] int label_many(std::string_view cell);
  [[nodiscard]] int note_favourable();
  [[nodiscard]] std::vector<std::string> two_classes() const;
  void check_many(const Dataset& data) const;

  const RowSource* source_;
  const Target* target_;
  bool has_two_;  // the favourable value and the rest
  bool has_favourable_ = false;
  std::vector<std::string> others_;  // of two: distinct
  std::vector<std::string> classes_;
  std::unordered_map<std::string, int> spellings_;  // of the classes
};

}  // namespace ellice
