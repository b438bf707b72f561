#include "ellice/solver/cbc.hpp"

namespace ellice {

void use_cbc() {}  // there is none, and the methods that need it say so

}  // namespace ellice
