#include "id_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace ellice::cli {

namespace {

constexpr std::size_t most_named = 5;

/// Blanks around an identifier are not seen by those who read it.
std::string_view trimmed(std::string_view id) {
  const std::size_t first = id.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return id.substr(first, id.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string named_rows(std::vector<std::size_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < std::min(rows.size(), most_named); ++i) named.push_back(rows[i] + 1);
  return fmt::format("row{} {}{}", rows.size() == 1 ? "" : "s", fmt::join(named, ", "),
                     rows.size() > most_named ? fmt::format(" … ({} in all)", rows.size()) : "");
}

void IdCheck::add(std::size_t row, const std::optional<std::string>& id) {
  if (!id) return;
  if (trimmed(*id).empty()) {
    empty_.push_back(row);
  } else {
    hashed_.emplace_back(std::hash<std::string_view>{}(trimmed(*id)), row);
  }
}

void IdCheck::add(const QueryBlock& block) {
  for (const Query& query : block.queries) add(query.index, query.id);
  for (const Answer& answer : block.invalid) add(answer.query_index, answer.id);
}

void IdCheck::add(const IdCheck& later) {
  empty_.insert(empty_.end(), later.empty_.begin(), later.empty_.end());
  hashed_.insert(hashed_.end(), later.hashed_.begin(), later.hashed_.end());
}

void IdCheck::warn(const std::string& column, bool letters, const Console& console) {
  if (!empty_.empty()) {
    console.warning(fmt::format(
        "--id {}: {} {} empty there, counted from 1 below the header{}", column, named_rows(empty_),
        empty_.size() == 1 ? "is" : "are",
        letters ? "; letters to them are addressed to nobody and named by the row alone" : ""));
  }
  std::sort(hashed_.begin(), hashed_.end());
  std::vector<std::size_t> repeated;
  for (std::size_t i = 1; i < hashed_.size(); ++i) {
    if (hashed_[i].first == hashed_[i - 1].first) repeated.push_back(hashed_[i].second);
  }
  if (repeated.empty()) return;
  console.warning(fmt::format(
      "--id {}: {} {} an identifier that an earlier row has, counted from 1 below the header{}",
      column, named_rows(repeated), repeated.size() == 1 ? "has" : "have",
      letters ? "; each gets a letter of its own, which begins with the row in its name" : ""));
}

}  // namespace ellice::cli
