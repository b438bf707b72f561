# Errors in the preset dev; elsewhere a newer compiler's new warning must not stop a user's build.
add_library(ellice_warnings INTERFACE)
target_compile_options(ellice_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # GCC 12 raises them falsely inside its own headers
  target_compile_options(ellice_warnings INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds)
endif()

if(ELLICE_NATIVE)
  add_compile_options(-march=native)
endif()
if(ELLICE_SANITIZE)
  add_compile_options(-fsanitize=${ELLICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ELLICE_SANITIZE})
endif()
if(ELLICE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(ELLICE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(ELLICE_ASSERTIONS)
  add_compile_definitions(EIGEN_INITIALIZE_MATRICES_BY_NAN _GLIBCXX_ASSERTIONS)
endif()

# The headers that nearly every source includes are parsed once. GCC takes one precompiled header for all levels of
# optimisation, but not for another -g, -fpic or -fpie; Clang wants the same level, too, which it has without a
# release's cold sources. Other compilers parse.
set(ELLICE_PRECOMPILED
  <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <mutex> <numeric> <optional>
  <set> <span> <string> <string_view> <utility> <vector>
  <Eigen/Cholesky> <Eigen/Core> <Eigen/Eigenvalues> <Eigen/LU> <Eigen/QR> <fmt/format.h>
  ${PROJECT_SOURCE_DIR}/src/core/eigen_kernels.hpp)
set(ELLICE_PRECOMPILE FALSE)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND NOT ELLICE_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL Release)
  set(ELLICE_PRECOMPILE TRUE)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # ccache compares contents
elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Its garbage collector would walk through that header again and again; no source needs half a gigabyte.
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
  # The collector of coverage data counts in headers, too, and wants to see them.
  set(ELLICE_PRECOMPILE TRUE)
  if(ELLICE_COVERAGE)
    set(ELLICE_PRECOMPILE FALSE)
  else()
    add_compile_options(-fpch-preprocess)  # names the precompiled header in what ccache looks at
  endif()
endif()

# Has the target's sources begin with the project's precompiled header, and with more of them if given.
function(ellice_precompile target)
  if(ELLICE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ELLICE_PRECOMPILED} ${ARGN})
  endif()
endfunction()

# The same, with the precompiled header that another target has: both are compiled with the same options.
function(ellice_share_precompiled target owner)
  if(ELLICE_PRECOMPILE)
    get_target_property(independent ${owner} POSITION_INDEPENDENT_CODE)
    if(independent)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# What runs once for a command, not once for a row or a step of a solver: compiled fast rather than to run fast.
function(ellice_cold target)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()

find_program(ELLICE_CCACHE ccache)
if(ELLICE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With a precompiled header ccache must be allowed to trust it.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ELLICE_CCACHE})
endif()
