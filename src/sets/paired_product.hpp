#pragma once

#include "sets/paired_inverse.hpp"

namespace ellice {

// Products in which each product and each sum of two numbers is split into its rounded value and
// its exact error, and the errors are added up by themselves: about twice the precision of double
// (theory.md, Result 54).

/// sum += Mb.
void add_product(const Eigen::Ref<const Matrix>& m, const PairedVector& b, PairedVector& sum);
/// Σ rowᵢ·bᵢ over all entries of b.
[[nodiscard]] DoubleDouble row_product(const double* row, const PairedVector& b);

}  // namespace ellice
