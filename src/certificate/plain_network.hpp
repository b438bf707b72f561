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
  [[nodiscard]] long double logit(VectorArg x) const;
  /// What rounding of all layers is measured by: their sums as if nothing cancelled, of the logit
  /// and of the root of the sum of squares of its derivatives.
  [[nodiscard]] long double logit_size(VectorArg x) const;
  [[nodiscard]] long double jacobian_size(VectorArg x) const;
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
  /// Sizes of what the units of a layer add up, from those of their inputs.
  static std::vector<long double> layer_sizes(const PlainLayer& layer,
                                              const std::vector<long double>& inputs);
  /// A_0 … A_{L−1}.
  [[nodiscard]] std::vector<std::vector<long double>> sizes(VectorArg x) const;
  /// a_0 … a_{L−1}.
  [[nodiscard]] std::vector<std::vector<long double>> activations(VectorArg x) const;

  std::vector<PlainLayer> layers_;
};

}  // namespace ellice
