#include "audit/audit_hashes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/sha256.hpp"
#include "ellice/core/json.hpp"

namespace ellice::audit {

namespace {

constexpr const char* key = "sha256";
constexpr std::array<std::string_view, 2> at_the_end = {"explained", "interrupted"};

bool is_at_the_end(std::string_view name) {
  return std::find(at_the_end.begin(), at_the_end.end(), name) != at_the_end.end();
}

}  // namespace

Hashes::Hashes(const Json& file) : file_(&file) {
  Json asked = Json::object();
  for (const auto& [name, value] : file.items()) {
    if (name != "results" && name != key && !is_at_the_end(name)) asked[name] = value;
  }
  asked_ = sha256_hex(canonical_text(asked));
  const auto has_one = [](const Json& one) { return one.is_object() && one.contains(key); };
  const auto results = file.find("results");
  are_stated_ = has_one(file) || (results != file.end() && results->is_array() &&
                                  std::any_of(results->begin(), results->end(), has_one));
}

std::string Hashes::fault(const Json& record) const {
  if (!are_stated_) return {};
  const auto stated = record.find(key);
  if (stated == record.end()) return "sha256 is missing";
  Json rest = record;
  rest.erase(key);
  if (*stated == sha256_hex(asked_ + canonical_text(rest))) return {};
  return "sha256 is not that of the record and of what was asked: one of them was changed after it "
         "was written";
}

std::string Hashes::fault() const {
  if (!are_stated_) return {};
  const auto stated = file_->find(key);
  if (stated == file_->end()) return "sha256 of the file is missing";
  std::string all;
  for (const Json& record : file_->at("results")) {
    const auto own = record.find(key);
    if (own != record.end() && own->is_string()) all += own->get<std::string>();
  }
  Json rest = Json::object();
  for (const std::string_view name : at_the_end) {
    const auto value = file_->find(name);
    if (value != file_->end()) rest[std::string(name)] = *value;
  }
  if (*stated == sha256_hex(all + asked_ + canonical_text(rest))) return {};
  return "sha256 of the file is not that of its records: some were changed, left out or exchanged";
}

}  // namespace ellice::audit
