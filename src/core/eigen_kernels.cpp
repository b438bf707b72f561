#include "core/eigen_kernels.hpp"

#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && !EIGEN_VERSION_AT_LEAST(3, 4, 90)
ELLICE_EIGEN_KERNELS()
#endif
