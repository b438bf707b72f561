// For every processor. One without fused multiply and add computes it by a function of the C
// library: slowly, and to the same bytes.
#include <cmath>

#include "core/product_tile.hpp"

namespace ellice::blas {

namespace {

struct Lanes {
  struct Type {
    double v[2];
  };
  static constexpr int width = 2;
  static Type zero() { return {}; }
  static Type load(const double* from) { return {{from[0], from[1]}}; }
  static void store(double* to, Type value) {
    to[0] = value.v[0];
    to[1] = value.v[1];
  }
  static Type broadcast(const double* from) { return {{*from, *from}}; }
  static Type add(Type left, Type right) {
    return {{left.v[0] + right.v[0], left.v[1] + right.v[1]}};
  }
  static Type fma(Type left, Type right, Type sum) {
    return {{std::fma(left.v[0], right.v[0], sum.v[0]), std::fma(left.v[1], right.v[1], sum.v[1])}};
  }
};

}  // namespace

constexpr TileKernel plain_tiles = make_tile_kernel<Lanes, 4>("plain");

}  // namespace ellice::blas
