#pragma once

// Eigen's largest functions, compiled once, in eigen_kernels.cpp, instead of by every source that
// multiplies, factorises or solves: what they cost there is most of what such a source costs. Part
// of the precompiled header; without it every source compiles its own, which are the same.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

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

#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && \
    !EIGEN_VERSION_AT_LEAST(3, 4, 90)  // they have no stable names
ELLICE_EIGEN_KERNELS(extern)
#endif
