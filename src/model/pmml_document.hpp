#pragma once

#include <pugixml.hpp>
#include <string>

namespace ellice {

/// Reads `text` into `document` and gives its <PMML>. Throws Error{input} naming `source` for what
/// is larger than 64 MiB, no XML, or has another root.
[[nodiscard]] pugi::xml_node load_pmml(pugi::xml_document& document, const std::string& text,
                                       const std::string& source);

/// The program that wrote it, with its version where it says so.
[[nodiscard]] std::string pmml_tool(const pugi::xml_node& root);

}  // namespace ellice
