#pragma once

// Factories of near-optimal models: real networks whose training objective stays below a bound, to
// be held against an answer. A set made here is a probe of the true set, never a cover of it.

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "ellice/core/fields.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/loss.hpp"
#include "ellice/model/network.hpp"
#include "ellice/sets/variant.hpp"
#include "model/network_objective.hpp"
#include "model/network_training.hpp"
#include "model/objective.hpp"

namespace ellice {

/// How the models are made.
enum class StressKind {
  retrain,      // trained like the base, from other initial weights
  noise,        // every weight and bias of the base times its own factor from N(1, σ²)
  adversarial,  // the base, moved to change its answer for one row
  bootstrap,    // trained like the base, on rows drawn with replacement
};
template <>
struct EnumNames<StressKind> {
  static constexpr std::array<std::string_view, 4> names = {"retrain", "dropout", "awp",
                                                            "bootstrap"};
};

struct StressOptions {
  Variant variant = Variant::corrected;
  int count = 600;
  int retrain_attempts = 2;
  int noise_attempts = 100;
  double noise_share = 0.1;
  int steps = 400;
  double learning_rate = 1e-3;
  double momentum = 0.9;

  static void fields(auto& self, auto&& visit) {
    visit("variant", self.variant, any_value(), "as the paper's authors ran it, or corrected");
    visit("count", self.count, at_least(1), "models wanted of each kind");
    visit("retrain_attempts", self.retrain_attempts, at_least(1),
          "networks trained at most, per network wanted");
    visit("noise_attempts", self.noise_attempts, at_least(1),
          "draws of corrected weight noise at most, per network wanted");
    visit("noise_share", self.noise_share, between(0.001, 0.999),
          "share of draws inside the bound at which corrected weight noise is set");
    visit("steps", self.steps, at_least(1), "steps of an adversarial model at most");
    visit("learning_rate", self.learning_rate, greater_than(0), "of an adversarial model");
    visit("momentum", self.momentum, from_to_below(0, 1), "of an adversarial model");
  }
  bool operator==(const StressOptions&) const = default;
};

/// What the models are near to: a base and how it was trained. All that it points to must outlive
/// it.
struct StressSource {
  const Network* base = nullptr;
  LabelledRows train = {};
  LabelledRows validation = {};  // of early stopping; none by default
  LossKind loss = LossKind::logistic;
  Penalty penalty = {};
  NetworkOptions network = {};  // read where networks with hidden layers are trained
  double threshold = 0;         // the base's class is 1 from this logit on
};

struct StressModel {
  Network network = {};
  double objective = 0;  // L(Θ) on the training rows
};

struct StressSet {
  StressKind kind = StressKind::retrain;
  std::vector<StressModel> models = {};  // may be empty
  std::size_t tried = 0;                 // models made until there were enough, kept or not
  double bound = std::numeric_limits<double>::infinity();  // on L(Θ); infinite: not filtered
  double noise = 0;                                        // σ; 0 for kinds without
};

/// L(Θ) of the base on the training rows. A bound is this plus a tolerance.
[[nodiscard]] double base_objective(const StressSource& source);

/// The first `count` retrained networks with L ≤ bound, tried in the order of their seeds (network
/// k has seeds.split(k)), of at most retrain_attempts·count. Train once with the largest bound, or
/// an infinite one, and use within() for the others. Without hidden layers the objective is convex
/// and training has one outcome: the set is the base itself, once.
[[nodiscard]] StressSet retrain_set(const StressSource& source, double bound,
                                    const StressOptions& options, const Random& seeds,
                                    const Execution& execution = {});

/// Multiplicative weight noise.
///
/// published: of 20 values of σ, log-spaced from 1e-4 to 0.8, the largest with more than 5 % of 500
/// draws inside the bound (none: 0.8); then `count` draws, of which those outside are drawn once
/// more with σ/2 and dropped if they are still outside.
/// corrected: σ bisected until `noise_share` of 500 draws are inside (common draws for all σ), then
/// draws until `count` are inside or noise_attempts·count were made.
[[nodiscard]] StressSet noise_set(const StressSource& source, double bound,
                                  const StressOptions& options, const Random& seeds,
                                  const Execution& execution = {});

/// One model for each of N = min(count, n) training rows 0, g, 2g, …, g = n div N: from the base,
/// gradient descent with momentum on that row's loss for the class that the base does not give it,
/// plus the penalty, until L would exceed the bound or after `steps`.
///
/// published: the step that exceeds the bound is undone; the last of all steps is not checked.
/// corrected: every step is checked, and the one that exceeds the bound is shortened to reach it.
/// Empty if the base itself exceeds the bound. Depends on nothing random.
[[nodiscard]] StressSet adversarial_set(const StressSource& source, double bound,
                                        const StressOptions& options,
                                        const Execution& execution = {});
/// The same for several bounds, in their order: one descent passes them all.
[[nodiscard]] std::vector<StressSet> adversarial_sets(const StressSource& source,
                                                      const std::vector<double>& bounds,
                                                      const StressOptions& options,
                                                      const Execution& execution = {});

/// The same descent against one point: f(x) itself is minimised, without the penalty. The corrected
/// variant then follows the bound for up to as many steps as long as f(x) decreases: a local
/// minimum, for a linear base nearly the minimum. Ends with the first model that gives x less than
/// `enough`. Nothing if the base itself exceeds the bound.
[[nodiscard]] std::optional<StressModel> adversarial_against(
    const StressSource& source, double bound, VectorArg x, const StressOptions& options,
    double enough = -std::numeric_limits<double>::infinity());

/// `count` models trained on n of the n training rows drawn with replacement; model k has
/// seeds.split(k). Not filtered; `objective` is on the rows as they are. Without hidden layers the
/// fit is Newton's, to the optimum.
[[nodiscard]] StressSet bootstrap_set(const StressSource& source, const StressOptions& options,
                                      const Random& seeds, const Execution& execution = {});

/// Any of the four; bootstrap models outside the bound are dropped here, too.
[[nodiscard]] StressSet make_stress_set(StressKind kind, const StressSource& source, double bound,
                                        const StressOptions& options, const Random& seeds,
                                        const Execution& execution = {});

/// The models with L ≤ bound, which must not exceed the set's own.
[[nodiscard]] StressSet within(const StressSet& set, double bound);

/// The logits of each row (down) by each model (across); the same for any number of threads.
[[nodiscard]] Matrix stress_logits(const StressSet& set, RowMatrixArg rows,
                                   const Execution& execution = {});

/// Every model gives x a logit ≥ threshold. An empty set says nothing: Error{argument}.
[[nodiscard]] bool accepts_all(const StressSet& set, VectorArg x, double threshold);
/// The same for each row.
[[nodiscard]] std::vector<bool> accepted_by_all(const StressSet& set, RowMatrixArg rows,
                                                double threshold, const Execution& execution = {});

}  // namespace ellice
