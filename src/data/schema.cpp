#include "ellice/data/schema.hpp"

#include <algorithm>
#include <numeric>

#include "core/number_text.hpp"
#include "core/utf8.hpp"

namespace ellice {

namespace {

constexpr std::string_view no_break_space = "\xC2\xA0";

/// The number of insertions, deletions and replacements of one character and of swaps of two
/// neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> last = row;
  std::vector<std::size_t> before_last = row;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::size_t> Feature::level_index(std::string_view level) const {
  const auto found = std::find(levels.begin(), levels.end(), level);
  if (found == levels.end()) return std::nullopt;
  return static_cast<std::size_t>(found - levels.begin());
}

const std::string& Feature::level_text(const std::string& level) const {
  const auto found = level_texts.find(level);
  return found == level_texts.end() ? level : found->second;
}

std::string to_text(const Pace& pace) {
  return fmt::format("{} per {}", number_text(pace.amount), enum_name(pace.per));
}

std::string folded_level(std::string_view level) {
  std::string result;
  bool blank = false;
  for (std::size_t i = 0; i < level.size(); ++i) {
    const char c = level[i];
    if (c == ' ' || c == '\t' || level.substr(i).starts_with(no_break_space)) {
      blank = true;
      if (c != ' ' && c != '\t') ++i;
      continue;
    }
    if (blank && !result.empty()) result += ' ';
    blank = false;
    // In UTF-8 the letters À to Þ are 0xC3 with 0x80 to 0x9E, and à to þ lie 0x20 behind them; ×,
    // which is among them, is no letter.
    const auto byte = static_cast<unsigned char>(c);
    const bool is_accented = i > 0 && level[i - 1] == '\xC3' && byte <= 0x9E && byte != 0x97;
    const bool is_capital = (c >= 'A' && c <= 'Z') || (is_accented && byte >= 0x80);
    result += is_capital ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return result;
}

std::optional<std::size_t> Schema::find(std::string_view name) const {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const Feature& feature) { return feature.name == name; });
  if (found == features.end()) return std::nullopt;
  return static_cast<std::size_t>(found - features.begin());
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string wrong_lower = lower_case(wrong);
  // A typing mistake touches a third of a name at most; beyond that a guess misleads.
  std::size_t best = wrong.size() / 3 + 1;
  const std::string* nearest = nullptr;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(wrong_lower, lower_case(name));
    if (distance < best) {
      best = distance;
      nearest = &name;
    }
  }
  if (nearest != nullptr) return fmt::format("did you mean \"{}\"?", *nearest);
  if (known.empty()) return "there are none";
  constexpr std::size_t most = 12;
  const auto shown_end = known.begin() + static_cast<std::ptrdiff_t>(std::min(most, known.size()));
  std::string result = fmt::format("there are: {}", fmt::join(known.begin(), shown_end, ", "));
  if (known.size() > most) result += fmt::format(" and {} more", known.size() - most);
  return result;
}

}  // namespace ellice
