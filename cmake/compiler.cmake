# Errors in the preset dev; elsewhere a newer compiler's new warning must not stop a user's build.
add_library(ellice_warnings INTERFACE)
target_compile_options(ellice_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-maybe-uninitialized -Wno-restrict)  # GCC 12 raises both falsely inside its own headers

if(ELLICE_NATIVE)
  add_compile_options(-march=native)
endif()
if(ELLICE_SANITIZE)
  add_compile_options(-fsanitize=${ELLICE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ELLICE_SANITIZE})
endif()
if(ELLICE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(ELLICE_ASSERTIONS)
  add_compile_definitions(EIGEN_INITIALIZE_MATRICES_BY_NAN _GLIBCXX_ASSERTIONS)
endif()

find_program(ELLICE_CCACHE ccache)
if(ELLICE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ELLICE_CCACHE})
endif()
