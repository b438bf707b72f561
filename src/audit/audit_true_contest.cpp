// The largest ε of several classes over the true set.

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_climb.hpp"
#include "audit/audit_true_set.hpp"

namespace ellice::audit {

namespace {

constexpr int contest_rounds = 30;
constexpr int most_halvings = 12;
constexpr double closed_contest = 1e-8;

}  // namespace

/// Goes from a point to the one that the pictures of the set at its worst models bear best, whose ε
/// is the next (theory.md, Result 8 and Result 30).
class TrueModels::ContestSearch {
 public:
  ContestSearch(const TrueModels& models, const std::vector<LongMatrix>& lifts, double threshold,
                const Region& region)
      : set_(&models),
        lifts_(&lifts),
        threshold_(threshold),
        region_(&region),
        chart_(region),
        models_(lifts.size(), models.center()) {}

  [[nodiscard]] Reach run(Vector point) {
    const std::optional<Vector> inside = chart_.inside().nu;
    for (int round = 0; round < contest_rounds; ++round) {
      const double before = best_.attained;
      double attained = visit(point);
      for (const Weights& weights : weights_) {
        if (attained > 0) admit(weights, attained);
      }
      // Radii are quasi-concave: on the way back to the best point they can only grow.
      for (int half = 0; half < most_halvings && round > 0 && !(attained > before); ++half) {
        point = (point + best_.point) / 2;
        attained = visit(point);
      }
      const bool is_settled = !(best_.attained > before * (1 + closed_contest));
      const bool is_closed = best_.admitted <= best_.attained * (1 + closed_contest);
      if (is_settled || is_closed || !inside) break;
      point = next(point, *inside, attained);
    }
    return std::move(best_);
  }

 private:
  /// The ε that a point is robust up to, and the models that refuse it beyond.
  [[nodiscard]] double visit(const Vector& point) {
    double attained = std::numeric_limits<double>::infinity();
    const LongVector x = extended(point);
    for (std::size_t k = 0; k < lifts_->size(); ++k) {
      const LongVector c = (*lifts_)[k] * x;
      if (!(set_->center().dot(c) > threshold_)) return 0;
      const Cheapest cheapest = set_->cheapest(c, threshold_, &models_[k]);
      models_[k] = cheapest.model;
      attained = std::min(attained, static_cast<double>(cheapest.proved));
    }
    if (attained > best_.attained) {
      best_.attained = attained;
      best_.point = point;
    }
    return attained;
  }

  /// What a centre of the path counts: models, and sides of the chart.
  struct Weights {
    Vector models = {};
    Vector sides = {};
  };

  /// Lowers the models' leads until the half-space of the weights holds no point of the region, and
  /// notes their largest excess.
  void admit(const Weights& weights, double attained) {
    std::vector<LongVector> lowered;
    for (const LongVector& model : models_) lowered.push_back(no_dearer(model, attained));
    const auto half_space = [&] {
      std::vector<LongVector> seen;
      for (std::size_t k = 0; k < lowered.size(); ++k)
        seen.emplace_back((*lifts_)[k].transpose() * lowered[k]);
      return chart_.half_space(std::move(seen), weights.models, weights.sides,
                               Vector::Zero(chart_.base().size()));
    };
    const long double total = weights.models.sum();
    const long double above = half_space().maximum(*region_, threshold_) / total;
    if (!std::isfinite(above)) return;
    long double most = 0;
    for (std::size_t k = 0; k < lowered.size(); ++k) {
      const LongVector bias = (*lifts_)[k].rightCols(1);
      if (above > 0) lowered[k] -= (above * (1 + dust) / bias.squaredNorm()) * bias;
      if (weights.models(static_cast<Index>(k)) > 0)
        most = std::max(most, set_->excess(lowered[k]));
    }
    if (half_space().maximum(*region_, threshold_) > dust * total) return;
    best_.admitted = std::min(best_.admitted, static_cast<double>(most));
  }

  /// Of a rival that another one keeps from counting, a model nearer to the centre will do.
  [[nodiscard]] LongVector no_dearer(const LongVector& model, double attained) const {
    LongVector result = model;
    for (int step = 0; step < most_halvings && set_->excess(result) > attained; ++step) {
      const long double share = std::sqrt(attained / set_->excess(result));
      result = set_->center() + share * (result - set_->center());
    }
    return result;
  }

  [[nodiscard]] Vector next(const Vector& point, const Vector& inside, double epsilon) {
    std::vector<Cone> cones;
    const LongVector x = extended(point);
    for (std::size_t k = 0; k < lifts_->size(); ++k) {
      const LongVector c = (*lifts_)[k] * x;
      const LongVector worst = set_->worst(c, epsilon, &models_[k]).model;
      cones.push_back(set_->cone_at(worst, c, (*lifts_)[k], epsilon));
    }
    Vector result = point;
    weights_.clear();
    Climb(cones, threshold_, chart_).run(epsilon, inside, [&](const ConicPoint& centre) {
      const double total = centre.cones.sum();
      if (!(total > 0) || !std::isfinite(total)) return true;
      result = chart_.point(centre.y.head(chart_.size()));
      weights_.push_back({.models = centre.cones / total, .sides = centre.rows / total});
      return false;
    });
    // Near its end the path's weights lose their digits.
    constexpr std::ptrdiff_t most_weights = 6;
    if (std::ssize(weights_) > most_weights)
      weights_.erase(weights_.begin(), weights_.end() - most_weights);
    return result;
  }

  const TrueModels* set_;
  const std::vector<LongMatrix>* lifts_;
  double threshold_;
  const Region* region_;
  Chart chart_;
  std::vector<LongVector> models_;  // the cheapest that refuse the last point, one for each rival
  std::vector<Weights> weights_;    // of the last path
  Reach best_;
};

Reach TrueModels::find_reach(const std::vector<LongMatrix>& lifts, double threshold,
                             const Region& region, double near) const {
  std::vector<Cone> cones;  // the set's picture at its centre, to begin with
  const auto hessian = std::make_shared<const EliminatedHessian>(
      objective().with_gauge(objective().hessian(center())));
  for (const LongMatrix& lift : lifts) cones.emplace_back(hessian, center(), lift);
  const Reach picture = audit::find_reach(cones, threshold, region, near);
  if (picture.point.size() > 0)
    return ContestSearch(*this, lifts, threshold, region).run(picture.point);
  // The centre alone refuses the region, or nothing is known.
  return picture.admitted == 0 ? picture : Reach{};
}

}  // namespace ellice::audit
