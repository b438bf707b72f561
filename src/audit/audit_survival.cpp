#include "audit/audit_survival.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "audit/audit_cost.hpp"
#include "core/normal.hpp"
#include "ellice/core/json.hpp"
#include "ellice/request/answer.hpp"
#include "model/sampling_moments.hpp"

namespace ellice {

namespace {

// Of probabilities, and of shifts relative to the margin, beside what solving with H may lose.
constexpr double least_tolerance = 1e-9;
constexpr double lost_digits = 1e-14;
constexpr double old_tolerance = 1e-6;
// Where searches take the sandwich, and what they call stationary; answers near such a limit may
// have been seen on its other side.
constexpr double sandwich_limit = 1.05;
constexpr double stationary_limit = 0.05;
constexpr double limit_rounding = 1e-6;
// Of a probability: what is known less well than that is called neither right nor wrong.
constexpr double most_allowed = 1e-4;
constexpr double allowance = 0.02;
constexpr double ninety_fifth = 1.6448536269514722;

Vector tilde(const Vector& z) {
  Vector result(z.size() + 1);
  result << z, 1;
  return result;
}

bool has_discrete(const Schema& schema) {
  return std::any_of(schema.features.begin(), schema.features.end(), [](const Feature& feature) {
    return !feature.immutable &&
           (feature.kind != FeatureKind::numeric || feature.step || !feature.allowed.empty());
  });
}

/// Coordinates that another model would move.
std::vector<Index> loose_coordinates(const audit::RowConstraints& constraints, const Vector& z,
                                     bool kinks) {
  std::vector<Index> loose;
  for (const audit::Box& box : constraints.pieces(constraints.values())) {
    if ((z - box.lower).minCoeff() < -1e-9 || (box.upper - z).minCoeff() < -1e-9) continue;
    for (Index i = 0; i < z.size(); ++i) {
      const double room = std::min(z(i) - box.lower(i), box.upper(i) - z(i));
      if (room > 1e-9 * (1 + std::abs(z(i))) && !(kinks && z(i) == constraints.query()(i)))
        loose.push_back(i);
    }
    break;
  }
  return loose;
}

class SurvivalAudit {
 public:
  SurvivalAudit(const Model& model, const AuditRequest& asked,
                const audit::RowConstraints& constraints, const Vector& z, const Sampling& sampling,
                const SurvivalCurvature& curvature)
      : model_(&model),
        asked_(&asked),
        constraints_(&constraints),
        sampling_(&sampling),
        theta_(model.network.head()),
        x_(tilde(z)),
        x0_(tilde(constraints.query())),
        curvature_(&curvature),
        inverse_(curvature.inverse),
        margin_(theta_.dot(x_) - asked.threshold),
        rows_(static_cast<double>(model.training.rows)) {}

  [[nodiscard]] double margin() const { return margin_; }
  [[nodiscard]] double lost_by_solve() const { return curvature_->lost_by_solve; }
  [[nodiscard]] double tolerance() const { return least_tolerance + lost_by_solve(); }
  /// Of Φ(u), u = margin/deviation, with φ(u) < 0.4 and |u|·φ(u) < 0.25: a margin that is left of
  /// larger terms is off by a share of these, however small the deviation is; and the deviation, a
  /// norm √(vᵀMv) of v = H⁻¹x̃, by as much of √‖M‖·‖v‖ as the solve may lose of v.
  [[nodiscard]] double tolerance(double deviation, const Matrix& moments) const {
    if (!(deviation > 0)) return tolerance();
    const double terms = theta_.cwiseProduct(x_).cwiseAbs().sum() + std::abs(asked_->threshold);
    return tolerance() + 0.4 * lost_digits * terms / deviation + 0.25 * lost_of_deviation(moments);
  }
  /// Relatively.
  [[nodiscard]] double lost_of_deviation(const Matrix& moments) const {
    const double most = std::sqrt(moments.norm() / rows_) * (inverse_ * x_).norm();
    return lost_by_solve() * most / deviation(moments);
  }
  [[nodiscard]] Matrix covariance(const Matrix& moments) const {
    return inverse_ * moments * inverse_ / rows_;
  }
  [[nodiscard]] double deviation(const Matrix& moments) const {
    const Vector solved = inverse_ * x_;
    return std::sqrt(std::max(solved.dot(moments * solved), 0.0) / rows_);
  }
  [[nodiscard]] double ratio() const {
    return rows_ / static_cast<double>(*asked_->retraining.fresh_rows);
  }
  [[nodiscard]] double person(std::size_t k) const {
    return sampling_->fresh[k].regression * (theta_.dot(x0_) - sampling_->mean_logit);
  }

  [[nodiscard]] double size_of_person(std::size_t k) const {
    return std::abs(sampling_->fresh[k].regression) *
           (theta_.cwiseProduct(x0_).cwiseAbs().sum() + std::abs(sampling_->mean_logit));
  }

