#include "study/model_change.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "certificate/plain_objective.hpp"
#include "core/infinity.hpp"
#include "core/stop.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/sets/set_choice.hpp"
#include "model/deciding.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

// A table names every broken plan up to so many.
constexpr std::size_t most_shown = 50;

/// Asks both models about the same person.
class Pair {
 public:
  Pair(const Model& before, const Model& now) : before_(before), now_(now) {
    const std::vector<Feature>& features = now.schema().features;
    for (const Feature& feature : features) {
      const std::optional<std::size_t> index = before.schema().find(feature.name);
      require_input(index.has_value(), "the new model has a feature that the old one has not: {}",
                    feature.name);
      require_input(before.schema().features[*index].is_number() == feature.is_number(),
                    "the feature {} is {} in the old model and {} in the new one", feature.name,
                    enum_name(before.schema().features[*index].kind), enum_name(feature.kind));
      order_.push_back(*index);
    }
    for (const Feature& feature : before.schema().features) {
      require_input(now.schema().find(feature.name).has_value(),
                    "the old model has a feature that the new one has not: {}", feature.name);
    }
    require_input(before.network.outputs() == now.network.outputs() &&
                      before.decision.classes == now.decision.classes,
                  "the models decide between other classes: {} and {}",
                  fmt::join(before.decision.classes, ", "), fmt::join(now.decision.classes, ", "));
  }

  /// 1 for yes; of many classes the one that wins.
  [[nodiscard]] std::size_t before(const RawRow& row) const {
    return decision(before_, before_.encoder.encode(row));
  }
  /// Throws Error{input} where the new model does not know a level.
  [[nodiscard]] std::size_t now(const RawRow& row) const { return decision(now_, seen_now(row)); }

  /// What a promise is about; without one, of many classes, the one that wins.
  [[nodiscard]] std::vector<std::size_t> wanted(const RawRow& row,
                                                const std::optional<Promise>& promise) const {
    if (before_.network.has_one_output()) return {1};
    if (!promise || promise->acceptable.empty()) return {before(row)};
    const std::vector<std::string>& classes = before_.decision.classes;
    std::vector<std::size_t> result;
    for (const std::string& name : promise->acceptable) {
      const auto found = std::find(classes.begin(), classes.end(), name);
      require_input(found != classes.end(), "a certificate is for the class {}; there are: {}",
                    name, fmt::join(classes, ", "));
      result.push_back(static_cast<std::size_t>(found - classes.begin()));
    }
    return result;
  }

  /// The logit from the threshold on, or the lead of what is wanted over everything else.
  [[nodiscard]] double margin_before(const RawRow& row,
                                     const std::vector<std::size_t>& wanted) const {
    return margin(before_, before_.encoder.encode(row), wanted);
  }
  [[nodiscard]] double margin_now(const RawRow& row, const std::vector<std::size_t>& wanted) const {
    return margin(now_, seen_now(row), wanted);
  }

 private:
  [[nodiscard]] Vector seen_now(const RawRow& row) const {
    RawRow reordered;
    for (const std::size_t index : order_) reordered.push_back(row[index]);
    return now_.encoder.encode(reordered);
  }
  [[nodiscard]] static std::size_t decision(const Model& model, VectorArg z) {
    if (model.network.has_one_output())
      return deciding_logit(model, z) >= model.decision.threshold ? 1 : 0;
    Index best = 0;
    model.network.scores(z).maxCoeff(&best);
    return static_cast<std::size_t>(best);
  }
  [[nodiscard]] static double margin(const Model& model, VectorArg z,
                                     const std::vector<std::size_t>& wanted) {
    if (model.network.has_one_output()) return deciding_logit(model, z) - model.decision.threshold;
    const Vector scores = model.network.scores(z);
    double best = -infinity;
    double rival = -infinity;
    for (Index k = 0; k < scores.size(); ++k) {
      const auto at = std::find(wanted.begin(), wanted.end(), static_cast<std::size_t>(k));
      double& side = at != wanted.end() ? best : rival;
      side = std::max(side, scores(k));
    }
    return best - rival;
  }

  const Model& before_;
  const Model& now_;
  std::vector<std::size_t> order_;  // of the old features, as the new model lists them
};

bool have_same_levels(const Model& before, const Model& now) {
  return std::all_of(before.schema().features.begin(), before.schema().features.end(),
                     [&](const Feature& feature) {
                       const Feature& other =
                           now.schema().features[*now.schema().find(feature.name)];
                       return feature.kind == other.kind && feature.levels == other.levels;
                     });
}

/// θ of the new head for what the old one sees (theory.md, Result 49), or why there is none.
struct MovedHead {
  std::optional<Vector> theta = {};
  std::string reason = {};
};

bool have_same_hidden_layers(const Model& before, const Model& now) {
  const std::vector<Layer>& a = before.network.layers;
  const std::vector<Layer>& b = now.network.layers;
  if (a.size() != b.size()) return false;
  const auto is_same = [](const Layer& x, const Layer& y) {
    return x.activation == y.activation && x.weights.rows() == y.weights.rows() &&
           x.weights.cols() == y.weights.cols() && x.weights == y.weights && x.bias == y.bias;
  };
  return std::equal(a.begin(), a.end() - 1, b.begin(), is_same);
}

