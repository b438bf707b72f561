#include "model/pmml_document.hpp"

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// Names of elements without the prefix of a namespace, where the root has one: <p:PMML>.
void drop_prefix(pugi::xml_document& document) {
  struct Walker : pugi::xml_tree_walker {
    std::string prefix = {};
    bool for_each(pugi::xml_node& node) override {
      const std::string name = node.name();
      if (name.starts_with(prefix)) node.set_name(name.substr(prefix.size()).c_str());
      return true;
    }
  };
  const std::string root = document.document_element().name();
  const std::size_t colon = root.find(':');
  if (colon == std::string::npos) return;
  Walker walker;
  walker.prefix = root.substr(0, colon + 1);
  document.traverse(walker);
}

}  // namespace

pugi::xml_node load_pmml(pugi::xml_document& document, const std::string& text,
                         const std::string& source) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  require_input(text.size() <= most_bytes, "{}: more than 64 MiB", source);
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  require_input(static_cast<bool>(parsed), "{}: no XML: {} at byte {}", source,
                parsed.description(), parsed.offset);
  drop_prefix(document);
  const pugi::xml_node root = document.child("PMML");
  require_input(!root.empty(), "{}: found <{}>, expected <PMML>", source,
                document.document_element().name());
  return root;
}

std::string pmml_tool(const pugi::xml_node& root) {
  const pugi::xml_node application = root.child("Header").child("Application");
  std::string result = application.attribute("name").value();
  const std::string version = application.attribute("version").value();
  if (!version.empty()) result += " " + version;
  return result;
}

}  // namespace ellice
