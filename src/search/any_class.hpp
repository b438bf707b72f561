#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "search/generator.hpp"

namespace ellice {

/// Answers with one of several acceptable classes: each of them in turn is asked to beat all that
/// are not acceptable, by a generator of its own, and the cheapest answer counts. That is enough
/// for the predicted class to be acceptable for every model of the set, and not necessary: models
/// may disagree on which acceptable class it is (theory.md, Result 40). So no answer is called
/// optimal, and none is proved impossible.
class AnyClass final : public Generator {
 public:
  /// Makes the generator of a problem, which outlives it.
  using Factory = std::function<std::unique_ptr<Generator>(const Problem&)>;

  /// The problem's contest says what is acceptable: all classes that are no rivals. The answer with
  /// the fewest changes counts, and only then the cheapest, where that is asked for.
  AnyClass(const Problem& problem, const Factory& factory, bool fewest_first = false);

  [[nodiscard]] std::vector<Answer> generate(const std::vector<Query>& queries,
                                             const Execution& execution) const override;

 private:
  struct Candidate {
    std::unique_ptr<Problem> problem = {};
    std::unique_ptr<Generator> generator = {};
  };
  std::vector<Candidate> candidates_;  // one for each acceptable class
  bool fewest_first_;
};

/// Whether a problem names more than one acceptable class.
[[nodiscard]] bool has_several_targets(const Problem& problem);

}  // namespace ellice
