// What an answer claims about all other rows: that none is much cheaper.

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/audit_bounds.hpp"
#include "audit/audit_cost.hpp"
#include "audit/audit_nearly_worst.hpp"
#include "audit/audit_retreat.hpp"
#include "audit/auditor.hpp"
#include "ellice/core/json.hpp"

namespace ellice {

namespace {

// A stated gap may be this much too small: an answer called optimal is so to 1e-9, and the bound is
// computed from the answer as written.
constexpr double gap_tolerance = 1e-8;
// Certified rows keep this share of the terms of their score from the threshold.
constexpr double certified_margin = 1e-12;
// Parts for which models are searched for over all training rows, where others do not suffice.
constexpr int most_asked = 200;
// Models that are nearly worst there.
constexpr int most_made = 250;

/// By the half-space of one of the models.
bool is_ruled_out(const audit::CostQuestion& question,
                  const std::vector<audit::LongVector>& models) {
  return std::any_of(models.begin(), models.end(), [&](audit::LongVector plane) {
    plane(plane.size() - 1) -= question.threshold;
    return audit::does_half_space_cost(plane, question.region->box, *question.cost,
                                       question.enough);
  });
}

bool has_levels(const Feature& feature) {
  return feature.kind == FeatureKind::categorical || feature.kind == FeatureKind::binary;
}

}  // namespace

void Auditor::check_gap(double gap, const Row& row, const audit::RowConstraints& constraints,
                        AnswerAudit& result) const {
  if (!is_exact_) {
    result.failures.emplace_back("a gap is stated where the cost has no bound that proves it");
    return;
  }
  const bool is_plain = asked_.cost.sparsity_weight == 0 && !asked_.counts_changes &&
                        result.plan == 0 &&
                        !(true_models_ && (asked_.set.contest || !constraints.rules().empty()));
  if (!is_plain || !constraints.is_continuous()) {
    const audit::Enumerated outcome = check_by_cases(gap, row, constraints, result);
    if (outcome == audit::Enumerated::refuted) {
      result.failures.push_back(
          fmt::format("gap is {}, but another row passes and costs less than that admits", gap));
    }
    if (outcome == audit::Enumerated::proved && claims_fewest(result))
      check_fewest(row, constraints, result);
    if (outcome != audit::Enumerated::open) return;
  }
  if (is_plain && !check_numbers(gap, row, constraints, result)) return;
  if (is_plain && constraints.is_continuous()) return;
  check_not_beaten(gap, row, constraints, result);
}

bool Auditor::claims_fewest(const AnswerAudit& result) const {
  return asked_.fewest && (!asked_.trade_off || result.plan == 0);
}

bool Auditor::is_enumerable(const AnswerAudit& result) const {
  const bool is_separable =
      !audit::terms_of(asked_.cost.kind).is_root || asked_.cost.sparsity_weight == 0;
  // Further plans leave out what earlier ones change together.
  return is_separable && (result.plan == 0 || asked_.trade_off || asked_.plans_differ);
}

audit::Enumerated Auditor::check_by_cases(double gap, const Row& row,
                                          const audit::RowConstraints& constraints,
                                          const AnswerAudit& result, int most_points,
                                          Json* record) const {
  if (!is_enumerable(result)) return audit::Enumerated::open;
  std::optional<std::int64_t> most_changes = asked_.max_changes;
  if (asked_.fewest) most_changes = static_cast<std::int64_t>(result.changed.size());
  return enumerate(row, constraints, result, claimed_cost(gap, result), most_changes,
                   {.key = "least", .most_points = most_points, .record = record});
}

void Auditor::check_fewest(const Row& row, const audit::RowConstraints& constraints,
                           AnswerAudit& result) const {
  const audit::Enumerated outcome =
      check_fewer(row, constraints, result, points_of_verify, nullptr);
  if (outcome == audit::Enumerated::refuted) {
    result.failures.emplace_back("gap: a row with fewer changes passes");
  } else if (outcome == audit::Enumerated::open) {
    result.unverified.push_back(
        "gap: it is proved among rows with no more changes; that fewer do not suffice is not "
        "checked" +
        advice(row));
  }
}

audit::Enumerated Auditor::check_fewer(const Row& row, const audit::RowConstraints& constraints,
                                       const AnswerAudit& result, int most_points,
                                       Json* record) const {
  const auto changed = static_cast<std::int64_t>(result.changed.size());
  if (changed == 0) return audit::Enumerated::proved;
  return enumerate(row, constraints, result, {}, changed - 1,
                   {.key = "fewer", .most_points = most_points, .record = record});
}

bool Auditor::is_empty(double threshold, const Row& near, const audit::RowConstraints& constraints,
                       const AnswerAudit& result, std::optional<std::int64_t> most_changes) const {
  return enumerate(near, constraints, result, {}, most_changes,
                   {.key = "none", .most_points = points_of_verify, .threshold = threshold}) ==
         audit::Enumerated::proved;
}

std::string Auditor::advice(const Row& row) const {
  if (true_models_) return ": it takes more than the models that are worst at the answer";
  return row.log == nullptr ? ": ask with --proof" : ": the proof does not suffice";
}

audit::Enumerated Auditor::enumerate(const Row& row, const audit::RowConstraints& constraints,
                                     const AnswerAudit& result, std::optional<double> claimed,
                                     std::optional<std::int64_t> most_changes,
                                     const ProofEffort& effort) const {
  // What has failed already needs no proof, and absurd numbers would make it long.
  if (!result.failures.empty()) return audit::Enumerated::open;
  WorstThere worst = worst_at(row, result);
  const double needed = effort.threshold.value_or(worst.needed);
  // Models of an ellipsoid inside the true set belong to it: they prove, and refute nothing.
  std::vector<audit::Cone> inside;
  std::vector<audit::Cone> guides;
  std::vector<audit::NearlyWorst> nearly;
  if (true_models_ && true_models_->objective().corners().empty())
    add_guides(row, worst, result, guides, nearly);
  if (true_models_ && !asked_.set.contest) {
    std::optional<audit::Cone> touching =
        true_models_->cone_inside(worst.heads.front(), result.epsilon);
    if (touching) inside.push_back(std::move(*touching));
    if (touching && guides.empty()) guides = inside;
  }
  const std::vector<audit::Cone>* of_true_set = guides.empty() ? nullptr : &guides;
  const std::vector<audit::Cone>* bounding = true_models_ ? of_true_set : &cones(result);
  audit::EnumerationQuestion question{.rows = {.constraints = &constraints,
                                               .encoder = &model_->encoder,
                                               .cost = asked_.cost,
                                               .most_changes = most_changes,
                                               .threshold = needed,
                                               .claimed = claimed},
                                      .models = worst.models,
                                      .cones = bounding,
                                      .epsilon = surely_inside(result),
                                      .most_points = effort.most_points};
  if (true_models_) question.instead = audit::EnumerationQuestion::Models{};
  if (!inside.empty()) {
    question.instead->near = [&](std::size_t cone, const Vector& point) {
      return std::optional(inside[cone].worst(audit::extended(point), result.epsilon));
    };
  }
  int made = 0;  // of these, each in some passes over all rows
  if (!nearly.empty()) {
    question.instead->nearer = [&](std::size_t cone, const Vector& point) {
      return ++made > most_made ? std::nullopt : nearly[cone].at(audit::extended(point));
    };
  }
  if (asked_.plans_differ) question.rows.not_all = row.not_all;
  if (row.log != nullptr && row.log->is_object() && row.log->contains(effort.key))
    question.log = &row.log->at(effort.key);
  int asked = 0;  // of the true set itself
  return audit::enumerate(
      question,
      [&](const audit::Region& region, const audit::ColumnCost& cost, double enough) {
        const Vector start = row.z.cwiseMax(region.box.lower).cwiseMin(region.box.upper);
        const audit::CostQuestion part{.cones = true_models_ ? &inside : bounding,
                                       .epsilon = result.epsilon,
                                       .threshold = needed,
                                       .clear = worst.clear,
                                       .region = &region,
                                       .cost = &cost,
                                       .enough = enough,
                                       .wanted = enough};
        if (!inside.empty()) {
          const bool is_closed =
              is_ruled_out(part, worst.models) || audit::least_cost(part).proved >= enough;
          if (is_closed) return audit::CostBounds{.proved = enough};
          if (++asked > most_asked) return audit::CostBounds{};
          // What refuses one row often refuses the next.
          worst.models.push_back(
              true_models_->worst(audit::extended(start), result.epsilon, &worst.models.back())
                  .model);
        }
        return least_cost(part, worst.models, start);
      },
      effort.record);
}

void Auditor::add_guides(const Row& row, const WorstThere& worst, const AnswerAudit& result,
                         std::vector<audit::Cone>& guides,
                         std::vector<audit::NearlyWorst>& nearly) const {
  const audit::LongVector x = audit::extended(row.z);
  const SetChoice set = set_of(result);
  const std::vector<audit::LongMatrix> lifts =
      set.contest ? audit::lifts_of(*model_, *set.contest)
                  : std::vector{audit::LongMatrix(audit::LongMatrix::Identity(x.size(), x.size()))};
  for (std::size_t k = 0; k < lifts.size(); ++k) {
    const audit::LongVector& head = worst.heads[k];
    guides.push_back(true_models_->cone_at(head, lifts[k] * x, lifts[k], result.epsilon));
    nearly.emplace_back(*true_models_, head, lifts[k], result.epsilon);
  }
}

Json Auditor::prove(const Row& row, double gap, const audit::RowConstraints& constraints,
                    const AnswerAudit& result) const {
  constexpr int most_points = 100000;
  Json proof = Json::object();
  Json part;
  if (!is_exact_ || true_models_ || constraints.is_continuous() || !is_enumerable(result))
    return proof;
  if (check_by_cases(gap, row, constraints, result, most_points, &part) ==
      audit::Enumerated::proved)
    proof["least"] = part;
  if (claims_fewest(result) &&
      check_fewer(row, constraints, result, most_points, &part) == audit::Enumerated::proved)
    proof["fewer"] = part;
  return proof;
}

bool Auditor::check_numbers(double gap, const Row& row, const audit::RowConstraints& constraints,
                            AnswerAudit& result) const {
  const double claimed = claimed_cost(gap, result);
  double spent = 0;  // for what is held
  const audit::ColumnCost cost = cost_of_numbers(row, constraints, spent);
  if (!(claimed > spent)) return true;
  const audit::CostBounds bounds = least_cost(claimed - spent, cost, row, constraints, result);
  if (bounds.proved >= claimed - spent) return true;
  const auto as_gap = [&](double one) {
    const double all = std::max(0.0, one + spent);
    const bool is_root = audit::terms_of(asked_.cost.kind).is_root;
    return 1 - (is_root ? std::sqrt(all) : all) / result.cost;
  };
  if (bounds.found < claimed - spent) {
    result.failures.push_back(
        fmt::format("gap is {}, but with other numbers a row passes that makes it {:.9g}", gap,
                    as_gap(bounds.found)));
    return false;
  }
  if (constraints.is_continuous()) {
    result.unverified.push_back(
        fmt::format("gap: {} is stated, and {:.9g} was proved", gap, as_gap(bounds.proved)));
  }
  return true;
}

double Auditor::claimed_cost(double gap, const AnswerAudit& result) const {
  const double least = result.cost * std::max(0.0, 1 - gap - gap_tolerance);
  return audit::terms_of(asked_.cost.kind).is_root ? least * least : least;
}

audit::ColumnCost Auditor::cost_of_numbers(const Row& row, const audit::RowConstraints& constraints,
                                           double& spent) const {
  const Encoder& encoder = model_->encoder;
  const Vector weights = audit::weights_by_column(encoder);
  const Vector none = Vector::Zero(weights.size());
  const audit::CostTerms terms = audit::terms_of(asked_.cost.kind);
  audit::ColumnCost cost{.query = constraints.query(),
                         .squares = terms.squares ? weights : none,
                         .absolutes = terms.absolutes ? weights : none};
  const Vector distance =
      audit::distance_by_column(encoder, constraints.query_raw(), encoder.raw(row.values));
  for (std::size_t j = 0; j < constraints.values().size(); ++j) {
    if (!constraints.values()[j].has_others()) continue;
    double own = 0;
    for (Index i = encoder.first_column(j); i < encoder.first_column(j) + encoder.column_count(j);
         ++i) {
      const double move = std::abs(distance(i));
      own += cost.squares(i) * move * move + cost.absolutes(i) * move;
      cost.squares(i) = cost.absolutes(i) = 0;
    }
    const Feature& feature = encoder.schema().features[j];
    const bool counts_once = terms.counts_categories && has_levels(feature) && own > 0;
    spent += counts_once ? feature.weight : own;
  }
  return cost;
}

Auditor::WorstThere Auditor::worst_at(const Row& row, const AnswerAudit& result) const {
  WorstThere found;
  const audit::LongVector x = audit::extended(row.z);
  long double terms = 0;
  const auto add = [&](const audit::LongVector& center, audit::LongVector model) {
    terms = std::max(terms, center.cwiseProduct(x).cwiseAbs().sum() + (center - model).dot(x));
    found.models.push_back(std::move(model));
  };
  if (!true_models_) {
    const std::vector<audit::Cone>& all = cones(result);
    for (std::size_t k = 0; k < all.size(); ++k)
      add(all[k].center(), all[k].worst(x, image(row, k, all[k], x), result.epsilon));
  } else if (!asked_.set.contest) {
    audit::LongVector start = true_models_->center();
    if (row.certificate) start = row.certificate->worst_model.cast<long double>();
    found.heads.push_back(
        true_models_->worst(x, result.epsilon, row.certificate ? &start : nullptr).model);
    add(true_models_->center(), found.heads.front());
  } else {
    for (const audit::LongMatrix& lift : audit::lifts_of(*model_, *set_of(result).contest)) {
      found.heads.push_back(true_models_->worst(lift * x, result.epsilon).model);
      add(lift.transpose() * true_models_->center(), lift.transpose() * found.heads.back());
    }
  }
  const double size = static_cast<double>(terms) + std::abs(result.threshold);
  found.needed = result.threshold + certified_margin * size;
  if (!true_models_) found.clear = extended_rounding(result) * size;
  return found;
}

double Auditor::surely_inside(const AnswerAudit& result) const {
  return true_models_ ? result.epsilon : result.epsilon * (1 - 4 * extended_rounding(result));
}

double Auditor::extended_rounding(const AnswerAudit& result) const {
  constexpr double extended_to_double = 0x1p-11;
  const std::vector<audit::Cone>& all = cones(result);
  const std::lock_guard lock(*making_);
  const auto found = roundings_.find(result.winner.value_or(0));
  if (found != roundings_.end()) return extended_to_double * found->second;
  const double own = audit::rounding(all);
  roundings_.emplace(result.winner.value_or(0), own);
  return extended_to_double * own;
}

audit::CostBounds Auditor::least_cost(double claimed, const audit::ColumnCost& cost, const Row& row,
                                      const audit::RowConstraints& constraints,
                                      const AnswerAudit& result) const {
  const WorstThere worst = worst_at(row, result);
  audit::CostBounds all{.proved = std::numeric_limits<double>::infinity()};
  for (const audit::Region& region : constraints.regions_holding(row.values)) {
    const audit::CostQuestion question{.cones = true_models_ ? nullptr : &cones(result),
                                       .epsilon = result.epsilon,
                                       .threshold = worst.needed,
                                       .clear = worst.clear,
                                       .region = &region,
                                       .cost = &cost,
                                       .enough = claimed,
                                       .wanted = claimed};
    const audit::CostBounds own = least_cost(question, worst.models, row.z);
    all.proved = std::min(all.proved, own.proved);
    all.found = std::min(all.found, own.found);
  }
  return all;
}

audit::CostBounds Auditor::least_cost(const audit::CostQuestion& question,
                                      const std::vector<audit::LongVector>& worst,
                                      const Vector& start) const {
  if (is_ruled_out(question, worst)) return {.proved = question.enough};
  if (true_models_) {
    // Beyond one logit and a box, what the worst models prove is all.
    const bool is_plain = !asked_.set.contest && question.region->rules.empty();
    return is_plain ? true_models_->least_cost(question, start) : audit::CostBounds{};
  }
  return audit::least_cost(question);
}

void Auditor::check_not_beaten(double gap, const Row& row, const audit::RowConstraints& constraints,
                               AnswerAudit& result) const {
  const auto feature = audit::beaten_by_retreat(
      constraints, model_->encoder, asked_.cost, row.values,
      result.cost * (1 - gap - gap_tolerance), [&](const RawRow& other, const Vector& z) {
        return is_robust(other, z, *row.certificate, result);
      });
  if (feature) {
    result.failures.push_back(
        fmt::format("gap is {}, but a row that changes {} less passes and costs less than that "
                    "admits",
                    gap, model_->schema().features[*feature].name));
    return;
  }
  result.unverified.push_back(
      fmt::format("gap: optimality: not checked, but rows nearby do not contradict the gap of {}{}",
                  gap, is_enumerable(result) ? advice(row) : ""));
}

}  // namespace ellice
