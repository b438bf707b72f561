#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ellice/model/training.hpp"
#include "ellice/request/answer.hpp"
#include "request/problem.hpp"
#include "support/numeric_dataset.hpp"

namespace ellice::problem_zoo {

/// A linear model of numeric features x0, x1, … whose schema can be changed before it is trained.
Model numeric_model(Index columns, std::uint64_t seed,
                    const std::function<void(Schema&)>& change = {}, double l2 = 1e-2);

/// A linear model of the lending data, trained once.
const Model& lending_model();

/// Over the true set of a model.
Problem true_problem(const Model& model, double epsilon);

/// Rows of a data set as queries.
std::vector<Query> queries_of(const Dataset& data, Index count);

/// Random people for a numeric model.
std::vector<Query> random_queries(const Model& model, std::size_t count, std::uint64_t seed);

/// The names of the features that an answer changes.
std::set<std::string> changed(const Answer& answer);

}  // namespace ellice::problem_zoo
