#pragma once

#include <initializer_list>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace ellice {

/// Reads `text` into `document` and gives its <PMML>. Throws Error{input} naming `source` for what
/// is larger than 64 MiB, no XML, or has another root, and for attributes that stand twice.
[[nodiscard]] pugi::xml_node load_pmml(pugi::xml_document& document, const std::string& text,
                                       const std::string& source);

/// Refuses, by element, what stands around a model and changes what it is given or what it says:
/// fields whose values are replaced or declined before they are scored, targets that rescale or
/// decide by other thresholds, and attributes of fields that are not known, or of `model` other
/// than those that are named.
void check_pmml_surroundings(const pugi::xml_node& root, const pugi::xml_node& model,
                             std::initializer_list<std::string_view> attributes,
                             const std::string& source);

/// The number of an attribute. Throws Error{input} naming `place` where there is none, or something
/// that is no finite number: «0,75» is not 0.
[[nodiscard]] double pmml_number(const pugi::xml_node& node, const char* name,
                                 const std::string& place);
/// The same, and `otherwise` for an attribute that does not stand there.
[[nodiscard]] double pmml_number_or(const pugi::xml_node& node, const char* name, double otherwise,
                                    const std::string& place);

/// The program that wrote it, with its version where it says so.
[[nodiscard]] std::string pmml_tool(const pugi::xml_node& root);

}  // namespace ellice
