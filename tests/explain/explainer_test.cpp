#include "ellice/explain/explainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "ellice/core/json.hpp"
#include "ellice/data/lending.hpp"
#include "ellice/model/training.hpp"
#include "methods/method_table.hpp"
#include "request/recourse_file.hpp"
#include "search/exact_search.hpp"
#include "support/messages.hpp"
#include "support/plain_judge.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::message_of;

const Dataset& training_data() {
  static const Dataset data = lending_dataset(600, 1);
  return data;
}

std::shared_ptr<const Model> trained_model() {
  static const auto model = std::make_shared<const Model>(train(training_data(), {}, {}).model);
  return model;
}

std::shared_ptr<const TrainingRows> rows_of_model() {
  static const auto rows =
      std::make_shared<const TrainingRows>(training_rows_of(training_data(), *trained_model()));
  return rows;
}

std::vector<Query> some_people(std::size_t count) {
  const Dataset people = lending_dataset(count, 2);
  std::vector<Query> queries;
  for (Index i = 0; i < people.rows(); ++i)
    queries.push_back({.index = queries.size(), .raw = people.raw.row(i)});
  return queries;
}

/// The same people as a data frame has them: numbers and names of levels.
Table as_table(const std::vector<Query>& queries, const Schema& schema) {
  Table table{.name = "people"};
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    std::vector<double> numbers;
    std::vector<std::string> texts;
    for (const Query& query : queries) {
      const double value = query.raw(static_cast<Index>(j));
      if (feature.is_number()) {
        numbers.push_back(value);
      } else {
        texts.push_back(feature.levels.empty() ? std::to_string(static_cast<int>(value))
                                               : feature.levels[static_cast<std::size_t>(value)]);
      }
    }
    Column column{.name = feature.name};
    if (feature.is_number()) {
      column.values = numbers;
    } else {
      column.values = texts;
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::string text_of(const std::vector<Answer>& answers, const Model& model) {
  std::string text;
  for (const Answer& answer : answers) text += to_text(to_json(answer, model.schema()));
  return text;
}

std::size_t certified(const std::vector<Answer>& answers) {
  std::size_t count = 0;
  for (const Answer& answer : answers) count += is_certified(answer.status) ? 1 : 0;
  return count;
}

TEST(Explainer, OwnsWhatItsAnswersNeed) {
  const auto make = [] {
    const Dataset data = lending_dataset(300, 5);
    const auto model = std::make_shared<const Model>(train(data, {}, {}).model);
    return Explainer(
        {.model = model,
         .epsilon = "1%",
         .set = SetKind::true_set,
         .rows = std::make_shared<const TrainingRows>(training_rows_of(data, *model))});
  };
  const Explainer explainer = make();  // everything else is gone
  EXPECT_NEAR(explainer.epsilon(), 0.01 * explainer.model().training.objective, 1e-15);
  const std::vector<Answer> answers = explainer.explain(some_people(4));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_GT(certified(answers), 0U);
  Model with_rows = explainer.model();
  const Dataset data = lending_dataset(300, 5);
  with_rows.rows = StoredRows{.encoded = with_rows.encoder.encode(data.raw), .labels = data.labels};
  const plain::TrueSet judge(with_rows, explainer.epsilon());
  for (const Answer& answer : answers) {
    ASSERT_NE(answer.schema, nullptr);
    EXPECT_EQ(*answer.schema, explainer.model().schema());
    if (!is_certified(answer.status)) continue;
    EXPECT_GE(judge.worst(plain::code(with_rows, *answer.counterfactual)).bound, -1e-8);
  }
}

TEST(Explainer, AnswersAsTheSearchThatItChooses) {
  const Problem problem{.model = trained_model().get(),
                        .epsilon = 0.01 * trained_model()->training.objective};
  const std::vector<Query> people = some_people(20);
  const std::vector<Answer> expected = ExactSearch(problem).generate(people, {});
  const Explainer explainer({.model = trained_model(), .epsilon = "1%", .reasons = false});
  EXPECT_EQ(explainer.method().name, "exact");
  const std::vector<Answer> answers = explainer.explain(people);
  EXPECT_EQ(text_of(answers, *trained_model()), text_of(expected, *trained_model()));
  EXPECT_GT(certified(expected), 10U);
  // And by the formulas themselves: allowed, robust, and said to cost what they cost.
  const plain::Ellipsoid judge(*trained_model(), 0.01 * trained_model()->training.objective);
  for (const Answer& answer : answers) {
    const Vector from = plain::numbers(trained_model()->schema(), answer.query);
    EXPECT_EQ(answer.status == Status::already_robust,
              judge.robust_logit(plain::code(*trained_model(), from)) >= 0);
    if (!answer.counterfactual) continue;
    plain::expect_allowed(problem, answer);
    const Vector to = plain::numbers(trained_model()->schema(), *answer.counterfactual);
    EXPECT_GE(judge.robust_logit(plain::code(*trained_model(), to)), 0);
    const double cost = plain::cost(problem.cost, *trained_model(), from, to);
    EXPECT_NEAR(answer.distance.weighted, cost, 1e-9 * (1 + cost));
  }
}

TEST(Explainer, SaysTheSameOfATableAsOfRows) {
  const std::vector<Query> people = some_people(30);
  const Explainer explainer({.model = trained_model(), .epsilon = "1%"});
  const Table table = as_table(people, trained_model()->schema());
  const std::string by_rows = text_of(explainer.explain(people), *trained_model());
  EXPECT_EQ(text_of(explainer.explain(table), *trained_model()), by_rows);
  // Cut in two, as record batches come.
  std::string parts;
  const auto half = [&](std::size_t begin, std::size_t end) {
    const std::vector<Query> some(people.begin() + static_cast<std::ptrdiff_t>(begin),
                                  people.begin() + static_cast<std::ptrdiff_t>(end));
    parts += text_of(
        explainer.explain(as_table(some, trained_model()->schema()), OnError::stop, {}, begin),
        *trained_model());
  };
  half(0, 13);
  half(13, 30);
  EXPECT_EQ(parts, by_rows);
}

TEST(Explainer, IsTheSameForAnyNumberOfThreads) {
  const Explainer explainer({.model = trained_model(),
                             .epsilon = "1%",
                             .rows = rows_of_model(),
                             .retrain = {.fresh_rows = 100}});
  const std::vector<Query> people = some_people(24);
  const std::string alone = text_of(explainer.explain(people), *trained_model());
  EXPECT_EQ(text_of(explainer.explain(people, {.threads = 3}), *trained_model()), alone);
  std::string first;
  std::string second;
  {
    const Explainer copy = explainer;
    std::thread one([&] { first = text_of(copy.explain(people), *trained_model()); });
    std::thread two([&] { second = text_of(explainer.explain(people), *trained_model()); });
    one.join();
    two.join();
  }
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
}

TEST(Explainer, NamesRowAndColumnOfABadCell) {
  const Explainer explainer({.model = trained_model(), .epsilon = "1%"});
  Table table = as_table(some_people(5), trained_model()->schema());
  std::get<std::vector<double>>(table.columns[0].values)[3] =
      std::numeric_limits<double>::infinity();
  const std::string column = table.columns[0].name;
  expect_words(message_of(ErrorCode::input, [&] { return explainer.explain(table); }),
               {"people: row 3", column, "inf"});
  const std::vector<Answer> answers = explainer.explain(table, OnError::skip);
  ASSERT_EQ(answers.size(), 5U);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].query_index, i);
    EXPECT_EQ(answers[i].status == Status::invalid, i == 3);
  }
  expect_words(answers[3].message, {"people: row 3", column});
  table.columns[0].name = "incme";
  expect_words(
      message_of(ErrorCode::input, [&] { return explainer.explain(table, OnError::skip); }),
      {"incme"});
  table.columns[0].name = table.columns[1].name;
  expect_words(message_of(ErrorCode::input, [&] { return explainer.explain(table); }),
               {"two columns", table.columns[1].name});
}