  /// J from the bordered system of the optimality conditions: one column for each parameter, moved
  /// while the person's own logit stays. Nothing where the answer is not a nearest point.
  [[nodiscard]] std::optional<Matrix> motion(const std::vector<Index>& loose) const {
    const Vector weights = audit::weights_by_column(model_->encoder);
    const audit::CostTerms terms = audit::terms_of(asked_->cost.kind);
    const auto size = static_cast<Index>(loose.size());
    const Vector solved = inverse_ * x_;
    const double length = x_.dot(solved);
    const Vector worst = theta_ - margin_ / length * solved;
    Vector slope(size), pull(size), curvature(size);
    for (Index k = 0; k < size; ++k) {
      const Index i = loose[static_cast<std::size_t>(k)];
      const double move = x_(i) - x0_(i);
      slope(k) = worst(i);
      curvature(k) = terms.squares ? 2 * weights(i) : 0;
      pull(k) = curvature(k) * move + (terms.absolutes ? std::copysign(weights(i), move) : 0);
    }
    const double multiplier = slope.dot(pull) / slope.squaredNorm();
    const double residual = (pull - multiplier * slope).norm() / pull.norm();
    if (!(multiplier > 0) || !(residual < stationary_limit - limit_rounding)) return std::nullopt;
    Matrix system = Matrix::Zero(size + 1, size + 1);
    for (Index k = 0; k < size; ++k) {
      const Index i = loose[static_cast<std::size_t>(k)];
      for (Index l = 0; l < size; ++l) {
        const Index j = loose[static_cast<std::size_t>(l)];
        system(k, l) =
            multiplier * margin_ / length * (inverse_(i, j) - solved(i) * solved(j) / length);
      }
      system(k, k) += curvature(k);
    }
    system.topRightCorner(size, 1) = -slope;
    system.bottomLeftCorner(1, size) = slope.transpose();
    Matrix right = Matrix::Zero(size + 1, x_.size());
    for (Index k = 0; k < size; ++k) right(k, loose[static_cast<std::size_t>(k)]) = multiplier;
    right.row(size) = (x0_ - x_).transpose();
    const Matrix solution = system.fullPivLu().solve(right);
    if (!solution.allFinite()) return std::nullopt;
    Matrix result = Matrix::Zero(x_.size(), x_.size());
    for (Index k = 0; k < size; ++k)
      result.row(loose[static_cast<std::size_t>(k)]) = solution.row(k);
    return result;
  }

  /// A shift, and the sum of the sizes of its terms, which cancel where H is nearly singular.
  struct Shift {
    double value = 0;
    double size = 0;
  };
  /// Of each estimate, where there is a closed form.
  [[nodiscard]] std::optional<std::array<Shift, Sampling::estimates>> shifts(
      bool is_first_answer_moved) const {
    std::array<Shift, Sampling::estimates> result = {};
    for (std::size_t k = 0; k < result.size(); ++k)
      result[k] = {.value = person(k), .size = size_of_person(k)};
    if (!is_first_answer_moved) return result;
    if (has_discrete(model_->schema()) || asked_->cost.sparsity_weight != 0) return std::nullopt;
    const bool kinks = audit::terms_of(asked_->cost.kind).absolutes;
    const std::vector<Index> loose =
        loose_coordinates(*constraints_, x_.head(x_.size() - 1), kinks);
    if (loose.empty()) return std::nullopt;
    const std::optional<Matrix> j = motion(loose);
    if (!j) return std::nullopt;
    for (std::size_t k = 0; k < result.size(); ++k) {
      const Matrix v = covariance(sampling_->fresh[k].moments);
      const Vector along = v * x_;
      const double length = x_.dot(along);
      result[k].value += (v * *j).trace() - along.dot(*j * along) / length;
      const Matrix sizes = j->cwiseAbs();
      result[k].size +=
          (v.cwiseAbs() * sizes).trace() + along.cwiseAbs().dot(sizes * along.cwiseAbs()) / length;
    }
    return result;
  }

 private:
  const Model* model_;
  const AuditRequest* asked_;
  const audit::RowConstraints* constraints_;
  const Sampling* sampling_;
  Vector theta_, x_, x0_;
  const SurvivalCurvature* curvature_;
  const Matrix& inverse_;
  double margin_;
  double rows_;
};

/// Collects what does not agree, and what of probabilities is known too badly to say.
class Comparison {
 public:
  Comparison(std::vector<std::string>& failures, std::vector<std::string>& unverified)
      : failures_(&failures), unverified_(&unverified) {}
  void operator()(std::string_view name, double stored, double recomputed, double allowed) {
    if (std::abs(stored - recomputed) <= allowed) return;
    failures_->push_back(fmt::format("{} is {}, recomputed {}", name, stored, recomputed));
  }
  void probability(std::string_view name, double stored, double recomputed, double allowed) {
    if (!(stored >= 0 && stored <= 1)) {
      failures_->push_back(fmt::format("{} is {}, which is no probability", name, stored));
      return;
    }
    (*this)(name, stored, recomputed, allowed);
    if (allowed > most_allowed)
      unverified_->push_back(fmt::format("{}: solves with this curvature lose {:.1g} of it",
                                         name.substr(0, name.find('[')), allowed));
  }

