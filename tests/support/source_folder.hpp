#pragma once

#include <string>

namespace ellice::testing_support {

/// The folder of the sources that are tested. A function: as a definition for the compiler it would
/// be part of every test's command, and no two checkouts could share a compiler cache.
std::string source_folder();

}  // namespace ellice::testing_support
