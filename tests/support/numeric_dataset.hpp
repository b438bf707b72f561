#pragma once

#include <string>
#include <vector>

#include "ellice/data/dataset.hpp"
#include "support/problem_zoo.hpp"

namespace ellice::problem_zoo {

/// Rows as a data set of numeric features x0, x1, …, with the target `outcome` no/yes.
Dataset numeric_dataset(const Labelled& rows);

}  // namespace ellice::problem_zoo
