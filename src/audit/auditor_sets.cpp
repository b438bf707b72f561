// The set of models that was asked for, in the verifier's arithmetic.

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_rounding.hpp"
#include "audit/auditor.hpp"
#include "certificate/verification_check.hpp"
#include "ellice/core/json.hpp"
#include "ellice/sets/set_choice.hpp"
#include "sets/contest.hpp"

namespace ellice {

namespace {

// Of a penalty or a radius over the true set: where the two bounds of a search are this near it
// goes no farther.
constexpr double near_enough = 1e-6;

}  // namespace

const std::vector<audit::Cone>& Auditor::cones(const AnswerAudit& result) const {
  const SetChoice set = set_of(result);
  const Index winner = set.contest ? set.contest->winner : 0;
  const std::lock_guard lock(*making_);
  const auto found = cones_.find(winner);
  if (found != cones_.end()) return found->second;
  const std::vector<audit::Cone>& made =
      cones_.emplace(winner, audit::cones_of(*model_, set)).first->second;
  for (const audit::Cone& cone : made) cone.prepare();
  return made;
}

std::vector<audit::LongVector> Auditor::scores(const Vector& z, const AnswerAudit& result) const {
  const audit::LongVector features = verification::features_of(*model_, z);
  const SetChoice set = set_of(result);
  if (!set.contest) return {features};
  std::vector<audit::LongVector> parts;
  for (const audit::LongMatrix& lift : audit::lifts_of(*model_, *set.contest))
    parts.emplace_back(lift * features);
  return parts;
}

Evaluation Auditor::evaluate(const Row& row, const AnswerAudit& result) const {
  if (true_models_) return evaluate_true(row, result);
  // A certificate whose numbers are to be found: the verifier recomputes them whatever is stated.
  const SetChoice set = with_stated_damping(set_of(result), *model_);
  const Index head = model_->network.head().size();
  Certificate blank{.model_sha256 = model_->sha256,
                    .set = set.kind,
                    .epsilon = result.epsilon,
                    .threshold = result.threshold,
                    .point = row.values,
                    .encoded = row.z,
                    .damping = set.damping};
  const auto name = [&](Index k) { return model_->decision.classes[static_cast<std::size_t>(k)]; };
  if (set.contest) {
    blank.target = name(set.contest->winner);
    const std::vector<Index> acceptable = acceptable_classes(*model_, *set.contest);
    for (const Index k : acceptable) {
      if (acceptable.size() > 1) blank.acceptable.push_back(name(k));
    }
    for (const Index k : set.contest->rivals)
      blank.rivals.push_back({.name = name(k), .worst_model = Vector::Zero(head)});
  } else if (!is_first_order(set.kind)) {
    blank.worst_model = Vector::Zero(head);
  }
  for (const Model* member : set.members) {
    blank.members.push_back({.model_sha256 = member->sha256,
                             .worst_model = Vector::Zero(member->network.head().size())});
  }
  const Verification found = verifier_.verify(blank);
  return {.logit = found.logit, .robust_logit = found.robust_logit};
}

Evaluation Auditor::evaluate_true(const Row& row, const AnswerAudit& result) const {
  Evaluation found{.logit = std::numeric_limits<double>::infinity(),
                   .robust_logit = std::numeric_limits<double>::infinity()};
  for (const audit::LongVector& c : scores(row.z, result)) {
    const auto logit = static_cast<double>(true_models_->center().dot(c));
    const auto robust = static_cast<double>(true_models_->worst(c, result.epsilon).proved);
    found.logit = std::min(found.logit, logit);
    found.robust_logit = std::min(found.robust_logit, robust);
  }
  return found;
}

double Auditor::attained_by_true(const Row& row, const AnswerAudit& result) const {
  double least = std::numeric_limits<double>::infinity();
  for (const audit::LongVector& c : scores(row.z, result)) {
    const audit::LongVector model = true_models_->worst(c, result.epsilon).model;
    least = std::min(least, static_cast<double>(model.dot(c)));
  }
  return least;
}

bool Auditor::is_bound_of_true(double stated, const Row& row, const Evaluation& found,
                               const AnswerAudit& result) const {
  const double lost = lost_by_true(found, result);
  const double slack = near_enough * (found.logit - found.robust_logit) + lost;
  return stated >= found.robust_logit - slack && stated <= attained_by_true(row, result) + lost;
}

double Auditor::lost_by_true(const Evaluation& found, const AnswerAudit& result) const {
  const long double rounding = true_models_->objective().rounding(true_models_->center());
  return static_cast<double>(2 * rounding) * (found.logit - found.robust_logit) / result.epsilon;
}

bool Auditor::is_robust(const RawRow& row, const Vector& z, const Certificate& known,
                        const AnswerAudit& result) const {
  // Certified rows keep this share of the terms from the threshold.
  constexpr long double margin = 1e-12L;
  const std::vector<audit::LongVector> parts = scores(z, result);
  const audit::LongVector head = verification::head_of(*model_);
  const auto needed = [&](long double size, long double penalty) {
    const long double threshold = result.threshold;
    return threshold + margin * (size + penalty + std::abs(threshold));
  };
  // Models of the set that are worst at the row refuse most others, without a search.
  for (std::size_t k = 0; k < known.rivals.size() && k < parts.size(); ++k) {
    if (known.rivals[k].worst_model.cast<long double>().dot(parts[k]) < result.threshold)
      return false;
  }
  if (known.rivals.empty() &&
      known.worst_model.cast<long double>().dot(parts.front()) < result.threshold) {
    return false;
  }
  if (true_models_) {
    return std::all_of(parts.begin(), parts.end(), [&](const audit::LongVector& c) {
      const long double bound = true_models_->worst(c, result.epsilon).proved;
      const long double size = head.cwiseProduct(c).cwiseAbs().sum();
      return bound >= needed(size, head.dot(c) - bound);
    });
  }
  const audit::LongVector x = verification::features_of(*model_, z);
  const std::vector<audit::Cone>& all = cones(result);
  const bool is_clear = std::all_of(all.begin(), all.end(), [&](const audit::Cone& cone) {
    const audit::Cone::Score score = cone.score(x);
    const double robust = score.robust(result.epsilon);
    const long double size = cone.center().cwiseProduct(x).cwiseAbs().sum();
    return robust >= needed(size, score.logit - robust);
  });
  return is_clear && evaluate({.values = row, .z = z}, result).robust_logit >= result.threshold;
}

const audit::LongVector& Auditor::image(const Row& row, std::size_t number, const audit::Cone& cone,
                                        const audit::LongVector& x_tilde) {
  if (row.solved.size() <= number) row.solved.resize(number + 1);
  Row::Solved& known = row.solved[number];
  if (known.x_tilde.size() != x_tilde.size() || known.x_tilde != x_tilde)
    known = {.x_tilde = x_tilde, .image = cone.solve(x_tilde)};
  return known.image;
}

double Auditor::ellipsoid_radius(const Row& row, const AnswerAudit& result) const {
  const std::vector<audit::Cone>& all = cones(result);
  const audit::LongVector features = verification::features_of(*model_, row.z);
  if (is_exact_ || asked_.set.members.empty()) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < all.size(); ++k) {
      least = std::min(least,
                       all[k].radius(features, image(row, k, all[k], features), asked_.threshold));
    }
    return least;
  }
  // Networks of an ensemble see the row each by its own hidden layers.
  double least = all.front().radius(features, asked_.threshold);
  for (std::size_t k = 0; k < asked_.set.members.size(); ++k) {
    const Model& member = *asked_.set.members[k];
    const Vector z = member.encoder.encode(row.values);
    least =
        std::min(least, all[k + 1].radius(verification::features_of(member, z), asked_.threshold));
  }
  return least;
}

