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

# The headers that nearly every source includes are parsed once, for all that is compiled with the same optimisation,
# -g, -fpic and -fpie. Other compilers parse.
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

# What runs once for a command, not once for a row or a step of a solver, is compiled fast rather than to run fast. GCC
# compiles every source with the optimisation of its precompiled header, whatever its own options say, so these have one
# of their own: in a release they are an object library, `<target>_cold`, whose objects are the target's.
set(ELLICE_COLD_APART FALSE)
set(ELLICE_COLD_OPTIONS -Og)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  set(ELLICE_COLD_APART TRUE)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # raised falsely inside GCC 12's own headers
  list(APPEND ELLICE_COLD_OPTIONS -Wno-stringop-overflow)
endif()

# The target, and all of it, is cold; `owner` is another that is, whose precompiled header it shares.
function(ellice_cold_target target owner)
  if(ELLICE_COLD_APART)
    target_compile_options(${target} PRIVATE ${ELLICE_COLD_OPTIONS})
    ellice_share_precompiled(${target} ${owner}_cold)
  else()
    ellice_share_precompiled(${target} ${owner})
  endif()
endfunction()

# Prepares a library for ellice_cold, after its own libraries and definitions are known.
function(ellice_divide target)
  if(NOT ELLICE_COLD_APART)
    return()
  endif()
  add_library(${target}_cold OBJECT)
  target_compile_features(${target}_cold PRIVATE cxx_std_20)
  target_include_directories(${target}_cold PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  target_link_libraries(${target}_cold PRIVATE ${libraries})
  target_compile_definitions(${target}_cold PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  set_target_properties(${target}_cold PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ARGN)
    ellice_cold_target(${target}_cold ${ARGN})
  else()
    target_compile_options(${target}_cold PRIVATE ${ELLICE_COLD_OPTIONS})
    ellice_precompile(${target}_cold)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cold>)
endfunction()

# These sources of a library that ellice_divide prepared are cold.
function(ellice_cold target)
  if(ELLICE_COLD_APART)
    target_sources(${target}_cold PRIVATE ${ARGN})
  else()
    target_sources(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# Has the compiler see sources of one module together: what they include is parsed, and what they instantiate compiled,
# once for the batch. That is a third less for a build from nothing, and more for every later change.
# scripts/check_names.py sees to it that their unnamed namespaces do not clash.
set(ELLICE_BATCH 8)
function(ellice_unite target)
  if(NOT ELLICE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cpp$")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH module)
    string(MAKE_C_IDENTIFIER "count_${module}" count)
    if(NOT DEFINED ${count})
      set(${count} 0)
    endif()
    math(EXPR batch "${${count}} / ${ELLICE_BATCH}")
    math(EXPR ${count} "${${count}} + 1")
    cmake_path(GET module FILENAME name)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${name}_${batch})
  endforeach()
endfunction()

find_program(ELLICE_CCACHE ccache)
if(ELLICE_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With a precompiled header ccache must be allowed to trust it.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ELLICE_CCACHE})
endif()
