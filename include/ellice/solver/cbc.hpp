#pragma once

// Of the library ellice_cbc (in CMake ellice::cbc), so that who needs no linear programs does not
// link CBC (docs/decisions/0016-cbc-and-variants.md).

namespace ellice {

/// From now on the methods that solve linear and mixed-integer programs do it with CBC; where the
/// build found none, they go on to say that it is missing. To be called once, at the start.
void use_cbc();

}  // namespace ellice
