#pragma once

// A lender's own words for reasons: a table from features to codes and texts.

#include <map>
#include <optional>
#include <string>

#include "ellice/data/schema.hpp"

namespace ellice {

struct ReasonCode {
  std::string code = {};
  std::string text = {};  // empty: the reason's own words
  bool operator==(const ReasonCode&) const = default;
};

/// The entries of one feature; the most special one that fits is taken.
struct FeatureCodes {
  std::optional<ReasonCode> any = {};
  std::optional<ReasonCode> too_low = {};   // numbers and ordinal levels below the reference
  std::optional<ReasonCode> too_high = {};  // above it
  std::map<std::string, ReasonCode> levels = {};
  bool operator==(const FeatureCodes&) const = default;
};

struct ReasonCodes {
  std::map<std::string, FeatureCodes> features = {};

  /// The entry for a feature whose value stands against `reference` (see Reason), or null.
  [[nodiscard]] const ReasonCode* find(const Feature& feature, const Value& value,
                                       double reference) const;
  bool operator==(const ReasonCodes&) const = default;
};

/// Reads YAML such as
///
///   age:    {code: "07", text: Length of credit history}
///   debt:   {too_high: {code: "12", text: Debt is high}, too_low: {code: "13"}}
///   purpose: {code: "20", levels: {boat: {code: "21", text: Purpose of the loan}}}
///
/// Throws Error{input} with file, line and key for what is malformed and for features and levels
/// that the schema does not have.
[[nodiscard]] ReasonCodes read_reason_codes(const std::string& path, const Schema& schema);
[[nodiscard]] ReasonCodes parse_reason_codes(const std::string& text, const std::string& source,
                                             const Schema& schema);

}  // namespace ellice
