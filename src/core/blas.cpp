#include "core/blas.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/product_tiles.hpp"
#include "ellice/core/error.hpp"

namespace ellice::blas {

namespace {

// Every entry of C gets one sum for each `depth_block` values of k. This number is part of what a
// product is, to the byte; the other two only keep what is packed in the caches.
constexpr Index depth_block = 256;
constexpr Index row_block = 96;  // a multiple of every tile's rows
constexpr Index column_block = 1024;
static_assert(row_block % TileKernel::most_rows == 0 &&
              column_block % TileKernel::most_columns == 0);

/// Entry (i, j) is data[i·down + j·right].
struct Strided {
  const double* data = nullptr;
  Index down = 0;
  Index right = 0;
  [[nodiscard]] Strided from(Index i, Index j) const {
    return {data + i * down + j * right, down, right};
  }
};

Strided strided(const Operand& operand) {
  if (operand.op == Op::plain) return {operand.data, 1, operand.leading};
  return {operand.data, operand.leading, 1};
}

/// C = A·B, or C += it, wholly or its lower triangle alone.
struct Product {
  Index rows = 0;
  Index columns = 0;
  Index depth = 0;
  Strided a = {};
  Strided b = {};
  double* c = nullptr;
  Index leading = 0;
  bool is_added = false;
  bool lower_only = false;
};

/// `count` values in steps of `step`, zeros up to `padded`.
void pack_line(const double* from, Index step, Index count, Index padded, double* to) {
  if (step == 1) {
    for (Index i = 0; i < count; ++i) to[i] = from[i];
  } else {
    for (Index i = 0; i < count; ++i) to[i] = from[i * step];
  }
  for (Index i = count; i < padded; ++i) to[i] = 0;
}

class Multiplication {
 public:
  Multiplication(const Product& product, const TileKernel& kernel)
      : product_(product), kernel_(kernel), height_(kernel.width * TileKernel::heights) {
    thread_local Vector buffer(depth_block * (row_block + column_block));
    packed_a_ = buffer.data();
    packed_b_ = packed_a_ + depth_block * row_block;
    b_is_packed_ = product.rows > 3 * height_;  // fewer do not repay it
  }

  void run() {
    for (Index j = 0; j < product_.columns; j += column_block) {
      const Index columns = std::min(column_block, product_.columns - j);
      for (Index k = 0; k < product_.depth; k += depth_block) {
        const Index depth = std::min(depth_block, product_.depth - k);
        const Strided b = product_.b.from(k, j);
        pack_b(b, depth, columns);
        for (Index i = 0; i < product_.rows; i += row_block) {
          const Index rows = std::min(row_block, product_.rows - i);
          if (product_.lower_only && i + rows <= j) continue;
          pack_a(product_.a.from(i, k), depth, rows);
          multiply_block(i, rows, j, columns, b, depth, product_.is_added || k > 0);
        }
      }
    }
  }

 private:
  /// The multiple of the width that holds so many rows.
  [[nodiscard]] Index tile_rows(Index rows) const {
    return std::min(height_, (rows + kernel_.width - 1) / kernel_.width * kernel_.width);
  }

  void pack_a(const Strided& a, Index depth, Index rows) const {
    double* to = packed_a_;
    for (Index i = 0; i < rows; i += height_) {
      const Index count = std::min(height_, rows - i);
      const Index padded = tile_rows(count);
      for (Index k = 0; k < depth; ++k, to += padded) {
        pack_line(a.from(i, k).data, a.down, count, padded, to);
      }
    }
  }

  void pack_b(const Strided& b, Index depth, Index columns) const {
    const Index whole = columns / kernel_.columns * kernel_.columns;
    for (Index j = b_is_packed_ ? 0 : whole; j < columns; j += kernel_.columns) {
      double* to = packed_b_ + j * depth;
      const Index count = std::min(kernel_.columns, columns - j);
      for (Index k = 0; k < depth; ++k, to += kernel_.columns) {
        pack_line(b.from(k, j).data, b.right, count, kernel_.columns, to);
      }
    }
  }

