#include "solver/conic_program.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stop.hpp"

namespace ellice {

namespace {

constexpr double step_share = 0.99;  // of the way to the boundary of the cones

double dot(const ConicRow& row, const Vector& v) {
  double sum = 0;
  for (const auto& [index, coefficient] : row.terms) sum += coefficient * v[index];
  return sum;
}

void add(const ConicRow& row, double factor, Vector& v) {
  for (const auto& [index, coefficient] : row.terms) v[index] += factor * coefficient;
}

/// u ∘ v = (uᵀv, u₀v₁ + v₀u₁).
Vector product(const Vector& u, const Vector& v) {
  Vector result = u[0] * v + v[0] * u;
  result[0] = u.dot(v);
  return result;
}

/// The v with u ∘ v = w.
Vector quotient(const Vector& w, const Vector& u) {
  const Index n = u.size() - 1;
  const double inner = u.tail(n).dot(w.tail(n));
  const double determinant = (u[0] - u.tail(n).norm()) * (u[0] + u.tail(n).norm());
  Vector result(n + 1);
  result[0] = (u[0] * w[0] - inner) / determinant;
  result.tail(n) = (w.tail(n) - result[0] * u.tail(n)) / u[0];
  return result;
}

/// √(v₀² − ‖v₁‖²).
double hyperbolic(const Vector& v) {
  const double norm = v.tail(v.size() - 1).norm();
  return std::sqrt(std::max((v[0] - norm) * (v[0] + norm), 0.0));
}

/// The largest α with v + α·step in the cone.
double reach(const Vector& v, const Vector& step) {
  const Index n = v.size() - 1;
  const double infinity = std::numeric_limits<double>::infinity();
  // a·α² + 2b·α + c ≥ 0 with c > 0, and v₀ + α·step₀ ≥ 0.
  const double a = step[0] * step[0] - step.tail(n).squaredNorm();
  const double b = v[0] * step[0] - v.tail(n).dot(step.tail(n));
  const double c = std::max(v[0] * v[0] - v.tail(n).squaredNorm(), 0.0);
  double best = step[0] < 0 ? -v[0] / step[0] : infinity;
  const double root = b * b - a * c;
  if (root >= 0 && (a < 0 || b < 0)) {
    const double q = -(b + std::copysign(std::sqrt(root), b));
    for (const double alpha : {q / a, c / q}) {
      if (alpha > 0 && std::isfinite(alpha)) best = std::min(best, alpha);
    }
  }
  return best;
}

/// The symmetric W with W·z = W⁻¹·s = λ: W = β(2vvᵀ − J), J = diag(1, −1, …).
struct Scaling {
  double beta = 1;
  Vector v = {};
  Vector middle = {};  // W² = β²(2·middle·middleᵀ − J)
  Vector lambda = {};

  Scaling(const Vector& s, const Vector& z) {
    const double s_size = hyperbolic(s);
    const double z_size = hyperbolic(z);
    Vector sum = z / z_size;
    const double gamma = std::sqrt((1 + sum.dot(s) / s_size) / 2);
    sum.tail(sum.size() - 1) *= -1;
    middle = (s / s_size + sum) / (2 * gamma);
    v = middle;
    v[0] += 1;
    v /= std::sqrt(2 * v[0]);
    beta = std::sqrt(s_size / z_size);
    lambda = apply(z);
  }
  [[nodiscard]] Vector apply(const Vector& u) const {
    Vector result = u;
    result[0] *= -1;
    result += 2 * v.dot(u) * v;
    return beta * result;
  }
  [[nodiscard]] Vector apply_inverse(const Vector& u) const {
    Vector flipped = v;
    flipped.tail(v.size() - 1) *= -1;
    Vector result = u;
    result[0] *= -1;
    result += 2 * flipped.dot(u) * flipped;
    return result / beta;
  }
};

class InteriorPoint {
 public:
  explicit InteriorPoint(const ConicProgram& program)
      : program_(program),
        size_(program.linear.size()),
        degree_(static_cast<double>(program.rows.size() + program.blocks.size())) {
    for (const ConicBlock& block : program.blocks) {
      Matrix form = -block.factor.transpose() * block.factor;
      const Index d = block.factor.cols();
      Matrix whole = block.slope * block.slope.transpose();
      whole.topLeftCorner(d, d) += form;
      forms_.push_back(std::move(whole));
    }
  }

