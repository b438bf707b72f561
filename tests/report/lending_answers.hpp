#pragma once

// Answers of every status on the embedded lending data, found by a few lines that climb the robust
// logit: certified rows with real numbers, though not the nearest.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "certificate/certifier.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "report/display.hpp"
#include "report/html.hpp"
#include "sets/ellipsoid.hpp"

namespace ellice::testing_support {

inline Model lending_model() {
  TrainingOptions options;
  options.folds = 0;
  Model model = train(lending_dataset(1500, 1), {}, options).model;
  model.sha256 = "9f2c61d0a4b87e35c1d2f6a9083b7e4d5c6f1a2b3e4d5c6f7a8b9c0d1e2f3a4b";
  return model;
}

class Climber {
 public:
  Climber(const Model& model, double epsilon, std::vector<std::string> locked = {})
      : model_(&model),
        set_(last_layer_set(model, epsilon)),
        certifier_(model, epsilon, 0),
        locked_(std::move(locked)) {}

  /// Moves numeric features in the directions the schema allows, inside the training range, until
  /// the row on its grid is certified; nothing if the range ends before. `reached` is the last row.
  [[nodiscard]] std::optional<Certificate> climb(RawRow row, RawRow& reached) const {
    const Schema& schema = model_->schema();
    for (int step = 0; step < 2000; ++step) {
      reached = on_grid(row);
      if (robust_logit(set_, with_one(model_->encoder.encode(reached))) > 0) {
        if (std::optional<Certificate> found = certifier_.certify(reached)) return found;
      }
      const Vector slope = worst_model(set_, with_one(model_->encoder.encode(row)));
      const RawRow last = row;
      for (std::size_t j = 0; j < schema.features.size(); ++j) {
        const Feature& feature = schema.features[j];
        if (feature.kind != FeatureKind::numeric || is_locked(feature)) continue;
        const Index column = model_->encoder.first_column(j);
        double gain = slope[column];
        if (feature.direction == Direction::increase) gain = std::max(gain, 0.0);
        if (feature.direction == Direction::decrease) gain = std::min(gain, 0.0);
        double& value = std::get<double>(row[j]);
        const double start = value;
        value += 0.02 * gain * model_->encoder.scale()[column];
        const double low = std::min(start, model_->encoder.min()[column]);
        const double high = std::max(start, model_->encoder.max()[column]);
        value = std::clamp(value, low, high);
      }
      if (row == last) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] const Ellipsoid& set() const { return set_; }

 private:
  [[nodiscard]] bool is_locked(const Feature& feature) const {
    return std::find(locked_.begin(), locked_.end(), feature.name) != locked_.end();
  }

  [[nodiscard]] RawRow on_grid(RawRow row) const {
    const Schema& schema = model_->schema();
    for (std::size_t j = 0; j < schema.features.size(); ++j) {
      if (schema.features[j].kind != FeatureKind::numeric) continue;
      double& value = std::get<double>(row[j]);
      value = *schema.features[j].step * std::round(value / *schema.features[j].step);
    }
    return row;
  }

  const Model* model_;
  Ellipsoid set_;
  Certifier certifier_;
  std::vector<std::string> locked_;
};

inline void measure(Answer& answer, const RawRow& row, const Model& model, const Ellipsoid& set) {
  answer.counterfactual = row;
  answer.changes = differences(model.schema(), answer.query, row);
  const Vector from = model.encoder.encode(answer.query), to = model.encoder.encode(row);
  answer.distance = {.l2 = (to - from).norm(),
                     .l1 = (to - from).lpNorm<1>(),
                     .weighted = (to - from).squaredNorm(),
                     .changed = static_cast<int>(answer.changes.size())};
  answer.logit = model.logit(to);
  answer.robust_logit = robust_logit(set, with_one(to));
}

inline Answer lending_answer(const Model& model, const Climber& climber, std::size_t index,
                             RawRow start) {
  Answer answer{.query_index = index, .id = "A-" + std::to_string(2040 + index), .query = start};
  RawRow reached;
  if (climber.climb(start, reached) && reached == start) {
    answer.status = Status::already_robust;
    measure(answer, start, model, climber.set());
    answer.certificate = climber.climb(start, reached);
    return answer;
  }
  // Some of them also change levels and whole numbers.
  const Schema& schema = model.schema();
  const auto place = [&](const char* name) { return *schema.find(name); };
  if (index % 3 == 1) start[place("guarantor")] = "yes";
  if (index % 4 == 2) start[place("housing")] = "own";
  if (index % 5 == 3) start[place("education")] = "master";
  if (index % 5 == 4) {
    double& years = std::get<double>(start[place("employment_years")]);
    years += 2;
  }
  std::optional<Certificate> found = climber.climb(start, reached);
  if (found) {
    answer.status = index % 4 == 0 ? Status::optimal : Status::certified;
    if (answer.status == Status::optimal) answer.gap = 0;
    measure(answer, reached, model, climber.set());
    answer.certificate = std::move(found);
    return answer;
  }
  const Vector best = with_one(model.encoder.encode(reached));
  answer.status = Status::infeasible;
  const double radius = robustness_radius(climber.set(), best, 0);
  answer.infeasible =
      Infeasibility{.upper_bound = robust_logit(climber.set(), best),
                    .model = worst_model(climber.set(), best),
                    .max_epsilon = {.lower = radius, .point = reached, .upper = radius},
                    .blocking = {.constraints = {"income: locked", "savings: locked"},
                                 .witnesses = {reached, reached},
                                 .is_proved = true},
                    .best = reached,
                    .best_robust_logit = robust_logit(climber.set(), best)};
  return answer;
}

struct LendingExample {
  Model model = {};
  PageOptions page = {};
  std::vector<Answer> answers = {};
  std::vector<FrontierCurve> curves = {};
};

/// The first declined applicants of a fresh draw, and one answer of each remaining status.
inline LendingExample lending_example(std::size_t people, double epsilon) {
  LendingExample example{.model = lending_model()};
  const Model& model = example.model;
  example.page = {.title = "Recourse for declined loan applications",
                  .epsilon = epsilon,
                  .epsilon_rule = "10 % of the training objective",
                  .details = {{"Method", "exact"}}};
  const Dataset fresh = lending_dataset(10 * people, 2);
  const std::vector<std::string> locked = {"income", "savings"};
  const Climber climber(model, epsilon), hindered(model, epsilon, locked);
  for (Index i = 0; i < fresh.rows() && example.answers.size() < people; ++i) {
    const Vector raw = fresh.raw.row(i).transpose();
    const RawRow row = model.encoder.values({raw.data(), static_cast<std::size_t>(raw.size())});
    const std::size_t index = example.answers.size();
    // Declined ones, and as every ninth somebody who was accepted.
    const double score = model.logit(model.encoder.encode(row));
    if (index % 9 == 8 ? score < 6 : score >= 0.3) continue;
    const bool hindrance = index % 6 == 5;
    example.answers.push_back(lending_answer(model, hindrance ? hindered : climber, index, row));
    FrontierCurve curve{.query_index = index, .is_proved = true};
    for (int k = 0; k <= 8; ++k) {
      const double level = epsilon * k / 4;
      RawRow reached;
      const Climber other(model, level, hindrance ? locked : std::vector<std::string>());
      const bool feasible = other.climb(row, reached).has_value();
      const double distance = (model.encoder.encode(reached) - model.encoder.encode(row)).norm();
      curve.points.push_back({.epsilon = level, .feasible = feasible, .distance = distance});
    }
    const Answer& answer = example.answers.back();
    if (answer.infeasible) curve.max_epsilon = answer.infeasible->max_epsilon.lower;
    example.curves.push_back(std::move(curve));
  }
  const RawRow query = example.answers.front().query;
  example.answers.push_back({.query_index = people,
                             .status = Status::not_found,
                             .query = query,
                             .message = "the search stopped after 10000 nodes"});
  Answer fragile{.query_index = people + 1,
                 .status = Status::uncertified,
                 .query = query,
                 .query_violations = {"debt + loan_amount <= 2 * income"}};
  RawRow reached;
  (void)Climber(model, 0).climb(query, reached);
  measure(fragile, reached, model, climber.set());
  example.answers.push_back(std::move(fragile));
  Answer reduced = {.query_index = people + 2, .status = Status::reduced, .query = query};
  const Climber half(model, epsilon / 2);
  reduced.certificate = half.climb(query, reached);
  measure(reduced, reached, model, half.set());
  reduced.attained_epsilon = epsilon / 2;
  example.answers.push_back(std::move(reduced));
  example.answers.push_back({.query_index = people + 3,
                             .status = Status::invalid,
                             .id = "A-2099",
                             .message = "line 12, column income: \"n/a\" is not a number"});
  return example;
}

}  // namespace ellice::testing_support
