#pragma once

// What fuzz targets share. A target reads what it is given; a documented Error is a fine answer,
// anything else (a signal, a sanitizer's complaint, an internal error, another exception) is not.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ellice/core/error.hpp"
#include "ellice/model/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ellice::fuzz {

/// Runs the work; ends the process for an error that is not documented.
template <class F>
int accept(const F& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::argument && error.code() != ErrorCode::input) throw;
  }
  return 0;
}

/// Ends the process: what was read does not come back as it was.
[[noreturn]] void broken(std::string_view promise);

inline void promise(bool kept, std::string_view what) {
  if (!kept) broken(what);
}

/// The bytes as a file in memory, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  MemoryFile(MemoryFile&&) = delete;
  MemoryFile& operator=(MemoryFile&&) = delete;
  [[nodiscard]] std::string path() const;

 private:
  int descriptor_;
};

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The model with this hash among some of the golden ones; the first for any other.
[[nodiscard]] const Model& model_for(const std::string& sha256);
/// The schema with every kind of feature.
[[nodiscard]] const Schema& schema();

}  // namespace ellice::fuzz
