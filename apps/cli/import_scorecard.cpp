#include "import_scorecard.hpp"

#include "ellice/core/error.hpp"
#include "model/scorecard.hpp"

namespace ellice::cli {

namespace {

constexpr double usual_l2 = 1e-3;

ScoreScale scale_of(const ScorecardArguments& arguments) {
  require(arguments.pdo && arguments.score && arguments.odds,
          "--scorecard needs --pdo, --score and --odds: what a score means");
  return {.pdo = *arguments.pdo, .score = *arguments.score, .odds = *arguments.odds};
}

Scorecard read_card(const ScorecardArguments& arguments, const std::string& tool) {
  Scorecard card = read_scorecard(arguments.file, arguments.closed);
  if (!tool.empty()) card.tool = tool;
  return card;
}

}  // namespace

void add_scorecard_options(Verb& verb, ScorecardArguments& arguments) {
  verb.add_option("--scorecard", arguments.file,
                  "instead: scorecard, CSV with feature, from, to, points (and level, reason), or "
                  "PMML; with --pdo, --score and --odds, and with --data or --covariance");
  verb.add_option("--pdo", arguments.pdo,
                  "of a scorecard: points that double the odds; negative where more points are "
                  "worse");
  verb.add_option("--score", arguments.score, "of a scorecard: the score at which --odds hold");
  verb.add_option("--odds", arguments.odds,
                  "of a scorecard: the odds of the favourable answer at --score, to one");
  verb.add_option(
      "--cut-off", arguments.cut_off,
      "of a scorecard: the points from which on people are accepted (up to which, where "
      "--pdo is negative); even odds unless given");
  add_choice(
      verb, "--closed", arguments.closed,
      "of a scorecard in CSV: whether `from` belongs to a bin (left), `to` (right), or both");
}

Model import_scorecard(const ScorecardArguments& arguments, const Schema& schema,
                       const DeployedArguments& rows, const std::string& tool,
                       const Console& console) {
  const ScoreScale scale = scale_of(arguments);
  require(!rows.data.empty(),
          "--scorecard needs --data, the rows that it was made from, or --covariance, --rows and "
          "--log-likelihood: points alone do not say which models are nearly as good");
  require(rows.loss == LossKind::logistic && rows.weights.empty() &&
              rows.class_weight == ClassWeight::none,
          "--loss, --weights and --class-weight do not go with --scorecard");
  const Scorecard card = read_card(arguments, tool);
  return model_of(card, scale, arguments.cut_off,
                  read_rows(rows, schema_of(card, schema), "", console), rows.l2.value_or(usual_l2),
                  rows.store_rows);
}

Model import_scorecard(const ScorecardArguments& arguments, const Schema& schema,
                       const Coefficients& known, const std::string& tool) {
  const ScoreScale scale = scale_of(arguments);
  return model_of(read_card(arguments, tool), scale, arguments.cut_off, known, schema);
}

}  // namespace ellice::cli
