#pragma once

// Whether the models of a set accept a row, by plain arithmetic: the hidden layers by loops, heads
// that the set's definition admits one by one, the worst first. Shares no code with the
// certificates.

#include <optional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/model/model.hpp"
#include "ellice/sets/set_choice.hpp"

namespace ellice::combination {

/// What is asked of the models of a set at one row.
struct Judged {
  SetKind kind = SetKind::last_layer;
  std::optional<double> damping = {};
  double epsilon = 0;
  double threshold = 0;
  /// With many classes: who must win, and who may win as well.
  std::optional<Index> winner = {};
  std::vector<Index> acceptable = {};
};

class ModelOracle {
 public:
  /// `rows` (may be null) are those the model was fitted on, for the true set.
  ModelOracle(const Model& model, const StoredRows* rows);

  /// Empty, or how a model of the set rejects the row (model space).
  [[nodiscard]] std::string rejection(const Judged& judged, const Vector& z, Random random) const;

 private:
  /// The smallest lead that a head gives, of one logit itself.
  [[nodiscard]] double lead(const Judged& judged, const Vector& head, const Vector& features) const;
  [[nodiscard]] std::string first_order(const Judged& judged, const Vector& z) const;
  [[nodiscard]] std::string by_heads(const Judged& judged, const Vector& z, Random& random) const;
  [[nodiscard]] double objective(const Vector& head) const;
  /// Of an entry of one output's head of this size.
  [[nodiscard]] double penalty_factor(Index i, Index size) const;
  [[nodiscard]] double reach(const Judged& judged, const Matrix& hessian,
                             const Vector& direction) const;

  const Model* model_;
  const StoredRows* rows_;
  std::vector<Vector> row_features_;
};

}  // namespace ellice::combination
