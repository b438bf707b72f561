#include "data/yaml_entry.hpp"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/utf8.hpp"
#include "ellice/data/csv.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

namespace {

/// Hears what a parser reads and keeps nothing. Every event takes a byte of the text or stands for
/// an empty value beside one, so that a parser that makes more of them would never end.
class EventLimit : public YAML::EventHandler {
 public:
  explicit EventLimit(std::size_t bytes) : most_(4 * bytes + 16) {}

  /// Where the latest document began.
  [[nodiscard]] const YAML::Mark& last_start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = mark;
    count(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { count(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {
    count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    count(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    count(mark);
  }
  void OnMapEnd() override {}

 private:
  void count(const YAML::Mark& mark) {
    if (++events_ > most_) throw YAML::ParserException(mark, "this has no end");
  }

  std::size_t most_;
  std::size_t events_ = 0;
  YAML::Mark start_;
};

}  // namespace

YamlDocument::YamlDocument(const std::string& text, std::string source, Lines lines)
    : source_(std::move(source)), lines_(lines) {
  if (const std::optional<std::size_t> fault = find_invalid_utf8(text)) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(*fault);
    fail(ErrorCode::input,
         "{}:{}: found the byte 0x{:02X}, which is not UTF-8 here; save the file as UTF-8", source_,
         1 + std::count(text.begin(), end, '\n'), static_cast<unsigned char>(*end));
  }
  try {
    check_single(text);
    root_ = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail(ErrorCode::input, "{}: not YAML: {}", place(error.mark), error.msg);
  }
}

void YamlDocument::check_single(const std::string& text) const {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  EventLimit events(text.size());
  require_input(parser.HandleNextDocument(events), "{}: found no YAML document, expected one",
                source_);
  // YAML::LoadAll would ask for documents without end: one that consists of a stray comma is empty
  // and leaves the comma where it is.
  if (!parser.HandleNextDocument(events)) return;
  fail(ErrorCode::input,
       "{}: found more after the end of the document, expected one document (a comma, a bracket or "
       "an indentation that should not be there?)",
       place(events.last_start()));
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
