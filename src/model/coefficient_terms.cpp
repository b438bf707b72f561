#include "model/coefficient_terms.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/infinity.hpp"
#include "core/utf8.hpp"
#include "ellice/core/error.hpp"
#include "ellice/data/csv.hpp"

namespace ellice {

std::string_view unquoted(std::string_view name) {
  if (name.size() > 4 && name.starts_with("Q(") && name.ends_with(")"))
    return name.substr(3, name.size() - 5);
  if (name.size() > 2 && name.front() == '`' && name.back() == '`')
    return name.substr(1, name.size() - 2);
  return name;
}

namespace {

constexpr std::array<std::string_view, 6> intercepts = {"(intercept)", "intercept", "const",
                                                        "constant",    "_cons",     "bias"};

bool is_intercept(std::string_view term) {
  const std::string small = lower_case(term);
  return std::find(intercepts.begin(), intercepts.end(), small) != intercepts.end();
}

/// Feature and level of what statsmodels writes: C(purpose)[T.car], C(Q("x"), …)[T.car], x[T.car].
struct Treatment {
  std::string_view feature;
  std::string_view level;
};

std::optional<Treatment> as_treatment(std::string_view term) {
  const std::size_t at = term.find("[T.");
  if (at == std::string_view::npos || !term.ends_with("]")) return std::nullopt;
  std::string_view name = term.substr(0, at);
  if (name.starts_with("C(") && name.ends_with(")")) {
    name = name.substr(2, name.size() - 3);
    // What follows the first argument says how the levels are coded.
    if (name.starts_with("Q(")) {
      if (const std::size_t end = name.find(')'); end != std::string_view::npos)
        name = name.substr(0, end + 1);
    } else {
      name = name.substr(0, name.find(','));
    }
  }
  return Treatment{.feature = unquoted(name), .level = term.substr(at + 3, term.size() - at - 4)};
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A text without blanks, letters small.
std::string folded(std::string_view text) {
  std::string result = lower_case(text);
  std::erase(result, ' ');
  return result;
}

/// The end of an interval; ±∞ as programs write it.
std::optional<double> end_of(std::string_view text) {
  if (text == "-inf" || text == "-infinity") return -infinity;
  if (text == "inf" || text == "+inf" || text == "infinity") return infinity;
  double value = 0;
  if (!parse_number(text, value)) return std::nullopt;
  return value;
}

/// Whether a term's word for a bin is that bin: an interval with its ends, «(0.30, 0.6]», or a
/// code.
bool is_bin(std::string_view word, const Bins& bins, std::size_t bin) {
  const std::string text = folded(word);
  if (bin >= bins.intervals()) {
    double code = 0;
    return parse_number(text, code) && bins.special[bin - bins.intervals()].number == code;
  }
  const std::size_t comma = text.find(',');
  const bool is_interval = text.size() > 3 && (text.front() == '(' || text.front() == '[') &&
                           (text.back() == ')' || text.back() == ']') && comma != std::string::npos;
  if (!is_interval) return false;
  const std::string_view ends = std::string_view(text).substr(1, text.size() - 2);
  // Which end belongs to it is no matter at infinity.
  const bool is_right = bins.closed == Bins::Closed::right;
  const bool opens_well = bin == 0 || text.front() == (is_right ? '(' : '[');
  const bool closes_well = bin + 1 == bins.intervals() || text.back() == (is_right ? ']' : ')');
  // Terms may name ends of all numbers, or leave them out; the schema may know narrower ones.
  const std::optional<double> from = end_of(ends.substr(0, comma - 1));
  const std::optional<double> to = end_of(ends.substr(comma));
  return opens_well && closes_well &&
         (from == bins.lower(bin) || (bin == 0 && from && *from < bins.lower(bin))) &&
         (to == bins.upper(bin) || (bin + 1 == bins.intervals() && to && *to > bins.upper(bin)));
}

/// Whether a term's word for a level is that level: as it is written, or, where that is the text of
/// no level, as the same whole number («2.0» of a column that pandas holds as floats, for «2»).
bool is_level(std::string_view word, const Feature& feature, std::size_t index) {
  if (feature.is_binned()) return is_bin(word, feature.bins, index);
  const std::string& level = feature.levels[index];
  if (word == level) return true;
  constexpr std::string_view fraction = ".0";
  if (!word.ends_with(fraction) || !is_whole_number(level)) return false;
  return word.substr(0, word.size() - fraction.size()) == level &&
         std::find(feature.levels.begin(), feature.levels.end(), word) == feature.levels.end();
}

/// Whether a term is what some program calls the indicator of a level.
bool names_level(std::string_view term, const Feature& feature, std::size_t level) {
  if (!feature.one_hot.empty()) return unquoted(term) == feature.levels[level];
  if (const std::optional<Treatment> treatment = as_treatment(term))
    return treatment->feature == feature.name && is_level(treatment->level, feature, level);
  for (const std::string_view before : {"{}", "`{}`", "factor({})", "as.factor({})"}) {
    const std::string name = fmt::format(fmt::runtime(before), feature.name);
    for (const std::string_view between : {"=", "", "_", " ", ".", ":", ": "}) {
      const std::string start = fmt::format("{}{}", name, between);
      if (term.starts_with(start) && is_level(term.substr(start.size()), feature, level))
        return true;
    }
  }
  return false;
}

class Matching {
 public:
  Matching(const std::vector<std::string>& terms, const Schema& schema, const std::string& source)
      : terms_(&terms), schema_(&schema), source_(&source) {
    result_.column.resize(terms.size());
    result_.reference_of.resize(terms.size());
    result_.is_indicator.resize(terms.size(), false);
    result_.is_negated.resize(terms.size(), false);
    result_.number.resize(schema.features.size());
    taken_.resize(terms.size(), false);
  }

  MatchedTerms run() {
    find_intercept();
    // Whole names first: "grade1" is the feature of that name before it is a level of "grade".
    each_feature([&](std::size_t j, Index column) { match_name(j, column); });
    each_feature([&](std::size_t j, Index column) { match_levels(j, column); });
    std::vector<std::string> left;
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      if (!taken_[t]) left.push_back("\"" + (*terms_)[t] + "\"");
    }
    const std::string without =
        left.empty() ? "" : fmt::format("; terms of no feature: {}", fmt::join(left, ", "));
    require_input(missing_.empty(), "{}: {}{}", *source_, missing_, without);
    require_input(left.empty(),
                  "{}: {} belongs to no feature of the schema, which has {}. Products and "
                  "transformed columns cannot be imported",
                  *source_, fmt::join(left, ", "), fmt::join(feature_names(), ", "));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<std::string> feature_names() const {
    std::vector<std::string> names;
    for (const Feature& feature : schema_->features) names.push_back(feature.name);
    return names;
  }

  void find_intercept() {
    std::optional<std::size_t> found;
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      if (!is_intercept((*terms_)[t])) continue;
      require_input(!found, "{}: \"{}\" and \"{}\" are both the intercept", *source_,
                    (*terms_)[found.value_or(t)], (*terms_)[t]);
      found = t;
    }
    require_input(found.has_value(),
                  "{}: no term is the intercept, which is called (Intercept), Intercept, const or "
                  "_cons",
                  *source_);
    taken_[*found] = true;
    result_.intercept = *found;
  }

  /// The one term that fits, or nothing.
  template <class Fits>
  std::optional<std::size_t> find(const Fits& fits, std::string_view what) const {
    std::optional<std::size_t> found;
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      if (taken_[t] || !fits((*terms_)[t])) continue;
      require_input(!found, "{}: \"{}\" and \"{}\" are both {}", *source_,
                    (*terms_)[found.value_or(t)], (*terms_)[t], what);
      found = t;
    }
    return found;
  }

