#include "report/html.hpp"

#include <gtest/gtest.h>

#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "report/histograms.hpp"
#include "report/lending_answers.hpp"
#include "report/markup.hpp"
#include "support/messages.hpp"

namespace ellice {
namespace {

using testing_support::expect_words;
using testing_support::lending_example;
using testing_support::lending_model;

constexpr std::string_view program = "<script type=\"module\">";
const std::string no_answers = R"({"format": "ellice.recourse", "results": []})";

/// The data in an element of the page.
std::string data_of(const std::string& page, const std::string& id) {
  const std::string open = "<script type=\"application/json\" id=\"ellice-" + id + "\">";
  const std::size_t at = page.find(open);
  if (at == std::string::npos) return {};
  return page.substr(at + open.size(), page.find("</script>", at) - at - open.size());
}

std::string line_of(const std::vector<std::pair<std::string, std::string>>& lines,
                    std::string_view name) {
  for (const auto& [key, text] : lines) {
    if (key == name) return text;
  }
  return {};
}

TEST(Html, IsTheBundleWithDataInIt) {
  const auto example = lending_example(2, 0.03);
  const std::string page = to_html(example.model, example.page, no_answers, example.curves);
  EXPECT_EQ(page, to_html(example.model, example.page, no_answers, example.curves));
  // The program is the bundle's, byte for byte, so that the hash in its policy holds.
  const std::string_view bundle = page_bundle();
  EXPECT_EQ(page.substr(page.find(program)), bundle.substr(bundle.find(program)));
  const std::string around = page.substr(0, page.find(program));
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "@font-face"}) {
    EXPECT_EQ(around.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(around.find("default-src 'none'"), std::string::npos);
}

TEST(Html, HoldsModelAnswersAndCurves) {
  auto example = lending_example(3, 0.03);
  example.page.trade_off = true;
  const std::string page = to_html(example.model, example.page, no_answers, example.curves);
  EXPECT_EQ(parse_json(data_of(page, "model"), "model"), to_json(example.model));
  EXPECT_EQ(data_of(page, "recourse"), no_answers);
  const Json shown = parse_json(data_of(page, "page"), "page");
  EXPECT_EQ(shown["title"], example.page.title);
  EXPECT_EQ(shown["trade_off"], true);
  ASSERT_EQ(shown["curves"].size(), example.curves.size());
  EXPECT_EQ(shown["curves"][1]["query_index"], example.curves[1].query_index);
  EXPECT_EQ(shown["curves"][1]["points"].size(), example.curves[1].points.size());
  EXPECT_EQ(shown["curves"][1]["points"][4]["epsilon"], example.curves[1].points[4].epsilon);
}

TEST(Html, KeepsTheRowsOfTrainingToItself) {
  const Dataset data = lending_dataset(1500, 1);
  Model model = lending_model();
  PageOptions options{.epsilon = 0.01};
  options.rows = std::make_shared<const TrainingRows>(training_rows_of(data, model));
  const std::string page = to_html(model, options, no_answers);
  EXPECT_FALSE(parse_json(data_of(page, "model"), "model").contains("rows"));
  const Json shown = parse_json(data_of(page, "page"), "page");
  const Json& income = shown["histograms"]["income"];
  const Json& housing = shown["histograms"]["housing"];
  EXPECT_EQ(income["edges"].size(), income["counts"].size() + 1);
  const auto total = [](const Json& counts) {
    std::size_t sum = 0;
    for (const Json& count : counts) sum += count.get<std::size_t>();
    return sum;
  };
  const auto rows = static_cast<std::size_t>(options.rows->fitted.raw.rows());
  EXPECT_EQ(total(income["counts"]), rows);
  EXPECT_EQ(total(housing["counts"]), rows);
  EXPECT_EQ(housing["levels"].size(), 3U);
  // Without rows there is nothing to draw, and other people's rows are not shown as the model's.
  options.rows = nullptr;
  EXPECT_TRUE(parse_json(data_of(to_html(model, options, no_answers), "page"), "page")["histograms"]
                  .is_null());
}

TEST(Html, NothingThatPeopleWroteIsMarkup) {
  const std::string evil = "</script><script>alert(1)</script><!--<b>\"x\" & 'y'";
  const Model model = lending_model();
  const PageOptions options{.title = "T" + evil,
                            .epsilon = 0.01,
                            .epsilon_rule = "e" + evil,
                            .details = {{"d" + evil, "w" + evil}},
                            .options = {{"o" + evil, "v" + evil}}};
  const Json recourse = {{"results", Json::array({{{"id", "i" + evil}}})}};
  const std::string page = to_html(model, options, to_text(recourse));
  const std::string around = page.substr(0, page.find(program));
  EXPECT_EQ(around.find("<b>"), std::string::npos);
  EXPECT_EQ(around.find("<!--"), std::string::npos);
  EXPECT_EQ(around.find("<script>"), std::string::npos);
  EXPECT_EQ(parse_json(data_of(page, "recourse"), "recourse"), recourse);
  const Json shown = parse_json(data_of(page, "page"), "page");
  EXPECT_EQ(shown["title"], options.title);
  EXPECT_EQ(shown["options"][0][1], "v" + evil);
  expect_words(around, {"<title>T&lt;/script&gt;&lt;script&gt;alert(1)"});
}

TEST(Html, SaysWhatWasAsked) {
  auto example = lending_example(1, 0.03);
  const auto lines = asked_lines(example.model, example.page);
  expect_words(line_of(lines, "The promise"), {"ε = 0.03"});
  EXPECT_EQ(line_of(lines, "How ε was chosen"), "10 % of the training objective");
  expect_words(line_of(lines, "Set of models"), {"last-layer"});
  expect_words(line_of(lines, "What “nearest” means"), {"l2:"});
  expect_words(line_of(lines, "Threshold"), {"a probability of 50.0 %"});
  expect_words(line_of(lines, "Training"), {"1 500 rows"});
  EXPECT_EQ(line_of(lines, "Model (SHA-256)"), example.model.sha256);
  EXPECT_EQ(line_of(lines, "Method"), "exact");
  example.page.epsilon = 0;
  expect_words(line_of(asked_lines(example.model, example.page), "The promise"),
               {"only the trained model itself"});
}

TEST(Html, DoesNotCallALocalSearchAProof) {
  auto example = lending_example(1, 0.03);
  example.curves[0].max_epsilon = 0.04;
  for (const bool is_proved : {true, false}) {
    example.curves[0].is_proved = example.curves[0].is_max_proved = is_proved;
    const std::string page = to_html(example.model, example.page, no_answers, example.curves);
    const Json curve = parse_json(data_of(page, "page"), "page")["curves"][0];
    EXPECT_EQ(curve["max_epsilon"], 0.04);
    EXPECT_EQ(curve["max_epsilon_is_proved"], is_proved);
  }
}

TEST(Html, DoesNotPromiseMoreThanTheCertificates) {
  auto example = lending_example(1, 0.03);
  example.model.training.head_decrement = 0.01;
  const std::string off = line_of(asked_lines(example.model, example.page), "The promise");
  expect_words(off, {"The trained model itself is 0.01 above the best", "not all models that are"});
  for (const char* words : {"training objective is at most", "nearly as good as", "second order"})
    EXPECT_EQ(off.find(words), std::string::npos) << words;
  example.page.set.damping = 0.1;
  const std::string damped = line_of(asked_lines(example.model, example.page), "The promise");
  expect_words(damped, {"damping 0.1 in place of the objective", "not all models that are nearly"});
  EXPECT_EQ(damped.find("training objective is at most"), std::string::npos);
}

TEST(Html, ShowsScoresWhereTheLossHasNoProbabilities) {
  auto example = lending_example(2, 0.03);
  example.model.training.loss_kind = LossKind::squared;
  EXPECT_EQ(line_of(asked_lines(example.model, example.page), "Threshold"), "a score of 0");
}

}  // namespace
}  // namespace ellice
