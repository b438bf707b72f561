#include "core/as_input.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "ellice/core/error.hpp"

namespace ellice {

void rethrow_as_input(const std::string& source) {
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::argument) throw;
    if (std::string_view(error.what()).starts_with(source))
      throw Error(ErrorCode::input, error.what());
    fail(ErrorCode::input, "{}: {}", source, error.what());
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::input, "{}: a value has another type than expected ({})", source, error.what());
  }
}

}  // namespace ellice
