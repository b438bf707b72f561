#pragma once

// A network component by component in extended precision: the verifier's own way through it, which
// shares nothing with NetworkPass and with the code that issues certificates.

#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/model/network.hpp"

namespace ellice {

class PlainNetwork {
 public:
  explicit PlainNetwork(const Network& network);

  /// [a_{L−1}; 1].
  [[nodiscard]] std::vector<long double> features_and_one(VectorArg x) const;
  /// What the head adds up, and the sum of the sizes of its terms.
  [[nodiscard]] long double logit(VectorArg x) const;
  [[nodiscard]] long double logit_scale(VectorArg x) const;
  /// The derivative of the logit in all parameters, in the order of parameter_vector().
  [[nodiscard]] std::vector<long double> jacobian(VectorArg x) const;
  /// Whether rounding alone says on which side of its kink a relu unit is: both slopes are then
  /// derivatives, and a linearised network has two worst models. Issuers keep ten times farther
  /// away, so that sums in another order agree with them.
  [[nodiscard]] bool is_on_kink(VectorArg x) const;
  /// Adds `step`, in that order, to the parameters.
  void move(const std::vector<long double>& step);

 private:
  struct Unit {
    std::size_t first = 0;  // of the inputs that it reads
    std::vector<long double> weights = {};
    long double bias = 0;
  };
  struct PlainLayer {
    std::vector<Unit> units = {};
    Activation activation = Activation::identity;
  };
  /// What a unit adds up, and the sum of the sizes of its terms.
  static long double sum(const Unit& unit, const std::vector<long double>& inputs);
  static long double sum_of_sizes(const Unit& unit, const std::vector<long double>& inputs);
  /// a_0 … a_{L−1}.
  [[nodiscard]] std::vector<std::vector<long double>> activations(VectorArg x) const;

  std::vector<PlainLayer> layers_;
};

}  // namespace ellice
