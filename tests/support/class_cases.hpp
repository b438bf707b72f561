#pragma once

// Instances with many classes.

#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/training.hpp"
#include "sets/uncertainty_set.hpp"

namespace ellice::problem_zoo {

/// Gaussian rows around a centre per class, near enough to overlap; classes c0, c1, …, the last one
/// favourable.
Dataset class_dataset(Index rows, Index columns, Index classes, std::uint64_t seed,
                      double spread = 1.2);

/// Softmax regression, or with hidden units a network whose last layer is at its optimum.
TrainingOptions softmax_options(double l2 = 1e-2, std::vector<int> hidden = {});

Model class_model(Index columns, Index classes, std::uint64_t seed, double l2 = 1e-2,
                  std::vector<int> hidden = {});

/// That class `winner` beats all others.
SetChoice winning(const Model& model, Index winner);

}  // namespace ellice::problem_zoo
