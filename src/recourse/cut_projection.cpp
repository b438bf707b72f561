#include "recourse/cut_projection.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <vector>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr int most_steps = 200;
constexpr int most_halvings = 40;

/// An entry of a cost's vector; where it is empty, what that stands for.
double entry(const Vector& values, Index i, double otherwise) {
  return values.size() > 0 ? values(i) : otherwise;
}

double curvature_of(const SeparableCost& cost, Index i) {
  return entry(cost.quadratic, i, cost.absolute.size() > 0 ? 0 : 1);  // an empty cost is D = 1
}

}  // namespace

double cost_at(const SeparableCost& cost, VectorArg query, VectorArg point) {
  double sum = 0;
  for (Index i = 0; i < point.size(); ++i) {
    const double move = std::abs(point(i) - query(i));
    sum += 0.5 * curvature_of(cost, i) * move * move + entry(cost.absolute, i, 0) * move;
  }
  return sum;
}

Vector pulled_point(VectorArg pull, VectorArg query, const Box& box, const SeparableCost& cost) {
  Vector x = query;
  for (Index i = 0; i < x.size(); ++i) {
    const double net = std::max(std::abs(pull(i)) - entry(cost.absolute, i, 0), 0.0);
    const double curvature = curvature_of(cost, i);
    if (curvature > 0) {
      x(i) += std::copysign(net / curvature, pull(i));
    } else if (net > 0) {
      x(i) = pull(i) > 0 ? box.upper(i) : box.lower(i);
    }
    x(i) = std::clamp(x(i), box.lower(i), box.upper(i));
  }
  return x;
}

CutProjection project_onto_cuts(MatrixArg cuts, double threshold, VectorArg query, const Box& box,
                                const SeparableCost& cost, VectorArg start) {
  const Index d = query.size();
  const Index count = cuts.cols();
  for (Index i = 0; i < d; ++i)
    require(curvature_of(cost, i) > 0, "the cost of column {} has no square", i);
  /// The dual at m: min over the box of cost − Σ mₖ(θₖᵀx̃ − t), concave, with gradient −excess.
  struct Dual {
    Vector point = {};
    Vector excess = {};
    double value = 0;
  };
  const auto dual_at = [&](const Vector& m) {
    const Vector pull = cuts.topRows(d) * m;
    Dual dual{.point = pulled_point(pull, query, box, cost)};
    dual.excess = cuts.topRows(d).transpose() * dual.point + cuts.row(d).transpose() -
                  Vector::Constant(count, threshold);
    dual.value = cost_at(cost, query, dual.point) - m.dot(dual.excess);
    return dual;
  };
  Vector m = Vector::Zero(count);
  m.head(start.size()) = start;
  Dual dual = dual_at(m);
  CutProjection best{.point = dual.point, .lower_bound = dual.value, .multipliers = m};
  for (int step = 0; step < most_steps; ++step) {
    // Half-spaces that are met and have no multiplier stay as they are.
    std::vector<Index> free;
    for (Index k = 0; k < count; ++k) {
      if (m(k) > 0 || dual.excess(k) < 0) free.push_back(k);
    }
    if (free.empty()) break;
    // Columns that still give way: not at a bound, not at the kink.
    Vector softness = Vector::Zero(d);
    for (Index i = 0; i < d; ++i) {
      const bool inside = dual.point(i) > box.lower(i) && dual.point(i) < box.upper(i);
      const bool at_kink = entry(cost.absolute, i, 0) > 0 && dual.point(i) == query(i);
      if (inside && !at_kink) softness(i) = 1 / curvature_of(cost, i);
    }
    const Matrix chosen = cuts(Eigen::seqN(0, d), free);
    Matrix curvature = chosen.transpose() * softness.asDiagonal() * chosen;
    const double size = std::max(curvature.trace(), chosen.squaredNorm() * 1e-12);
    curvature.diagonal().array() += 1e-13 * size;
    const Vector gradient = -dual.excess(free);
    const Vector newton = curvature.ldlt().solve(gradient);
    bool has_risen = false;
    for (const Vector& direction : {newton, Vector(gradient / size)}) {
      double share = 1;
      for (int halving = 0; halving < most_halvings; ++halving, share /= 2) {
        Vector trial = m;
        for (std::size_t k = 0; k < free.size(); ++k) {
          double& entry_of = trial(free[k]);
          entry_of = std::max(0.0, entry_of + share * direction(static_cast<Index>(k)));
        }
        Dual next = dual_at(trial);
        if (!(next.value > dual.value)) continue;
        m = std::move(trial);
        dual = std::move(next);
        has_risen = true;
        break;
      }
      if (has_risen) break;
    }
    if (!has_risen) break;
    best = {.point = dual.point, .lower_bound = dual.value, .multipliers = m};
  }
  return best;
}

}  // namespace ellice