MovedHead moved_head(const Model& before, const Model& now) {
  if (!have_same_levels(before, now)) return {.reason = "their features have other levels"};
  if (before.network.layers.size() > 1 || now.network.layers.size() > 1) {
    const bool is_same = have_same_hidden_layers(before, now) &&
                         before.encoder.column_names() == now.encoder.column_names() &&
                         before.encoder.mean() == now.encoder.mean() &&
                         before.encoder.scale() == now.encoder.scale();
    if (!is_same)
      return {.reason = "a network with other hidden layers is in no set of the old one"};
    return {.theta = now.network.head()};
  }
  std::map<std::string, Index> column;
  for (Index k = 0; k < now.encoder.columns(); ++k)
    column[now.encoder.column_names()[static_cast<std::size_t>(k)]] = k;
  const Index d = before.encoder.columns();
  const Index outputs = now.network.outputs();
  const Vector head = now.network.head();
  Vector theta(outputs * (d + 1));
  for (Index c = 0; c < outputs; ++c) {
    const Index first = c * (d + 1);
    double bias = head(first + d);
    for (Index j = 0; j < d; ++j) {
      const Index k = column.at(before.encoder.column_names()[static_cast<std::size_t>(j)]);
      const double slope = head(first + k) / now.encoder.scale()(k);
      theta(first + j) = slope * before.encoder.scale()(j);
      bias += slope * (before.encoder.mean()(j) - now.encoder.mean()(k));
    }
    theta(first + d) = bias;
  }
  return {.theta = theta};
}

ModelChange change_between(const Model& before, const Model& now, const StoredRows* rows,
                           const Pair& pair) {
  ModelChange change;
  const MovedHead moved = moved_head(before, now);
  if (moved.theta) {
    change.move = *moved.theta - before.network.head();
    if (has_corners(before.training)) {
      change.without_distance = "the old model has an l1 penalty, whose set is no ellipsoid";
    } else {
      change.distance = change.move->dot(before.curvature.hessian * *change.move) / 2;
    }
  } else {
    change.without_distance = moved.reason;
  }
  if (rows == nullptr) return change;
  if (moved.theta) {
    const PlainObjective objective(before, *rows);
    const PlainObjective::LongVector theta = moved.theta->cast<long double>();
    change.excess = static_cast<double>(objective.evaluate(theta).objective - objective.optimum());
  }
  TurnedRows turned{.rows = static_cast<std::size_t>(rows->encoded.rows())};
  const bool has_classes = before.network.outputs() > 1;
  for (Index i = 0; i < rows->encoded.rows(); ++i) {
    const RawRow row = before.encoder.decode(rows->encoded.row(i).transpose());
    const std::size_t old = pair.before(row);
    const std::size_t other = pair.now(row);
    if (other != old) ++(has_classes || other == 1 ? turned.to_yes : turned.to_no);
  }
  change.turned = turned;
  return change;
}

/// Whether the new model is one of those for which the certificate speaks, and what it says of them
/// is a yes of the new one.
bool is_promised(const Promise& promise, const ModelChange& change, const Model& before,
                 const Model& now) {
  const double needed = now.network.has_one_output() ? now.decision.threshold : 0;
  if (promise.threshold < needed) return false;
  switch (promise.set) {
    case SetKind::last_layer: {
      if (!change.move) return false;
      // Another damping makes another ellipsoid.
      const Matrix hessian = damped_hessian(before, promise.damping);
      return change.move->dot(hessian * *change.move) / 2 <= promise.epsilon;
    }
    case SetKind::true_set:
      return change.excess && *change.excess <= promise.epsilon;
    case SetKind::full:
    case SetKind::isotropic:
    case SetKind::ensemble:
      break;
  }
  return false;
}

PlanOutcome outcome_of(const Answer& answer, const std::optional<Promise>& promise,
                       bool is_promised, const Pair& pair) {
  const RawRow& row = *answer.counterfactual;
  const std::vector<std::size_t> wanted = pair.wanted(row, promise);
  PlanOutcome outcome{.query_index = answer.query_index,
                      .plan = answer.plan,
                      .promise = promise,
                      .is_promised = is_promised,
                      .old_margin = pair.margin_before(row, wanted)};
  try {
    outcome.new_margin = pair.margin_now(row, wanted);
    outcome.holds = std::find(wanted.begin(), wanted.end(), pair.now(row)) != wanted.end();
  } catch (const Error& error) {
    keep_stop(error);
    outcome.reason = error.what();
  }
  return outcome;
}

std::string share(double part, double whole) {
  return whole > 0
             ? fmt::format(" ({} % of the old model's objective)", rounded(100 * part / whole, 3))
             : std::string();
}

