#pragma once

#include <string>
#include <vector>

#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"
#include "ellice/sets/attack.hpp"

namespace ellice {

/// One thing to do, in words: «raise» «income» from «24 000» to «26 500» «EUR/year».
struct PlanStep {
  std::string verb = {};
  std::string feature = {};
  std::string from = {};
  std::string to = {};
  std::string unit = {};
  std::string within = {};  // of a binned feature: what counts the same as `to`
  std::string points = {};  // of a scorecard: «+45 points»
};

/// The changes of an answer, in the schema's order; empty without a counterfactual.
[[nodiscard]] std::vector<PlanStep> plan_steps(const Answer& answer, const Schema& schema);

/// «a, b and c».
[[nodiscard]] std::string joined(const std::vector<std::string>& parts);

/// The steps as a phrase: «raise income from 24 000 to 26 500 EUR/year and lower debt from 9 000 to
/// 7 250 EUR»; empty without steps.
[[nodiscard]] std::string plan_phrase(const Answer& answer, const Schema& schema);

/// What follows the phrase, or stands in its place, so that the whole is a sentence for this
/// status: «.», or «; this is certified only up to ε = 0.004.», or «No plan exists: …».
[[nodiscard]] std::string outcome_clause(const Answer& answer, const Schema& schema);

/// The whole answer as one sentence that a person can act on.
[[nodiscard]] std::string sentence(const Answer& answer, const Schema& schema);
/// The same for an answer of an Explainer, which knows its schema. Throws Error{argument} for
/// others.
[[nodiscard]] std::string sentence(const Answer& answer);

/// What a proof says of every allowed row, up to its bound: «one model of the set gives every
/// allowed row a logit of at most»; several models where there are several sets, a lead with many
/// classes.
[[nodiscard]] std::string proof_phrase(const Answer& answer);

/// What the search for a real network that breaks an answer came to.
[[nodiscard]] std::string attack_text(const Attack& attack);

/// The text with its first letter, where that is a to z, in upper case.
[[nodiscard]] std::string capitalized(std::string text);

}  // namespace ellice
