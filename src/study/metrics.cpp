#include "study/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/data/schema.hpp"
#include "model/deciding.hpp"
#include "request/feasible_set.hpp"

namespace ellice {

namespace {

constexpr double smallest_change = 1e-6;  // in model space
constexpr double published_none = 1000;   // what the published averages say of no answers

void measure_move(const Encoder& encoder, const Vector& move, MeasuredAnswer& result) {
  result.l2 = move.norm();
  result.l1 = move.lpNorm<1>();
  result.l0 = static_cast<int>((move.array().abs() > smallest_change).count());
  double squares = 0;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Vector part = move.segment(encoder.first_column(j), encoder.column_count(j));
    const bool is_changed = (part.array().abs() > smallest_change).any();
    const bool is_category = part.size() > 1;
    const double size = is_category ? (is_changed ? 1.0 : 0.0) : part.lpNorm<1>();
    squares += size * size;
    result.l1_features += size;
    result.changed += is_changed ? 1 : 0;
  }
  result.l2_features = std::sqrt(squares);
}

/// Raw numbers of a row, whole or not.
Vector raw_numbers(const Schema& schema, const RawRow& row) {
  Vector raw(static_cast<Index>(row.size()));
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double* const number = std::get_if<double>(&row[j]);
    raw(static_cast<Index>(j)) =
        number != nullptr
            ? *number
            : static_cast<double>(*schema.features[j].level_index(std::get<std::string>(row[j])));
  }
  return raw;
}

}  // namespace

std::vector<Measure> all_measures() {
  std::vector<Measure> all;
  for (std::size_t i = 0; i < EnumNames<Measure>::names.size(); ++i) {
    all.push_back(static_cast<Measure>(i));
  }
  return all;
}

std::vector<Measure> parse_measures(const std::vector<std::string>& names) {
  const auto& known = EnumNames<Measure>::names;
  std::vector<Measure> measures;
  for (const std::string& name : names) {
    const std::optional<Measure> measure = enum_from_name<Measure>(name);
    require(measure.has_value(), "there is no metric \"{}\"; {}", name,
            suggestion(name, {known.begin(), known.end()}));
    if (std::find(measures.begin(), measures.end(), *measure) == measures.end()) {
      measures.push_back(*measure);
    }
  }
  return measures;
}

AnswerBatch answer_batch(const std::vector<Answer>& answers, const Model& model, double threshold,
                         ExplainedRows rows) {
  AnswerBatch batch;
  std::vector<const Answer*> kept;
  for (const Answer& answer : answers) {
    if (answer.plan > 0) {
      ++batch.further_plans;
    } else if (answer.status == Status::invalid) {
      ++batch.unreadable;
    } else {
      kept.push_back(&answer);
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const Answer* a, const Answer* b) { return a->query_index < b->query_index; });
  const Encoder& encoder = model.encoder;
  batch.queries.resize(static_cast<Index>(kept.size()), encoder.columns());
  batch.points.resize(static_cast<Index>(kept.size()), encoder.columns());
  const Constraints schema_alone{.range = RangePolicy::off};
  Index next = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Answer& answer = *kept[i];
    require(i == 0 || kept[i - 1]->query_index != answer.query_index,
            "query {} has two answers of plan 0", answer.query_index);
    const Vector query = encoder.encode(answer.query);
    if (rows == ExplainedRows::declined && deciding_logit(model, query) >= threshold) {
      ++batch.accepted;
      continue;
    }
    batch.query_index.push_back(answer.query_index);
    batch.found.push_back(answer.counterfactual.has_value());
    batch.seconds.push_back(answer.seconds);
    batch.queries.row(next) = query.transpose();
    batch.violations.emplace_back();
    Vector point = query;
    if (answer.counterfactual) {
      const Vector raw = raw_numbers(model.schema(), *answer.counterfactual);
      encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, point);
      batch.violations.back() =
          FeasibleSet(encoder, schema_alone, answer.query_index, encoder.raw(answer.query))
              .violations(raw);
    }
    batch.points.row(next) = point.transpose();
    ++next;
  }
  batch.queries.conservativeResize(next, Eigen::NoChange);
  batch.points.conservativeResize(next, Eigen::NoChange);
  return batch;
}

std::optional<double> MeasuredAnswer::value(Measure measure) const {
  if (measure == Measure::validity) return is_valid ? 1 : 0;
  if (measure == Measure::seconds) return seconds;
  if (!is_found) return std::nullopt;
  switch (measure) {
    case Measure::l2:
      return l2;
    case Measure::l1:
      return l1;
    case Measure::l0:
      return l0;
    case Measure::l2_features:
      return l2_features;
    case Measure::l1_features:
      return l1_features;
    case Measure::changed:
      return changed;
    case Measure::lof:
    case Measure::validity:
    case Measure::seconds:
      break;
  }
  return lof;
}

std::vector<MeasuredAnswer> measure_answers(const AnswerBatch& batch, const Model& model,
                                            double threshold, const OutlierFactor* plausibility,
                                            const Execution& execution) {
  const Vector logits = deciding_network(model).logits(batch.points);
  const Vector factors =
      plausibility != nullptr ? plausibility->factors(batch.points, execution) : Vector();
  std::vector<MeasuredAnswer> result;
  result.reserve(batch.size());
  for (std::size_t k = 0; k < batch.size(); ++k) {
    const auto i = static_cast<Index>(k);
    MeasuredAnswer answer{.query_index = batch.query_index[k],
                          .is_found = batch.found[k],
                          .seconds = batch.seconds[k]};
    if (!batch.violations.empty()) answer.violations = batch.violations[k];
    if (answer.is_found) {
      answer.logit = logits(i);
      answer.is_valid = answer.logit >= threshold;
      measure_move(model.encoder, (batch.points.row(i) - batch.queries.row(i)).transpose(), answer);
      if (plausibility != nullptr) answer.lof = factors(i);
    }
    result.push_back(answer);
  }
  return result;
}

std::optional<Summary> average(Measure measure, const std::vector<MeasuredAnswer>& answers,
                               Variant variant, const IntervalOptions& options,
                               const Random& random) {
  const bool is_published = variant == Variant::published;
  const bool is_norm = measure == Measure::l2 || measure == Measure::l1;
  const bool of_all = measure == Measure::validity || measure == Measure::seconds;
  std::vector<double> values;
  for (const MeasuredAnswer& answer : answers) {
    const std::optional<double> value = answer.value(measure);
    if (!value || (!of_all && !answer.is_valid)) continue;
    if (is_published && is_norm && *value <= smallest_change) continue;
    values.push_back(*value);
  }
  std::optional<Summary> result = summarise(values, options, random);
  if (result && measure == Measure::validity) {
    const auto valid = static_cast<std::size_t>(std::count(values.begin(), values.end(), 1.0));
    result->interval = wilson_interval(valid, values.size(), options.confidence);
  }
  const bool says_none = is_norm || measure == Measure::lof;
  if (!result && is_published && says_none) {
    result = Summary{.mean = published_none,
                     .median = published_none,
                     .interval = {.low = published_none, .high = published_none}};
  }
  return result;
}

}  // namespace ellice
