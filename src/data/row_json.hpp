#pragma once

#include <string>
#include <variant>

#include "core/json_output.hpp"
#include "ellice/data/encoder.hpp"

namespace ellice {

/// A number or a level, as every file of ours has it.
inline void write_value(JsonOutput& out, const Value& value) {
  if (const double* number = std::get_if<double>(&value)) {
    out.number(*number);
  } else {
    out.text(std::get<std::string>(value));
  }
}

/// See row_to_json().
void write_row(JsonOutput& out, const Schema& schema, const RawRow& row);

}  // namespace ellice
