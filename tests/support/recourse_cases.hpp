#pragma once

#include <functional>
#include <vector>

#include "ellice/model/training.hpp"
#include "request/problem.hpp"
#include "support/numeric_dataset.hpp"

namespace ellice::problem_zoo {

/// A linear model of numeric features x0, x1, … whose schema can be changed before it is trained.
Model numeric_model(Index columns, std::uint64_t seed,
                    const std::function<void(Schema&)>& change = {}, double l2 = 1e-2);

/// Rows of a data set as queries.
std::vector<Query> queries_of(const Dataset& data, Index count);

/// Random people for a numeric model.
std::vector<Query> random_queries(const Model& model, std::size_t count, std::uint64_t seed);

}  // namespace ellice::problem_zoo