TEST(Explainer, CertifiesWhatEveryModelOfTheSetAccepts) {
  const Explainer explainer({.model = trained_model(), .epsilon = "2%"});
  const Matrix inverse = trained_model()->curvature.hessian.inverse();
  const Vector head = trained_model()->network.head();
  int accepted = 0;
  int refused = 0;
  for (const Query& query : some_people(60)) {
    const RawRow row = trained_model()->encoder.values(
        {query.raw.data(), static_cast<std::size_t>(query.raw.size())});
    Vector x(head.size());
    x << trained_model()->encoder.encode(row), 1;
    const double worst = head.dot(x) - std::sqrt(2 * explainer.epsilon() * x.dot(inverse * x));
    EXPECT_EQ(explainer.certify(row).has_value(), worst > 0) << worst;
    ++(worst > 0 ? accepted : refused);
  }
  EXPECT_GT(accepted, 5);
  EXPECT_GT(refused, 5);
}

TEST(ExplainRequest, ReadsBackFromTheFileThatItWrote) {
  ExplainRequest request{.model = trained_model(),
                         .epsilon = "2%",
                         .set = SetKind::true_set,
                         .rows = rows_of_model(),
                         .cost = {.kind = CostKind::l1},
                         .threshold = 0.25,
                         .retrain = {.fresh_rows = 900},
                         .seed = 7};
  request.constraints.features["loan_amount"].locked = true;
  request.constraints.queries[1]["debt"].max = 9000;
  request.options.exact.plans = 2;
  request.options.exact.max_changes = 3;
  const Explainer explainer(request);
  const std::vector<Query> people = some_people(4);
  const std::string file = recourse_file_text(explainer, explainer.explain(people));
  const ExplainRequest again = explain_request_from_json(
      parse_json(file, "plans.json"), "plans.json", trained_model(), {}, rows_of_model());
  EXPECT_EQ(again.epsilon, "2%");
  EXPECT_EQ(again.constraints, request.constraints);
  EXPECT_EQ(again.options.exact, request.options.exact);
  request.method = "exact";  // the file says what «auto» was
  EXPECT_EQ(to_text(to_json(again)), to_text(to_json(request)));
  const Explainer second(again);
  EXPECT_EQ(recourse_file_text(second, second.explain(people)), file);
}

