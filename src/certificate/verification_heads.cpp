#include <algorithm>
#include <limits>
#include <optional>

#include "certificate/plain_network.hpp"
#include "certificate/verification_check.hpp"
#include "sets/contest.hpp"

namespace ellice::verification {

namespace {

/// What a number that rests on a solve with H may have lost. Both sides refine their solves
/// (Result 50), and what is left of a difference comes from the row, whose features have 64 bits:
/// that grows with the condition of H.
long double solve_rounding(const EliminatedHessian& eliminated) {
  const LongMatrix& hessian = eliminated.hessian();
  LongMatrix inverse(hessian.rows(), hessian.cols());
  for (Index j = 0; j < inverse.cols(); ++j)
    inverse.col(j) = eliminated.solve(LongVector::Unit(inverse.rows(), j));
  // Beyond this the numbers say nothing any more.
  constexpr long double most = 1e-5L;
  constexpr long double unit_roundoff_of_rows = 0x1p-64L;
  const auto size = static_cast<long double>(inverse.rows());
  return std::min(size * unit_roundoff_of_rows * hessian.norm() * inverse.norm(), most);
}

/// Everything that a certificate says of the last-layer set of one model and the score aᵀθ: a = h̃
/// for one logit, and the difference of two classes' scores where there are many.
Recomputed check_head(const LongVector& theta, const LongVector& a,
                      const EliminatedHessian& eliminated, const Stated& stated,
                      const Vector& worst_model, std::vector<std::string>& failures) {
  Check check(stated, failures);
  const LongVector solved = eliminated.solve(a);
  const long double norm = std::sqrt(a.dot(solved));
  const long double radius = std::sqrt(2 * static_cast<long double>(stated.epsilon));
  const long double logit = theta.dot(a);
  const long double robust = logit - radius * norm;
  const LongVector worst = theta - (radius / norm) * solved;

  const long double scale = theta.cwiseProduct(a).cwiseAbs().sum();
  check.number("logit", stated.logit, logit, scale);
  // Computed only where it counts.
  std::optional<long double> rounding;
  const auto lost = [&] {
    if (!rounding) rounding = solve_rounding(eliminated);
    return *rounding;
  };
  const long double terms = scale + radius * norm;
  // A difference of larger numbers, of which certified rows keep 1e-12 from the threshold.
  if (!agree(stated.robust_logit, robust, 1e-4L * terms))
    check.close("robust_logit", stated.robust_logit, robust, std::max(lost(), 1e-12L) * terms);
  const long double worst_scale = worst.cwiseAbs().maxCoeff();
  for (Index i = 0; i < worst.size(); ++i) {
    if (agree(worst_model(i), worst(i), 1e-6L * worst_scale)) continue;
    if (std::abs(worst_model(i) - worst(i)) <= lost() * worst_scale) continue;
    check.number(fmt::format("worst_model[{}]", i), worst_model(i), worst(i), worst_scale);
    break;  // one is enough to reject
  }

  // Optimality conditions of the worst model as stored: on the ellipsoid's boundary, and H(θ−θ̂) a
  // negative multiple of a. By convexity no model of the set then scores lower. Its entries were
  // rounded when they were written, which for a small ε is more than 1e-9 of the step; entries of a
  // person whose numbers are denormal, and of a itself, have an absolute error.
  const LongMatrix& hessian = eliminated.hessian();
  const LongVector step = worst_model.cast<long double>() - theta;
  const LongVector image = hessian * step;
  const LongVector expected = (-radius / norm) * a;
  const LongVector allowed =
      tolerance * (eliminated.sizes() * step.cwiseAbs()) +
      2 * unit_roundoff * (eliminated.sizes() * worst_model.cast<long double>().cwiseAbs()) +
      static_cast<long double>(std::numeric_limits<double>::denorm_min()) *
          (eliminated.row_sizes().array() + radius / norm).matrix() +
      LongVector::Constant(step.size(), eliminated.lost() * step.lpNorm<1>());
  const auto violates = [&](long double factor) {
    return ((image - expected).cwiseAbs().array() > factor * allowed.array()).any();
  };
  if (violates(1) && violates(std::max(1.0L, lost() / tolerance))) {
    check.fail("worst_model does not satisfy the optimality conditions");
  }
  check.threshold("the worst model's", robust);
  check.threshold("the stated worst", stated.robust_logit);
  return {.logit = static_cast<double>(logit), .robust_logit = static_cast<double>(robust)};
}

}  // namespace

EliminatedHessian hessian_of(const Model& model, const std::optional<double>& damping) {
  LongMatrix result = model.curvature.hessian.cast<long double>();
  const Index outputs = model.network.layers.back().weights.rows();
  const Index p = result.rows() / outputs;  // parameters of each
  // A curvature that sees no differences of all classes together (Result 37) keeps that but for
  // what the training's penalty cut off its diagonal.
  const long double lost =
      damping && outputs > 1 ? unit_roundoff * result.diagonal().maxCoeff() : 0;
  for (Index i = 0; damping && i < result.rows(); ++i) {
    if (i % p == p - 1 && !model.training.penalize_bias) continue;
    const Vector& factors = model.training.penalty_factors;
    const double factor = factors.size() > 0 && i % p < p - 1 ? factors(i % p) : 1;
    // The entry that the set is defined by is a double.
    result(i, i) = model.curvature.hessian(i, i) + (*damping - model.training.l2) * factor;
  }
  if (outputs == 1) return EliminatedHessian(std::move(result));
  LongMatrix rest = add_gauge(result, p);
  return EliminatedHessian(std::move(result), std::move(rest), lost);
}

LongMatrix add_gauge(LongMatrix& hessian, Index p) {
  const auto outputs = static_cast<long double>(hessian.rows() / p);
  LongMatrix rest = LongMatrix::Zero(hessian.rows(), hessian.rows());
  for (Index j = 0; j < p; ++j) {
    long double sum = 0;
    for (Index i = j; i < hessian.rows(); i += p) sum += hessian(i, i);
    // Of the size of what it is added to, so that no digits of that are lost.
    const long double added = (sum > 0 ? sum / outputs : 1) / outputs;
    for (Index i = j; i < hessian.rows(); i += p) {
      for (Index k = j; k < hessian.rows(); k += p) {
        const long double entry = hessian(i, k);
        hessian(i, k) += added;
        const long double taken = hessian(i, k) - entry;
        rest(i, k) = (entry - (hessian(i, k) - taken)) + (added - taken);
      }
    }
  }
  return rest;
}

LongVector head_of(const Model& model) {
  const Layer& head = model.network.layers.back();
  const Index p = head.weights.cols() + 1;
  LongVector theta(head.weights.rows() * p);
  for (Index k = 0; k < head.weights.rows(); ++k) {
    for (Index i = 0; i + 1 < p; ++i) theta(k * p + i) = head.weights(k, i);
    theta(k * p + p - 1) = head.bias(k);
  }
  return theta;
}

LongVector features_of(const Model& model, VectorArg z) {
  if (model.network.layers.size() == 1) {  // the row is what its head reads
    LongVector row(z.size() + 1);
    row << z.cast<long double>(), 1.0L;
    return row;
  }
  const std::vector<long double> features = PlainNetwork(model.network).features_and_one(z);
  return Eigen::Map<const LongVector>(features.data(), static_cast<Index>(features.size()));
}

Recomputed check_head(const Model& model, const EliminatedHessian& eliminated, VectorArg z,
                      const Stated& stated, const Vector& worst_model,
                      std::vector<std::string>& failures) {
  return check_head(head_of(model), features_of(model, z), eliminated, stated, worst_model,
                    failures);
}

Contest contest_of(const Model& model, const Certificate& certificate) {
  std::vector<Index> acceptable;
  for (const std::string& name : certificate.acceptable) {
    acceptable.push_back(find_class(model, name));
  }
  return make_contest(model, find_class(model, certificate.target), acceptable);
}

RivalCheck ellipsoid_rival_check(const EliminatedHessian& eliminated,
                                 std::vector<std::string>& failures) {
  return [&](const RivalPart& part) {
    return check_head(part.theta, part.a, eliminated, part.stated, part.worst_model, failures);
  };
}

Recomputed check_contest(const Model& model, const Contest& contest, const RivalCheck& check_rival,
                         VectorArg z, const Certificate& certificate, const Stated& stated,
                         std::vector<std::string>& failures) {
  Check check(stated, failures);
  const std::vector<std::string>& classes = model.decision.classes;
  const LongVector theta = head_of(model);
  const LongVector h_tilde = features_of(model, z);
  const Index p = h_tilde.size();
  std::vector<std::string> expected;
  for (const Index rival : contest.rivals) {
    expected.push_back(classes[static_cast<std::size_t>(rival)]);
  }
  std::vector<std::string> stated_names;
  for (const RivalCertificate& rival : certificate.rivals) stated_names.push_back(rival.name);
  if (stated_names != expected) {
    check.fail(fmt::format("rivals are {}, expected {}: all classes that are not acceptable",
                           fmt::join(stated_names, ", "), fmt::join(expected, ", ")));
    return {};
  }
  const std::vector<Index> acceptable = acceptable_classes(model, contest);
  std::vector<std::string> acceptable_names;
  for (const Index k : acceptable) acceptable_names.push_back(classes[static_cast<std::size_t>(k)]);
  const bool states_them = acceptable.size() > 1 ? certificate.acceptable == acceptable_names
                                                 : certificate.acceptable.empty();
  if (!states_them) check.fail("acceptable does not hold the target and the others in their order");

  Recomputed smallest{.logit = std::numeric_limits<double>::infinity(),
                      .robust_logit = std::numeric_limits<double>::infinity()};
  double stated_logit = smallest.logit;
  double stated_robust = smallest.robust_logit;
  for (std::size_t k = 0; k < contest.rivals.size(); ++k) {
    const RivalCertificate& rival = certificate.rivals[k];
    Stated own = stated;
    own.prefix = fmt::format("rivals[{}].", k);
    own.logit = rival.logit;
    own.robust_logit = rival.robust_logit;
    LongVector a = LongVector::Zero(theta.size());
    a.segment(contest.winner * p, p) += h_tilde;
    a.segment(contest.rivals[k] * p, p) -= h_tilde;
    const Recomputed one = check_rival({.theta = theta,
                                        .a = a,
                                        .rival = contest.rivals[k],
                                        .stated = own,
                                        .worst_model = rival.worst_model});
    smallest.logit = std::min(smallest.logit, one.logit);
    smallest.robust_logit = std::min(smallest.robust_logit, one.robust_logit);
    stated_logit = std::min(stated_logit, rival.logit);
    stated_robust = std::min(stated_robust, rival.robust_logit);
  }
  if (stated.logit != stated_logit || stated.robust_logit != stated_robust) {
    check.fail("logit and robust_logit are not the smallest of the rivals'");
  }
  return smallest;
}

}  // namespace ellice::verification
