#pragma once

#include <filesystem>
#include <string>

#include "combination/cases.hpp"

namespace ellice::combination {

/// Writes what a stranger needs to see a failure with the command line: schema.yaml, rows.csv,
/// model.json, people.csv, constraints.yaml, and command.txt with one command per run.
void write_case(const Case& given, const std::filesystem::path& folder);

/// «explain model.json people.csv --epsilon 1% …» of one run.
[[nodiscard]] std::string command_of(const Case& given, const Run& run);

}  // namespace ellice::combination
