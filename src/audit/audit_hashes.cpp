#include "audit/audit_hashes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/json_output.hpp"
#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr std::string_view own_key = "sha256";
constexpr std::array<std::string_view, 2> last_keys = {"explained", "interrupted"};

}  // namespace

Hashes::Hashes(const Json& file, bool are_stated) : are_stated_(are_stated) {
  Json asked = Json::object();
  for (const auto& [name, value] : file.items()) {
    if (name != "results" && !is_at_the_end(name)) asked[name] = value;
  }
  asked_ = sha256_hex(canonical_text(asked));
}

bool Hashes::are_in(const Json& file) {
  const auto has_one = [](const Json& one) { return one.is_object() && one.contains(own_key); };
  const auto results = file.find("results");
  return has_one(file) || (results != file.end() && results->is_array() &&
                           std::any_of(results->begin(), results->end(), has_one));
}

bool Hashes::is_at_the_end(std::string_view key) {
  return key == own_key || std::find(last_keys.begin(), last_keys.end(), key) != last_keys.end();
}

std::string Hashes::stated_in(const Json& record) {
  const auto stated = record.find(own_key);
  return stated != record.end() && stated->is_string() ? stated->get<std::string>() : "";
}

std::string Hashes::fault(const Json& record) const {
  if (!are_stated_) return {};
  const auto stated = record.find(own_key);
  if (stated == record.end()) return "sha256 is missing";
  std::string text = asked_;
  JsonText canonical(text, JsonText::Style::canonical);
  write_json_without(canonical, record, own_key);
  if (*stated == sha256_hex(text)) return {};
  return "sha256 is not that of the record and of what was asked: one of them was changed after it "
         "was written";
}

void Hashes::add(std::string_view stated) {
  records_.update(stated);
}

std::string Hashes::fault_of_file(const Json& file) {
  if (!are_stated_) return {};
  const auto stated = file.find(own_key);
  if (stated == file.end()) return "sha256 of the file is missing";
  Json rest = Json::object();
  for (const std::string_view name : last_keys) {
    const auto value = file.find(name);
    if (value != file.end()) rest[std::string(name)] = *value;
  }
  records_.update(asked_ + canonical_text(rest));
  if (*stated == records_.hex()) return {};
  return "sha256 of the file is not that of its records: some were changed, left out or exchanged";
}

}  // namespace ellice::audit
