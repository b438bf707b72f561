#pragma once

#include <cstdint>
#include <vector>

#include "core/row_sum.hpp"
#include "ellice/core/types.hpp"
#include "model/network_pass.hpp"

namespace ellice {

/// The linear images UᵀJ(x) of a network's parameter gradient, for a network whose activations are
/// relu or the identity. While no unit switches, the derivatives δ_l of the logit stay and a_l is
/// affine in x, so that J is, too (theory.md, Result 25): a region has one matrix C with UᵀJ =
/// Cᵀ[x; 1], which costs what one J times U costs, and after that a point of it costs d + 1 rows.
/// Remembers the regions that were seen last, and for each layer Uᵀ(δ_l·[·; 1]ᵀ) of the patterns
/// above it, which many regions share. What is returned never depends on what is remembered.
class LinearRegions {
 public:
  /// `vectors` has one row per parameter, as wide as padded() says; both must outlive this.
  LinearRegions(const Network& network, const RowMatrix& vectors);

  struct Region {
    std::vector<std::uint64_t> pattern = {};  // which units are on
    RowMatrix image = {};                     // C
    Vector logit_gradient = {};               // ∇f
    Vector norms = {};                        // ‖δ_l‖² for each layer
  };
  /// The region of the point whose forward pass this is; what it was before does not stay valid.
  [[nodiscard]] const Region& at(NetworkPass& pass);

 private:
  /// Uᵀ(δ_l·[·; 1]ᵀ) of one layer: one row per input and one for the bias.
  struct Share {
    std::vector<std::uint64_t> pattern = {};  // of this layer's units and those above
    RowMatrix rows = {};
  };
  struct Layer {
    Index first = 0;       // of its parameters
    std::size_t word = 0;  // of its units in the pattern
    std::vector<Share> shares = {};
    std::size_t next = 0;  // to be forgotten
  };
  void read_pattern(const NetworkPass& pass);
  void build(NetworkPass& pass, Region& region);
  /// a_l = A_l[x; 1] for the inputs of every layer, rows of units that are off being 0.
  void map_activations(const NetworkPass& pass);
  [[nodiscard]] const RowMatrix& share(std::size_t layer, const Vector& delta);
  void sum_share(std::size_t layer, const Vector& delta, Index input, double* to);
  [[nodiscard]] const double* row(Index parameter) const {
    return vectors_->data() + parameter * vectors_->cols();
  }

  const Network* network_;
  const RowMatrix* vectors_;
  std::vector<Layer> layers_;
  std::vector<std::uint64_t> pattern_;
  std::vector<Region> regions_;
  std::size_t next_ = 0;  // to be forgotten
  std::vector<RowMatrix> maps_;
  RowSum sum_;
};

}  // namespace ellice
