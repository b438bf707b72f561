#include "request/problem.hpp"

#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "model/deciding.hpp"
#include "model/score_points.hpp"
#include "request/farthest.hpp"
#include "request/model_rules.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice {

namespace {

/// Why a row inside the constraints has no certificate.
std::string why_uncertified(const Evaluation& found, double threshold) {
  if (found.robust_logit < threshold) {
    return fmt::format("not robust: the worst model's logit is {:.6g}, below {}",
                       found.robust_logit, threshold);
  }
  if (found.real_logit && *found.real_logit < threshold) {
    return fmt::format(
        "not robust: the linearised network's worst logit is {:.6g}, but the real network gives "
        "{:.6g} there, below {}",
        found.robust_logit, *found.real_logit, threshold);
  }
  return fmt::format(
      "not certified: the worst model's logit is {:.6g}, but the row lies on a kink of the network "
      "or within rounding of {}",
      found.robust_logit, threshold);
}

/// Of a model that decides elsewhere the search sees the minimiser of its objective, and a row
/// without a certificate was not held against what decides (theory.md, Result 56).
bool is_accepted_by_deployed(const Problem& problem, const Vector& z) {
  const Model& model = *problem.model;
  if (!model.deployed) return true;
  return deciding_logit(model, z) >= std::min(problem.threshold, model.decision.threshold);
}

}  // namespace

void validate(const Problem& problem) {
  require(problem.model != nullptr, "a problem needs a model");
  validate(problem.set, *problem.model);
  require(problem.epsilon >= 0 && std::isfinite(problem.epsilon),
          "epsilon = {} must be >= 0 and finite", problem.epsilon);
  require(problem.epsilon <= largest_epsilon,
          "epsilon = {} is too large to compute with, at most {}", problem.epsilon,
          largest_epsilon);
  require(std::isfinite(problem.threshold), "threshold = {} must be finite", problem.threshold);
  require(!problem.set.contest || problem.threshold >= 0,
          "margin = {} must be >= 0: a class that trails does not win", problem.threshold);
  require(problem.cost.sparsity_weight >= 0 && std::isfinite(problem.cost.sparsity_weight),
          "sparsity_weight = {} must be >= 0", problem.cost.sparsity_weight);
  validate(problem.constraints, problem.model->schema());
  require_consistent_rules(problem.model->encoder);
}

std::vector<std::optional<double>> sensible_steps(const Encoder& encoder) {
  std::vector<std::optional<double>> steps;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Index column = encoder.first_column(j);
    const double width = encoder.max()(column) - encoder.min()(column);
    const bool numeric = encoder.schema().features[j].kind == FeatureKind::numeric;
    if (!numeric || !(width > 0)) {
      steps.emplace_back();
      continue;
    }
    // 1, 2 or 5 times a power of ten, at most a 500th of the range.
    const double finest = width / 500;
    const double power = std::pow(10, std::floor(std::log10(finest)));
    const double factor = finest >= 5 * power ? 5 : finest >= 2 * power ? 2 : 1;
    steps.emplace_back(factor * power);
  }
  return steps;
}

std::optional<Endurance> endurance(const Problem& problem, const Question& question,
                                   const RetrainedHead* retrained, VectorArg z,
                                   const Vector* worst) {
  if (!no_radius_reason(problem).empty()) return std::nullopt;
  // One logit, or one for each rival or member: the first that fails counts.
  Endurance result{.robustness_radius = infinity};
  double margin = infinity;
  for (const Part& part : question.parts()) {
    const Vector features = part.features(z);
    margin = std::min(margin, part.picture->center().dot(features) - problem.threshold);
    result.robustness_radius =
        std::min(result.robustness_radius,
                 part.radius(features, problem.threshold, question.is_single() ? worst : nullptr));
  }
  if (retrained != nullptr && margin >= 0)
    result.survival = retrained->drawn_again(with_one(z), margin);
  return result;
}

