#pragma once

// How outcomes are spelt for people, the same in every rendering; numbers and values are in
// data/spelling.hpp.

#include <string>
#include <string_view>
#include <vector>

#include "data/spelling.hpp"
#include "ellice/data/schema.hpp"
#include "ellice/request/answer.hpp"
#include "request/problem.hpp"
#include "sets/epsilon_rule.hpp"

namespace ellice {

/// An outcome in a few words: «nearest certified plan».
[[nodiscard]] std::string_view status_words(Status status);

/// The largest ε with an answer, in words where it is known between bounds only or not at all.
[[nodiscard]] std::string largest_epsilon_text(const Infeasibility& why);
/// Whether no allowed row can be more robust than the best that is stated, but for rounding.
[[nodiscard]] bool is_best_proved(const Infeasibility& why);

/// A logit with its sign and two digits behind the point: −0.83, +1.20.
[[nodiscard]] std::string signed_number(double value);

/// What a change adds to a score: «+45», «+45 points».
[[nodiscard]] std::string signed_points(double points);
[[nodiscard]] std::string points_text(double points);
/// «512 points now, 588 with these changes; 560 are needed».
[[nodiscard]] std::string score_text(const Score& score);

/// What a reason takes off the logit: −0.83, or −0.0004 where two digits would show nothing.
[[nodiscard]] std::string display_contribution(double contribution);

/// The favourable answer: «approved = yes».
[[nodiscard]] std::string favourable_answer(const Schema& schema);
/// The same for another class, or «one of setosa, virginica».
[[nodiscard]] std::string answer_text(const Schema& schema, const std::string& wanted);

/// How often retrained models are predicted to accept an answer of which that is stated: «95.0 %»,
/// or «between 54 % and 72 %» where the mean is not known to ten points.
[[nodiscard]] std::string survival_number(const Answer& answer);
/// What that is a number of: which rows, a mean over models, and how far these spread.
[[nodiscard]] std::string survival_meaning(const Answer& answer);

/// What answers at this ε promise, in words: «accepted by 95 of 100 models retrained on as many
/// rows drawn again».
[[nodiscard]] std::string epsilon_meaning(const EpsilonRule& rule, const Problem& problem);

/// What people read for a feature of this name: its label, or else the name.
[[nodiscard]] std::string title_of(const Schema& schema, const std::string& name);
[[nodiscard]] std::string titles_text(const Schema& schema, const std::vector<std::string>& names);
/// The name of a constraint, which files keep, with the label in place of the feature it begins
/// with: «income: at most 4 000» becomes «Monthly income: at most 4 000».
[[nodiscard]] std::string constraint_words(const Schema& schema, const std::string& constraint);

/// The titles of protected features among the principal reasons, which an operator must know of.
[[nodiscard]] std::vector<std::string> protected_reasons(const Reasons& reasons,
                                                         const Schema& schema);
[[nodiscard]] std::string protected_warning(const std::vector<std::string>& titles);

/// A row that is nobody's plan, with numbers to four digits where these tell it from `beside`.
[[nodiscard]] RawRow to_four_digits(const RawRow& row, const RawRow& beside);

/// What distinguishes two rows, in the schema's order.
[[nodiscard]] std::vector<Change> differences(const Schema& schema, const RawRow& from,
                                              const RawRow& to);

}  // namespace ellice
