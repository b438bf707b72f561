#include "ellice/rashomon/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/model/softmax_objective.hpp"
#include "ellice/rashomon/ellipsoid.hpp"
#include "extended_pass.hpp"

namespace ellice {

namespace {

/// b − hᵀs with the rounding error of twice the working precision: each product and each sum is
/// split into its rounded value and its exact error (Ogita, Rump and Oishi, 2005).
double residual(VectorArg h, const LongVector& s, long double b) {
  auto sum = static_cast<double>(b);
  double errors = 0;
  long double tail = static_cast<long double>(sum) - b;  // of what a double does not hold
  for (Index j = 0; j < h.size(); ++j) {
    const auto leading = static_cast<double>(s(j));
    const double product = -h(j) * leading;
    errors += std::fma(-h(j), leading, -product);
    const double total = sum + product;
    const double back = total - sum;
    errors += (sum - (total - back)) + (product - back);
    sum = total;
    tail += h(j) * (s(j) - static_cast<long double>(leading));
  }
  return static_cast<double>(static_cast<long double>(sum) + errors - tail);
}

/// H⁻¹a to the last digits of double for every H that Cholesky can factor: iterative refinement
/// (Higham, Accuracy and Stability, 12.1), with residuals so exact that the condition of H does
/// not show.
LongVector refined_solve(const RashomonEllipsoid& set, const LongVector& a) {
  LongVector solution = LongVector::Zero(a.size());
  Vector remainder = a.cast<double>();
  double last_correction = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 10; ++step) {
    const Vector correction = set.factor().solve(remainder);
    const double size = correction.norm();
    if (!(size < last_correction)) break;  // as exact as it gets
    last_correction = size;
    solution += correction.cast<long double>();
    for (Index i = 0; i < remainder.size(); ++i) {
      remainder(i) = residual(set.hessian().col(i), solution, a(i));
    }
  }
  return solution;
}

/// The score aᵀθ of a last-layer set's centre and of its worst head.
struct WorstHead {
  long double logit = 0;
  long double robust = 0;
  long double scale = 0;  // of its rounding
  LongVector parameters = {};
};

ExtendedPass base_pass(const Model& model, VectorArg encoded) {
  return extended_pass(model.network, parameter_vector(model.network).cast<long double>(), encoded);
}

Vector features_and_one(const ExtendedPass& pass) {
  return with_one(pass.inputs.back().cast<double>());
}

/// `logit` and `scale` are those of the centre.
WorstHead worst_head(long double logit, long double scale, const LongVector& a,
                     const RashomonEllipsoid& set) {
  const LongVector solved = refined_solve(set, a);
  const long double norm = std::sqrt(a.dot(solved));
  const long double radius = std::sqrt(2 * static_cast<long double>(set.epsilon()));
  return {.logit = logit,
          .robust = logit - radius * norm,
          .scale = scale + radius * norm,
          .parameters = set.center().cast<long double>() - (radius / norm) * solved};
}

LongVector features_and_one_extended(const ExtendedPass& pass) {
  LongVector h_tilde(pass.inputs.back().size() + 1);
  h_tilde << pass.inputs.back(), 1.0L;
  return h_tilde;
}

WorstHead worst_head(const ExtendedPass& pass, const RashomonEllipsoid& set) {
  return worst_head(pass.logit, pass.scale, features_and_one_extended(pass), set);
}

/// The terms of the difference f_y − f_c under the heads θ of all classes.
LongVector pair_terms(const LongVector& h_tilde, const Vector& theta, Index winner, Index rival) {
  const Index p = h_tilde.size();
  const LongVector own = theta.segment(winner * p, p).cast<long double>();
  return (own - theta.segment(rival * p, p).cast<long double>()).cwiseProduct(h_tilde);
}

/// Of the difference f_y − f_c: a = (e_y − e_c) ⊗ h̃ (theory.md, Result 24).
WorstHead worst_pair(const LongVector& h_tilde, const RashomonEllipsoid& set, Index winner,
                     Index rival) {
  const Index p = h_tilde.size();
  LongVector a = LongVector::Zero(set.parameters());
  a.segment(winner * p, p) = h_tilde;
  a.segment(rival * p, p) = -h_tilde;
  const LongVector terms = pair_terms(h_tilde, set.center(), winner, rival);
  return worst_head(terms.sum(), terms.cwiseAbs().sum(), a, set);
}

/// The same over the true set (theory.md, Result 35).
WorstHead worst_pair(const LongVector& h_tilde, const TrueSoftmax& set, Index winner, Index rival) {
  const Vector center = Eigen::Map<const Vector>(set.center().data(), set.center().size());
  const LongVector terms = pair_terms(h_tilde, center, winner, rival);
  const TrueMargin worst = set.worst(h_tilde.cast<double>(), winner, rival);
  const Vector heads = Eigen::Map<const Vector>(worst.heads.data(), worst.heads.size());
  return {.logit = terms.sum(),
          .robust = worst.lower_bound,
          .scale = terms.cwiseAbs().sum() + (terms.sum() - worst.lower_bound),
          .parameters = heads.cast<long double>()};
}

/// The worst parameters of a first-order set, and what the network makes of them.
struct WorstNetwork {
  long double logit = 0;
  long double robust = 0;  // of the linearised network
  long double real = 0;
  long double scale = 0;  // of their rounding
  bool on_kink = false;
};

WorstNetwork worst_network(const Model& model, const SetChoice& choice, double epsilon,
                           VectorArg encoded) {
  const Network& network = model.network;
  const LongVector parameters = parameter_vector(network).cast<long double>();
  const ExtendedPass pass = extended_pass(network, parameters, encoded);
  const LongVector jacobian = extended_jacobian(network, parameters, pass);
  const long double damping = choice.kind == SetKind::full ? *choice.damping : 1;
  LongVector solved = jacobian / damping;  // v
  long double square = jacobian.squaredNorm() / damping;
  if (choice.kind == SetKind::full && model.curvature.full->values.size() > 0) {
    const GaussNewton& curvature = *model.curvature.full;
    const LongVector e = curvature.values.cast<long double>();
    LongVector c = LongVector::Zero(e.size());
    for (Index k = 0; k < jacobian.size(); ++k) {
      if (jacobian(k) == 0) continue;  // three quarters of them in a deep relu network
      c += jacobian(k) * curvature.vectors.row(k).transpose().cast<long double>();
    }
    LongVector weighted = c;  // q∘c
    for (Index k = 0; k < e.size(); ++k) weighted(k) *= e(k) / (damping * (e(k) + damping));
    square = std::max(square - c.dot(weighted),
                      jacobian.squaredNorm() / (damping + e.maxCoeff()));  // as in full_set.cpp
    for (Index k = 0; k < solved.size(); ++k) {
      solved(k) -= curvature.vectors.row(k).transpose().cast<long double>().dot(weighted);
    }
  }
  const long double spread = std::sqrt(square);
  const long double radius = std::sqrt(2 * static_cast<long double>(epsilon));
  const ExtendedPass worst =
      extended_pass(network, parameters - (radius / spread) * solved, encoded);
  return {.logit = pass.logit,
          .robust = pass.logit - radius * spread,
          .real = worst.logit,
          .scale = std::max(pass.scale, worst.scale) + radius * spread,
          .on_kink = pass.on_kink};
}

}  // namespace

