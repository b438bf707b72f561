#pragma once

// A fitted classifier with all that recourse needs to know of it. Its file is described in
// docs/reference/formats.md.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/fields.hpp"
#include "ellice/core/json_fwd.hpp"
#include "ellice/core/types.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/data/encoder.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

struct Decision {
  double threshold = 0;                   // the answer is yes iff logit >= threshold
  std::vector<std::string> classes = {};  // class 0 and class 1, the favourable one; or all
};

/// What classes weigh in the mean loss.
enum class ClassWeight {
  none,      // what their rows do
  balanced,  // all the same, whatever their rows
};

template <>
struct EnumNames<ClassWeight> {
  static constexpr std::array<std::string_view, 2> names = {"none", "balanced"};
};

/// Where the weights of the rows came from.
struct RowWeights {
  std::string column = {};  // of the data; empty: every row weighs 1
  ClassWeight class_weight = ClassWeight::none;
};

struct TrainingRecord {
  Index rows = 0;
  Selection selection = {};
  LossKind loss_kind = LossKind::logistic;
  double l2 = 0;
  bool penalize_bias = true;
  Vector penalty_factors = {};             // see Penalty
  Vector l1 = {};                          // see Penalty
  std::optional<RowWeights> weights = {};  // none: all rows weigh the same
  double loss = 0;                         // (weighted) mean, without the penalty
  double objective = 0;                    // loss + (l2/2)·‖θ‖², and what an l1 penalty adds
  double head_decrement = 0;               // ½gᵀH⁻¹g of the head: 0 at its optimum
  std::uint64_t seed = 0;
  std::string data_sha256 = {};
  std::optional<NetworkOptions> network = {};  // how a network was fitted, so that it can be again
};

[[nodiscard]] inline Penalty penalty_of(const TrainingRecord& training) {
  return {.l2 = training.l2,
          .penalize_bias = training.penalize_bias,
          .factors = training.penalty_factors,
          .l1 = training.l1};
}

/// Whether the objective has corners: sets of nearly as good models are then no ellipsoids, not
/// even nearly (docs/theory.md, Result 58).
[[nodiscard]] inline bool has_corners(const TrainingRecord& training) {
  return training.l1.size() > 0;
}

/// One estimate of the error that a linear model's parameters have from their sample of rows.
struct ErrorEstimate {
  Matrix moments = {};  // B: H⁻¹BH⁻¹/n is the covariance of the parameters
  /// β: by how much a person's logit tells the error of the model in his place (theory.md, Result
  /// 35).
  double regression = 0;
};

/// What the rows of a linear model say about its retraining (theory.md, Result 33).
struct Sampling {
  /// For fresh rows, from the boldest to the most cautious: residuals corrected for leverage, the
  /// geometric mean of both, residuals of models without the row.
  enum Estimate : std::size_t { bold, middle, cautious };
  static constexpr std::size_t estimates = 3;

  Matrix drawn_again = {};  // B of the residuals as they are: for the same rows drawn again
  std::array<ErrorEstimate, estimates> fresh = {};
  double mean_logit = 0;
};

/// The largest eigenpairs of G = (1/n) Σᵢ φ″(f(xᵢ))·J(xᵢ)J(xᵢ)ᵀ, J the derivative of the logit in
/// all parameters of a network: the Gauss–Newton part of the objective's Hessian. With a damping λ
/// it stands for G + λI (theory.md, Result 25). Pairs with e_k ≤ cut are left out, which makes the
/// set of models larger, never smaller.
struct GaussNewton {
  double damping = 0.1;    // λ, the default for those who use it
  double cut = 0;          // eigenvalues up to this were left out
  Vector values = {};      // e_1 ≥ e_2 ≥ …
  RowMatrix vectors = {};  // one column per value, one row per parameter, orthonormal columns
};

struct Curvature {
  Matrix hessian = {};  // of the objective in the head's parameters, the shift included
  double shift = 0;     // what was added to the diagonal beyond the objective's own l2
  std::optional<GaussNewton> full = {};   // of networks: all parameters
  std::optional<Sampling> sampling = {};  // of linear models with one logit, without weights or l1
};

/// The rows that a model was fitted on, for sets of models that need them.
struct StoredRows {
  RowMatrix encoded = {};
  std::vector<int> labels = {};
  Vector weights = {};  // of a model with weights: one for each row; else none
};

[[nodiscard]] inline LabelledRows labelled(const StoredRows& rows) {
  return {.features = &rows.encoded, .labels = &rows.labels, .weights = &rows.weights};
}

/// Where a model came from that was not trained here.
struct Origin {
  std::string kind = {};                  // "coefficients", "deployed", "onnx" or "scorecard"
  std::string tool = {};                  // as its user calls it; may be empty
  std::string sha256 = {};                // of what was read
  std::optional<double> self_check = {};  // largest difference from its own operators, on rows
};

/// The arithmetic in which a model decides.
enum class Precision { float64, float32 };

template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 2> names = {"float64", "float32"};
};

/// The parameters θ₀ that decide elsewhere, where those of the model file are the minimiser θ̂ of
/// the same objective, which sets of models are built around (docs/theory.md, Result 56), and what
/// bounds the rounding of whoever runs them (Result 57).
struct Deployed {
  Vector head = {};   // θ₀; hidden layers are the network's own
  double excess = 0;  // sets of this level contain θ₀: every ε is counted from there
  Precision precision = Precision::float64;
  double threshold = 0;  // its own; that of the decision is above it by the margin
  double margin = 0;     // what rounding may do to scores of rows like those of the training
  Vector offsets = {};   // of columns, in original units, the largest that is taken from a value
  double constant = 0;   // sizes of all terms of a score that do not depend on the row
  /// Of a program that compares two outputs, each rounded by itself: what both have together of the
  /// head's sizes, by parameter. None: the score is one output.
  Vector sizes = {};
};

/// What a score means: at `score` points the odds of the favourable answer are `odds` to one, and
/// they double every `pdo` points, or halve every −pdo points where more points are worse.
struct ScoreScale {
  double pdo = 20;
  double score = 600;
  double odds = 1;

  /// Points for each unit of the logit.
  [[nodiscard]] double factor() const;
  [[nodiscard]] double logit(double points) const;
  [[nodiscard]] double points(double logit) const;
};

/// What a model is called by those who read it as a scorecard: the points of bins and levels as
/// the card has them, and the codes of reasons.
struct ScorePoints {
  /// Of a feature on the card: by bin, codes after intervals, or by level.
  struct Characteristic {
    std::size_t feature = 0;
    std::vector<double> points = {};
    std::vector<std::string> reasons = {};  // empty, or a code for each of them, which may be ""
  };
  ScoreScale scale = {};
  double initial = 0;  // points that everybody has
  double cut_off = 0;  // accepted from here on; up to here where more points are worse
  std::vector<Characteristic> characteristics = {};
};

struct Model {
  Encoder encoder = {};
  Network network = {};
  Decision decision = {};
  TrainingRecord training = {};
  Curvature curvature = {};
  std::optional<HeldJson> recommended = {};  // written by calibration or import; kept as it is
  std::optional<StoredRows> rows = {};
  std::optional<Origin> origin = {};       // of models that were not trained here
  std::optional<Deployed> deployed = {};   // of models that decide elsewhere
  std::optional<ScorePoints> points = {};  // of scorecards
  std::string sha256 = {};                 // of the canonical JSON without `recommended` and `rows`

  [[nodiscard]] const Schema& schema() const { return encoder.schema(); }
  [[nodiscard]] double logit(VectorArg z) const { return network.logit(z); }
};

}  // namespace ellice
