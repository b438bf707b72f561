#include "ellice/core/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/json_output.hpp"
#include "core/plain_json.hpp"
#include "core/stop.hpp"
#include "core/utf8.hpp"

namespace ellice {

namespace {

std::string text_of(const Json& value, JsonText::Style style) {
  std::string out;
  JsonText text(out, style);
  write_json(text, value);
  return out;
}

/// Appends what the parser reads, so that a text takes time in proportion to its length, however
/// many keys an object has; the library's own way looks through all of them for each. For texts
/// with something unusual.
class TreeBuilder final : public Json::json_sax_t {
 public:
  explicit TreeBuilder(const std::string& source) : source_(&source) {}

  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(Json::number_integer_t value) override { return put(value); }
  bool number_unsigned(Json::number_unsigned_t value) override { return put(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) override {
    return put(value);
  }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& value) override { return put(std::move(value)); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    require_distinct(open_.back()->get_ref<const Json::object_t&>());
    return end_array();
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const Json::exception& error) override {
    if (const auto* range = dynamic_cast<const Json::out_of_range*>(&error)) throw *range;
    throw dynamic_cast<const Json::parse_error&>(error);
  }

 private:
  template <class Value>
  bool put(Value&& value) {
    (void)add(Json(std::forward<Value>(value)));
    return true;
  }

  bool open(Json empty) {
    check_stop();
    open_.push_back(&add(std::move(empty)));
    return true;
  }

  /// What is open grows at its end alone, so that pointers to what is inside stay.
  Json& add(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_array()) {
      auto& items = open_.back()->get_ref<Json::array_t&>();
      return items.emplace_back(std::move(value));
    }
    auto& entries = open_.back()->get_ref<Json::object_t&>();
    return entries.emplace_back(std::move(key_), std::move(value)).second;
  }

  void require_distinct(const Json::object_t& entries) const {
    std::vector<std::string_view> keys;
    keys.reserve(entries.size());
    for (const auto& entry : entries) keys.push_back(entry.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end())
      fail(ErrorCode::input, "{}: key \"{}\" stands twice in the same object", *source_, *twice);
  }

  const std::string* source_;
  Json root_;
  std::string key_;
  std::vector<Json*> open_;  // outermost first
};

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  if (std::optional<Json> plain = parse_plain_json(text)) return *std::move(plain);
  try {
    TreeBuilder builder(source);
    (void)Json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: …": keep what helps a
    // reader.
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    constexpr std::string_view begins_a_value = "{[\"-0123456789tfnNI";
    if (first != std::string_view::npos &&
        begins_a_value.find(text[first]) == std::string_view::npos) {
      const std::string_view line = text.substr(first, text.find_first_of("\r\n", first) - first);
      fail(ErrorCode::input,
           "{}: not JSON: it begins \"{}\", as a table or another text does; give a file that was "
           "written as JSON in this place",
           source, shortened(line, 40));
    }
    const std::string_view what = error.what();
    const std::size_t start = what.find("] ");
    fail(ErrorCode::input, "{}: not JSON: {}; is the file complete?", source,
         start == std::string_view::npos ? what : what.substr(start + 2));
  } catch (const Json::out_of_range& error) {  // 1e999
    fail(ErrorCode::input, "{}: a number does not fit into double precision ({})", source,
         error.what());
  }
}

std::string to_text(const Json& value) {
  return text_of(value, JsonText::Style::indented) + '\n';
}

std::string compact_text(const Json& value) {
  return text_of(value, JsonText::Style::compact);
}

std::string canonical_text(const Json& value) {
  return text_of(value, JsonText::Style::canonical);
}

Json make_envelope(std::string_view format, int version) {
  Json result = Json::object();
  result["format"] = format;
  result["version"] = version;
  return result;
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace), 40);
}

Json to_json_array(VectorArg values) {
  Json result = Json::array();
  for (const double value : values) result.push_back(value);
  return result;
}

Json to_json_rows(MatrixArg matrix) {
  Json result = Json::array();
  for (Index i = 0; i < matrix.rows(); ++i) result.push_back(to_json_array(Vector(matrix.row(i))));
  return result;
}

