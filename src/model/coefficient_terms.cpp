#include "model/coefficient_terms.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/utf8.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

constexpr std::array<std::string_view, 6> intercepts = {"(intercept)", "intercept", "const",
                                                        "constant",    "_cons",     "bias"};

bool is_intercept(std::string_view term) {
  const std::string small = lower_case(term);
  return std::find(intercepts.begin(), intercepts.end(), small) != intercepts.end();
}

/// x, of `x`, Q("x") and Q('x').
std::string_view unquoted(std::string_view name) {
  if (name.size() > 4 && name.starts_with("Q(") && name.ends_with(")"))
    return name.substr(3, name.size() - 5);
  if (name.size() > 2 && name.front() == '`' && name.back() == '`')
    return name.substr(1, name.size() - 2);
  return name;
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

/// Whether a term is what some program calls the indicator of a level.
bool names_level(std::string_view term, const Feature& feature, const std::string& level) {
  if (!feature.one_hot.empty()) return unquoted(term) == level;
  if (const std::optional<Treatment> treatment = as_treatment(term))
    return treatment->feature == feature.name && treatment->level == level;
  for (const std::string_view between : {"=", "", "_", " ", ".", ":", ": "}) {
    if (term == fmt::format("{}{}{}", feature.name, between, level) ||
        term == fmt::format("`{}`{}{}", feature.name, between, level))
      return true;
  }
  return false;
}

class Matching {
 public:
  Matching(const std::vector<std::string>& terms, const Schema& schema, const std::string& source)
      : terms_(&terms), schema_(&schema), source_(&source) {
    result_.column.resize(terms.size());
    result_.reference_of.resize(terms.size());
    result_.number.resize(schema.features.size());
    taken_.resize(terms.size(), false);
  }

  MatchedTerms run() {
    find_intercept();
    Index column = 0;
    for (std::size_t j = 0; j < schema_->features.size(); ++j) {
      const Feature& feature = schema_->features[j];
      if (feature.kind == FeatureKind::categorical) {
        match_levels(feature, column);
        column += static_cast<Index>(feature.levels.size());
      } else {
        match_column(j, column);
        ++column;
      }
    }
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      require_input(taken_[t],
                    "{}: the term \"{}\" belongs to no feature of the schema; {}. Products and "
                    "transformed columns cannot be imported",
                    *source_, (*terms_)[t], suggestion((*terms_)[t], feature_names()));
    }
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
    take(*found);
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

  void match_column(std::size_t j, Index column) {
    const Feature& feature = schema_->features[j];
    const auto fits = [&](const std::string& term) {
      return unquoted(term) == feature.name ||
             (feature.kind == FeatureKind::binary && names_level(term, feature, feature.levels[1]));
    };
    const std::optional<std::size_t> term = find(fits, fmt::format("\"{}\"", feature.name));
    require_input(
        term.has_value(),
        "{}: no term belongs to \"{}\"{}; a feature that the model does not use is listed "
        "under `drop` in the schema",
        *source_, feature.name,
        feature.kind == FeatureKind::binary
            ? fmt::format(" (such as {0} or {0}={1})", feature.name, feature.levels[1])
            : "");
    take(*term);
    result_.column[*term] = column;
    if (feature.is_number()) result_.number[j] = term;
  }

  void match_levels(const Feature& feature, Index first) {
    std::optional<Index> reference;
    std::vector<std::size_t> terms;
    std::vector<Index> group;
    for (std::size_t k = 0; k < feature.levels.size(); ++k) {
      const std::string& level = feature.levels[k];
      const Index column = first + static_cast<Index>(k);
      group.push_back(column);
      const std::optional<std::size_t> term =
          find([&](const std::string& name) { return names_level(name, feature, level); },
               fmt::format("the level \"{}\" of \"{}\"", level, feature.name));
      if (term) {
        take(*term);
        result_.column[*term] = column;
        terms.push_back(*term);
        continue;
      }
      require_input(
          !reference,
          "{}: \"{}\": the levels \"{}\" and \"{}\" have no term (such as {}={}); one, the "
          "reference, has none",
          *source_, feature.name,
          feature.levels[static_cast<std::size_t>(reference.value_or(first) - first)], level,
          feature.name, level);
      reference = column;
    }
    require_input(reference.has_value(),
                  "{}: every level of \"{}\" has a term; one must be the reference, without any",
                  *source_, feature.name);
    for (const std::size_t term : terms) result_.reference_of[term] = reference;
    result_.references.push_back(*reference);
    result_.groups.push_back(std::move(group));
  }

  void take(std::size_t term) { taken_[term] = true; }

  const std::vector<std::string>* terms_;
  const Schema* schema_;
  const std::string* source_;
  MatchedTerms result_;
  std::vector<bool> taken_;
};

}  // namespace

MatchedTerms match_terms(const std::vector<std::string>& terms, const Schema& schema,
                         const std::string& source) {
  return Matching(terms, schema, source).run();
}

}  // namespace ellice
