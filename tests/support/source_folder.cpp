#include "support/source_folder.hpp"

namespace ellice::testing_support {

std::string source_folder() {
  return ELLICE_SOURCE_DIR;
}

}  // namespace ellice::testing_support