namespace {

/// The value under a key of an object; null where there is none.
const Json* member(const Json& object, std::string_view key) {
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>())
    if (name == key) return &value;
  return nullptr;
}

}  // namespace

JsonObject::JsonObject(const Json& value, std::string source, std::string path)
    : value_(&value), source_(std::move(source)), path_(std::move(path)) {
  // What a message would say takes longer than the question, here and below.
  if (!value.is_object()) {
    fail(ErrorCode::input, "{}: {}: found {}, expected an object", source_,
         path_.empty() ? "top level" : path_, shown(value));
  }
}

std::string JsonObject::place(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void JsonObject::wrong(std::string_view key, std::string_view expected) const {
  const auto found = value_->find(std::string(key));
  fail(ErrorCode::input, "{}: {}: found {}, expected {}", source_, place(key),
       found == value_->end() ? "nothing" : shown(*found), expected);
}

bool JsonObject::has(std::string_view key) const {
  known_.emplace(key);
  return member(*value_, key) != nullptr;
}

const Json& JsonObject::at(std::string_view key) {
  const Json* found = member(*value_, key);
  if (found == nullptr) fail(ErrorCode::input, "{}: key \"{}\" is missing", source_, place(key));
  asked_.emplace(key);
  return *found;
}

double JsonObject::number(std::string_view key) {
  const Json& found = at(key);
  if (!found.is_number()) wrong(key, "a number");
  return found.get<double>();
}

std::int64_t JsonObject::integer(std::string_view key) {
  const Json& found = at(key);
  const double value = found.is_number() ? found.get<double>() : 0.5;
  if (value != std::floor(value) || std::abs(value) > 9007199254740992.0)
    wrong(key, "a whole number");
  return static_cast<std::int64_t>(value);
}

std::uint64_t JsonObject::seed(std::string_view key) {
  const Json& found = at(key);
  if (!found.is_number_unsigned()) wrong(key, "a whole number from 0 to 2^64 - 1");
  return found.get<std::uint64_t>();
}

bool JsonObject::boolean(std::string_view key) {
  const Json& found = at(key);
  if (!found.is_boolean()) wrong(key, "true or false");
  return found.get<bool>();
}

std::string JsonObject::string(std::string_view key) {
  const Json& found = at(key);
  if (!found.is_string()) wrong(key, "a string");
  return found.get<std::string>();
}

std::vector<std::string> JsonObject::strings(std::string_view key) {
  const Json& found = at(key);
  if (!found.is_array()) wrong(key, "an array of strings");
  std::vector<std::string> result;
  for (const Json& item : found) {
    if (!item.is_string()) {
      fail(ErrorCode::input, "{}: {}[{}]: found {}, expected a string", source_, place(key),
           result.size(), shown(item));
    }
    result.push_back(item.get<std::string>());
  }
  return result;
}

namespace {

/// Appends the numbers of one JSON array; `place` names it in messages.
void append_numbers(const Json& array, const std::string& source, const std::string& place,
                    std::vector<double>& out) {
  if (!array.is_array()) {
    fail(ErrorCode::input, "{}: {}: found {}, expected an array of numbers", source, place,
         shown(array));
  }
  out.reserve(out.size() + array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (!array[i].is_number()) {
      fail(ErrorCode::input, "{}: {}[{}]: found {}, expected a number", source, place, i,
           shown(array[i]));
    }
    out.push_back(array[i].get<double>());
  }
}

}  // namespace

Vector JsonObject::vector(std::string_view key, std::optional<Index> size) {
  std::vector<double> values;
  append_numbers(at(key), source_, place(key), values);
  const auto found = static_cast<Index>(values.size());
  if (size && found != *size) {
    fail(ErrorCode::input, "{}: {}: found {} numbers, expected {}", source_, place(key), found,
         *size);
  }
  return Eigen::Map<const Vector>(values.data(), found);
}

Matrix JsonObject::matrix(std::string_view key, std::optional<Index> rows,
                          std::optional<Index> columns) {
  const Json& array = at(key);
  if (!array.is_array()) wrong(key, "an array of rows");
  const auto found_rows = static_cast<Index>(array.size());
  require_input(!rows || found_rows == *rows, "{}: {}: found {} rows, expected {}", source_,
                place(key), found_rows, rows.value_or(0));
  std::vector<double> values;
  for (Index i = 0; i < found_rows; ++i) {
    const std::string row_place = fmt::format("{}[{}]", place(key), i);
    const std::size_t before = values.size();
    append_numbers(array[static_cast<std::size_t>(i)], source_, row_place, values);
    const auto found = static_cast<Index>(values.size() - before);
    if (!columns) columns = found;
    require_input(found == *columns, "{}: {}: found {} numbers, expected {}", source_, row_place,
                  found, *columns);
  }
  return Eigen::Map<const RowMatrix>(values.data(), found_rows, columns.value_or(0));
}

double JsonObject::number(std::string_view key, const Range& range) {
  const double value = number(key);
  if (!range.contains(value)) wrong(key, range.text());
  return value;
}

int JsonObject::whole_number(std::string_view key, const Range& range) {
  const std::int64_t value = integer(key);
  if (!std::in_range<int>(value) || !range.contains(static_cast<double>(value))) {
    wrong(key, "a whole number, " + range.text());
  }
  return static_cast<int>(value);
}

std::vector<int> JsonObject::whole_numbers(std::string_view key, const Range& range) {
  std::vector<int> result;
  for (const double value : vector(key)) {
    if (value != std::floor(value) || std::abs(value) > std::numeric_limits<int>::max() ||
        !range.contains(value)) {
      wrong(key, "whole numbers, each " + range.text());
    }
    result.push_back(static_cast<int>(value));
  }
  return result;
}

JsonObject JsonObject::object(std::string_view key) {
  return {at(key), source_, place(key)};
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) {
  const Json& array = at(key);
  if (!array.is_array()) wrong(key, "an array of objects");
  const std::string list = place(key);
  std::vector<JsonObject> result;
  result.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i)
    result.emplace_back(array[i], source_, list + '[' + std::to_string(i) + ']');
  return result;
}

