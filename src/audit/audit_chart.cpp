#include "audit/audit_chart.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "audit/audit_barrier.hpp"

namespace ellice::audit {

namespace {

// Where a side is infinite, points are sought up to here.
constexpr double farthest = 1e7;
// How far equalities may be missed, relative to the sizes of their terms.
constexpr double equality_rounding = 1e-11;
// Of a side's width: deep enough inside to start from.
constexpr double deep = 1e-3;

}  // namespace

long double maximum_over(const Box& box, const LongVector& plane, const LongVector& size,
                         long double rounding) {
  const Index d = box.lower.size();
  long double sum = plane(d);
  for (Index i = 0; i < d; ++i) {
    if (plane(i) == 0) continue;
    const double side = plane(i) > 0 ? box.upper(i) : box.lower(i);
    if (std::isinf(side) && std::abs(plane(i)) <= rounding * size(i)) continue;
    sum += plane(i) * side;
  }
  return sum;
}

HalfSpace::Plane HalfSpace::plane(const Region& region, double threshold) const {
  const Index d = region.box.lower.size();
  Plane result{.entries = LongVector::Zero(d + 1), .size = LongVector::Zero(d + 1)};
  for (std::size_t k = 0; k < models.size(); ++k) {
    const long double weight = weights(static_cast<Index>(k));
    result.entries += weight * models[k];
    result.entries(d) -= weight * threshold;
    result.size += weight * models[k].cwiseAbs();
  }
  for (std::size_t r = 0; r < region.rules.size(); ++r) {
    const long double multiplier = rules(static_cast<Index>(r));
    if (multiplier == 0) continue;
    const double bound = multiplier > 0 ? region.rules[r].upper : region.rules[r].lower;
    const LongVector normal = multiplier * region.rules[r].normal.cast<long double>();
    result.entries.head(d) -= normal;
    result.size.head(d) += normal.cwiseAbs();
    result.entries(d) += multiplier * bound;
  }
  return result;
}

long double HalfSpace::maximum(const Region& region, double threshold) const {
  const Plane all = plane(region, threshold);
  return maximum_over(region.box, all.entries, all.size, dust);
}

Chart::Chart(const Region& region) : region_(&region) {
  const Vector lower = region.box.lower.cwiseMax(-farthest);
  const Vector upper = region.box.upper.cwiseMin(farthest);
  const Index d = lower.size();
  base_ = lower;
  for (Index i = 0; i < d; ++i) {
    if (!(lower(i) < upper(i))) continue;
    free_.push_back(i);
    const double inset = 0.1 * std::min(upper(i) - lower(i), 1.0);
    base_(i) = std::clamp(0.0, lower(i) + inset, upper(i) - inset);
  }
  Matrix embed = Matrix::Zero(d, static_cast<Index>(free_.size()));
  for (std::size_t j = 0; j < free_.size(); ++j) embed(free_[j], static_cast<Index>(j)) = 1;
  map_ = embed;
  settle_equalities(embed);
  if (!exists_) return;
  rows_ = Matrix(0, map_.cols());
  for (const Index i : free_) {
    const double width = std::min(upper(i) - lower(i), 1.0);
    add_side(Vector::Unit(d, i), upper(i), width, {.column = i});
    add_side(-Vector::Unit(d, i), -lower(i), width, {.column = i, .sign = -1});
  }
  for (std::size_t r = 0; r < region.rules.size(); ++r) {
    const RuleRow& rule = region.rules[r];
    if (rule.lower == rule.upper) continue;
    const auto index = static_cast<Index>(r);
    const double width = rule.normal.norm();
    if (std::isfinite(rule.upper)) add_side(rule.normal, rule.upper, width, {.rule = index});
    if (std::isfinite(rule.lower))
      add_side(-rule.normal, -rule.lower, width, {.rule = index, .sign = -1});
  }
}

void Chart::settle_equalities(const Matrix& embed) {
  for (std::size_t r = 0; r < region_->rules.size(); ++r) {
    if (region_->rules[r].lower == region_->rules[r].upper)
      equalities_.push_back(static_cast<Index>(r));
  }
  const auto count = static_cast<Index>(equalities_.size());
  if (count == 0) return;
  Matrix normals(count, base_.size());
  Vector wanted(count);
  Vector size(count);
  for (Index e = 0; e < count; ++e) {
    const RuleRow& rule =
        region_->rules[static_cast<std::size_t>(equalities_[static_cast<std::size_t>(e)])];
    normals.row(e) = rule.normal.transpose();
    wanted(e) = rule.upper - rule.normal.dot(base_);
    size(e) = std::abs(rule.upper) + rule.normal.cwiseAbs().dot(base_.cwiseAbs());
  }
  const Matrix own = normals * embed;
  Vector step = Vector::Zero(embed.cols());
  if (embed.cols() > 0) {
    step = own.completeOrthogonalDecomposition().solve(wanted);
    const Eigen::FullPivHouseholderQR<Matrix> transposed(own.transpose());
    const Matrix basis = transposed.matrixQ();
    map_ = embed * basis.rightCols(embed.cols() - transposed.rank());
  }
  size += own.cwiseAbs() * step.cwiseAbs();
  exists_ = ((wanted - own * step).array().abs() <= equality_rounding * size.array()).all();
  base_ += embed * step;
}

void Chart::add_side(const Vector& normal, double bound, double width, Side side) {
  const Index k = rows_.rows();
  rows_.conservativeResize(k + 1, Eigen::NoChange);
  rows_.row(k) = normal.transpose() * map_;
  bounds_.conservativeResize(k + 1);
  bounds_(k) = bound - normal.dot(base_);
  widths_.conservativeResize(k + 1);
  widths_(k) = width;
  sides_.push_back(side);
}

Vector Chart::point(const Vector& nu) const {
  return (base_ + map_ * nu).cwiseMax(region_->box.lower).cwiseMin(region_->box.upper);
}

Chart::Inside Chart::inside() const {
  const Index n = size();
  const Index count = rows_.rows();
  if ((bounds_.array() > 0).all()) return {.nu = Vector::Zero(n)};
  // σ of its width inside each side; 1 suffices.
  ConicProgram program{.slope = -Vector::Unit(n + 1, n),
                       .rows = Matrix::Zero(count + 1, n + 1),
                       .bounds = Vector(count + 1),
                       .map = Matrix(0, n + 1)};
  program.rows.topLeftCorner(count, n) = rows_;
  program.rows.topRightCorner(count, 1) = widths_;
  program.rows(count, n) = 1;
  program.bounds << bounds_, 1;
  Vector start = Vector::Zero(n + 1);
  start(n) = std::min(0.0, bounds_.cwiseQuotient(widths_).minCoeff()) - 1;
  Inside result;
  follow_path(program, start, [&](const ConicPoint& centre) {
    if (((bounds_ - rows_ * centre.y.head(n)).array() > 0).all()) {
      result.nu = centre.y.head(n);
      return centre.y(n) > deep;
    }
    const Vector shares = centre.rows.head(count) / centre.rows.head(count).sum();
    const HalfSpace proof = half_space({}, {}, shares, Vector::Zero(base_.size()));
    result.is_empty = proof.maximum(*region_, 0) < 0;
    return result.is_empty;
  });
  return result;
}

HalfSpace Chart::half_space(std::vector<LongVector> models, const Vector& weights,
                            const Vector& sides, Vector slope) const {
  HalfSpace result{.weights = weights.cast<long double>(),
                   .models = std::move(models),
                   .rules = LongVector::Zero(static_cast<Index>(region_->rules.size()))};
  for (std::size_t k = 0; k < result.models.size(); ++k) {
    slope += weights(static_cast<Index>(k)) * result.models[k].head(slope.size()).cast<double>();
  }
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const double multiplier = sides_[i].sign * sides(static_cast<Index>(i));
    if (sides_[i].column >= 0) {
      slope(sides_[i].column) -= multiplier;
    } else {
      result.rules(sides_[i].rule) += multiplier;
      slope -= multiplier * region_->rules[static_cast<std::size_t>(sides_[i].rule)].normal;
    }
  }
  if (equalities_.empty() || free_.empty()) return result;
  Matrix normals(static_cast<Index>(free_.size()), static_cast<Index>(equalities_.size()));
  for (std::size_t e = 0; e < equalities_.size(); ++e) {
    const Vector& normal = region_->rules[static_cast<std::size_t>(equalities_[e])].normal;
    normals.col(static_cast<Index>(e)) = normal(free_);
  }
  const Vector multipliers = normals.completeOrthogonalDecomposition().solve(Vector(slope(free_)));
  for (std::size_t e = 0; e < equalities_.size(); ++e) {
    result.rules(equalities_[e]) = multipliers(static_cast<Index>(e));
  }
  return result;
}

}  // namespace ellice::audit
