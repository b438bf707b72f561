#include "support/mixed_model.hpp"

namespace ellice::problem_zoo {

Dataset mixed_dataset(std::uint64_t seed, bool restricted) {
  Random random(seed);
  Dataset data;
  data.schema.target = {.column = "outcome", .favourable = "yes"};
  data.schema.features = {
      {.name = "x0"},
      {.name = "x1"},
      {.name = "whole", .kind = FeatureKind::integer, .min = 0, .max = 3},
      {.name = "grade", .kind = FeatureKind::ordinal, .levels = {"low", "middle", "high"}},
      {.name = "flag", .kind = FeatureKind::binary, .levels = {"no", "yes"}},
      {.name = "kind", .kind = FeatureKind::categorical, .levels = {"a", "b", "c"}},
      {.name = "place", .kind = FeatureKind::categorical, .levels = {"p", "q", "r", "s"}}};
  if (restricted) {
    std::vector<Feature>& features = data.schema.features;
    features[2].direction = Direction::increase;
    features[3].direction = static_cast<Direction>(random.below(3));
    features[4].immutable = random.below(2) == 0;
    features[6].allowed = {"p", "r", "s"};
    data.schema.constraints = {parse_rule("x0 <= x1 + 3")};
  }
  const Index count = 80;
  data.raw.resize(count, static_cast<Index>(data.schema.features.size()));
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < data.raw.cols(); ++j) {
      const Feature& feature = data.schema.features[static_cast<std::size_t>(j)];
      data.raw(i, j) = feature.kind == FeatureKind::numeric ? random.normal()
                       : feature.kind == FeatureKind::integer
                           ? static_cast<double>(random.below(4))
                           : static_cast<double>(random.below(feature.levels.size()));
    }
    data.labels.push_back(static_cast<int>(random.below(2)));
  }
  data.classes = {"no", "yes"};
  data.source = "generated rows";
  data.sha256 = std::string(64, '0');
  return data;
}

MixedCase mixed_case(std::uint64_t seed, bool restricted) {
  const Dataset data = mixed_dataset(seed, restricted);
  MixedCase result{.model = {.encoder = Encoder::fit(data)}, .raw = data.raw};
  Model& model = result.model;
  result.rows = {.encoded = model.encoder.encode(data.raw), .labels = data.labels};
  model.network =
      random_network(model.encoder.columns(), {8}, Activation::relu, Random(seed).split(1));
  // Most rows are refused, so that there is something to ask for.
  model.network.layers.back().bias(0) -= 1;
  model.decision.classes = data.classes;
  model.training = {.rows = data.rows(), .l2 = 1e-3, .loss = 0.4, .objective = 0.5};
  model.sha256 = std::string(60, 'b') + std::to_string(1000 + seed % 1000);
  const Index head = model.network.head().size();
  model.curvature.hessian =
      dense_gauss_newton(model.network, result.rows.encoded).bottomRightCorner(head, head);
  model.curvature.hessian.diagonal().array() += model.training.l2;
  return result;
}

std::vector<Query> first_rows(const MixedCase& mixed, Index count) {
  std::vector<Query> queries;
  for (Index i = 0; i < count; ++i) {
    queries.push_back({.index = static_cast<std::size_t>(i), .raw = mixed.raw.row(i)});
  }
  return queries;
}

}  // namespace ellice::problem_zoo
