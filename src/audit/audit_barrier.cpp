#include "audit/audit_barrier.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <optional>

#include "core/infinity.hpp"
#include "core/stop.hpp"

namespace ellice::audit {

namespace {

constexpr int most_stages = 40;
constexpr int most_steps = 60;
constexpr double stage_factor = 12;
constexpr double centred = 1e-9;  // half the squared Newton decrement

/// weight·objective − Σ log(slack) − Σ log(u² − κ²q²), with derivatives.
class Barrier {
 public:
  explicit Barrier(const ConicProgram& program) : program_(&program) {
    for (const ConicProgram::Cone& cone : program.cones) {
      maps_.emplace_back(cone.kappa * (*cone.root * program.map));
      bases_.emplace_back(cone.kappa * (*cone.root * program.base));
      forms_.emplace_back(maps_.back().transpose() * maps_.back());
    }
  }

  [[nodiscard]] bool holds(const Vector& y) const {
    if (!((program_->bounds - program_->rows * y).array() > 0).all()) return false;
    for (std::size_t k = 0; k < program_->cones.size(); ++k) {
      const ConeState state = cone_at(k, y);
      if (!(state.gap > 0) || !(state.score > 0)) return false;
    }
    return true;
  }

  /// By how much a step raises the barrier; infinite where it leads outside. Term by term: late on
  /// the path the barrier itself is so large that its differences would be rounding.
  [[nodiscard]] double rise(const Vector& y, const Vector& step, double weight) const {
    double sum = weight * program_->slope.dot(step);
    if (has_curvature()) sum += weight * step.dot(program_->curvature * (y + 0.5 * step));
    const Vector slack = program_->bounds - program_->rows * y;
    const Vector share = (program_->rows * step).cwiseQuotient(slack);
    if (!(share.array() < 1).all()) return infinity;
    for (const double one : share) sum -= std::log1p(-one);
    for (std::size_t k = 0; k < program_->cones.size(); ++k) {
      const ConeState next = cone_at(k, y + step);
      if (!(next.gap > 0) || !(next.score > 0)) return infinity;
      sum -= std::log(next.gap / cone_at(k, y).gap);
    }
    return sum;
  }

  void derivatives(const Vector& y, double weight, Vector& gradient, Matrix& hessian) const {
    gradient = weight * program_->slope;
    hessian = Matrix::Zero(y.size(), y.size());
    if (has_curvature()) {
      gradient += weight * (program_->curvature * y);
      hessian += weight * program_->curvature;
    }
    const Vector inverse = (program_->bounds - program_->rows * y).cwiseInverse();
    gradient += program_->rows.transpose() * inverse;
    hessian += program_->rows.transpose() * inverse.cwiseAbs2().asDiagonal() * program_->rows;
    for (std::size_t k = 0; k < program_->cones.size(); ++k) {
      const ConeState state = cone_at(k, y);
      const Vector& normal = program_->cones[k].normal;
      const Vector slope = 2 * (state.score * normal - state.image) / state.gap;  // of log gap
      gradient -= slope;
      hessian +=
          slope * slope.transpose() - 2 / state.gap * (normal * normal.transpose() - forms_[k]);
    }
  }

  [[nodiscard]] ConicPoint point(const Vector& y, double weight) const {
    ConicPoint result{.y = y,
                      .rows = (program_->bounds - program_->rows * y).cwiseInverse() / weight,
                      .cones = Vector(static_cast<Index>(program_->cones.size()))};
    for (std::size_t k = 0; k < program_->cones.size(); ++k) {
      const ConeState state = cone_at(k, y);
      result.cones(static_cast<Index>(k)) = 2 * state.score / (state.gap * weight);
    }
    return result;
  }

 private:
  struct ConeState {
    double score = 0;   // u
    double gap = 0;     // u² − κ²q²
    Vector image = {};  // ½ of the gradient of κ²q²
  };
  [[nodiscard]] ConeState cone_at(std::size_t k, const Vector& y) const {
    const ConicProgram::Cone& cone = program_->cones[k];
    const Vector image = maps_[k] * y + bases_[k];
    const double root = image.norm();
    const double score = cone.normal.dot(y) + cone.offset;
    return {.score = score,
            .gap = (score - root) * (score + root),
            .image = maps_[k].transpose() * image};
  }

  [[nodiscard]] bool has_curvature() const { return program_->curvature.size() > 0; }

  const ConicProgram* program_;
  // Of each cone: κR·x̃ = map·y + base, and mapᵀ·map.
  std::vector<Matrix> maps_;
  std::vector<Vector> bases_;
  std::vector<Matrix> forms_;
};

/// Newton's method with halved steps; false where rounding ended it far from the centre.
bool centre(const Barrier& barrier, double weight, Vector& y) {
  Vector gradient;
  Matrix hessian;
  for (int step = 0; step < most_steps; ++step) {
    check_stop();
    barrier.derivatives(y, weight, gradient, hessian);
    // Scaled to a unit diagonal: near the end of the path its entries differ by many orders.
    const Vector scale = hessian.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    const Eigen::LDLT<Matrix> factor(scale.asDiagonal() * hessian * scale.asDiagonal());
    const Vector move = -scale.cwiseProduct(factor.solve(scale.cwiseProduct(gradient)));
    const double decrease = -gradient.dot(move);
    if (!std::isfinite(decrease) || !(decrease > 0)) return decrease == 0;
    if (0.5 * decrease <= centred) return true;
    double length = 1;
    while (!(barrier.rise(y, length * move, weight) <= -0.1 * length * decrease)) {
      length /= 2;
      if (length < 1e-10) return 0.5 * decrease <= 1e-2;
    }
    const Vector next = y + length * move;
    if (!barrier.holds(next)) return false;  // by rounding
    y = next;
  }
  return false;
}

}  // namespace

void follow_path(const ConicProgram& program, Vector start,
                 const std::function<bool(const ConicPoint&)>& is_enough) {
  const Barrier barrier(program);
  Vector y = std::move(start);
  double weight = 1;
  for (int stage = 0; stage < most_stages; ++stage) {
    const bool is_centred = centre(barrier, weight, y);
    if (is_enough(barrier.point(y, weight)) || !is_centred) return;
    weight *= stage_factor;
  }
}

}  // namespace ellice::audit
