#include "ellice/rashomon/retraining.hpp"

#include <charconv>
#include <cmath>

#include "ellice/core/error.hpp"
#include "ellice/core/normal.hpp"

namespace ellice {

namespace {

/// κσ²/(2n): what one squared standard deviation of a retrained logit is as an ε.
double epsilon_of_one_deviation(const Model& model, const Retraining& retraining) {
  const TrainingRecord& training = model.training;
  require(training.rows > 0, "a model fitted on {} rows has no sampling error", training.rows);
  const double noise = training.loss_kind == LossKind::squared ? 2 * training.loss : 1;
  return retraining.factor(training.rows) * noise / (2 * static_cast<double>(training.rows));
}

}  // namespace

double Retraining::factor(Index rows) const {
  if (!fresh_rows) return 1;
  return 1 + static_cast<double>(rows) / static_cast<double>(*fresh_rows);
}

std::string Retraining::text() const {
  return fresh_rows ? fmt::format("fresh:{}", *fresh_rows) : "same";
}

Retraining parse_retraining(std::string_view text) {
  if (text == "same") return {};
  constexpr std::string_view prefix = "fresh:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    Index rows = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rows);
    if (error == std::errc() && rest == digits.data() + digits.size() && rows >= 1) {
      return {.fresh_rows = rows};
    }
  }
  fail(ErrorCode::argument,
       "--retrain: found \"{}\", expected same, for as many rows drawn from the old ones, or "
       "fresh:N with N >= 1 rows, e.g. fresh:500",
       text);
}

std::string no_survival_reason(const Model& model, const SetChoice& set) {
  if (model.network.outputs() > 1) {
    return "survival under retraining is predicted for models with one logit, not for softmax "
           "models; give a number or a share of the objective, e.g. 5%";
  }
  if (set.kind != SetKind::last_layer) {
    return fmt::format(
        "survival under retraining is predicted for the set last-layer, not for {}; run `ellice "
        "calibrate`, which measures it",
        enum_name(set.kind));
  }
  if (set.damping && *set.damping != model.training.l2) {
    return fmt::format(
        "survival under retraining is predicted for the objective's own l2 = {} in H, not for a "
        "damping of {}; leave out --damping",
        model.training.l2, *set.damping);
  }
  return {};
}

double predicted_survival(const Model& model, double epsilon, const Retraining& retraining) {
  require(epsilon >= 0, "epsilon = {} must be >= 0", epsilon);
  return normal_cdf(std::sqrt(epsilon / epsilon_of_one_deviation(model, retraining)));
}

double survival_epsilon(const Model& model, double survival, const Retraining& retraining) {
  require(survival > 0 && survival < 1,
          "a survival of {} cannot be asked for: it is a probability above 0 and below 1",
          survival);
  if (survival <= 0.5) return 0;
  const double z = normal_quantile(survival);
  return z * z * epsilon_of_one_deviation(model, retraining);
}

}  // namespace ellice
