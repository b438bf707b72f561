#pragma once

// Populations with known truth, from which rows can be drawn without end: what retraining does on
// them can be measured, not only estimated.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/loss.hpp"

namespace ellice::survival {

/// One row: features and the probability of class 1.
struct Person {
  Vector features = {};
  double probability = 0;
};

struct Population {
  std::string name = {};
  Index rows = 0;  // of one sample
  double l2 = 1e-3;
  std::function<Person(Random&)> draw = {};
};

inline Dataset sample(const Population& population, Index rows, Random random) {
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.classes = {"no", "yes"};
  data.source = population.name;
  data.sha256 = std::string(64, '0');
  for (Index i = 0; i < rows; ++i) {
    const Person person = population.draw(random);
    if (i == 0) data.raw.resize(rows, person.features.size());
    data.raw.row(i) = person.features;
    data.labels.push_back(random.uniform() < person.probability ? 1 : 0);
  }
  for (Index j = 0; j < data.raw.cols(); ++j)
    data.schema.features.push_back({.name = "x" + std::to_string(j)});
  return data;
}

/// Weights of a truth, of length `size`, the same for every run.
inline Vector truth(Index columns, std::uint64_t seed, double size) {
  Vector w = Random(seed).normal_vector(columns);
  return size * w / w.norm();
}

inline Vector autoregressive(Random& random, Index columns, double rho) {
  Vector x = random.normal_vector(columns);
  for (Index j = 1; j < columns; ++j) x(j) = rho * x(j - 1) + std::sqrt(1 - rho * rho) * x(j);
  return x;
}

/// «value > c» for rising c, of each of some latent numbers: nested columns.
inline Vector nested_bins(const Vector& latent, Index cuts) {
  Vector x(latent.size() * cuts);
  for (Index j = 0; j < latent.size(); ++j) {
    for (Index k = 0; k < cuts; ++k) {
      const double cut = -1.2 + 2.4 * static_cast<double>(k) / static_cast<double>(cuts - 1);
      x(j * cuts + k) = latent(j) > cut ? 1 : 0;
    }
  }
  return x;
}

inline double student3(Random& random) {
  const double chi = random.normal_vector(3).squaredNorm();
  return random.normal() / std::sqrt(chi / 3) / std::sqrt(3.0);
}

/// A linear truth over columns that `columns` draws.
inline Population linear(std::string name, Index rows, double l2, Vector w, double bias,
                         std::function<Vector(Random&)> columns) {
  return {.name = std::move(name),
          .rows = rows,
          .l2 = l2,
          .draw = [w = std::move(w), bias, columns = std::move(columns)](Random& random) {
            Person person{.features = columns(random)};
            person.probability = sigmoid(w.dot(person.features) + bias);
            return person;
          }};
}

inline std::function<Vector(Random&)> normals(Index columns) {
  return [columns](Random& random) { return random.normal_vector(columns); };
}

/// x = factors·loadings + noise, the truth on the factors alone.
inline Population factors(Index rows, Index columns, double l2) {
  constexpr Index latent = 4;
  Matrix loadings(columns, latent);
  for (Index k = 0; k < latent; ++k)
    loadings.col(k) = Random(40 + static_cast<std::uint64_t>(k)).normal_vector(columns) / 2;
  const Vector w = truth(latent, 41, 5);
  return {.name = "factors", .rows = rows, .l2 = l2, .draw = [=](Random& random) {
            const Vector z = random.normal_vector(latent);
            return Person{.features = loadings * z + 0.3 * random.normal_vector(columns),
                          .probability = sigmoid(w.dot(z))};
          }};
}

/// Those on which the formula was developed.
inline std::vector<Population> known_populations() {
  const auto bins = [](Index rows, Index groups, Index cuts, double l2) {
    return linear("nested bins", rows, l2, truth(groups * cuts, 3, 2.5), 0,
                  [=](Random& random) { return nested_bins(random.normal_vector(groups), cuts); });
  };
  const auto high = [](Index rows, double l2) {
    return linear("high-dimensional", rows, l2, truth(60, 11, 3), 0.2, normals(60));
  };
  std::vector<Population> list = {
      linear("isotropic", 1000, 1e-3, truth(10, 1, 2), 0.3, normals(10)),
      linear("isotropic", 200, 1e-2, truth(10, 1, 2), 0.3, normals(10)),
      linear("autoregressive 0.9", 1500, 1e-4, truth(20, 2, 2), 0.2,
             [](Random& random) { return autoregressive(random, 20, 0.9); }),
      bins(1500, 3, 6, 1e-3),
      bins(600, 5, 6, 1e-3),
      linear("one-hot", 1000, 1e-3, truth(25, 4, 4), 0,
             [](Random& random) {
               Vector x = Vector::Zero(25);
               for (Index j = 0; j < 5; ++j) x(5 * j + static_cast<Index>(random.below(5))) = 1;
               return x;
             }),
      linear("heavy tails", 400, 1e-3, truth(20, 5, 2), 0,
             [](Random& random) {
               Vector x(20);
               for (double& value : x) value = student3(random);
               return x;
             }),
      linear("nearly separable", 400, 1e-3, truth(20, 8, 12), 0.5, normals(20)),
      linear("sparse truth", 400, 1e-1, 2 * Vector::Unit(40, 0) - Vector::Unit(40, 7), 0,
             normals(40)),
      factors(2000, 24, 1e-3),
      factors(600, 48, 1e-3),
      high(400, 1e-2),
      high(200, 1e-2)};
  list.push_back({.name = "interactions", .rows = 400, .l2 = 1e-2, .draw = [](Random& random) {
                    const Vector x = random.normal_vector(20);
                    return Person{.features = x,
                                  .probability = sigmoid(truth(20, 6, 2).dot(x) + x(0) * x(1) +
                                                         0.7 * (x(2) * x(2) - 1))};
                  }});
  list.push_back({.name = "label noise", .rows = 300, .l2 = 1e-2, .draw = [](Random& random) {
                    const Vector x = random.normal_vector(20);
                    const double p = sigmoid(truth(20, 7, 3).dot(x));
                    return Person{.features = x, .probability = 0.12 + 0.76 * p};
                  }});
  return list;
}

/// Ten that were run only when nothing was changed any more.
inline std::vector<Population> kept_apart() {
  std::vector<Population> list = {
      linear("skewed columns", 800, 1e-3, truth(12, 21, 1.5), -0.3,
             [](Random& random) {
               return Vector((0.7 * autoregressive(random, 12, 0.5)).array().exp() - 1.28);
             }),
      linear("counts", 700, 1e-3, truth(15, 22, 2), -0.5,
             [](Random& random) {
               Vector x(15);
               for (double& value : x) {
                 value = 0;
                 for (double left = std::exp(-1.5); (left /= random.uniform() + 1e-300) < 1;)
                   ++value;
               }
               return x;
             }),
      linear("answers from 1 to 5", 500, 1e-3, truth(18, 23, 1.2), 0.1,
             [](Random& random) {
               const double mood = random.normal();
               Vector x(18);
               for (double& value : x)
                 value = std::clamp(std::round(0.8 * mood + random.normal()), -2.0, 2.0);
               return x;
             }),
      linear("rare class", 1500, 1e-3, truth(14, 24, 1.5), -2.2, normals(14)),
      linear("blocks", 900, 1e-3, truth(24, 25, 3), 0,
             [](Random& random) {
               Vector x = 0.6 * random.normal_vector(24);
               for (Index b = 0; b < 6; ++b) x.segment(4 * b, 4).array() += 0.8 * random.normal();
               return x;
             }),
      linear("near duplicates", 600, 1e-3, truth(16, 26, 2), 0, [](Random& random) {
        Vector x = random.normal_vector(16);
        for (Index j = 1; j < 16; j += 2) x(j) = x(j - 1) + 0.15 * x(j);
        return x;
      })};
  list.push_back({.name = "two clouds", .rows = 400, .l2 = 1e-3, .draw = [](Random& random) {
                    // Of different shapes: the border is curved, the labels are certain.
                    const bool yes = random.uniform() < 0.5;
                    Vector x = random.normal_vector(10);
                    if (yes) x = 0.5 * x + truth(10, 27, 1.6);
                    return Person{.features = x, .probability = yes ? 1.0 : 0.0};
                  }});
  list.push_back({.name = "another link", .rows = 250, .l2 = 1e-3, .draw = [](Random& random) {
                    const Vector x = random.normal_vector(8);
                    const double f = truth(8, 28, 1.5).dot(x);
                    return Person{.features = x, .probability = std::erfc(-f / std::sqrt(2.0)) / 2};
                  }});
  list.push_back({.name = "bent border", .rows = 500, .l2 = 1e-2, .draw = [](Random& random) {
                    const Vector x = autoregressive(random, 30, 0.6);
                    const double f = truth(30, 29, 2).dot(x) + 0.5 * (x(3) * x(3) - 1) - 0.5;
                    return Person{.features = x, .probability = sigmoid(f)};
                  }});
  list.push_back({.name = "many weak columns", .rows = 350, .l2 = 1e-2, .draw = [](Random& random) {
                    const Vector x = autoregressive(random, 45, 0.3);
                    return Person{.features = x, .probability = sigmoid(truth(45, 30, 1.5).dot(x))};
                  }});
  return list;
}

}  // namespace ellice::survival
