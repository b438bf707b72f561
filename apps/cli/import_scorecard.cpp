#include "import_scorecard.hpp"

#include "ellice/core/error.hpp"
#include "model/scorecard.hpp"

namespace ellice::cli {

namespace {

constexpr double usual_l2 = 1e-3;

}  // namespace

void add_scorecard_options(Verb& verb, ScorecardArguments& arguments) {
  verb.add_option("--scorecard", arguments.file,
                  "instead: scorecard, CSV with feature, from, to, points (and level, reason), or "
                  "PMML; with --data, --pdo, --score and --odds");
  verb.add_option("--pdo", arguments.pdo, "of a scorecard: points that double the odds");
  verb.add_option("--score", arguments.score, "of a scorecard: the score at which --odds hold");
  verb.add_option("--odds", arguments.odds,
                  "of a scorecard: the odds of the favourable answer at --score, to one");
  verb.add_option(
          "--closed", arguments.closed,
          "of a scorecard in CSV: whether an end belongs to the bin above it (left) or below")
      ->one_of({"left", "right"})
      ->capture_default_str();
}

Model import_scorecard(const ScorecardArguments& arguments, const Schema& schema,
                       const DeployedArguments& rows, const std::string& tool,
                       const Console& console) {
  require(arguments.pdo && arguments.score && arguments.odds,
          "--scorecard needs --pdo, --score and --odds: what a score means");
  require(!rows.data.empty(),
          "--scorecard needs --data, the rows that it was made from: points alone do not say which "
          "models are nearly as good");
  require(rows.loss == LossKind::logistic && rows.weights.empty() &&
              rows.class_weight == ClassWeight::none,
          "--loss, --weights and --class-weight do not go with --scorecard");
  Scorecard card = read_scorecard(arguments.file, *enum_from_name<Bins::Closed>(arguments.closed));
  if (!tool.empty()) card.tool = tool;
  const Schema binned = schema_of(card, schema);
  return model_of(card, {.pdo = *arguments.pdo, .score = *arguments.score, .odds = *arguments.odds},
                  read_rows(rows, binned, "", console), rows.l2.value_or(usual_l2),
                  rows.store_rows);
}

}  // namespace ellice::cli