Certifier::Certifier(const Model& model, double epsilon, double threshold)
    : Certifier(model, SetChoice{}, epsilon, threshold) {}

Certifier::Certifier(const Model& model, const SetChoice& choice, double epsilon, double threshold)
    : model_(&model), epsilon_(epsilon), threshold_(threshold) {
  require(std::isfinite(threshold), "threshold = {} must be finite", threshold);
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  validate(choice, model);
  choice_ = with_stated_damping(choice, model);
  claim_ = claim_text(model, choice_, epsilon, threshold);
  if (is_first_order(choice.kind)) return;
  if (choice.kind == SetKind::true_set) {
    const StoredRows& rows = training_rows(choice, model);
    if (choice.contest) {
      true_classes_ = true_softmax(model, rows, epsilon);
    } else {
      true_set_ = true_set(model, rows, epsilon);
    }
    return;
  }
  std::vector<const Model*> models = {&model};
  models.insert(models.end(), choice.members.begin(), choice.members.end());
  for (const Model* one : models) {
    Matrix hessian = with_gauge(damped_hessian(*one, choice.damping), one->network.outputs());
    heads_.push_back(
        {.model = one, .set = RashomonEllipsoid(one->network.head(), std::move(hessian), epsilon)});
  }
}

std::optional<Certificate> Certifier::certify(const RawRow& point, const TrueWorst* nearby) const {
  if (true_set_) return certify_true(point, nearby);
  if (choice_.contest) return certify_contest(point);
  return heads_.empty() ? certify_first_order(point) : certify_heads(point);
}