  ConicIterate run(int most_steps, const std::function<bool(const ConicIterate&)>& done) {
    start();
    for (int i = 0; i < most_steps && !done(at_); ++i) {
      check_stop();
      if (!advance()) break;
    }
    return at_;
  }

 private:
  /// The change of everything that a Newton step makes.
  struct Step {
    Vector point, row_slacks, row_multipliers, equality_multipliers;
    std::vector<Vector> block_slacks, block_multipliers;
  };

  /// (slopeᵀv, factor·v₁): the linear part of a block.
  static Vector image(const ConicBlock& block, const Vector& v) {
    Vector result(block.shift.size() + 1);
    result[0] = block.slope.dot(v);
    result.tail(block.shift.size()).noalias() = block.factor * v.head(block.factor.cols());
    return result;
  }
  static void add_adjoint(const ConicBlock& block, const Vector& z, double sign, Vector& v) {
    v += sign * z[0] * block.slope;
    v.head(block.factor.cols()).noalias() +=
        sign * block.factor.transpose() * z.tail(block.shift.size());
  }
  static Vector constant(const ConicBlock& block) {
    Vector result(block.shift.size() + 1);
    result << block.offset, block.shift;
    return result;
  }

  /// Of the matrix with diagonal D, row weights and block scalings, and of the equalities' Schur
  /// complement.
  bool factorise(const Vector& row_weights, const std::vector<Scaling>& scalings) {
    Matrix matrix = program_.quadratic.asDiagonal();
    for (std::size_t j = 0; j < program_.rows.size(); ++j) {
      const double weight = row_weights[static_cast<Index>(j)];
      for (const auto& [a, left] : program_.rows[j].terms) {
        for (const auto& [b, right] : program_.rows[j].terms) matrix(a, b) += weight * left * right;
      }
    }
    for (std::size_t k = 0; k < scalings.size(); ++k) {
      const double weight = 1 / (scalings[k].beta * scalings[k].beta);
      Vector flipped = scalings[k].middle;
      flipped.tail(flipped.size() - 1) *= -1;
      Vector u = Vector::Zero(size_);
      add_adjoint(program_.blocks[k], flipped, 1, u);
      matrix.noalias() += 2 * weight * u * u.transpose();
      matrix -= weight * forms_[k];
    }
    double shift = 0;
    const double largest = matrix.diagonal().cwiseAbs().maxCoeff();
    do {
      if (shift > 0) matrix.diagonal().array() += shift;
      factor_.compute(matrix);
      shift = shift > 0 ? 100 * shift : 1e-16 * largest;
    } while (factor_.info() != Eigen::Success && shift < 1e-6 * largest);
    if (factor_.info() != Eigen::Success) return false;
    const auto count = static_cast<Index>(program_.equalities.size());
    if (count == 0) return true;
    responses_ = Matrix::Zero(size_, count);
    for (Index j = 0; j < count; ++j) {
      Vector column = Vector::Zero(size_);
      add(program_.equalities[static_cast<std::size_t>(j)], 1, column);
      responses_.col(j) = factor_.solve(column);
    }
    Matrix schur(count, count);
    for (Index j = 0; j < count; ++j) {
      for (Index k = 0; k < count; ++k) {
        schur(j, k) = dot(program_.equalities[static_cast<std::size_t>(j)], responses_.col(k));
      }
    }
    // Rules that say the same twice leave it singular.
    schur.diagonal().array() += 1e-14 * schur.diagonal().maxCoeff();
    schur_.compute(schur);
    return true;
  }

  /// Solves for point and equality multipliers: matrix·x + Eᵀy = right, E·x = equal.
  void solve(const Vector& right, const Vector& equal, Step& step) const {
    step.point = factor_.solve(right);
    step.equality_multipliers = Vector::Zero(equal.size());
    if (equal.size() == 0) return;
    Vector missing = -equal;
    for (Index j = 0; j < equal.size(); ++j) {
      missing[j] += dot(program_.equalities[static_cast<std::size_t>(j)], step.point);
    }
    step.equality_multipliers = schur_.solve(missing);
    step.point -= responses_ * step.equality_multipliers;
  }

