#pragma once

#include <optional>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/request/training_rows.hpp"
#include "request/problem.hpp"

namespace ellice {

struct SurvivalCheckOptions {
  int refits = 200;
  int splits = 20;
  int people = 60;

  static void fields(auto& self, auto&& visit) {
    visit("refits", self.refits, at_least(2), "models retrained on rows drawn again, for a check");
    visit("splits", self.splits, at_least(2),
          "times that the rows are cut into halves, each answering for the other, for a check");
    visit("people", self.people, at_least(1), "declined people to explain at each level");
  }
  bool operator==(const SurvivalCheckOptions&) const = default;
};

/// What was predicted for the answers at one ε, and what retraining did to them.
struct SurvivalLevel {
  double wanted = 0;       // the survival that ε was chosen for
  double epsilon = 0;      // the mean over the splits, for halves
  std::size_t trials = 0;  // answers times models
  double predicted = 0;    // mean over the answers, each for its own row; without the effect below
  /// Of fresh rows: the same with the selection effect (theory.md, Result 35), for which ε was
  /// chosen, and how sure that is.
  std::optional<double> corrected = {};
  std::optional<Interval> interval = {};
  double measured = 0;
  /// Of `measured`. Answers are judged by the same models, so that trials are not independent: it
  /// is taken over the retrained models (or splits), which are.
  double standard_error = 0;
};

struct SurvivalCheck {
  std::vector<SurvivalLevel> same = {};   // rows drawn again with replacement
  std::vector<SurvivalLevel> fresh = {};  // halves: a model of one half, retrained on the other
};

/// Predicts the survival of answers at the ε of each wanted level, then really retrains by Newton's
/// method. The problem's ε is not used. Throws Error{argument} for what has no prediction:
/// networks, other sets.
[[nodiscard]] SurvivalCheck check_survival(const Problem& problem, const FittedRows& fitted,
                                           const std::vector<double>& wanted,
                                           const SurvivalCheckOptions& options,
                                           const Random& random, const Execution& execution = {});

/// The first `most` of the rows that the problem's model declines, as queries.
[[nodiscard]] std::vector<Query> declined_rows(const Problem& problem, const RowMatrix& raw,
                                               int most);

}  // namespace ellice
