#pragma once

#include <cstdint>
#include <vector>

#include "core/row_sum.hpp"
#include "ellice/core/types.hpp"
#include "model/network_pass.hpp"

namespace ellice {

/// The linear images UᵀJ(x) of a network's parameter gradient, for a network whose activations are
/// relu or the identity. While no unit switches, the derivatives δ_l of the logit stay, so that
/// UᵀJ = Σ_l M_l·[a_l; 1] for matrices M_l = Uᵀ(δ_l·[·; 1]ᵀ) that depend on the units of layer l
/// and above alone (theory.md, Result 25): the first one costs what that part of J times U costs,
/// for each region; those above it are shared by regions, and found by the columns that a point
/// needs. Remembers what was seen last. What is returned never depends on what is remembered.
class LinearRegions {
 public:
  /// `vectors` has one row per parameter, as wide as padded() says; both must outlive this.
  LinearRegions(const Network& network, const RowMatrix& vectors);

  struct Region {
    std::vector<std::uint64_t> pattern = {};  // which units are on
    RowMatrix rows = {};                      // Mᵀ of the first layer
    Vector logit_gradient = {};               // ∇f
    Vector norms = {};                        // ‖δ_l‖² for each layer
  };
  /// The region of the point whose forward pass this is; what it was before does not stay valid.
  [[nodiscard]] const Region& at(NetworkPass& pass);
  /// UᵀJ at the point of the last at().
  void image(const NetworkPass& pass, Vector& result);
  /// M_lᵀ·v for the inputs of each layer there, the bias left out, and 0 for units that are off.
  void returned(const NetworkPass& pass, const Vector& v, std::vector<Vector>& result) const;

 private:
  /// Mᵀ of a layer above the first.
  struct Share {
    std::vector<std::uint64_t> pattern = {};  // of this layer's units and those above
    Vector delta = {};
    RowMatrix rows = {};           // one per input and one for the bias
    std::vector<char> known = {};  // by row
  };
  struct Layer {
    Index first = 0;       // of its parameters
    std::size_t word = 0;  // of its units in the pattern
    std::vector<Share> shares = {};
    std::size_t next = 0;          // to be forgotten
    std::size_t last = 0;          // that was asked for
    const double* rows = nullptr;  // of Mᵀ at the point of the last at()
  };
  void read_pattern(const NetworkPass& pass);
  void build(NetworkPass& pass, Region& region);
  /// The share with the rows that the point needs.
  [[nodiscard]] const RowMatrix& share(std::size_t layer, NetworkPass& pass);
  /// A row of Mᵀ.
  void sum_share(std::size_t layer, const Vector& delta, Index input, double* to);
  [[nodiscard]] bool is_on(const NetworkPass& pass, std::size_t layer, Index input) const {
    return layer == 0 || pass.slope_of(layer - 1)(input) != 0;
  }
  [[nodiscard]] const double* row(Index parameter) const {
    return vectors_->data() + parameter * vectors_->cols();
  }

  const Network* network_;
  const RowMatrix* vectors_;
  std::vector<Layer> layers_;
  std::vector<std::uint64_t> pattern_;
  std::vector<Region> regions_;
  std::size_t next_ = 0;  // to be forgotten
  std::size_t last_ = 0;  // that was asked for
  RowSum sum_;
};

}  // namespace ellice
