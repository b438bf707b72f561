#pragma once

#include <optional>
#include <string_view>

#include "core/parallel.hpp"
#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"
#include "ellice/sets/variant.hpp"

namespace ellice {

struct WorstInBox {
  double logit = 0;      // less the threshold
  Network network = {};  // of the box, with this logit
};

/// Δ-robustness (Jiang et al., 2022, 2024): does the point keep its class for every network of the
/// box {Θ : |Θᵢ − Θ̂ᵢ| ≤ δ}, in which each weight and bias of each layer moves by itself? For linear
/// models and networks with one or two hidden layers of relu (theory.md, Result 41).
///
/// corrected: exact. Closed forms for at most one hidden layer; for two, bounds that decide most
/// points, and CBC for the rest. A "yes" has a margin above all rounding.
/// published: with the error of sign in the first layer that the paper's runs had, 1 + Σxᵢ in place
/// of 1 + Σ|xᵢ|; where that is negative no parameters are feasible and the answer is "no", unless
/// the whole first layer stays off.
///
/// const, so that threads may share it.
class IntervalRobustness {
 public:
  /// Throws Error{argument} for activations other than relu and for more than two hidden layers.
  explicit IntervalRobustness(const Network& network, double threshold = 0,
                              Variant variant = Variant::corrected);

  /// A lower bound of the worst logit less the threshold, by interval arithmetic: the worst logit
  /// itself for at most one hidden layer. −∞ where the published check has no feasible parameters.
  [[nodiscard]] double interval_bound(VectorArg x, double delta) const;
  [[nodiscard]] bool is_robust(VectorArg x, double delta) const;
  /// sup {δ : robust}, rounded down: by some 1e-9 for at most one hidden layer, otherwise by 1e-6
  /// of itself as a rule; 0 where the network itself does not accept x.
  [[nodiscard]] double largest_delta(VectorArg x) const;
  /// The same for each row, the same for any number of threads.
  [[nodiscard]] Vector largest_deltas(RowMatrixArg rows, const Execution& execution = {}) const;
  /// The worst network of the box (corrected only). Nothing if CBC did not finish.
  [[nodiscard]] std::optional<WorstInBox> worst(VectorArg x, double delta) const;

 private:
  /// The first layer at a point: unit j is reached between centre ∓ δ·reach.
  struct FirstLayer {
    Vector centre = {};
    double reach = 0;
  };
  /// What the first hidden layer can put out: each product of these intervals is exact.
  struct Activations {
    Vector lower = {};
    Vector upper = {};
    [[nodiscard]] Vector at(VectorArg position) const;  // 0: lower, 1: upper
  };
  struct Bound {
    double value = 0;
    double scale = 0;  // sum of the magnitudes that went into it
    [[nodiscard]] bool is_positive() const { return value > 1e-9 * (1 + scale); }
  };
  struct Minimum {
    double logit = 0;
    Vector activations = {};
  };

  [[nodiscard]] FirstLayer first_layer(VectorArg x) const;
  [[nodiscard]] std::optional<Activations> activations(const FirstLayer& first, double delta) const;
  [[nodiscard]] Bound bound(const FirstLayer& first, double delta) const;
  [[nodiscard]] Bound bound_two(const Activations& box, double delta) const;
  [[nodiscard]] bool is_robust(const FirstLayer& first, double delta) const;
  [[nodiscard]] double largest_deep(const FirstLayer& first, double lower, double upper) const;
  /// F(a): the worst logit of two hidden layers when the first puts out a.
  [[nodiscard]] double value_at(VectorArg a, double delta) const;
  /// A small F by moving one activation at a time between its ends.
  [[nodiscard]] Minimum descend(const Activations& box, double delta) const;
  /// min F over the box, by CBC. Without activations: ∞ where no F is below the cutoff, −∞ where
  /// CBC was not done.
  [[nodiscard]] Minimum minimize(const Activations& box, double delta, double cutoff) const;
  struct Decision {
    bool is_robust = false;
    std::optional<Vector> refuting = {};  // activations with F ≤ 0; none: too close to decide
  };
  [[nodiscard]] Decision decide(const Activations& box, double delta) const;

  Network network_;  // the threshold taken off its last bias
  Variant variant_;
};

/// Throws Error{argument}, naming the method, unless the network's hidden layers are all relu.
void require_relu(const Network& network, std::string_view method);

}  // namespace ellice
