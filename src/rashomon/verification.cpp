#include "ellice/rashomon/verification.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr long double tolerance = 1e-9L;
/// Half the distance of neighbouring doubles: what writing a number may change of it, relatively.
constexpr long double unit_roundoff = 0x1p-53L;

// 113 bits for residuals. Where the compiler has no such type, long double is one.
#ifdef __SIZEOF_FLOAT128__
__extension__ using Quadruple = __float128;
#else
using Quadruple = long double;
#endif

/// Agreement of a stored number with the recomputed one, relative to its own size; `floor` is the
/// size below which a number is the rounding of larger ones.
bool agree(long double stored, long double recomputed, long double floor) {
  const long double size = std::max({std::abs(stored), std::abs(recomputed), floor});
  return std::abs(stored - recomputed) <= tolerance * size;
}

}  // namespace

Verifier::Verifier(const Model& model)
    : model_(&model),
      theta_(model.network.layers.back().weights.cols() + 1),
      hessian_(model.curvature.hessian.cast<long double>()),
      lu_(hessian_) {
  const Layer& head = model.network.layers.back();
  for (Index i = 0; i < head.weights.cols(); ++i) theta_(i) = head.weights(0, i);
  theta_(head.weights.cols()) = head.bias(0);

  const Index p = lu_.rows();
  row_order_.resize(static_cast<std::size_t>(p));
  std::iota(row_order_.begin(), row_order_.end(), Index{0});
  column_order_ = row_order_;
  for (Index k = 0; k < p; ++k) {
    Index pivot_row = k;
    Index pivot_column = k;
    for (Index i = k; i < p; ++i) {
      for (Index j = k; j < p; ++j) {
        if (std::abs(lu_(i, j)) > std::abs(lu_(pivot_row, pivot_column))) {
          pivot_row = i;
          pivot_column = j;
        }
      }
    }
    require_input(lu_(pivot_row, pivot_column) != 0, "curvature.hessian is singular");
    lu_.row(k).swap(lu_.row(pivot_row));
    lu_.col(k).swap(lu_.col(pivot_column));
    std::swap(row_order_[static_cast<std::size_t>(k)],
              row_order_[static_cast<std::size_t>(pivot_row)]);
    std::swap(column_order_[static_cast<std::size_t>(k)],
              column_order_[static_cast<std::size_t>(pivot_column)]);
    for (Index i = k + 1; i < p; ++i) {
      lu_(i, k) /= lu_(k, k);
      for (Index j = k + 1; j < p; ++j) lu_(i, j) -= lu_(i, k) * lu_(k, j);
    }
  }
}

Verifier::LongVector Verifier::eliminate(const LongVector& b) const {
  const Index p = b.size();
  LongVector y(p);
  for (Index i = 0; i < p; ++i) {
    y(i) = b(row_order_[static_cast<std::size_t>(i)]);
    for (Index j = 0; j < i; ++j) y(i) -= lu_(i, j) * y(j);
  }
  for (Index i = p - 1; i >= 0; --i) {
    for (Index j = i + 1; j < p; ++j) y(i) -= lu_(i, j) * y(j);
    y(i) /= lu_(i, i);
  }
  LongVector x(p);
  for (Index i = 0; i < p; ++i) x(column_order_[static_cast<std::size_t>(i)]) = y(i);
  return x;
}

Verifier::LongVector Verifier::solve(const LongVector& b) const {
  LongVector x = eliminate(b);
  // Elimination alone loses as many of its 19 digits as the condition number has; each step gains
  // back those that are left.
  for (int step = 0; step < 4; ++step) {
    LongVector residual(b.size());
    for (Index i = 0; i < b.size(); ++i) {
      Quadruple sum = b(i);
      for (Index j = 0; j < b.size(); ++j) {
        sum -= static_cast<Quadruple>(hessian_(i, j)) * static_cast<Quadruple>(x(j));
      }
      residual(i) = static_cast<long double>(sum);
    }
    const LongVector correction = eliminate(residual);
    x += correction;
    if (correction.norm() <= 1e-16L * x.norm()) break;
  }
  return x;
}

