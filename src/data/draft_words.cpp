#include "data/draft_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "ellice/core/error.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

namespace {

constexpr std::string_view words_by_kind =
#include "data/draft_words.inc"
    ;

struct Entry {
  std::string_view action = {};
  std::string_view meaning = {};
  std::vector<std::vector<std::string_view>> words = {};  // by language
  /// Every word with what must stand around it: "_" where a part of the name ends there.
  std::vector<std::pair<std::string, std::string_view>> patterns = {};
};

std::string pattern_of(std::string_view word) {
  if (word.starts_with('=') && word.size() > 1) return fmt::format("=_{}_", word.substr(1));
  std::string pattern(word);
  if (pattern.starts_with('*')) {
    pattern.erase(0, 1);
  } else {
    pattern.insert(0, "_");
  }
  if (pattern.ends_with('*')) {
    pattern.pop_back();
  } else {
    pattern += '_';
  }
  return pattern;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<Entry> read_table() {
  std::vector<Entry> entries;
  for (const std::string_view line : split(words_by_kind, '\n')) {
    if (line.starts_with('#')) continue;
    if (line.starts_with("  ")) {
      std::vector<std::string_view> words = split(line, ' ');
      words.erase(words.begin());  // the language, for people
      for (const std::string_view word : words) {
        entries.back().patterns.emplace_back(pattern_of(word), word);
      }
      entries.back().words.push_back(std::move(words));
      continue;
    }
    const std::size_t colon = line.find(": ");
    require(colon != std::string_view::npos, "draft_words.inc: found \"{}\"", line);
    entries.push_back({.action = line.substr(0, colon), .meaning = line.substr(colon + 2)});
  }
  return entries;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> result = read_table();
  return result;
}

/// Letters with accents as letters without, in small letters; ä is ae in one spelling, a in the
/// other.
std::string without_accents(std::string_view name, bool german) {
  static const std::unordered_map<std::string_view, std::array<std::string_view, 2>> letters = {
      {"à", {"a", "a"}}, {"á", {"a", "a"}},  {"â", {"a", "a"}},   {"ã", {"a", "a"}},
      {"å", {"a", "a"}}, {"ä", {"a", "ae"}}, {"æ", {"ae", "ae"}}, {"ç", {"c", "c"}},
      {"è", {"e", "e"}}, {"é", {"e", "e"}},  {"ê", {"e", "e"}},   {"ë", {"e", "e"}},
      {"ì", {"i", "i"}}, {"í", {"i", "i"}},  {"î", {"i", "i"}},   {"ï", {"i", "i"}},
      {"ñ", {"n", "n"}}, {"ò", {"o", "o"}},  {"ó", {"o", "o"}},   {"ô", {"o", "o"}},
      {"õ", {"o", "o"}}, {"ö", {"o", "oe"}}, {"ø", {"o", "oe"}},  {"ù", {"u", "u"}},
      {"ú", {"u", "u"}}, {"û", {"u", "u"}},  {"ü", {"u", "ue"}},  {"ý", {"y", "y"}},
      {"ÿ", {"y", "y"}}, {"ß", {"ss", "ss"}}};
  const std::string folded = folded_level(name);
  std::string result;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    const auto found = letters.find(std::string_view(folded).substr(i, 2));
    if (found == letters.end()) {
      result += folded[i];
      continue;
    }
    result += found->second[german ? 1 : 0];
    ++i;
  }
  return result;
}

enum class Sort { letter, digit, other };

Sort sort_of(char c) {
  if ((c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80) return Sort::letter;
  return c >= '0' && c <= '9' ? Sort::digit : Sort::other;
}

/// A blank before each capital that begins a word: «MaritalStatus», «MSinceOldest», «numTrades».
std::string with_breaks(std::string_view name) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool capital = std::isupper(at(i)) != 0;
    const bool after_small = i > 0 && std::islower(at(i - 1)) != 0;
    const bool before_small = i > 0 && i + 1 < name.size() && std::isupper(at(i - 1)) != 0 &&
                              std::islower(at(i + 1)) != 0;
    if (capital && (after_small || before_small)) result += ' ';
    result += name[i];
  }
  return result;
}

std::string split_by(std::string_view name, bool german) {
  std::string result = "_";
  Sort last = Sort::other;
  for (const char c : without_accents(with_breaks(name), german)) {
    const Sort sort = sort_of(c);
    if (sort != last && result.back() != '_') result += '_';
    if (sort != Sort::other) result += c;
    last = sort;
  }
  if (result.back() != '_') result += '_';
  return result;
}

/// Without the marks that say what may stand around it.
std::string_view bare(std::string_view word) {
  if (word.starts_with('*') || word.starts_with('=')) word.remove_prefix(1);
  if (word.ends_with('*')) word.remove_suffix(1);
  return word;
}

