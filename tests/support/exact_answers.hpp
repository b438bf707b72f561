#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ellice/core/json.hpp"
#include "request/recourse_file.hpp"
#include "search/exact_search.hpp"

namespace ellice::problem_zoo {

std::vector<Answer> solve(const Problem& problem, const std::vector<Query>& queries,
                          int threads = 1);

/// The file that `explain` would write.
Json recourse_file(const Problem& problem, const std::vector<Answer>& answers,
                   const ExactOptions& options = {});

/// Checks that file as `verify` would.
void expect_audited(const Problem& problem, const std::vector<Answer>& answers,
                    const ExactOptions& options = {});

/// The robust logit from the definition, by a dense inverse in extended precision.
double plain_robust_logit(const Model& model, double epsilon, const Vector& z);

}  // namespace ellice::problem_zoo
