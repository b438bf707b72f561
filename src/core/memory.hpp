#pragma once

#include <string>

namespace ellice {

/// The bytes that this process may use: what set_memory_limit() allows, else nine tenths of what
/// the machine, or the container, has.
[[nodiscard]] double memory_limit();

/// Allows so many bytes from now on; the system refuses the process what exceeds them.
void set_memory_limit(double bytes);

/// «1.5 GB», «12 MB».
[[nodiscard]] std::string memory_text(double bytes);

}  // namespace ellice