/// The word of the entry that occurs in the name, or nothing.
std::string_view find_word(const Entry& entry, const std::array<std::string, 2>& spellings) {
  for (const auto& [pattern, word] : entry.patterns) {
    const auto fits = [&, &p = pattern](const std::string& name) {
      return p.starts_with('=') ? name == std::string_view(p).substr(1)
                                : name.find(p) != std::string::npos;
    };
    if (fits(spellings[0])) return bare(word);
    if (spellings[0] != spellings[1] && fits(spellings[1])) return bare(word);
  }
  return {};
}

std::array<std::string, 2> both_spellings(std::string_view text) {
  return {split_by(text, true), split_by(text, false)};
}

/// The rungs of a ladder in one language.
std::vector<std::vector<std::string_view>> rungs_of(const std::vector<std::string_view>& words) {
  std::vector<std::vector<std::string_view>> rungs(1);
  for (const std::string_view word : words) {
    if (word == "<") {
      rungs.emplace_back();
    } else {
      rungs.back().push_back(word);
    }
  }
  return rungs;
}

/// The only rung that the value is exactly, or nothing.
std::optional<std::size_t> rung_of(const std::array<std::string, 2>& value,
                                   const std::vector<std::vector<std::string_view>>& rungs) {
  for (std::size_t rung = 0; rung < rungs.size(); ++rung) {
    for (const std::string_view word : rungs[rung]) {
      const std::string whole = "_" + std::string(word) + "_";
      if (value[0] == whole || value[1] == whole) return rung;
    }
  }
  return std::nullopt;
}

std::optional<LadderMatch> climb(const Entry& entry, const std::vector<std::string_view>& words,
                                 const std::vector<std::string>& values) {
  const auto rungs = rungs_of(words);
  std::vector<std::string> levels(rungs.size());
  for (const std::string& value : values) {
    const std::optional<std::size_t> rung = rung_of(both_spellings(value), rungs);
    if (!rung || !levels[*rung].empty()) return std::nullopt;
    levels[*rung] = value;
  }
  std::erase(levels, "");
  return LadderMatch{.levels = std::move(levels), .meaning = entry.meaning};
}

}  // namespace

std::string split_name(std::string_view name) {
  return split_by(name, true);
}

std::optional<WordMatch> match_name(std::string_view name,
                                    const std::vector<std::string_view>& actions) {
  const std::array<std::string, 2> spellings = both_spellings(name);
  for (const Entry& entry : entries()) {
    if (std::find(actions.begin(), actions.end(), entry.action) == actions.end()) continue;
    const std::string_view word = find_word(entry, spellings);
    if (!word.empty()) {
      return WordMatch{.action = entry.action, .meaning = entry.meaning, .word = word};
    }
  }
  return std::nullopt;
}

std::optional<WordMatch> match_values(const std::vector<std::string>& values) {
  constexpr std::string_view prefix = "values ";
  if (values.size() < 2) return std::nullopt;
  for (const Entry& entry : entries()) {
    if (!entry.action.starts_with(prefix)) continue;
    std::string_view word;
    const bool all = std::all_of(values.begin(), values.end(), [&](const std::string& value) {
      word = find_word(entry, both_spellings(value));
      return !word.empty();
    });
    if (!all) continue;
    return WordMatch{
        .action = entry.action.substr(prefix.size()), .meaning = entry.meaning, .word = word};
  }
  return std::nullopt;
}

std::optional<LadderMatch> match_ladder(const std::vector<std::string>& values) {
  if (values.size() < 2) return std::nullopt;
  for (const Entry& entry : entries()) {
    if (entry.action != "ladder") continue;
    for (const auto& language : entry.words) {
      if (auto match = climb(entry, language, values)) return match;
    }
  }
  return std::nullopt;
}

MissingMark missing_mark(std::string_view cell) {
  static const auto marks = [] {
    std::unordered_map<std::string, MissingMark> result;
    for (const Entry& entry : entries()) {
      if (entry.action != "missing") continue;
      const MissingMark mark =
          entry.meaning == "everywhere" ? MissingMark::everywhere : MissingMark::among_numbers;
      for (const auto& language : entry.words) {
        for (const std::string_view word : language) {
          std::string text(word);
          std::replace(text.begin(), text.end(), '_', ' ');
          result.emplace(text, mark);
        }
      }
    }
    return result;
  }();
  const auto found = marks.find(std::string(cell));
  return found == marks.end() ? MissingMark::none : found->second;
}

const NumberSign* find_sign(std::string_view cell) {
  static const auto signs = [] {
    std::vector<NumberSign> result;
    for (const Entry& entry : entries()) {
      if (entry.action != "sign") continue;
      for (const auto& language : entry.words) {
        for (const std::string_view word : language) {
          result.push_back({.sign = std::string(word), .unit = std::string(entry.meaning)});
        }
      }
    }
    std::stable_sort(result.begin(), result.end(), [](const NumberSign& a, const NumberSign& b) {
      return a.sign.size() > b.sign.size();
    });
    return result;
  }();
  for (const NumberSign& sign : signs) {
    if (cell.starts_with(sign.sign) || cell.ends_with(sign.sign)) return &sign;
  }
  return nullptr;
}

}  // namespace ellice