 private:
  std::vector<std::string>* failures_;
  std::vector<std::string>* unverified_;
};

double accepted(double left, double deviation) {
  if (deviation > 0) return normal_cdf(left / deviation);
  return left >= 0 ? 1 : 0;
}

/// As version 0.1.0 stated it: labels are coin flips with the model's own probabilities.
double survival_of_coins(const Model& model, const Retraining& retraining, const Vector& x,
                         double left) {
  const TrainingRecord& training = model.training;
  const Matrix& hessian = model.curvature.hessian;
  const Vector solved = hessian.ldlt().solve(x);
  Vector rest = hessian * solved - (training.l2 + model.curvature.shift) * solved;
  if (!training.penalize_bias) rest(rest.size() - 1) += training.l2 * solved(rest.size() - 1);
  for (Index j = 0; j < training.penalty_factors.size(); ++j)
    rest(j) += training.l2 * (1 - training.penalty_factors(j)) * solved(j);
  const double noise = training.loss_kind == LossKind::squared ? 2 * training.loss : 1;
  const double variance = retraining.factor(training.rows) * noise *
                          std::max(solved.dot(rest), 0.0) / static_cast<double>(training.rows);
  return accepted(left, std::sqrt(variance));
}

void check_drawn_again(const SurvivalAudit& audit, const Sampling& sampling, JsonObject& answer,
                       double stated, std::vector<std::string>& failures,
                       std::vector<std::string>& unverified) {
  double deviation = audit.deviation(sampling.drawn_again);
  double margin = audit.margin();
  const double cautious = audit.deviation(sampling.fresh[Sampling::cautious].moments);
  const bool has_refits = answer.has("refits");
  const double ratio = deviation > 0 ? cautious / deviation : 1;
  const double lost = limit_rounding +
                      ratio * (audit.lost_of_deviation(sampling.drawn_again) +
                               audit.lost_of_deviation(sampling.fresh[Sampling::cautious].moments));
  if (has_refits != (ratio > sandwich_limit) && std::abs(ratio - sandwich_limit) > lost)
    failures.emplace_back(has_refits ? "refits are stated where the sandwich holds"
                                     : "refits are missing: the sandwich does not hold");
  if (has_refits) {
    JsonObject refits = answer.object("refits");
    margin += refits.number("shift");
    deviation *= refits.number("scale");
    refits.finish();
  }
  Comparison(failures, unverified)
      .probability("predicted_survival", stated, accepted(margin, deviation),
                   audit.tolerance(deviation, sampling.drawn_again));
}

void check_fresh(const SurvivalAudit& audit, const Sampling& sampling, JsonObject& answer,
                 double stated, bool moved, std::vector<std::string>& failures,
                 std::vector<std::string>& unverified) {
  Comparison compare(failures, unverified);
  for (const char* key : {"selection_shift", "survival_interval", "survival_spread"}) {
    if (answer.has(key)) continue;
    failures.push_back(fmt::format("{} is missing", key));
    return;
  }
  const double shift = answer.number("selection_shift");
  const double deviation = audit.deviation(sampling.fresh[Sampling::middle].moments);
  const double root = std::sqrt(1 + audit.ratio());
  compare.probability("predicted_survival", stated,
                      accepted(audit.margin() - shift, deviation * root),
                      audit.tolerance(deviation * root, sampling.fresh[Sampling::middle].moments));
  const double own = std::sqrt(audit.ratio()) * deviation;
  const Vector spread = answer.vector("survival_spread", 2);
  const double left = audit.margin() - shift;
  compare.probability("survival_spread[0]", spread(0),
                      accepted(left - ninety_fifth * deviation, own),
                      audit.tolerance(own, sampling.fresh[Sampling::middle].moments));
  compare.probability("survival_spread[1]", spread(1),
                      accepted(left + ninety_fifth * deviation, own),
                      audit.tolerance(own, sampling.fresh[Sampling::middle].moments));
  const Vector interval = answer.vector("survival_interval", 2);
  if (!(interval(0) >= 0 && interval(0) <= interval(1) && interval(1) <= 1))
    failures.emplace_back("survival_interval is not an interval of probabilities");
  const auto shifts = audit.shifts(moved);
  if (!shifts) {  // the interval has two more, which are not stated
    unverified.emplace_back("selection_shift: found by searches with disturbed models");
    unverified.emplace_back("survival_interval: rests on shifts found by such searches");
    return;
  }
  const auto& middle = (*shifts)[Sampling::middle];
  compare("selection_shift", shift, middle.value,
          least_tolerance * middle.size +
              audit.lost_by_solve() * (1 + std::abs(audit.margin()) + middle.size));
  std::array<double, 2> ends = {};
  double allowed = 0;
  const std::array<Sampling::Estimate, 2> outer = {Sampling::bold, Sampling::cautious};
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& one = (*shifts)[outer[k]];
    const double spread_of = audit.deviation(sampling.fresh[outer[k]].moments) * root;
    ends[k] = accepted(audit.margin() - one.value, spread_of);
    const double of_shift = spread_of > 0 ? 0.4 * audit.lost_by_solve() * one.size / spread_of : 0;
    allowed =
        std::max(allowed, audit.tolerance(spread_of, sampling.fresh[outer[k]].moments) + of_shift);
  }
  compare.probability("survival_interval[0]", interval(0),
                      std::max(std::min(ends[0], ends[1]) - allowance, 0.0), allowed);
  compare.probability("survival_interval[1]", interval(1),
                      std::min(std::max(ends[0], ends[1]) + allowance, 1.0), allowed);
}

}  // namespace