bool Certifier::reaches(long double logit, long double scale) const {
  const long double threshold = threshold_;
  return logit >= threshold + 1e-12L * (scale + std::abs(threshold));
}

std::optional<Certificate> Certifier::certify_heads(const RawRow& point) const {
  Certificate result{.model_sha256 = model_->sha256,
                     .set = choice_.kind,
                     .epsilon = epsilon_,
                     .threshold = threshold_,
                     .point = point,
                     .encoded = model_->encoder.encode(point),
                     .damping = choice_.damping,
                     .claim = claim_};
  for (const Head& head : heads_) {
    const ExtendedPass pass = base_pass(*head.model, head.model->encoder.encode(point));
    if (pass.logit < threshold_) return std::nullopt;  // the worst model is no better
    const WorstHead worst = worst_head(pass, head.set);
    if (!reaches(worst.robust, worst.scale)) return std::nullopt;
    const auto logit = static_cast<double>(pass.logit);
    const auto robust = static_cast<double>(worst.robust);
    const Vector parameters = worst.parameters.cast<double>();
    if (&head == &heads_.front()) {
      result.logit = logit;
      result.robust_logit = robust;
      result.worst_model = parameters;
    } else {
      result.members.push_back({.model_sha256 = head.model->sha256,
                                .logit = logit,
                                .robust_logit = robust,
                                .worst_model = parameters});
    }
  }
  return result;
}

std::optional<Certificate> Certifier::certify_contest(const RawRow& point) const {
  const Contest& contest = *choice_.contest;
  const auto name_of = [&](Index k) {
    return model_->decision.classes[static_cast<std::size_t>(k)];
  };
  Certificate result{.model_sha256 = model_->sha256,
                     .set = choice_.kind,
                     .epsilon = epsilon_,
                     .threshold = threshold_,
                     .point = point,
                     .encoded = model_->encoder.encode(point),
                     .logit = std::numeric_limits<double>::infinity(),
                     .robust_logit = std::numeric_limits<double>::infinity(),
                     .target = name_of(contest.winner),
                     .damping = choice_.damping,
                     .claim = claim_};
  const std::vector<Index> acceptable = acceptable_classes(*model_, contest);
  if (acceptable.size() > 1) {
    for (const Index k : acceptable) result.acceptable.push_back(name_of(k));
  }
  const LongVector h_tilde = features_and_one_extended(base_pass(*model_, result.encoded));
  for (const Index rival : contest.rivals) {
    const WorstHead worst = true_classes_
                                ? worst_pair(h_tilde, *true_classes_, contest.winner, rival)
                                : worst_pair(h_tilde, heads_.front().set, contest.winner, rival);
    if (!reaches(worst.robust, worst.scale)) return std::nullopt;
    result.rivals.push_back({.name = name_of(rival),
                             .logit = static_cast<double>(worst.logit),
                             .robust_logit = static_cast<double>(worst.robust),
                             .worst_model = worst.parameters.cast<double>()});
    result.logit = std::min(result.logit, result.rivals.back().logit);
    result.robust_logit = std::min(result.robust_logit, result.rivals.back().robust_logit);
  }
  return result;
}