std::string no_radius_reason(const Problem& problem) {
  const SetKind kind = problem.set.kind;
  if (!is_first_order(kind)) return {};
  return fmt::format(
      "the largest epsilon is stated for sets of heads, not for {}, which is known to "
      "first order only",
      enum_name(kind));
}

std::string no_survival_reason(const Problem& problem) {
  const std::string reason = no_survival_reason(*problem.model, problem.set);
  if (!reason.empty()) return reason;
  if (problem.model->network.is_linear())
    return RetrainedHead::missing(*problem.model, problem.fitted);
  return "what retraining does to a network moves its hidden layers as well: it is not predicted";
}

Assembler::Assembler(const Problem& problem)
    : problem_(&problem),
      certifier_(*problem.model, problem.set, problem.epsilon, problem.threshold),
      set_(certifier_.question() != nullptr ? make_set(*certifier_.question())
                                            : make_set(*problem.model, problem.set)) {
  if (!problem.retraining.fresh_rows && no_survival_reason(problem).empty())
    retrained_.emplace(*problem.model, problem.fitted);
}

Answer Assembler::begin(const Query& query, const FeasibleSet& feasible) const {
  const Encoder& encoder = problem_->model->encoder;
  const std::optional<Contest>& contest = problem_->set.contest;
  Answer answer{
      .query_index = query.index,
      .id = query.id,
      .target = contest
                    ? problem_->model->decision.classes[static_cast<std::size_t>(contest->winner)]
                    : "",
      .query = encoder.values({query.raw.data(), static_cast<std::size_t>(query.raw.size())}),
      .query_violations = feasible.query_violations()};
  if (const std::optional<ScorePoints>& card = problem_->model->points) {
    answer.score = {.now = points_of(*card, encoder.schema(), answer.query),
                    .needed = points_needed(*problem_->model, problem_->threshold),
                    .is_upper = card->scale.pdo < 0};
  }
  return answer;
}

bool Assembler::already_robust(Answer& answer, const FeasibleSet& feasible) const {
  answer.certificate = certifier_.certify(answer.query, feasible.query());
  if (!answer.certificate) return false;
  measure(answer, {.raw = feasible.query_raw(), .values = answer.query, .z = feasible.query()},
          feasible);
  answer.status = Status::already_robust;
  answer.gap = 0;
  return true;
}

bool Assembler::accept(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                       const WorstHead* nearby) const {
  return accept(answer, raw, feasible, certifier_, nearby);
}

bool Assembler::accept_reduced(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                               double epsilon) const {
  const Certifier certifier(*problem_->model, problem_->set, epsilon, problem_->threshold);
  if (!accept(answer, raw, feasible, certifier, nullptr)) return false;
  answer.status = Status::reduced;
  answer.attained_epsilon = epsilon;
  return true;
}

bool Assembler::accept(Answer& answer, VectorArg raw, const FeasibleSet& feasible,
                       const Certifier& certifier, const WorstHead* nearby) const {
  if (!feasible.violations(raw).empty()) return false;
  Candidate row = candidate(raw);
  if (is_too_far(row.z)) return false;
  std::optional<Certificate> certificate = certifier.certify(row.values, row.z, nearby);
  if (!certificate) return false;
  answer.certificate = std::move(certificate);
  measure(answer, std::move(row), feasible);
  answer.status = Status::certified;
  return true;
}

bool Assembler::certifies(VectorArg raw) const {
  const Encoder& encoder = problem_->model->encoder;
  return certifier_.certify(encoder.values({raw.data(), static_cast<std::size_t>(raw.size())}))
      .has_value();
}