int JsonObject::envelope(std::string_view format, int newest) {
  const std::string found = string("format");
  if (found != format)
    wrong("format", fmt::format("\"{}\"; give a file of that kind in this place", format));
  const std::int64_t version = integer("version");
  if (version < 1 || version > newest) {
    wrong("version", newest == 1 ? "1, the version that this program reads; write it again, or use "
                                   "the program that wrote it"
                                 : fmt::format("1 to {}, the versions that this program reads; "
                                               "write it again, or use the program that wrote it",
                                               newest));
  }
  return static_cast<int>(version);
}

void JsonObject::finish() const {
  for (const auto& [key, value] : value_->get_ref<const Json::object_t&>()) {
    if (asked_.contains(key)) continue;
    auto known = known_;
    known.insert(asked_.begin(), asked_.end());
    fail(ErrorCode::input, "{}: unknown key \"{}\"; {}{}", source_, place(key),
         known.empty() ? "expected none" : "known here: ", fmt::join(known, ", "));
  }
}

void JsonFields::put(std::string_view name, bool value) {
  (*object_)[std::string(name)] = value;
}

void JsonFields::put(std::string_view name, std::int64_t value) {
  (*object_)[std::string(name)] = value;
}

void JsonFields::put(std::string_view name, std::uint64_t value) {
  (*object_)[std::string(name)] = value;
}

void JsonFields::put(std::string_view name, double value) {
  (*object_)[std::string(name)] = value;
}

void JsonFields::put(std::string_view name, std::string_view value) {
  (*object_)[std::string(name)] = std::string(value);
}

void JsonFields::put(std::string_view name, const std::vector<int>& value) {
  (*object_)[std::string(name)] = value;
}

HeldJson::HeldJson() : HeldJson(Json::object()) {}
HeldJson::HeldJson(Json value) : value_(std::make_unique<Json>(std::move(value))) {}
HeldJson::HeldJson(const HeldJson& other) : HeldJson(*other) {}
HeldJson::HeldJson(HeldJson&& other) noexcept = default;
HeldJson& HeldJson::operator=(const HeldJson& other) {
  return *this = HeldJson(other);
}
HeldJson& HeldJson::operator=(HeldJson&& other) noexcept = default;
HeldJson::~HeldJson() = default;

}  // namespace ellice