  // min ½vᵀPv + qᵀv + ½‖slack‖²: its slacks, moved inside their cones, are the first ones.
  void start() {
    const auto rows = static_cast<Index>(program_.rows.size());
    std::vector<Scaling> identity;
    Vector right = -program_.linear;
    for (Index j = 0; j < rows; ++j) add(row(j), row(j).bound, right);
    for (const ConicBlock& block : program_.blocks) {
      const Vector unit = Vector::Unit(block.shift.size() + 1, 0);
      identity.emplace_back(unit, unit);
      add_adjoint(block, constant(block), -1, right);
    }
    Vector equal(static_cast<Index>(program_.equalities.size()));
    for (Index j = 0; j < equal.size(); ++j) equal[j] = equality(j).bound;
    Step first;
    if (!factorise(Vector::Ones(rows), identity)) first.point = Vector::Zero(size_);
    solve(right, equal, first);
    at_.point = first.point;
    at_.equality_multipliers = first.equality_multipliers;
    at_.row_slacks.resize(rows);
    for (Index j = 0; j < rows; ++j) at_.row_slacks[j] = row(j).bound - dot(row(j), at_.point);
    at_.row_multipliers = -at_.row_slacks;
    double slack = rows > 0 ? at_.row_slacks.minCoeff() : 1;
    double multiplier = rows > 0 ? at_.row_multipliers.minCoeff() : 1;
    for (const ConicBlock& block : program_.blocks) {
      const Vector value = image(block, at_.point) + constant(block);
      const double length = value.tail(value.size() - 1).norm();
      slack = std::min(slack, value[0] - length);
      multiplier = std::min(multiplier, -value[0] - length);
      at_.block_slacks.push_back(value);
      at_.block_multipliers.emplace_back(-value);
    }
    const auto inside = [&](double least, Vector& linear, std::vector<Vector>& blocks) {
      if (least > 1e-6) return;
      linear.array() += 1 - least;
      for (Vector& block : blocks) block[0] += 1 - least;
    };
    inside(slack, at_.row_slacks, at_.block_slacks);
    inside(multiplier, at_.row_multipliers, at_.block_multipliers);
  }

  bool advance() {
    const auto rows = static_cast<Index>(program_.rows.size());
    const std::size_t blocks = program_.blocks.size();
    // Residuals of the optimality conditions.
    Vector dual = program_.quadratic.cwiseProduct(at_.point) + program_.linear;
    Vector row_residual(rows);
    double gap = at_.row_slacks.dot(at_.row_multipliers);
    for (Index j = 0; j < rows; ++j) {
      add(row(j), at_.row_multipliers[j], dual);
      row_residual[j] = dot(row(j), at_.point) + at_.row_slacks[j] - row(j).bound;
    }
    Vector equality_residual(at_.equality_multipliers.size());
    for (Index j = 0; j < equality_residual.size(); ++j) {
      add(equality(j), at_.equality_multipliers[j], dual);
      equality_residual[j] = dot(equality(j), at_.point) - equality(j).bound;
    }
    std::vector<Vector> block_residual;
    std::vector<Scaling> scalings;
    for (std::size_t k = 0; k < blocks; ++k) {
      const ConicBlock& block = program_.blocks[k];
      add_adjoint(block, at_.block_multipliers[k], -1, dual);
      block_residual.push_back(at_.block_slacks[k] - image(block, at_.point) - constant(block));
      scalings.emplace_back(at_.block_slacks[k], at_.block_multipliers[k]);
      gap += at_.block_slacks[k].dot(at_.block_multipliers[k]);
    }
    if (!factorise(at_.row_multipliers.cwiseQuotient(at_.row_slacks), scalings)) return false;

    // One Newton step: `aim` is what the scaled products change by, `keep` the share of the
    // residuals that stays.
    const auto newton = [&](const Vector& row_aim, const std::vector<Vector>& block_aim,
                            double keep) {
      Step step;
      Vector right = -(1 - keep) * dual;
      Vector row_part(rows);
      for (Index j = 0; j < rows; ++j) {
        // (1−η)·r + s-scaled aim, weighted by z/s.
        row_part[j] = (1 - keep) * row_residual[j] + row_aim[j] / at_.row_multipliers[j];
        add(row(j), -row_part[j] * at_.row_multipliers[j] / at_.row_slacks[j], right);
      }
      std::vector<Vector> block_part;
      for (std::size_t k = 0; k < blocks; ++k) {
        block_part.push_back((1 - keep) * block_residual[k] +
                             scalings[k].apply(quotient(block_aim[k], scalings[k].lambda)));
        const Vector weighted = scalings[k].apply_inverse(scalings[k].apply_inverse(block_part[k]));
        add_adjoint(program_.blocks[k], weighted, 1, right);
      }
      solve(right, -(1 - keep) * equality_residual, step);
      step.row_multipliers.resize(rows);
      step.row_slacks.resize(rows);
      for (Index j = 0; j < rows; ++j) {
        const double moved = dot(row(j), step.point);
        step.row_multipliers[j] =
            (moved + row_part[j]) * at_.row_multipliers[j] / at_.row_slacks[j];
        step.row_slacks[j] = -moved - (1 - keep) * row_residual[j];
      }
      for (std::size_t k = 0; k < blocks; ++k) {
        const Vector moved = image(program_.blocks[k], step.point);
        step.block_multipliers.push_back(
            scalings[k].apply_inverse(scalings[k].apply_inverse(block_part[k] - moved)));
        step.block_slacks.push_back(moved - (1 - keep) * block_residual[k]);
      }
      return step;
    };

    Vector row_aim = -at_.row_slacks.cwiseProduct(at_.row_multipliers);
    std::vector<Vector> block_aim;
    for (const Scaling& scaling : scalings)
      block_aim.emplace_back(-product(scaling.lambda, scaling.lambda));
    const Step predictor = newton(row_aim, block_aim, 0);
    const double affine = std::min(1.0, longest(predictor));
    const double sigma = std::pow(1 - affine, 3);
    const double target = sigma * gap / degree_;
    row_aim -= predictor.row_slacks.cwiseProduct(predictor.row_multipliers);
    row_aim.array() += target;
    for (std::size_t k = 0; k < blocks; ++k) {
      block_aim[k] -= product(scalings[k].apply_inverse(predictor.block_slacks[k]),
                              scalings[k].apply(predictor.block_multipliers[k]));
      block_aim[k][0] += target;
    }
    const Step step = newton(row_aim, block_aim, sigma);
    const double length = std::min(1.0, step_share * longest(step));
    if (!(length > 1e-10) || !step.point.allFinite()) return false;
    return move(step, length);
  }