SurvivalCurvature::SurvivalCurvature(const Model& model)
    : inverse(model.curvature.hessian.fullPivLu().inverse()),
      lost_by_solve(lost_digits * model.curvature.hessian.norm() * inverse.norm()) {}

std::vector<std::string> survival_failures(const Model& model, const AuditRequest& asked,
                                           JsonObject& answer,
                                           const audit::RowConstraints& constraints,
                                           const Vector& z, const AskCurvature& curvature,
                                           std::vector<std::string>& unverified) {
  std::vector<std::string> failures;
  if (!answer.has("predicted_survival")) {
    for (const char* key : {"selection_shift", "refits", "survival_interval", "survival_spread"}) {
      if (answer.has(key)) failures.push_back(fmt::format("{} belongs to a survival", key));
    }
    // Who is certified for the true set has one, unless it takes refits.
    const bool is_certain = asked.set.kind == SetKind::true_set && !asked.retraining.fresh_rows &&
                            no_survival_reason(model, asked.set).empty() &&
                            model.network.is_linear() && model.curvature.sampling &&
                            is_certified(answer.choice<Status>("status"));
    if (is_certain) {
      const SurvivalAudit audit(model, asked, constraints, z, *model.curvature.sampling,
                                curvature());
      const Sampling& sampling = *model.curvature.sampling;
      if (audit.deviation(sampling.fresh[Sampling::cautious].moments) <
          (sandwich_limit - limit_rounding) * audit.deviation(sampling.drawn_again))
        failures.emplace_back("predicted_survival is missing");
    }
    return failures;
  }
  const StoredRows* rows = model.rows ? &*model.rows : asked.set.rows;
  if (model.network.layers.size() != 1 || !no_survival_reason(model, asked.set).empty()) {
    failures.emplace_back("predicted_survival is stated where none is defined");
    return failures;
  }
  const double stated = answer.number("predicted_survival");
  // Model files of version 0.1.0 have no moments, and its answers neither interval nor refits.
  const bool is_old = !model.curvature.sampling && !answer.has("survival_interval");
  if (is_old && !answer.has("refits")) {
    const Vector x = tilde(z);
    const double shift = answer.has("selection_shift") ? answer.number("selection_shift") : 0;
    const double left = model.network.head().dot(x) - asked.threshold - std::max(shift, 0.0);
    const double recomputed = survival_of_coins(model, asked.retraining, x, left);
    if (std::abs(stated - recomputed) <= old_tolerance) return failures;
    if (rows == nullptr)
      Comparison(failures, unverified)
          .probability("predicted_survival", stated, recomputed, old_tolerance);
  }
  if (!model.curvature.sampling && rows == nullptr) return failures;
  std::optional<Sampling> own;  // of files without
  if (!model.curvature.sampling) own = sampling_of(model, labelled(*rows));
  const Sampling& sampling = own ? *own : *model.curvature.sampling;
  const SurvivalAudit audit(model, asked, constraints, z, sampling, curvature());
  if (audit.margin() < 0) {
    failures.emplace_back("predicted_survival is stated for a row that the model declines");
  } else if (asked.retraining.fresh_rows) {
    const bool moved = answer.choice<Status>("status") != Status::already_robust;
    check_fresh(audit, sampling, answer, stated, moved, failures, unverified);
  } else {
    check_drawn_again(audit, sampling, answer, stated, failures, unverified);
  }
  return failures;
}

}  // namespace ellice
