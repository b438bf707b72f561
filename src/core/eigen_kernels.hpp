#pragma once

// Eigen's largest functions, compiled once, in eigen_kernels.cpp, instead of by every source that
// multiplies, factorises or solves: what they cost there is most of what such a source costs. Part
// of the precompiled header; without it every source compiles its own, which are the same.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

#define ELLICE_EIGEN_KERNELS(linkage)                                                           \
  namespace Eigen::internal {                                                                   \
  linkage template struct gebp_kernel<                                                          \
      double, double, Index, blas_data_mapper<double, Index, ColMajor, Unaligned, 1>,           \
      gebp_traits<double, double>::mr, gebp_traits<double, double>::nr, false, false>;          \
  linkage template struct gemm_pack_lhs<                                                        \
      double, Index, const_blas_data_mapper<double, Index, ColMajor>,                           \
      gebp_traits<double, double>::mr, gebp_traits<double, double>::LhsProgress,                \
      gebp_traits<double, double>::LhsPacket4Packing, ColMajor>;                                \
  linkage template struct gemm_pack_lhs<                                                        \
      double, Index, const_blas_data_mapper<double, Index, RowMajor>,                           \
      gebp_traits<double, double>::mr, gebp_traits<double, double>::LhsProgress,                \
      gebp_traits<double, double>::LhsPacket4Packing, RowMajor>;                                \
  linkage template struct gemm_pack_rhs<double, Index,                                          \
                                        const_blas_data_mapper<double, Index, ColMajor>,        \
                                        gebp_traits<double, double>::nr, ColMajor>;             \
  linkage template struct gemm_pack_rhs<double, Index,                                          \
                                        const_blas_data_mapper<double, Index, RowMajor>,        \
                                        gebp_traits<double, double>::nr, RowMajor>;             \
  linkage template struct general_matrix_vector_product<                                        \
      Index, double, const_blas_data_mapper<double, Index, ColMajor>, ColMajor, false, double,  \
      const_blas_data_mapper<double, Index, ColMajor>, false>;                                  \
  linkage template struct general_matrix_vector_product<                                        \
      Index, double, const_blas_data_mapper<double, Index, ColMajor>, ColMajor, false, double,  \
      const_blas_data_mapper<double, Index, RowMajor>, false>;                                  \
  linkage template struct general_matrix_vector_product<                                        \
      Index, double, const_blas_data_mapper<double, Index, RowMajor>, RowMajor, false, double,  \
      const_blas_data_mapper<double, Index, ColMajor>, false>;                                  \
  linkage template struct general_matrix_vector_product<                                        \
      Index, double, const_blas_data_mapper<double, Index, RowMajor>, RowMajor, false, double,  \
      const_blas_data_mapper<double, Index, RowMajor>, false>;                                  \
  linkage template struct triangular_solve_matrix<double, Index, OnTheLeft, Lower, false,       \
                                                  ColMajor, ColMajor, 1>;                       \
  linkage template struct triangular_solve_matrix<double, Index, OnTheLeft, Upper, false,       \
                                                  RowMajor, ColMajor, 1>;                       \
  linkage template struct triangular_solve_matrix<double, Index, OnTheRight, Upper, false,      \
                                                  RowMajor, ColMajor, 1>;                       \
  }                                                                                             \
  namespace Eigen {                                                                             \
  linkage template LLT<MatrixXd>& LLT<MatrixXd>::compute(const EigenBase<MatrixXd>&);           \
  linkage template LDLT<MatrixXd>& LDLT<MatrixXd>::compute(const EigenBase<MatrixXd>&);         \
  linkage template SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute( \
      const EigenBase<MatrixXd>&, int);                                                         \
  }

#define ELLICE_EIGEN_FACTORS(linkage)                                                              \
  namespace Eigen {                                                                                \
  using MatrixXl = Matrix<long double, Dynamic, Dynamic>;                                          \
  linkage template void internal::evaluateProductBlockingSizesHeuristic<double, double, 1>(Index&, \
                                                                                           Index&, \
                                                                                           Index&, \
                                                                                           Index); \
  linkage template void internal::evaluateProductBlockingSizesHeuristic<double, double, 4>(Index&, \
                                                                                           Index&, \
                                                                                           Index&, \
                                                                                           Index); \
  linkage template void internal::call_dense_assignment_loop(                                      \
      VectorXd&, const VectorXd&, const internal::assign_op<double, double>&);                     \
  linkage template void HouseholderQR<MatrixXd>::computeInPlace();                                 \
  linkage template void ColPivHouseholderQR<MatrixXd>::computeInPlace();                           \
  linkage template void CompleteOrthogonalDecomposition<MatrixXd>::computeInPlace();               \
  linkage template void CompleteOrthogonalDecomposition<MatrixXd>::_solve_impl(const VectorXd&,    \
                                                                               VectorXd&) const;   \
  linkage template void FullPivLU<MatrixXd>::computeInPlace();                                     \
  linkage template void PartialPivLU<MatrixXd>::compute();                                         \
  linkage template void PartialPivLU<MatrixXl>::compute();                                         \
  linkage template void LDLT<MatrixXd>::_solve_impl_transposed<true>(const VectorXd&,              \
                                                                     VectorXd&) const;             \
  linkage template LLT<MatrixXl>& LLT<MatrixXl>::compute(const EigenBase<MatrixXl>&);              \
  linkage template LDLT<MatrixXl>& LDLT<MatrixXl>::compute(const EigenBase<MatrixXl>&);            \
  }

#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && \
    !EIGEN_VERSION_AT_LEAST(3, 4, 90)  // they have no stable names
ELLICE_EIGEN_KERNELS(extern)
ELLICE_EIGEN_FACTORS(extern)
#endif
