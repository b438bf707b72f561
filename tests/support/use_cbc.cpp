#include "ellice/solver/cbc.hpp"

namespace {

[[maybe_unused]] const bool used = [] {
  ellice::use_cbc();
  return true;
}();

}  // namespace