  void multiply_block(Index first, Index rows, Index first_column, Index columns, const Strided& b,
                      Index depth, bool is_added) const {
    for (Index j = 0; j < columns; j += kernel_.columns) {
      const Index width = std::min(kernel_.columns, columns - j);
      Tile tile{.depth = depth, .leading = product_.leading, .is_added = is_added};
      if (b_is_packed_ || width < kernel_.columns) {
        tile.b = packed_b_ + j * depth;
        tile.step_k = kernel_.columns;
        tile.step_j = 1;
      } else {
        tile.b = b.from(0, j).data;
        tile.step_k = b.down;
        tile.step_j = b.right;
      }
      for (Index i = 0; i < rows; i += height_) {
        const Index height = std::min(height_, rows - i);
        tile.a = packed_a_ + i * depth;
        multiply_tile(tile, first + i, height, first_column + j, width);
      }
    }
  }

  void multiply_tile(Tile tile, Index i, Index height, Index j, Index width) const {
    const Index padded = tile_rows(height);
    void (*const multiply)(const Tile&) = kernel_.tiles[padded / kernel_.width - 1];
    if (product_.lower_only && i + height <= j) return;
    double* c = product_.c + i + j * product_.leading;
    const bool is_cut = product_.lower_only && i < j + width - 1;
    if (padded == height && width == kernel_.columns && !is_cut) {
      tile.c = c;
      multiply(tile);
      return;
    }
    std::array<double, TileKernel::most_rows * TileKernel::most_columns> whole;
    const bool is_added = std::exchange(tile.is_added, false);
    tile.c = whole.data();
    tile.leading = padded;
    multiply(tile);
    for (Index column = 0; column < width; ++column) {
      const Index top = product_.lower_only ? std::max<Index>(0, j + column - i) : 0;
      for (Index row = top; row < height; ++row) {
        double& entry = c[row + column * product_.leading];
        const double sum = whole[static_cast<std::size_t>(row + column * padded)];
        entry = is_added ? entry + sum : sum;
      }
    }
  }

  const Product& product_;
  const TileKernel& kernel_;
  Index height_;
  double* packed_a_ = nullptr;
  double* packed_b_ = nullptr;
  bool b_is_packed_ = true;
};

}  // namespace

void add_gram(RowMatrixArg rows, Matrix& gram, const TileKernel& kernel) {
  assert(gram.rows() == rows.cols() && gram.cols() == rows.cols());
  const Index stride = rows.outerStride();
  const Product product{.rows = rows.cols(),
                        .columns = rows.cols(),
                        .depth = rows.rows(),
                        .a = {rows.data(), 1, stride},
                        .b = {rows.data(), stride, 1},
                        .c = gram.data(),
                        .leading = gram.outerStride(),
                        .is_added = true,
                        .lower_only = true};
  Multiplication(product, kernel).run();
}

void add_gram(RowMatrixArg rows, Matrix& gram) {
  add_gram(rows, gram, chosen_tile_kernel());
}

void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c, const TileKernel& kernel) {
  assert(beta == 0 || beta == 1);
  if (k == 0 && beta == 0) {
    for (Index j = 0; j < n; ++j) std::fill_n(c + j * leading_c, m, 0.0);
  }
  const Product product{.rows = m,
                        .columns = n,
                        .depth = k,
                        .a = strided(a),
                        .b = strided(b),
                        .c = c,
                        .leading = leading_c,
                        .is_added = beta == 1};
  Multiplication(product, kernel).run();
}

void gemm(Index m, Index n, Index k, const Operand& a, const Operand& b, double beta, double* c,
          Index leading_c) {
  gemm(m, n, k, a, b, beta, c, leading_c, chosen_tile_kernel());
}

Eigenpairs eigenpairs_above(double cut, const Matrix& lower) {
  assert(lower.rows() == lower.cols());
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(lower);
  if (solver.info() != Eigen::Success) {
    fail(ErrorCode::internal, "the eigenvalues of a {0} x {0} matrix were not found", lower.rows());
  }
  const Vector& values = solver.eigenvalues();
  const Index found = (values.array() > cut).count();
  return {.values = values.tail(found), .vectors = solver.eigenvectors().rightCols(found)};
}

}  // namespace ellice::blas
