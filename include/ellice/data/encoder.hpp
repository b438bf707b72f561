#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// A row in original units, one value per feature of the schema, in its order.
using RawRow = std::vector<Value>;

/// What is known of the values of a numeric, integer, binned or ordinal feature (levels count as
/// their index).
struct ColumnStatistics {
  double mean = 0;
  double scale = 1;
  double min = 0;
  double max = 1;
};

/// raw row <-> model space. Numeric, integer and ordinal features take one standardised column
/// z = (raw − mean) / scale (population standard deviation of the fitted rows; scale 1 for a
/// constant column); an ordinal level counts as its index. Binary features take one 0/1 column,
/// categorical ones a 0/1 column per level, named `feature=level`; binned ones a 0/1 column per
/// bin, named `feature=(0.3,0.6]`, or one column with the values of the bins as they are.
/// decode(encode( row)) is the row itself: exactly for levels and whole numbers, to rounding for
/// numeric features; of a binned one some number of the same bin.
class Encoder {
 public:
  Encoder() = default;
  /// Statistics of all rows of `data`.
  static Encoder fit(const Dataset& data);
  /// Of rows that are not there, by feature; 0/1 columns need none.
  static Encoder from_statistics(const Schema& schema,
                                 const std::map<std::string, ColumnStatistics>& statistics);
  static Encoder from_json(const Json& value, const Schema& schema, const std::string& source);
  [[nodiscard]] Json to_json() const;

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] Index columns() const { return mean_.size(); }
  [[nodiscard]] const std::vector<std::string>& column_names() const { return names_; }
  [[nodiscard]] const Vector& mean() const { return mean_; }
  [[nodiscard]] const Vector& scale() const { return scale_; }
  [[nodiscard]] const Vector& min() const { return min_; }  // of the fitted rows, original units
  [[nodiscard]] const Vector& max() const { return max_; }
  /// What an empty cell becomes, by feature (median policy).
  [[nodiscard]] const std::map<std::string, Value>& fill() const { return fill_; }

  /// The encoded columns of a feature: first and count.
  [[nodiscard]] Index first_column(std::size_t feature) const { return first_[feature]; }
  [[nodiscard]] Index column_count(std::size_t feature) const {
    return first_[feature + 1] - first_[feature];
  }
  /// Of a feature with an order, in original units; of a binned one without its codes.
  [[nodiscard]] ColumnStatistics statistics(std::size_t feature) const;
  /// What the columns of one feature are for a raw number (or index of a level).
  [[nodiscard]] Vector columns_of(std::size_t feature, double raw) const;
  /// The feature to which an encoded column belongs.
  [[nodiscard]] std::size_t feature_of(Index column) const;

  /// raw numbers (see Dataset::raw) -> model space. A NaN (empty cell) takes its fill value.
  void encode(std::span<const double> raw, Eigen::Ref<Vector> z) const;
  [[nodiscard]] RowMatrix encode(RowMatrixArg raw) const;
  [[nodiscard]] Vector encode(const RawRow& row) const;
  /// model space -> original units: nearest whole number, level or category.
  [[nodiscard]] RawRow decode(VectorArg z) const;

  /// raw numbers <-> values; a NaN takes its fill value here, too.
  [[nodiscard]] RawRow values(std::span<const double> raw) const;
  [[nodiscard]] Vector raw(const RawRow& row) const;  // throws Error{input} for an unknown level

 private:
  void lay_out();  // names_ and first_ from schema_
  void read_binned(JsonObject& object);
  void encode_feature(std::size_t feature, double raw, Eigen::Ref<Vector> z) const;
  /// The raw number itself, or the fill value where it is NaN.
  [[nodiscard]] double filled(std::size_t feature, double raw) const;

  Schema schema_;
  std::vector<std::string> names_;
  std::vector<Index> first_ = {0};
  Vector mean_, scale_, min_, max_;
  std::map<std::size_t, ColumnStatistics> binned_;  // by feature
  std::map<std::string, Value> fill_;
};

/// {"income": 24000, "purpose": "car"}: numbers for numeric, integer and binned features, strings
/// for the others.
[[nodiscard]] Json row_to_json(const Schema& schema, const RawRow& row);
[[nodiscard]] RawRow row_from_json(const Schema& schema, const Json& value,
                                   const std::string& source, const std::string& path);

}  // namespace ellice