  [[nodiscard]] double longest(const Step& step) const {
    double best = std::numeric_limits<double>::infinity();
    for (Index j = 0; j < at_.row_slacks.size(); ++j) {
      if (step.row_slacks[j] < 0) best = std::min(best, -at_.row_slacks[j] / step.row_slacks[j]);
      if (step.row_multipliers[j] < 0)
        best = std::min(best, -at_.row_multipliers[j] / step.row_multipliers[j]);
    }
    for (std::size_t k = 0; k < at_.block_slacks.size(); ++k) {
      best = std::min({best, reach(at_.block_slacks[k], step.block_slacks[k]),
                       reach(at_.block_multipliers[k], step.block_multipliers[k])});
    }
    return best;
  }

  /// False, and the iterate as it was, where rounding has pushed it out of a cone.
  bool move(const Step& step, double length) {
    ConicIterate next = at_;
    next.point += length * step.point;
    next.row_slacks += length * step.row_slacks;
    next.row_multipliers += length * step.row_multipliers;
    next.equality_multipliers += length * step.equality_multipliers;
    bool inside = true;
    const auto check = [&](Vector& value, const Vector& change) {
      value += length * change;
      inside = inside && value[0] > 0 && hyperbolic(value) > 0 && value.allFinite();
    };
    for (std::size_t k = 0; k < next.block_slacks.size(); ++k) {
      check(next.block_slacks[k], step.block_slacks[k]);
      check(next.block_multipliers[k], step.block_multipliers[k]);
    }
    inside = inside && (next.row_slacks.array() > 0).all() &&
             (next.row_multipliers.array() > 0).all() && next.point.allFinite();
    if (inside) at_ = std::move(next);
    return inside;
  }

  [[nodiscard]] const ConicRow& row(Index j) const {
    return program_.rows[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] const ConicRow& equality(Index j) const {
    return program_.equalities[static_cast<std::size_t>(j)];
  }

  const ConicProgram& program_;
  Index size_;
  double degree_;
  std::vector<Matrix> forms_;  // slope·slopeᵀ − factorᵀfactor
  Eigen::LLT<Matrix> factor_;
  Eigen::LDLT<Matrix> schur_;
  Matrix responses_;
  ConicIterate at_;
};

}  // namespace

ConicIterate solve_conic(const ConicProgram& program, int most_steps,
                         const std::function<bool(const ConicIterate&)>& done) {
  return InteriorPoint(program).run(most_steps, done);
}

}  // namespace ellice
