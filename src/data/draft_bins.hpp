#pragma once

#include "data/draft.hpp"
#include "ellice/data/dataset.hpp"

namespace ellice {

struct DraftBins {
  int count = 5;                     // at most so many intervals of a feature
  std::vector<double> special = {};  // codes, wherever they are among the rows
};

/// Makes the draft's numbers binned: edges at quantiles of the rows, codes apart. Codes are those
/// that were asked for, and negative ones that are common as such (−7, −8, −9, −99, …) where a
/// column has no other negative number. Features with no more values than bins stay as they are,
/// unless they have codes. `data` are the table's rows by the draft's schema.
void draft_bins(SchemaDraft& draft, const Dataset& data, const DraftBins& options);

}  // namespace ellice