std::optional<Certificate> Certifier::certify_first_order(const RawRow& point) const {
  const Vector encoded = model_->encoder.encode(point);
  const WorstNetwork worst = worst_network(*model_, choice_, epsilon_, encoded);
  if (worst.on_kink || !reaches(worst.robust, worst.scale) || !reaches(worst.real, worst.scale)) {
    return std::nullopt;
  }
  return Certificate{.model_sha256 = model_->sha256,
                     .set = choice_.kind,
                     .epsilon = epsilon_,
                     .threshold = threshold_,
                     .point = point,
                     .encoded = encoded,
                     .logit = static_cast<double>(worst.logit),
                     .robust_logit = static_cast<double>(worst.robust),
                     .damping = choice_.damping,
                     .real_logit = static_cast<double>(worst.real),
                     .claim = claim_};
}

std::optional<Certificate> Certifier::certify_true(const RawRow& point,
                                                   const TrueWorst* nearby) const {
  const Vector encoded = model_->encoder.encode(point);
  const ExtendedPass pass = base_pass(*model_, encoded);
  if (pass.logit < threshold_) return std::nullopt;  // the worst model is no better
  const TrueWorst worst = true_set_->worst(features_and_one(pass), nearby);
  if (!reaches(worst.lower_bound, pass.scale + (pass.logit - worst.lower_bound)))
    return std::nullopt;
  return Certificate{.model_sha256 = model_->sha256,
                     .set = choice_.kind,
                     .epsilon = epsilon_,
                     .threshold = threshold_,
                     .point = point,
                     .encoded = encoded,
                     .logit = static_cast<double>(pass.logit),
                     .robust_logit = worst.lower_bound,
                     .worst_model = worst.model,
                     .claim = claim_};
}

Evaluation Certifier::evaluate(const RawRow& point) const {
  if (true_set_) {
    const ExtendedPass pass = base_pass(*model_, model_->encoder.encode(point));
    return {.logit = static_cast<double>(pass.logit),
            .robust_logit = true_set_->worst(features_and_one(pass)).lower_bound};
  }
  if (heads_.empty() && !choice_.contest) {
    const WorstNetwork worst =
        worst_network(*model_, choice_, epsilon_, model_->encoder.encode(point));
    return {.logit = static_cast<double>(worst.logit),
            .robust_logit = static_cast<double>(worst.robust),
            .real_logit = static_cast<double>(worst.real)};
  }
  Evaluation result{.robust_logit = std::numeric_limits<double>::infinity()};
  if (choice_.contest) {
    const ExtendedPass pass = base_pass(*model_, model_->encoder.encode(point));
    const LongVector h_tilde = features_and_one_extended(pass);
    result.logit = std::numeric_limits<double>::infinity();
    const Index winner = choice_.contest->winner;
    for (const Index rival : choice_.contest->rivals) {
      const WorstHead worst = true_classes_
                                  ? worst_pair(h_tilde, *true_classes_, winner, rival)
                                  : worst_pair(h_tilde, heads_.front().set, winner, rival);
      result.logit = std::min(result.logit, static_cast<double>(worst.logit));
      result.robust_logit = std::min(result.robust_logit, static_cast<double>(worst.robust));
    }
    return result;
  }
  for (const Head& head : heads_) {
    const ExtendedPass pass = base_pass(*head.model, head.model->encoder.encode(point));
    const WorstHead worst = worst_head(pass, head.set);
    if (&head == &heads_.front()) result.logit = static_cast<double>(pass.logit);
    result.robust_logit = std::min(result.robust_logit, static_cast<double>(worst.robust));
  }
  return result;
}

}  // namespace ellice