void Assembler::take(Answer& answer, VectorArg raw, const FeasibleSet& feasible) const {
  if (accept(answer, raw, feasible)) return;
  Candidate row = candidate(raw);
  std::optional<Evaluation> found;
  if (!is_too_far(row.z)) found = certifier_.evaluate(row.values);
  if (!found || !std::isfinite(found->logit) || !std::isfinite(found->robust_logit)) {
    answer.status = Status::not_found;
    answer.message = "the row that was found is too far from the training rows to compute with";
    return;
  }
  if (!is_accepted_by_deployed(*problem_, row.z)) {
    answer.status = Status::not_found;
    answer.message =
        "the row that was found is declined by the deployed model, which decides about people";
    return;
  }
  measure(answer, std::move(row), feasible, *found);
  answer.status = Status::uncertified;
  const std::vector<std::string> broken = feasible.violations(raw);
  answer.message = broken.empty() ? why_uncertified(*found, problem_->threshold)
                                  : fmt::format("breaks {}", fmt::join(broken, "; "));
}

Assembler::Candidate Assembler::candidate(VectorArg raw) const {
  const Encoder& encoder = problem_->model->encoder;
  Candidate result{.raw = raw};
  result.values = encoder.values({result.raw.data(), static_cast<std::size_t>(raw.size())});
  result.z = encoder.encode(result.values);
  return result;
}

void Assembler::measure(Answer& answer, Candidate row, const FeasibleSet& feasible,
                        const Evaluation& found) const {
  const Encoder& encoder = problem_->model->encoder;
  const Vector& z = row.z;
  const auto is_changed = [&](Index j) { return row.raw(j) != feasible.query_raw()(j); };
  answer.changes.clear();
  answer.changes.reserve(
      static_cast<std::size_t>((row.raw.array() != feasible.query_raw().array()).count()));
  for (std::size_t j = 0; j < row.values.size(); ++j) {
    if (!is_changed(static_cast<Index>(j))) continue;
    answer.changes.push_back({.feature = encoder.schema().features[j].name,
                              .from = answer.query[j],
                              .to = row.values[j]});
  }
  if (const std::optional<ScorePoints>& card = problem_->model->points; card && answer.score) {
    const Schema& schema = encoder.schema();
    answer.score->after = points_of(*card, schema, row.values);
    for (Change& change : answer.changes) {
      const std::size_t j = *schema.find(change.feature);
      change.points =
          points_of(*card, schema, j, change.to) - points_of(*card, schema, j, change.from);
    }
  }
  answer.counterfactual = std::move(row.values);
  const PlacedRow from{.z = &feasible.query(), .raw = &feasible.query_raw()};
  const PlacedRow to{.z = &z, .raw = &row.raw};
  const Vector move = priced_move(encoder, from, to);
  answer.distance = {.l2 = move.norm(),
                     .l1 = move.lpNorm<1>(),
                     .weighted = cost_of(problem_->cost, encoder, from, to),
                     .changed = static_cast<int>(answer.changes.size())};
  const RetrainedHead* retrained = retrained_ ? &*retrained_ : nullptr;
  std::optional<Endurance> lasts;
  if (const Question* question = certifier_.question()) {
    const bool has_worst = answer.certificate && answer.certificate->worst_model.size() > 0;
    const Vector* worst = has_worst ? &answer.certificate->worst_model : nullptr;
    lasts = endurance(*problem_, *question, retrained, z, worst);
    // The certificate proves that much, whatever rounding took from the radius.
    if (lasts && answer.certificate)
      lasts->robustness_radius = std::max(lasts->robustness_radius, answer.certificate->epsilon);
  }
  if (lasts) {
    answer.robustness_radius = lasts->robustness_radius;
    state_survival(answer, lasts->survival);
  }
  if (answer.certificate) {
    answer.logit = answer.certificate->logit;
    answer.robust_logit = answer.certificate->robust_logit;
    for (const MemberCertificate& member : answer.certificate->members) {
      answer.robust_logit = std::min(answer.robust_logit, member.robust_logit);
    }
  } else {
    answer.logit = found.logit;
    answer.robust_logit = found.robust_logit;
  }
}

}  // namespace ellice
