#pragma once

// The only Eigen aliases of the project. Double precision but where it says otherwise.

#include <Eigen/Core>

namespace ellice {

using Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;  // square things: H and its factors
using RowMatrix =                // points, one per row, each row contiguous
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Extended precision, for the few numbers that go into certificates.
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

using VectorArg = const Eigen::Ref<const Vector>&;
using MatrixArg = const Eigen::Ref<const Matrix>&;
using RowMatrixArg = const Eigen::Ref<const RowMatrix>&;

}  // namespace ellice
