#pragma once

// Why the base model declined somebody: the features that count most against the person, compared
// with a stated reference. Not to be confused with what the person can do about it, the recourse.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/execution.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/model.hpp"
#include "ellice/request/reason_codes.hpp"

namespace ellice {

struct Answer;

/// What people are compared with; the best of these that is known.
enum class ReferenceKind {
  accepted,    // the mean of the training rows that the base model accepts
  borderline,  // linear models: the mean of all rows, each weighted by its p·(1−p)
  average,     // linear models with squared loss: the mean of all rows
  centre,      // the mean of numbers, an even mix of the levels of other features
};
template <>
struct EnumNames<ReferenceKind> {
  static constexpr std::array<std::string_view, 4> names = {"accepted", "borderline", "average",
                                                            "centre"};
};

struct ReasonReference {
  ReferenceKind kind = ReferenceKind::centre;
  Index rows = 0;     // accepted: how many
  Vector point = {};  // model space
};

/// The reference of a model: `accepted` where rows are given and some of them reach the threshold;
/// otherwise what the model file holds (theory.md, Result 36).
[[nodiscard]] ReasonReference make_reference(const Model& model, double threshold,
                                             const StoredRows* rows = nullptr);

/// «the average of the 612 training rows that the model accepts».
[[nodiscard]] std::string describe(const ReasonReference& reference);

/// {"kind", "rows", "text", "encoded"}.
[[nodiscard]] Json to_json(const ReasonReference& reference);
[[nodiscard]] ReasonReference reference_from_json(JsonObject object, const Model& model);

struct Reason {
  std::string feature = {};
  Value value = {};
  /// Of a number its value in the reference, of an ordinal level the mean position (from 0), of any
  /// other level its share of the reference.
  double reference = 0;
  double contribution = 0;            // to the logit, < 0
  std::optional<double> points = {};  // of a scorecard: the same to the score
  std::optional<std::string> code = {};
  std::string text = {};
};

/// logit − reference_logit is the sum of the contributions of all features and the residual.
struct Reasons {
  std::string reference = {};  // in words
  double logit = 0;
  double reference_logit = 0;
  std::vector<Reason> items = {};  // what counts most against the person, the largest first
  double others = 0;               // contributions of all other features together
  double residual = 0;             // see Attribution
};

[[nodiscard]] Json to_json(const Reasons& reasons);

inline constexpr std::size_t most_reasons = 4;

/// Finds the principal reasons of refusals by one model.
class Reasoner {
 public:
  /// The model must outlive the reasoner. Throws Error{argument} unless it has a single logit.
  Reasoner(const Model& model, double threshold, ReasonReference reference, ReasonCodes codes = {});

  /// Whether reasons are defined for a model: one logit decides.
  [[nodiscard]] static bool supports(const Model& model);
  static constexpr std::string_view unsupported =
      "reasons of a refusal are defined for models with one logit";

  [[nodiscard]] const ReasonReference& reference() const { return reference_; }
  /// Nothing for a row that the model accepts. At most most_reasons features with contributions
  /// against the person, immutable ones included; equal ones in the schema's order.
  [[nodiscard]] std::optional<Reasons> of(const RawRow& row) const;
  /// The contributions of all features to the logit against the reference, in the schema's order.
  [[nodiscard]] Vector contributions(const RawRow& row) const;
  /// One feature's part in words and codes.
  [[nodiscard]] Reason reason(std::size_t feature, const Value& value, double contribution) const;

 private:
  [[nodiscard]] Vector by_feature(VectorArg columns) const;

  const Model* model_;
  double threshold_;
  ReasonReference reference_;
  ReasonCodes codes_;
};

/// Fills in the reasons of all answers whose query the model declines.
void add_reasons(std::vector<Answer>& answers, const Reasoner& reasoner,
                 const Execution& execution = {});

}  // namespace ellice
