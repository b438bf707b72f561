#pragma once

#include <vector>

#include "ellice/core/types.hpp"

namespace ellice::onnx {

/// A row of numbers, affine in others: W·v + b, v being columns of the table and indicators of
/// levels (layer 0), what the program feeds its first layer with (1), or units of hidden layers.
/// A later row may know more of v: columns that are not there have a weight of 0.
struct Affine {
  std::size_t layer = 0;
  Matrix weights = {};
  Vector bias = {};

  [[nodiscard]] Index size() const { return bias.size(); }
};

/// An entry of v itself.
[[nodiscard]] Affine entry(Index k);
/// The entries of v, all of them.
[[nodiscard]] Affine entries(std::size_t layer, Index count);

[[nodiscard]] Affine multiplied(const Matrix& by, const Affine& row);
/// Each entry by its own factor.
[[nodiscard]] Affine scaled(const Vector& by, const Affine& row);
/// one + sign·other, both of the same layer and size.
[[nodiscard]] Affine sum(const Affine& one, double sign, const Affine& other);
/// Those after each other, which are all of the same layer.
[[nodiscard]] Affine joined(const std::vector<Affine>& parts);
[[nodiscard]] Affine chosen(const Affine& row, const std::vector<std::size_t>& places);

}  // namespace ellice::onnx
