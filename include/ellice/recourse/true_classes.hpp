#pragma once

#include <memory>
#include <vector>

#include "ellice/recourse/generator.hpp"
#include "ellice/recourse/mixed_exact.hpp"

namespace ellice {

struct TrueContest;

/// The nearest point at which a class beats all its rivals for every model of the true set, for
/// softmax models without hidden layers: branch and bound with half-spaces of worst heads, whose
/// decided parts are solved with corrected ellipsoids, one for each rival, and by cutting planes
/// (theory.md, Result 34 and Result 35). Checked and certified like every other answer.
///
/// Statuses: optimal with a certified gap of at most 1e-9, certified with its gap, already_robust,
/// not_found, also where the search rules every row out: there is no short proof of that.
class TrueClasses final : public Generator {
 public:
  /// `problem` must outlive the generator. Throws Error{argument} for other sets and models and for
  /// several plans, Error{input} where the rows are not those of the model.
  explicit TrueClasses(const Problem& problem, const ExactOptions& options = {});
  ~TrueClasses() override;

  [[nodiscard]] std::vector<Recourse> generate(const std::vector<Query>& queries,
                                               const Execution& execution) const override;

 private:
  [[nodiscard]] Recourse answer(const Query& query) const;

  const Problem* problem_;
  Assembler assembler_;
  std::unique_ptr<const TrueContest> contest_;
  MixedExact mixed_;
};

}  // namespace ellice