double Auditor::lost_by_features(const Row& row, double radius, const AnswerAudit& result) const {
  const audit::LongVector none = audit::LongVector::Zero(row.z.size());
  const audit::LongVector lost = audit::feature_rounding(model_->network, row.z, none);
  double most = 0;
  for (const audit::LongVector& c : scores(row.z, result)) {
    const long double margin = true_models_->center().dot(c) - asked_.threshold;
    const audit::LongVector model = true_models_->worst(c, result.epsilon).model;
    const audit::LongVector sizes = model.cwiseAbs().cwiseMax(true_models_->center().cwiseAbs());
    long double of_score = 0;  // of all classes, where there are many
    for (Index i = 0; i < sizes.size(); ++i) of_score += sizes(i) * lost(i % lost.size());
    if (margin > 0) most = std::max(most, static_cast<double>(2 * radius * of_score / margin));
  }
  return most;
}

Auditor::Radius Auditor::radius_in_doubles(const Row& row, const AnswerAudit& result) const {
  if (true_models_) {
    // A difference of two objectives, each of which loses as much.
    const auto lost =
        static_cast<double>(2 * true_models_->objective().rounding(true_models_->center()));
    const Radius own = radius_of(row, result);
    const double of_features = lost_by_features(row, own.most, result);
    return {.least = own.least - lost - of_features, .most = own.most + lost + of_features};
  }
  const std::vector<audit::Cone>& all = cones(result);
  const std::vector<const Model*>& members = asked_.set.members;
  const bool is_linear = is_exact_ || members.empty();
  Radius radius;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Model& seen = k > 0 && !members.empty() ? *members[k - 1] : *model_;
    const Vector z = is_linear ? row.z : seen.encoder.encode(row.values);
    const audit::LongVector z_lost = audit::move_rounding(model_->encoder, seen.encoder, row.z);
    audit::LongVector lost =
        audit::feature_rounding(seen.network, seen.encoder.encode(row.values),
                                &seen == model_ ? audit::LongVector::Zero(z.size()) : z_lost);
    if (all[k].lift().rows() != lost.size()) lost = all[k].lift().cwiseAbs() * lost;
    const audit::LongVector x = verification::features_of(is_linear ? *model_ : seen, z);
    const audit::Cone::Radii own = all[k].radii(x, asked_.threshold, lost);
    radius.least = std::min(radius.least, own.least);
    radius.most = std::min(radius.most, own.most);
  }
  return radius;
}

