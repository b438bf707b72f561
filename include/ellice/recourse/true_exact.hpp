#pragma once

#include <memory>
#include <vector>

#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/mixed_exact.hpp"
#include "ellice/solver/box_projection.hpp"

namespace ellice {

class TrueSearch;
struct TrueSearchResult;

/// The nearest point that every model of the true set accepts, for a linear model: by a sequence of
/// ellipsoid problems whose ellipsoid is corrected to the true set at the present point (theory.md,
/// Result 22), by cutting planes where these do not settle (Result 34); whole numbers, levels,
/// categories, grids, rules and limits of changes by a branch and bound whose half-spaces are
/// models of the true set (Result 34). Rounded, checked and certified like every other answer.
///
/// Statuses as of LinearExact: optimal with a certified gap of at most 1e-9, certified with its
/// gap, infeasible with a model of the set that accepts no allowed point, not_found.
class TrueExact final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for a network, for another set
  /// and for several plans, Error{input} where the rows are not those of the model.
  explicit TrueExact(const Problem& problem, const ExactOptions& options = {});
  ~TrueExact() override;

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  [[nodiscard]] Recourse answer(const Query& query) const;
  /// In a branch of what the query may become.
  [[nodiscard]] Recourse answer(const Query& query, const FeasibleSet& feasible) const;
  /// The nearest answer where nothing is discrete, or what is keeps the query's values.
  void answer_numbers(Recourse& result, const FeasibleSet& feasible) const;
  void answer_mixed(Recourse& result, const FeasibleSet& feasible) const;
  [[nodiscard]] bool complete(Recourse& result, const FeasibleSet& feasible, const Box& box,
                              const TrueSearchResult& solution) const;
  /// A minimal set of constraints without which the query has an answer.
  [[nodiscard]] std::vector<std::string> blocking(const FeasibleSet& feasible) const;
  void explain_no_answer(Recourse& result, const FeasibleSet& feasible) const;

  const Problem* problem_;
  ExactOptions options_;
  Assembler assembler_;
  SeparableCost cost_;
  TrueSet set_;
  MixedExact mixed_;
  std::unique_ptr<TrueSearch> search_;
};

}  // namespace ellice