Vector Verifier::encode(const RawRow& point) const {
  const Schema& schema = model_->schema();
  std::vector<double> raw;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    if (feature.is_number()) {
      raw.push_back(std::get<double>(point[j]));
      continue;
    }
    const auto& level = std::get<std::string>(point[j]);
    const auto found = std::find(feature.levels.begin(), feature.levels.end(), level);
    require(found != feature.levels.end(), "feature \"{}\": \"{}\" is not one of its levels",
            feature.name, level);
    const auto index = static_cast<std::size_t>(found - feature.levels.begin());
    if (feature.kind == FeatureKind::categorical) {
      for (std::size_t k = 0; k < feature.levels.size(); ++k) raw.push_back(k == index ? 1 : 0);
    } else {
      raw.push_back(static_cast<double>(index));
    }
  }
  const Eigen::Map<const Vector> values(raw.data(), static_cast<Index>(raw.size()));
  return (values - model_->encoder.mean()).cwiseQuotient(model_->encoder.scale());
}

Verification Verifier::verify(const Certificate& certificate) const {
  const Index columns = model_->encoder.columns();
  require(certificate.model_sha256 == model_->sha256 &&
              certificate.point.size() == model_->schema().features.size() &&
              certificate.encoded.size() == columns &&
              certificate.worst_model.size() == columns + 1,
          "the certificate is for another model: model_sha256 is \"{}\", the model's is \"{}\"",
          certificate.model_sha256, model_->sha256);
  Verification result;
  // One subtraction and one division in double precision, so that there is nothing to differ in.
  const Vector z = encode(certificate.point);
  for (Index i = 0; i < z.size(); ++i) {
    if (std::abs(certificate.encoded(i) - z(i)) <= 1e-15 * std::abs(z(i))) continue;
    result.failures.push_back(
        fmt::format("encoded[{}] is {}, but the point gives {}", i, certificate.encoded(i), z(i)));
    break;
  }

  LongVector x_tilde(z.size() + 1);
  x_tilde << z.cast<long double>(), 1.0L;
  const LongVector solved = solve(x_tilde);
  const long double norm = std::sqrt(x_tilde.dot(solved));
  const long double radius = std::sqrt(2 * static_cast<long double>(certificate.epsilon));
  const long double logit = theta_.dot(x_tilde);
  const long double robust = logit - radius * norm;
  const LongVector worst = theta_ - (radius / norm) * solved;
  result.logit = static_cast<double>(logit);
  result.robust_logit = static_cast<double>(robust);

  const long double floor = 1e-6L * theta_.cwiseProduct(x_tilde).cwiseAbs().sum();
  if (!agree(certificate.logit, logit, floor)) {
    result.failures.push_back(
        fmt::format("logit is {}, recomputed {}", certificate.logit, result.logit));
  }
  if (!agree(certificate.robust_logit, robust, floor)) {
    result.failures.push_back(fmt::format("robust_logit is {}, recomputed {}",
                                          certificate.robust_logit, result.robust_logit));
  }
  const long double worst_floor = 1e-6L * worst.cwiseAbs().maxCoeff();
  for (Index i = 0; i < worst.size(); ++i) {
    if (agree(certificate.worst_model(i), worst(i), worst_floor)) continue;
    result.failures.push_back(fmt::format("worst_model[{}] is {}, recomputed {}", i,
                                          certificate.worst_model(i),
                                          static_cast<double>(worst(i))));
    break;  // one is enough to reject
  }

  // Optimality conditions of the worst model as stored: on the ellipsoid's boundary, and H(θ−θ̂) a
  // negative multiple of x̃. By convexity no model of the set then scores lower. Its entries were
  // rounded when they were written, which for a small ε is more than 1e-9 of the step.
  const LongVector step = certificate.worst_model.cast<long double>() - theta_;
  const LongVector image = hessian_ * step;
  const LongVector expected = (-radius / norm) * x_tilde;
  const LongVector allowed =
      tolerance * (hessian_.cwiseAbs() * step.cwiseAbs()) +
      2 * unit_roundoff *
          (hessian_.cwiseAbs() * certificate.worst_model.cast<long double>().cwiseAbs());
  if (((image - expected).cwiseAbs().array() > allowed.array()).any()) {
    result.failures.emplace_back("worst_model does not satisfy the optimality conditions");
  }
  if (!(robust >= static_cast<long double>(certificate.threshold))) {
    result.failures.push_back(fmt::format("the worst model's logit {} is below the threshold {}",
                                          result.robust_logit, certificate.threshold));
  }
  if (certificate.claim !=
      claim_text(*model_, certificate.set, certificate.epsilon, certificate.threshold)) {
    result.failures.emplace_back("the claim is not the sentence that belongs to these numbers");
  }
  return result;
}

}  // namespace ellice
