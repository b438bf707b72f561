#pragma once

#include <initializer_list>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace ellice {

/// Reads `text` into `document` and gives its <PMML>. Throws Error{input} naming `source` for what
/// is larger than 64 MiB, no XML, or has another root.
[[nodiscard]] pugi::xml_node load_pmml(pugi::xml_document& document, const std::string& text,
                                       const std::string& source);

/// Refuses, by element, what stands around a model and changes what it is given or what it says:
/// fields whose values are replaced or declined before they are scored, targets that rescale or
/// decide by other thresholds, and attributes of `model` other than those that are named.
void check_pmml_surroundings(const pugi::xml_node& root, const pugi::xml_node& model,
                             std::initializer_list<std::string_view> attributes,
                             const std::string& source);

/// The program that wrote it, with its version where it says so.
[[nodiscard]] std::string pmml_tool(const pugi::xml_node& root);

}  // namespace ellice
