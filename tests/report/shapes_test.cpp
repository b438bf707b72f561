#include "report/shapes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

struct Trained {
  Model model = {};
  RowMatrix rows = {};
};

Trained trained(NetworkKind kind) {
  const Dataset data = lending_dataset(300, 1);
  TrainingOptions options{.model = kind, .folds = 0, .store_rows = true};
  if (kind != NetworkKind::logistic)
    options.network = {.hidden = {4, 3}, .learning_rate = 0.02, .epochs = 60};
  Trained result{.model = train(data, {.seed = 5}, options).model};
  result.rows = result.model.rows->encoded;
  return result;
}

class ShapesOf : public testing::TestWithParam<NetworkKind> {};
INSTANTIATE_TEST_SUITE_P(Additive, ShapesOf,
                         testing::Values(NetworkKind::logistic, NetworkKind::nam));

TEST_P(ShapesOf, AddUpToTheScore) {
  const Trained at = trained(GetParam());
  const Model& model = at.model;
  for (const bool over_rows : {true, false}) {
    const Shapes shapes = shape_functions(model, 0.01, over_rows ? &at.rows : nullptr);
    ASSERT_EQ(shapes.shapes.size(), model.schema().features.size());
    EXPECT_EQ(shapes.is_over_rows, over_rows);
    Random random(3);
    for (int trial = 0; trial < 50; ++trial) {
      double sum = shapes.base;
      Vector x = Vector::Zero(model.encoder.columns());
      for (const Shape& shape : shapes.shapes) {
        const Feature& feature = model.schema().features[shape.feature];
        const auto k = random.below(shape.values.size());
        sum += shape.contribution(static_cast<Index>(k));
        // One value of the list in the encoder's own columns.
        const Index first = model.encoder.first_column(shape.feature);
        if (feature.kind == FeatureKind::categorical) {
          x(first + static_cast<Index>(k)) = 1;
        } else if (feature.kind == FeatureKind::binary) {
          x(first) = static_cast<double>(k);
        } else {
          x(first) = (shape.values[k] - model.encoder.mean()(first)) / model.encoder.scale()(first);
        }
      }
      EXPECT_NEAR(model.logit(x), sum, 1e-10);
    }
  }
}

TEST_P(ShapesOf, TheirMeanOverTheRowsIsNothing) {
  const Trained at = trained(GetParam());
  const Shapes shapes = shape_functions(at.model, 0.01, &at.rows);
  EXPECT_NEAR(at.model.network.logits(at.rows).mean(), shapes.base, 1e-10);
}

TEST_P(ShapesOf, BandsHoldAllModelsOfTheSetAndAreAttained) {
  const Trained at = trained(GetParam());
  const Model& model = at.model;
  const double epsilon = 0.02;
  const Shapes shapes = shape_functions(model, epsilon, &at.rows);
  // Heads on the border of the set, by a factorisation of its own: L⁻ᵀu·√(2ε).
  const Eigen::LLT<Matrix> factor(model.curvature.hessian);
  std::vector<Shapes> of_heads;
  std::vector<Vector> heads;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const Vector u = Random(k).normal_vector(model.curvature.hessian.rows()).normalized();
    heads.push_back(model.network.head() + std::sqrt(2 * epsilon) * factor.matrixU().solve(u));
  }
  const auto contributions = [&](const Vector& head) {
    Model other = model;
    other.network.set_head(head);
    return shape_functions(other, 0, &at.rows);
  };
  for (const Vector& head : heads) of_heads.push_back(contributions(head));
  for (std::size_t j = 0; j < shapes.shapes.size(); ++j) {
    const Shape& shape = shapes.shapes[j];
    for (Index k = 0; k < shape.contribution.size(); ++k) {
      for (const Shapes& other : of_heads) {
        EXPECT_LE(std::abs(other.shapes[j].contribution(k) - shape.contribution(k)),
                  shape.spread(k) * (1 + 1e-9) + 1e-12);
      }
    }
    // The head that moves this value the most, from differences of contributions alone: they are
    // linear in the head.
    const Index p = model.network.head().size();
    const Index k = shape.contribution.size() - 1;
    if (shape.spread(k) < 1e-8) continue;
    Vector direction(p);
    for (Index i = 0; i < p; ++i) {
      Vector head = model.network.head();
      head(i) += 1;
      direction(i) = contributions(head).shapes[j].contribution(k) - shape.contribution(k);
    }
    const Vector solved = factor.solve(direction);
    const Vector worst =
        model.network.head() + std::sqrt(2 * epsilon / direction.dot(solved)) * solved;
    EXPECT_NEAR(contributions(worst).shapes[j].contribution(k),
                shape.contribution(k) + shape.spread(k), 1e-6);
  }
}

TEST(Shapes, AreOfAdditiveModelsOnly) {
  const Trained at = trained(NetworkKind::mlp);
  const std::string message = testing_support::message_of(
      ErrorCode::argument, [&] { return shape_functions(at.model, 0.01); });
  EXPECT_NE(message.find("mlp"), std::string::npos);
}

TEST(Shapes, AreWrittenInEveryForm) {
  const Trained at = trained(NetworkKind::nam);
  const Shapes shapes = shape_functions(at.model, 0.01, &at.rows);
  const Json json = shapes_json(shapes, at.model);
  EXPECT_EQ(json["format"], "ellice.shapes");
  EXPECT_EQ(json["features"].size(), shapes.shapes.size());
  EXPECT_EQ(json["features"][0]["low"].size(), json["features"][0]["values"].size());
  const std::string svg = shapes_svg(shapes, at.model);
  const std::string html = shapes_html(shapes, at.model);
  const std::string text = shapes_text(shapes, at.model);
  for (const Feature& feature : at.model.schema().features) {
    EXPECT_NE(svg.find(">" + feature.title()), std::string::npos) << feature.name;
    EXPECT_NE(html.find(feature.title() + " in numbers"), std::string::npos) << feature.name;
    EXPECT_NE(text.find(feature.title()), std::string::npos) << feature.name;
  }
}

}  // namespace
}  // namespace ellice