  template <class Match>
  void each_feature(const Match& match) const {
    Index column = 0;
    for (std::size_t j = 0; j < schema_->features.size(); ++j) {
      const Feature& feature = schema_->features[j];
      match(j, column);
      column += feature.has_indicators() ? static_cast<Index>(entries_of(feature)) : Index{1};
    }
  }

  /// Everything but categories: by the feature's name.
  void match_name(std::size_t j, Index column) {
    const Feature& feature = schema_->features[j];
    if (feature.has_indicators()) return;
    const std::optional<std::size_t> term =
        find([&](const std::string& name) { return unquoted(name) == feature.name; },
             fmt::format("\"{}\"", feature.name));
    if (term) {
      take(*term, column, feature);
      if (feature.is_number()) result_.number[j] = term;
    } else if (feature.kind != FeatureKind::binary) {
      lacks(
          fmt::format("no term belongs to \"{}\"; a feature that the model does not use is listed "
                      "under `drop` in the schema",
                      feature.name));
    }
  }

  void match_levels(std::size_t j, Index column) {
    const Feature& feature = schema_->features[j];
    if (feature.has_indicators()) match_category(feature, column);
    if (feature.kind != FeatureKind::binary) return;
    if (std::find(result_.column.begin(), result_.column.end(), std::optional(column)) !=
        result_.column.end())
      return;
    for (const std::size_t level : {1U, 0U}) {
      const std::optional<std::size_t> term = find_level(feature, level);
      if (!term) continue;
      take(*term, column, feature);
      result_.is_negated[*term] = level == 0;
      return;
    }
    lacks(fmt::format("no term belongs to \"{0}\" (such as {0} or {0}={1})", feature.name,
                      feature.levels[1]));
  }

