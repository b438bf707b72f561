#include "report/display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ellice/core/error.hpp"
#include "sets/off_optimum.hpp"

namespace ellice {

std::string_view status_words(Status status) {
  switch (status) {
    case Status::optimal:
      return "nearest certified plan";
    case Status::certified:
      return "certified plan";
    case Status::already_robust:
      return "no change needed";
    case Status::reduced:
      return "certified for a smaller ε";
    case Status::infeasible:
      return "no plan exists";
    case Status::not_found:
      return "no plan found";
    case Status::uncertified:
      return "plan without certificate";
    case Status::invalid:
      return "unreadable query";
  }
  fail(ErrorCode::internal, "unknown status {}", static_cast<int>(status));
}

namespace {

// Bounds that differ by less, relatively, are one number to a reader.
constexpr double same_number = 3e-3;

}  // namespace

std::string largest_epsilon_text(const Infeasibility& why) {
  const EpsilonBounds& largest = why.max_epsilon;
  if (!largest.lower)
    return largest.upper > 0
               ? fmt::format("none found, and none from {} on", display_rounded(largest.upper))
               : "none";
  if (largest.upper <= *largest.lower * (1 + same_number)) return display_rounded(*largest.lower);
  return fmt::format("between {} and {}", display_rounded(*largest.lower),
                     display_rounded(largest.upper));
}

bool is_best_proved(const Infeasibility& why) {
  return why.best_bound - why.best_robust_logit <= 1e-6 * (1 + std::abs(why.best_robust_logit));
}

std::string signed_number(double value) {
  return fmt::format("{}{:.2f}", value < 0 ? "−" : "+", std::abs(value));
}

std::string signed_points(double points) {
  return (points > 0 ? "+" : "") + display_points(points);
}

std::string points_text(double points) {
  const std::string text = signed_points(points);
  return text + (text == "+1" || text == "-1" ? " point" : " points");
}

std::string score_text(const Score& score) {
  return fmt::format("{} points now{}; {} {} needed", display_points(score.now),
                     score.after && *score.after != score.now
                         ? fmt::format(", {} with these changes", display_points(*score.after))
                         : "",
                     (score.is_upper ? "at most " : "") + display_points(score.needed),
                     score.is_upper ? "is" : "are");
}

std::string display_contribution(double contribution) {
  if (std::abs(contribution) >= 0.005) return signed_number(contribution);
  return (contribution < 0 ? "−" : "+") + display_rounded(std::abs(contribution), 1);
}

std::string favourable_answer(const Schema& schema) {
  return answer_text(schema, schema.target.favourable);
}

std::string answer_text(const Schema& schema, const std::string& wanted) {
  return schema.target.column + " = " + wanted;
}

std::string survival_number(const Answer& answer) {
  constexpr double widest = 0.1;  // beyond it a number would say more than is known
  const std::optional<Interval>& interval = answer.survival_interval;
  if (!interval || interval->width() <= widest) return display_percent(*answer.predicted_survival);
  return fmt::format("between {:.0f} % and {:.0f} %", 100 * interval->low, 100 * interval->high);
}

std::string survival_meaning(const Answer& answer) {
  if (!answer.survival_spread) {
    return "a mean over models of as many rows drawn from the old ones; of a single model far more "
           "or fewer answers may survive";
  }
  return fmt::format(
      "a mean over models of fresh rows; nine of ten training samples put this answer between "
      "{:.0f} % and {:.0f} %",
      100 * answer.survival_spread->low, 100 * answer.survival_spread->high);
}

std::string epsilon_meaning(const EpsilonRule& rule, const Problem& problem) {
  const TrainingRecord& training = problem.model->training;
  if (const std::optional<double> share = rule.asked_survival(*problem.model, problem.set)) {
    const std::string rows =
        problem.retraining.fresh_rows
            ? fmt::format("{} other rows of the same kind", *problem.retraining.fresh_rows)
            : "as many rows drawn again from the old ones";
    return fmt::format("accepted by {:.3g} of 100 models retrained on {}", 100 * *share, rows);
  }
  const double share = 100 * problem.epsilon / training.objective;
  const double decrement = largest_decrement(*problem.model, problem.set);
  if ((is_ellipsoidal(problem.set.kind) || problem.set.kind == SetKind::full) &&
      is_off_optimum(decrement, problem.epsilon)) {
    return fmt::format(
        "accepted by every model of an ellipsoid around the trained one, which by the objective's "
        "curvature loses at most {:.3g} % against it; the trained one itself is {:.3g} % above the "
        "best",
        share, 100 * decrement / training.objective);
  }
  return fmt::format(
      "accepted by every model of the set whose training objective is at most {:.3g} % above the "
      "best",
      share);
}

std::string title_of(const Schema& schema, const std::string& name) {
  const std::optional<std::size_t> index = schema.find(name);
  return index ? feature_label(schema.features[*index]) : name;
}

std::string titles_text(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<std::string> titles;
  for (const std::string& name : names) titles.push_back(title_of(schema, name));
  return fmt::format("{}", fmt::join(titles, ", "));
}

std::string constraint_words(const Schema& schema, const std::string& constraint) {
  // A name may hold «: » itself; the longest that fits is meant.
  const Feature* named = nullptr;
  for (const Feature& feature : schema.features) {
    if (!constraint.starts_with(feature.name + ": ")) continue;
    if (named == nullptr || named->name.size() < feature.name.size()) named = &feature;
  }
  return named == nullptr ? constraint : named->title() + constraint.substr(named->name.size());
}

std::vector<std::string> protected_reasons(const Reasons& reasons, const Schema& schema) {
  std::vector<std::string> titles;
  for (const Reason& reason : reasons.items) {
    const std::optional<std::size_t> index = schema.find(reason.feature);
    if (index && schema.features[*index].is_protected)
      titles.push_back(schema.features[*index].title());
  }
  return titles;
}

std::string protected_warning(const std::vector<std::string>& titles) {
  return fmt::format(
      "the refusal rests on {}, which the schema protects: such a decision may be unlawful; have "
      "the model examined before this reason is given to anybody",
      fmt::join(titles, ", "));
}

RawRow to_four_digits(const RawRow& row, const RawRow& beside) {
  RawRow result = row;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double* const number = std::get_if<double>(&row[j]);
    if (number == nullptr || row[j] == beside[j] || !std::isfinite(*number)) continue;
    const int whole =  // digits before the point, which all stay
        *number == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(*number)))) + 1;
    const std::string text = fmt::format("{:.{}g}", *number, std::clamp(whole, 4, 17));
    const Value shown = std::strtod(text.c_str(), nullptr);
    if (shown != beside[j]) result[j] = shown;
  }
  return result;
}

std::vector<Change> differences(const Schema& schema, const RawRow& from, const RawRow& to) {
  const std::size_t count = schema.features.size();
  require(from.size() == count && to.size() == count,
          "rows of {} and {} values, expected {} as in the schema", from.size(), to.size(), count);
  std::vector<Change> result;
  for (std::size_t j = 0; j < count; ++j) {
    if (from[j] != to[j]) result.push_back({schema.features[j].name, from[j], to[j]});
  }
  return result;
}

}  // namespace ellice