std::string change_text(const ModelChange& change, const Model& before) {
  std::string text;
  const double objective = before.training.objective;
  if (change.distance) {
    text += fmt::format(
        "The new model is as far away as epsilon = {}{}: plans that were certified for as much, "
        "or more, hold where the new model takes their values.\n",
        rounded(*change.distance), share(*change.distance, objective));
  } else {
    text += fmt::format("How far the new model is cannot be said: {}.\n", change.without_distance);
  }
  if (change.excess) {
    text += fmt::format("On the rows of the old one its objective is {} higher{}.\n",
                        rounded(*change.excess), share(*change.excess, objective));
  }
  if (change.turned) {
    const TurnedRows& turned = *change.turned;
    text +=
        before.network.outputs() > 1
            ? fmt::format("Of these {} rows {} get another class.\n", turned.rows, turned.to_yes)
            : fmt::format("Of these {} rows {} turn to yes and {} to no.\n", turned.rows,
                          turned.to_yes, turned.to_no);
  } else {
    text +=
        "With the rows of the old model (--data or --dataset) its objective and its decisions "
        "are compared, too.\n";
  }
  return text;
}

}  // namespace

std::size_t ModelComparison::broken() const {
  return static_cast<std::size_t>(
      std::count_if(plans.begin(), plans.end(), [](const PlanOutcome& one) { return !one.holds; }));
}

ModelComparison compare_models(const Model& before, const Model& now, const StoredRows* rows,
                               const AnswerFile* plans) {
  const Pair pair(before, now);
  ModelComparison comparison{.change = change_between(before, now, rows, pair)};
  if (plans == nullptr) return comparison;
  for (std::size_t i = 0; i < plans->answers.size(); ++i) {
    const Answer& answer = plans->answers[i];
    if (!is_certified(answer.status) || !answer.counterfactual) continue;
    const std::optional<Promise> promise =
        i < plans->promises.size() ? plans->promises[i] : std::nullopt;
    const bool promised = promise && is_promised(*promise, comparison.change, before, now);
    comparison.plans.push_back(outcome_of(answer, promise, promised, pair));
  }
  return comparison;
}

std::string comparison_text(const ModelComparison& comparison, const Model& before,
                            const Model& now) {
  std::string text =
      before.sha256 == now.sha256
          ? "The two files hold the same model.\n"
          : fmt::format("Old model: {} rows, objective {}. New model: {} rows, objective {}.\n",
                        before.training.rows, rounded(before.training.objective, 4),
                        now.training.rows, rounded(now.training.objective, 4));
  text += change_text(comparison.change, before);
  if (comparison.plans.empty()) return text;
  const auto promised = static_cast<std::size_t>(
      std::count_if(comparison.plans.begin(), comparison.plans.end(),
                    [](const PlanOutcome& one) { return one.is_promised; }));
  text +=
      fmt::format("{} certified plans: {} hold, {} are broken; {} were certified for this model\n",
                  comparison.plans.size(), comparison.plans.size() - comparison.broken(),
                  comparison.broken(), promised);
  if (comparison.broken() == 0) return text;
  using enum TextTable::Align;
  TextTable table({right, right, right, right, right, left});
  table.header({"query", "plan", "certified for", "old logit", "new logit", "reason"});
  std::size_t shown = 0;
  for (const PlanOutcome& one : comparison.plans) {
    if (one.holds || ++shown > most_shown) continue;
    table.row({std::to_string(one.query_index), std::to_string(one.plan),
               one.promise ? rounded(one.promise->epsilon) : "-", rounded(one.old_margin, 4),
               one.reason.empty() ? rounded(one.new_margin, 4) : "-", one.reason});
  }
  text += "\n" + table.text();
  if (shown > most_shown) text += fmt::format("… and {} more\n", shown - most_shown);
  text += "Logits are counted from the threshold of each model, or from the next class.\n";
  return text;
}

Json to_json(const ModelComparison& comparison, const Model& before, const Model& now) {
  Json document = make_envelope("ellice.comparison", 1);
  document["old_sha256"] = before.sha256;
  document["new_sha256"] = now.sha256;
  const ModelChange& change = comparison.change;
  document["distance"] = change.distance ? Json(*change.distance) : Json();
  if (!change.without_distance.empty()) document["without_distance"] = change.without_distance;
  if (change.excess) document["excess"] = *change.excess;
  if (change.turned) {
    document["rows"] = change.turned->rows;
    document["rows_turned"] = change.turned->to_yes + change.turned->to_no;
  }
  document["broken"] = comparison.broken();
  document["plans"] = Json::array();
  for (const PlanOutcome& one : comparison.plans) {
    Json plan = {{"query_index", one.query_index},
                 {"plan", one.plan},
                 {"holds", one.holds},
                 {"promised", one.is_promised},
                 {"old_margin", one.old_margin}};
    if (one.promise) {
      plan["set"] = std::string(enum_name(one.promise->set));
      plan["epsilon"] = one.promise->epsilon;
    }
    if (one.reason.empty()) {
      plan["new_margin"] = one.new_margin;
    } else {
      plan["reason"] = one.reason;
    }
    document["plans"].push_back(std::move(plan));
  }
  return document;
}

}  // namespace ellice
