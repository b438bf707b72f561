#include "ellice/core/error.hpp"
#include "solver/mixed_integer.hpp"

namespace ellice {

bool has_mixed_integer() {
  return false;
}

MixedIntegerSolution solve(const MixedInteger& /*problem*/, double /*time_limit_seconds*/) {
  fail(ErrorCode::argument,
       "this program was built without CBC, which this method needs: install coinor-libcbc-dev "
       "(scripts/setup does) and build again");
}

}  // namespace ellice
