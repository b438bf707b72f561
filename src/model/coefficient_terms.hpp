#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/schema.hpp"

namespace ellice {

/// Which column of the encoder each term belongs to.
struct MatchedTerms {
  std::vector<std::optional<Index>> column = {};        // by term; none is the intercept
  std::vector<std::optional<Index>> reference_of = {};  // by term: of its feature, for levels
  std::vector<bool> is_indicator = {};                  // by term: of a level
  std::vector<bool> is_negated = {};  // by term: indicates the first level of a binary feature
  std::vector<std::optional<std::size_t>> number = {};  // by feature: the term of a number
  std::vector<Index> references = {};                   // levels without a term
  std::vector<std::vector<Index>> groups = {};          // columns of each categorical feature
  std::size_t intercept = 0;
};

/// Throws Error{input} for a term that belongs to no column, or to one that has a term already, and
/// for columns that need one. `source` names the file.
[[nodiscard]] MatchedTerms match_terms(const std::vector<std::string>& terms, const Schema& schema,
                                       const std::string& source);

/// x, of `x`, Q("x") and Q('x').
[[nodiscard]] std::string_view unquoted(std::string_view name);

}  // namespace ellice