  [[nodiscard]] static std::size_t entries_of(const Feature& feature) {
    return feature.is_binned() ? feature.bins.count() : feature.levels.size();
  }
  [[nodiscard]] static std::string entry_name(const Feature& feature, std::size_t entry) {
    return feature.is_binned() ? feature.bins.name(entry) : feature.levels[entry];
  }

  std::optional<std::size_t> find_level(const Feature& feature, std::size_t level) const {
    return find([&](const std::string& name) { return names_level(name, feature, level); },
                fmt::format("the {} \"{}\" of \"{}\"", feature.is_binned() ? "bin" : "level",
                            entry_name(feature, level), feature.name));
  }

  void match_category(const Feature& feature, Index first) {
    std::vector<Index> without;
    std::vector<std::size_t> terms;
    std::vector<Index> group;
    for (std::size_t k = 0; k < entries_of(feature); ++k) {
      const Index column = first + static_cast<Index>(k);
      group.push_back(column);
      if (const std::optional<std::size_t> term = find_level(feature, k)) {
        take(*term, column, feature);
        terms.push_back(*term);
      } else {
        without.push_back(column);
      }
    }
    if (without.size() != 1) {
      const auto level = [&](std::size_t k) {
        return entry_name(feature, static_cast<std::size_t>(without[k] - first));
      };
      const std::string_view kind = feature.is_binned() ? "bin" : "level";
      lacks(
          without.empty()
              ? fmt::format("every {} of \"{}\" has a term; one must be the reference, without any",
                            kind, feature.name)
              : fmt::format("\"{0}\": the {3}s \"{1}\" and \"{2}\" have no term (such as "
                            "{0}={2}); one, the reference, has none",
                            feature.name, level(0), level(1), kind));
      return;
    }
    for (const std::size_t term : terms) result_.reference_of[term] = without.front();
    result_.references.push_back(without.front());
    result_.groups.push_back(std::move(group));
  }

  /// The first thing that is missing is said in the end, beside the terms that are left.
  void lacks(std::string what) {
    if (missing_.empty()) missing_ = std::move(what);
  }

  void take(std::size_t term, Index column, const Feature& feature) {
    taken_[term] = true;
    result_.column[term] = column;
    result_.is_indicator[term] = feature.kind == FeatureKind::binary || feature.has_indicators();
  }

  const std::vector<std::string>* terms_;
  const Schema* schema_;
  const std::string* source_;
  MatchedTerms result_;
  std::vector<bool> taken_;
  std::string missing_;
};

}  // namespace

MatchedTerms match_terms(const std::vector<std::string>& terms, const Schema& schema,
                         const std::string& source) {
  return Matching(terms, schema, source).run();
}

}  // namespace ellice