Auditor::Radius Auditor::radius_of(const Row& row, const AnswerAudit& result) const {
  if (!true_models_) {
    const double own = ellipsoid_radius(row, result);
    return {.least = own, .most = own};
  }
  // From both sides.
  Radius radius;
  const std::vector<audit::LongVector> parts = scores(row.z, result);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!(true_models_->center().dot(parts[k]) > asked_.threshold)) return {.least = 0, .most = 0};
    audit::LongVector start = true_models_->center();
    if (row.certificate && row.certificate->rivals.size() > k) {
      start = row.certificate->rivals[k].worst_model.cast<long double>();
    } else if (row.certificate && row.certificate->rivals.empty()) {
      start = row.certificate->worst_model.cast<long double>();
    }
    const auto cheapest = true_models_->cheapest(parts[k], asked_.threshold, &start);
    // A bound below 0 proves nothing, and who states it states 0.
    radius.least = std::min(radius.least, std::max(0.0, static_cast<double>(cheapest.proved)));
    radius.most = std::min(radius.most, static_cast<double>(cheapest.excess));
  }
  return radius;
}

void Auditor::check_radius(JsonObject& answer, const Row& row, AnswerAudit& result) const {
  if (!answer.has("robustness_radius")) {
    if (true_models_ && is_certified(result.status))
      result.failures.emplace_back("robustness_radius is missing");
    return;
  }
  const double stored = answer.number("robustness_radius");
  if (is_first_order(asked_.set.kind)) {
    result.failures.emplace_back("robustness_radius is stated where none is defined");
    return;
  }
  // The true set's own is a proved bound, as near as searches want it and within the rounding of an
  // objective in double precision.
  Radius own = radius_of(row, result);
  if (true_models_) {
    const long double lost = 2 * true_models_->objective().rounding(true_models_->center());
    own.least = own.least * (1 - near_enough) - static_cast<double>(lost);
  }
  const double floor = true_models_ ? 1e-4 * (1 + model_->training.objective) : 1e-12;
  const bool is_between = stored >= own.least && stored <= own.most;
  if (is_between || agree(stored, own.least, floor) || agree(stored, own.most, floor)) return;
  const Radius in_doubles = radius_in_doubles(row, result);
  if (stored >= in_doubles.least && stored <= in_doubles.most) return;
  result.failures.push_back(
      fmt::format("robustness_radius is {}, recomputed {}", stored, own.most));
}

}  // namespace ellice
