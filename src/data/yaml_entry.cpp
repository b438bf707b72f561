#include "data/yaml_entry.hpp"

#include <algorithm>
#include <set>

#include "core/utf8.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

YamlDocument::YamlDocument(const std::string& text, std::string source, Lines lines)
    : source_(std::move(source)), lines_(lines) {
  if (const std::optional<std::size_t> fault = find_invalid_utf8(text)) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(*fault);
    fail(ErrorCode::input,
         "{}:{}: found the byte 0x{:02X}, which is not UTF-8 here; save the file as UTF-8", source_,
         1 + std::count(text.begin(), end, '\n'), static_cast<unsigned char>(*end));
  }
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(text);
  } catch (const YAML::Exception& error) {
    fail(ErrorCode::input, "{}: not YAML: {}", place(error.mark), error.msg);
  }
  require_input(documents.size() == 1, "{}: found {} YAML documents, expected one", source_,
                documents.size());
  root_ = documents.front();
}

YamlEntry YamlDocument::top() const {
  return {*this, root_, root_.Mark(), ""};
}

std::string YamlDocument::place(const YAML::Mark& mark) const {
  if (lines_ == Lines::hide || mark.is_null()) return source_;
  return fmt::format("{}:{}", source_, mark.line + 1);
}

std::string YamlEntry::text(std::string_view expected) const {
  if (!node_.IsScalar()) wrong(expected);
  return node_.Scalar();
}

std::string YamlEntry::filled_text(std::string_view expected) const {
  if (!node_.IsScalar() || node_.Scalar().empty()) wrong(expected);
  return node_.Scalar();
}

bool YamlEntry::is_unquoted() const {
  return node_.IsScalar() && node_.Tag() != "!";  // the tag that yaml-cpp gives to quoted scalars
}

double YamlEntry::number(std::string_view expected) const {
  double value = 0;
  if (!is_unquoted() || !parse_number(node_.Scalar(), value)) wrong(expected);
  return value;
}

bool YamlEntry::boolean() const {
  const std::string written = is_unquoted() ? node_.Scalar() : "";
  if (written != "true" && written != "false") wrong("true or false");
  return written == "true";
}

std::vector<YamlEntry> YamlEntry::list(std::string_view expected) const {
  if (!node_.IsSequence()) wrong(expected);
  std::vector<YamlEntry> result;
  for (const YAML::Node& item : node_) {
    result.emplace_back(*document_, item, item.Mark(), fmt::format("{}[{}]", path_, result.size()));
  }
  return result;
}

std::vector<std::pair<std::string, YamlEntry>> YamlEntry::members(std::string_view expected) const {
  if (!node_.IsMap()) wrong(expected);
  std::vector<std::pair<std::string, YamlEntry>> result;
  std::set<std::string> seen;
  for (const auto& member : node_) {
    const YAML::Mark mark = member.first.Mark();
    const YamlEntry key(*document_, member.first, mark, path_);
    const std::string name = key.filled_text("a key that is a text (quote it)");
    if (!seen.insert(name).second) key.fault("key \"{}\" stands twice", name);
    result.emplace_back(name, YamlEntry(*document_, member.second, mark,
                                        path_.empty() ? name : fmt::format("{}.{}", path_, name)));
  }
  return result;
}

void YamlEntry::wrong(std::string_view expected) const {
  std::string found = "nothing";
  if (node_.IsScalar()) found = fmt::format("\"{}\"", shortened(node_.Scalar(), 60));
  if (node_.IsSequence()) found = "a list";
  if (node_.IsMap()) found = "a map";
  fault("found {}, expected {}", found, expected);
}

YamlRecord::YamlRecord(YamlEntry entry, const std::vector<std::string>& known,
                       std::string_view expected)
    : entry_(std::move(entry)), members_(entry_.members(expected)) {
  for (const auto& [key, value] : members_) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      value.fault("unknown key \"{}\"; {}", key, suggestion(key, known));
    }
  }
}

const YamlEntry* YamlRecord::find(std::string_view key) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  return found == members_.end() ? nullptr : &found->second;
}

const YamlEntry& YamlRecord::at(std::string_view key, std::string_view expected) const {
  const YamlEntry* const found = find(key);
  if (found == nullptr) entry_.fault("key \"{}\" is missing, expected {}", key, expected);
  return *found;
}

}  // namespace ellice
