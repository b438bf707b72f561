#include "explain/answer_block.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"

namespace ellice {
namespace {

const Dataset& lending() {
  static const Dataset data = lending_dataset(500, 3);
  return data;
}

std::shared_ptr<const Model> trained(const TrainingOptions& options = {}) {
  return std::make_shared<const Model>(train(lending(), {}, options).model);
}

std::vector<Query> sample(std::size_t count) {
  const Dataset data = lending_dataset(100, 4);
  std::vector<Query> queries;
  for (Index i = 0; i < static_cast<Index>(count); ++i)
    queries.push_back({.index = 10 + queries.size(),
                       .raw = data.raw.row(i),
                       .id = i % 3 == 0 ? std::nullopt : std::optional(std::to_string(i))});
  return queries;
}

/// Says the same record by record as answers that were never put away; gives how many are plain.
std::size_t expect_given_back(const ExplainRequest& request, const std::vector<Query>& queries) {
  const Explainer explainer(request);
  std::vector<Answer> invalid = {
      {.query_index = 3, .status = Status::invalid, .message = "cannot be read"}};
  const std::vector<Answer> wanted = in_order(explainer.explain(queries), invalid);
  const AnswerBlock block(
      explainer, in_order(explainer.explain(queries, {}, FindReasons::later), std::move(invalid)));
  const std::vector<Answer> given = block.answers(2);
  EXPECT_EQ(block.size(), wanted.size());
  EXPECT_EQ(given.size(), wanted.size());
  const Schema& schema = explainer.model().schema();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string record = to_text(to_json(wanted[i], schema));
    EXPECT_EQ(to_text(to_json(given[i], schema)), record);
    EXPECT_EQ(to_text(to_json(block.answer(i), schema)), record);
    EXPECT_EQ(block.answer(i).schema, wanted[i].schema);
    EXPECT_EQ(block.message(i), wanted[i].message);
    EXPECT_EQ(block.has_row[i], wanted[i].counterfactual.has_value());
    for (std::size_t j = 0; j < schema.features.size(); ++j) {
      bool is_changed = false;
      for (const Change& change : wanted[i].changes)
        is_changed = is_changed || change.feature == schema.features[j].name;
      EXPECT_EQ(block.changes(i, j), is_changed);
    }
  }
  return block.size() - block.whole();
}

TEST(AnswerBlock, GivesBackWhatItTook) {
  const auto model = trained();
  const std::vector<Query> some = sample(40);
  const auto rows = std::make_shared<const TrainingRows>(training_rows_of(lending(), *model));
  EXPECT_GE(expect_given_back({.model = model, .epsilon = "1%"}, some), 35U);
  EXPECT_GE(expect_given_back({.model = model, .epsilon = "1%", .reasons = false}, some), 35U);
  EXPECT_GE(expect_given_back({.model = model, .epsilon = "0", .declined = true}, some), 5U);
  expect_given_back({.model = model, .epsilon = "1%", .display = true}, some);
  expect_given_back({.model = model, .epsilon = "1%", .rows = rows, .retrain = {.fresh_rows = 50}},
                    sample(5));
  expect_given_back({.model = model, .epsilon = "1%", .set = SetKind::true_set, .rows = rows},
                    sample(4));
  ExplainRequest request{.model = model, .epsilon = "1%"};
  request.options.exact.plans = 3;
  expect_given_back(request, some);
  request.options.exact.plans = 1;
  request.options.exact.trade_off = true;
  expect_given_back(request, sample(8));
  request.options.exact.trade_off = false;
  request.method = "gradient";
  expect_given_back(request, sample(8));
}

TEST(AnswerBlock, GivesBackPeopleWithoutAPlan) {
  const auto model = trained();
  ExplainRequest request{.model = model, .epsilon = "1%"};
  for (const Feature& feature : model->schema().features)
    if (feature.name != "income") request.constraints.features[feature.name].locked = true;
  request.constraints.features["income"].max = 1;
  const std::size_t plain = expect_given_back(request, sample(20));
  EXPECT_LT(plain, 20U);
}

TEST(AnswerBlock, GivesBackEnsemblesAndNetworks) {
  const auto model = trained();
  const auto other = trained({.l2 = 0.1});
  expect_given_back({.model = model, .epsilon = "1%", .ensemble = {other}}, sample(8));
  TrainingOptions options{.model = NetworkKind::mlp};
  options.network = {.hidden = {4}, .learning_rate = 0.02, .epochs = 30};
  const auto network = trained(options);
  expect_given_back({.model = network, .epsilon = "1%"}, sample(6));
}

TEST(AnswerBlock, TakesOrderFromTheTable) {
  const auto answer = [](std::size_t query, int plan) {
    return Answer{.query_index = query, .plan = plan};
  };
  const std::vector<Answer> all =
      in_order({answer(1, 0), answer(1, 1), answer(4, 0)}, {answer(0, 0), answer(2, 0)});
  std::vector<std::pair<std::size_t, int>> found;
  for (const Answer& one : all) found.emplace_back(one.query_index, one.plan);
  EXPECT_EQ(found,
            (std::vector<std::pair<std::size_t, int>>{{0, 0}, {1, 0}, {1, 1}, {2, 0}, {4, 0}}));
}

}  // namespace
}  // namespace ellice
