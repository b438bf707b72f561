#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ellice/model/deployed.hpp"
#include "model/onnx_affine.hpp"
#include "model/onnx_operation.hpp"

namespace ellice::onnx {

/// What the table has: numbers, and indicators of levels. Rows of layer 0 are affine in these,
/// which come to be known one after the other.
class Columns {
 public:
  Columns(const Schema& schema, const std::string& source) : schema_(&schema), source_(&source) {}

  [[nodiscard]] const Schema& schema() const { return *schema_; }
  [[nodiscard]] const Feature& feature(std::size_t j) const { return schema_->features[j]; }

  /// The value of a feature as a number: levels that are numbers stand in the table as these,
  /// others as their places. Error{input} naming levels that are the same number, or of which some
  /// are none.
  [[nodiscard]] Affine number(std::size_t j);
  /// The place of a feature's level, as a number.
  [[nodiscard]] Affine place(std::size_t j);
  [[nodiscard]] Affine indicator(std::size_t j, const std::string& level);

  /// The feature that an entry of a row is, as it stands in the table.
  [[nodiscard]] std::optional<std::size_t> bare_feature(const Affine& row, Index k);
  /// Whether an entry is a whole number whatever the row.
  [[nodiscard]] bool is_whole(const Affine& row, Index k) const;
  /// An entry as what a layer is fed with; `reader` is refused where it is not one column.
  [[nodiscard]] DeployedInput input_of(const Affine& row, Index k, const Operation& reader) const;

 private:
  [[nodiscard]] std::vector<double> numbers_of(const Feature& feature) const;
  [[nodiscard]] Index known(std::size_t j, const std::string& level);

  const Schema* schema_;
  const std::string* source_;
  std::vector<DeployedInput> known_;  // a feature, or one of its levels
};

/// Whole numbers, places of levels, or codes that are whole.
[[nodiscard]] bool has_whole_values(const Feature& feature);

}  // namespace ellice::onnx
