#pragma once

// What the methods have in common that the paper compares itself with: their two variants, and the
// judgement of their answers by a set of models that they do not know.

#include <functional>
#include <string_view>
#include <vector>

#include "ellice/sets/variant.hpp"
#include "search/generator.hpp"

namespace ellice {

/// The constraints of one query, with the problem's display steps for answers that are rounded.
enum class Rounding { as_displayed, none };
[[nodiscard]] FeasibleSet feasible_set(const Problem& problem, const Query& query,
                                       Rounding rounding);

/// Raw numbers of a point, brought into no range: a published answer. Features that did not move
/// keep the query's value; whole numbers and levels are the nearest.
[[nodiscard]] Vector decode_freely(const FeasibleSet& feasible, VectorArg z);

/// Numbers that moved, rounded as the problem displays them where the schema has no grid: what a
/// table shows is then what was judged.
void round_as_displayed(const Problem& problem, const FeasibleSet& feasible, Vector& raw);

/// Fills in x0 itself, as the paper's runs did for everything that they did not find.
void return_query(const Assembler& assembler, Answer& answer, const FeasibleSet& feasible);

/// The query as its own answer, because it meets the method's rule, whatever the set of models says
/// of it: already_robust or uncertified.
void keep_query(const Assembler& assembler, Answer& answer, const FeasibleSet& feasible);

/// A method whose answers may be anywhere in space.
struct SpaceMethod {
  std::string_view progress = {};
  /// Where the published loop ends (model space), or nothing where it fails.
  std::function<std::optional<Vector>(std::size_t query_index, const FeasibleSet&)> published = {};
  /// corrected: whether a point of model space is what the method looks for.
  std::function<bool(const Vector&)> is_enough = {};
  /// corrected: the search, for a query that is not.
  std::function<void(Answer&, const FeasibleSet&)> corrected = {};
};

[[nodiscard]] std::vector<Answer> answer_in_space(const Problem& problem,
                                                  const Assembler& assembler, Variant variant,
                                                  const SpaceMethod& method,
                                                  const std::vector<Query>& queries,
                                                  const Execution& execution);

/// Boxes that a local search goes through together, and what keeps the query's value in them.
struct SearchStage {
  std::vector<Box> boxes = {};
  std::vector<std::string> held = {};
};

/// The stages of a search that moves whole numbers and ordinal levels like numbers and rounds them
/// in the end; only categories keep the query's level. Where rounding loses every answer, a second
/// stage leaves whole numbers and levels where they are.
[[nodiscard]] std::vector<SearchStage> search_stages(const FeasibleSet& feasible);

}  // namespace ellice
