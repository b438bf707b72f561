#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/data/schema.hpp"

namespace ellice::testing_support {

/// Text of letters, blanks, punctuation that YAML gives a meaning, words that YAML takes for
/// something else, and characters beyond ASCII; never empty.
std::string random_text(Random& random);

/// Whether no two levels of a feature are one when case and blanks do not count.
bool folds_apart(const Schema& schema);

CsvFormat random_format(const Schema& schema, Random& random);

/// A schema that satisfies every rule of the format, with all kinds and all keys.
Schema random_schema(Random& random);

/// Raw numbers of one row (see Dataset::raw).
std::vector<double> random_raw_row(const Schema& schema, Random& random);

}  // namespace ellice::testing_support
