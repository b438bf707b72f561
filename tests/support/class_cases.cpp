#include "support/class_cases.hpp"

#include "sets/contest.hpp"

namespace ellice::problem_zoo {

Dataset class_dataset(Index rows, Index columns, Index classes, std::uint64_t seed, double spread) {
  const Random random(seed);
  std::vector<Vector> centres;
  for (Index k = 0; k < classes; ++k) {
    centres.push_back(spread * random.split(static_cast<std::uint64_t>(k)).normal_vector(columns));
  }
  Dataset data;
  data.raw = RowMatrix(rows, columns);
  for (Index i = 0; i < rows; ++i) {
    Random stream = random.split(1000 + static_cast<std::uint64_t>(i));
    const Index k = i % classes;
    data.raw.row(i) =
        (centres[static_cast<std::size_t>(k)] + stream.normal_vector(columns)).transpose();
    data.labels.push_back(static_cast<int>(k));
  }
  for (Index k = 0; k < classes; ++k) data.classes.push_back("c" + std::to_string(k));
  data.schema.target = {
      .column = "kind", .favourable = data.classes.back(), .classes = data.classes};
  for (Index j = 0; j < columns; ++j) {
    data.schema.features.push_back({.name = "x" + std::to_string(j)});
  }
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

TrainingOptions softmax_options(double l2, std::vector<int> hidden) {
  TrainingOptions options{.model = NetworkKind::softmax, .l2 = l2, .folds = 0};
  options.refit = !hidden.empty();
  options.network.hidden = std::move(hidden);
  return options;
}

Model class_model(Index columns, Index classes, std::uint64_t seed, double l2,
                  std::vector<int> hidden) {
  return train(class_dataset(240, columns, classes, seed), {},
               softmax_options(l2, std::move(hidden)))
      .model;
}

SetChoice winning(const Model& model, Index winner) {
  return {.contest = make_contest(model, winner)};
}

}  // namespace ellice::problem_zoo