TEST(ExplainRequest, OfEveryMethodReadsBack) {
  for (const Method& method : methods()) {
    ExplainRequest request{.model = trained_model(),
                           .epsilon = "1%",
                           .rows = rows_of_model(),
                           .method = std::string(method.name),
                           .seed = 3};
    request.options.gradient.max_steps = 77;
    if (method.parameter == MethodParameter::tau) request.options.baseline.tau = 0.55;
    if (method.parameter == MethodParameter::delta) request.options.baseline.delta = 0.015625;
    if (method.plans) request.options.exact.plans = 2;
    EXPECT_EQ(why_unsupported(request), "") << method.name;
    const Json form = to_json(request);
    const ExplainRequest again =
        explain_request_from_json(form, "request", trained_model(), {}, rows_of_model());
    EXPECT_EQ(to_text(to_json(again)), to_text(form)) << method.name;
    EXPECT_EQ(again.method, method.name);
  }
}

TEST(ExplainRequest, OfAFormNamesTheKeyThatIsWrong) {
  const auto refuses = [](const std::string& text, std::initializer_list<std::string_view> words) {
    const std::string form = R"({"format": "ellice.recourse", "version": 1, )" + text + "}";
    expect_words(message_of(ErrorCode::input,
                            [&] {
                              return explain_request_from_json(parse_json(form, "body"), "body",
                                                               trained_model());
                            }),
                 words);
  };
  refuses(R"("set": "true")", {"body", "epsilon"});
  refuses(R"("epsilon": "1%", "set": "treu")", {"body", "set", "treu", "last-layer"});
  refuses(R"("epsilon": "1%", "model_sha256": "ab")", {"model_sha256", trained_model()->sha256});
  refuses(R"("epsilon": "1%", "colour": "blue")", {"colour"});
  refuses(R"("epsilon": "1%", "options": {"treshold": 1})", {"options.treshold"});
  refuses(R"("epsilon": "1%", "options": {"retrain": "often"})", {"options.retrain", "fresh:N"});
  refuses(R"("epsilon": "1%", "options": {"exact": {"plans": 0}})", {"options.exact.plans"});
  const ExplainRequest smallest = explain_request_from_json(
      parse_json(R"({"format": "ellice.recourse", "version": 1, "epsilon": 0.25})", "body"), "body",
      trained_model());
  EXPECT_EQ(Explainer(smallest).epsilon(), 0.25);
}

TEST(ExplainRequest, IsRefusedByTheNameOfItsField) {
  const auto refuses = [](const auto& change, const std::string& field) {
    ExplainRequest request{.model = trained_model(), .epsilon = "1%"};
    change(request);
    const std::string reason = why_unsupported(request);
    EXPECT_NE(reason.find("`" + field), std::string::npos) << field << ": " << reason;
    EXPECT_EQ(reason.find("--"), std::string::npos) << reason;
    // What is said beforehand is what is thrown.
    EXPECT_EQ(message_of(ErrorCode::argument, [&] { return Explainer(request); }), reason);
  };
  using R = ExplainRequest;
  refuses([](R& r) { r.model.reset(); }, "model");
  refuses([](R& r) { r.epsilon = "much"; }, "epsilon");
  refuses([](R& r) { r.epsilon = "accuracy:5%"; }, "epsilon: accuracy:5%");
  refuses([](R& r) { r.set = SetKind::true_set; }, "set: true");
  refuses([](R& r) { r.target = {"yes"}; }, "target");
  refuses([](R& r) { r.margin = 1; }, "margin");
  refuses([](R& r) { r.method = "exakt"; }, "method");
  refuses([](R& r) { r.method = "data"; }, "method: data");
  refuses([](R& r) { r.method = "trex"; }, "tau");
  refuses([](R& r) { r.options.baseline.delta = 1; }, "delta");
  refuses([](R& r) { r.options.baseline.hull_rows = 3; }, "hull_rows");
  refuses([](R& r) { r.attack = true; }, "attack");
  const auto by_gradient = [&](const auto& change, const std::string& field) {
    refuses(
        [&](R& r) {
          r.method = "gradient";
          change(r.options.exact);
        },
        field);
  };
  by_gradient([](ExactOptions& o) { o.plans = 2; }, "plans: 2");
  by_gradient([](ExactOptions& o) { o.sparse = true; }, "sparse");
  by_gradient([](ExactOptions& o) { o.node_limit = 9; }, "node_limit");
  by_gradient([](ExactOptions& o) { o.trade_off = true; }, "trade_off");
}

}  // namespace
}  // namespace ellice
