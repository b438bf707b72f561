#include "audit/audit_region.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "audit/audit_barrier.hpp"
#include "audit/audit_climb.hpp"

namespace ellice::audit {

namespace {

// A largest ε is known well enough if its two bounds differ by this share.
constexpr double closed_bracket = 1e-8;
constexpr int region_rounds = 12;

class Search {
 public:
  Search(const std::vector<Cone>& cones, double threshold, const Region& region)
      : cones_(&cones), threshold_(threshold), region_(&region), chart_(region) {}

  [[nodiscard]] Reach run(double near) {
    if (!chart_.exists()) return {};  // no point was found, and no proof that there is none
    const Chart::Inside inside = chart_.inside();
    if (inside.is_empty) return {.admitted = 0};
    if (!inside.nu) return {};
    const Climb climb(*cones_, threshold_, chart_);
    double epsilon = near;
    for (int round = 0; round < region_rounds; ++round) {
      climb.run(epsilon, *inside.nu, [&](const ConicPoint& centre) {
        consider(centre, epsilon);
        return is_closed();
      });
      if (is_closed() || best_.attained == epsilon) break;
      epsilon = best_.attained;  // Dinkelbach's step (theory.md, Result 8)
    }
    if (best_.point.size() > 0) best_.attained = radius(*cones_, extended(best_.point), threshold_);
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool is_closed() const {
    return best_.admitted <= best_.attained * (1 + closed_bracket);
  }

  void consider(const ConicPoint& centre, double epsilon) {
    const Vector point = chart_.point(centre.y.head(chart_.size()));
    const LongVector x = extended(point);
    double attained = std::numeric_limits<double>::infinity();
    std::vector<LongVector> models;
    for (const Cone& cone : *cones_) {
      const LongVector image = cone.spread() * x;
      const long double square = x.dot(image);
      const long double margin = cone.center().dot(x) - threshold_;
      const long double own = margin > 0 ? margin * margin / square / 2 : 0;
      attained = std::min(attained, static_cast<double>(own));
      const long double kappa = std::sqrt(2 * static_cast<long double>(epsilon));
      models.emplace_back(cone.center() - kappa / std::sqrt(square) * image);
    }
    if (attained > best_.attained) {
      best_.attained = attained;
      best_.point = point;
    }
    const double total = centre.cones.sum();
    if (!(total > 0) || !std::isfinite(total)) return;
    admit(chart_.half_space(std::move(models), centre.cones / total, centre.rows / total,
                            Vector::Zero(point.size())));
  }

  /// Moves the models as little as makes the half-space a proof, and notes their largest excess.
  void admit(HalfSpace proof) {
    if (!flatten(proof)) return;
    const long double total = proof.weights.sum();
    const long double above = proof.maximum(*region_, threshold_) / total;
    if (above <= 0) note(proof);
    // A lower bias of all models lowers the half-space everywhere.
    const Index bias = region_->box.lower.size();
    for (LongVector& model : proof.models) model(bias) -= above + 1e-18L * std::abs(above);
    if (proof.maximum(*region_, threshold_) <= dust * total) note(proof);
  }

  void note(const HalfSpace& proof) {
    long double most = 0;
    for (std::size_t k = 0; k < cones_->size(); ++k) {
      if (proof.weights(static_cast<Index>(k)) > 0)
        most = std::max(most, (*cones_)[k].excess(proof.models[k]));
    }
    if (!(most < best_.admitted)) return;
    best_.admitted = static_cast<double>(most);
    best_.model = proof.models.front();
  }

  /// On an infinite side the half-space must not rise: the nearest models that do not, in the sense
  /// of their sets.
  [[nodiscard]] bool flatten(HalfSpace& proof) const {
    const Box& box = region_->box;
    const Index d = box.lower.size();
    for (Index attempt = 0; attempt <= d; ++attempt) {
      const HalfSpace::Plane plane = proof.plane(*region_, threshold_);
      std::vector<Index> level;  // where it shall not rise
      bool is_level = true;
      for (Index i = 0; i < d; ++i) {
        const long double slope = plane.entries(i);
        const bool rises = std::isinf(slope > 0 ? box.upper(i) : box.lower(i));
        // Where both sides are infinite it must stay level when others follow.
        if (rises || (std::isinf(box.upper(i)) && std::isinf(box.lower(i)))) level.push_back(i);
        if (rises && std::abs(slope) > dust * plane.size(i)) is_level = false;
      }
      if (is_level) return true;
      const auto count = static_cast<Index>(level.size());
      LongMatrix joint = LongMatrix::Zero(count, count);
      for (std::size_t k = 0; k < proof.models.size(); ++k) {
        joint +=
            proof.weights(static_cast<Index>(k)) * LongMatrix((*cones_)[k].spread()(level, level));
      }
      const LongVector pull = joint.ldlt().solve(LongVector(plane.entries(level)));
      if (!pull.allFinite()) return false;
      for (std::size_t k = 0; k < proof.models.size(); ++k) {
        proof.models[k] -= LongMatrix((*cones_)[k].spread()(Eigen::all, level)) * pull;
      }
      // And what rounding left.
      Index heaviest = 0;
      const long double weight = proof.weights.maxCoeff(&heaviest);
      const LongVector left = proof.plane(*region_, threshold_).entries;
      for (const Index i : level)
        proof.models[static_cast<std::size_t>(heaviest)](i) -= left(i) / weight;
    }
    return false;
  }

  const std::vector<Cone>* cones_;
  double threshold_;
  const Region* region_;
  Chart chart_;
  Reach best_;
};

}  // namespace

Reach find_reach(const std::vector<Cone>& cones, double threshold, const Region& region,
                 double near) {
  return Search(cones, threshold, region).run(near);
}

}  // namespace ellice::audit
