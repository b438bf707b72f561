#include "study/study_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "report/text_table.hpp"
#include "study/study_results.hpp"

namespace ellice {

namespace {

/// People of all folds, as both studies answered them.
struct Pairs {
  std::vector<double> robust_a = {}, robust_b = {};
  std::vector<double> l2_a = {}, l2_b = {};
};

std::optional<std::size_t> score_index(const StudyRun& run, const SetName& set) {
  for (std::size_t k = 0; k < run.scores.size(); ++k) {
    if (run.scores[k].set == set && run.scores[k].robustness) return k;
  }
  return std::nullopt;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

void add(Pairs& pairs, const StudyTest& a, std::size_t score_a, const StudyTest& b,
         std::size_t score_b) {
  require_input(a.l2.size() == b.l2.size(),
                "the same people have {} answers in one study and {} in the other", a.l2.size(),
                b.l2.size());
  for (std::size_t i = 0; i < a.l2.size(); ++i) {
    pairs.robust_a.push_back(a.robust[score_a][i] == '1' ? 1 : 0);
    pairs.robust_b.push_back(b.robust[score_b][i] == '1' ? 1 : 0);
    if (a.l2[i] && b.l2[i]) {
      pairs.l2_a.push_back(*a.l2[i]);
      pairs.l2_b.push_back(*b.l2[i]);
    }
  }
}

std::string difference(const std::optional<PairedDifference>& result) {
  if (!result) return "";
  return fmt::format("{:+.3f}", result->difference.mean);
}

std::string probability(const std::optional<PairedDifference>& result) {
  return result ? rounded(result->permutation_p, 2) : "";
}

}  // namespace

StudyComparison compare_studies(const StudyStore& a, const StudyStore& b,
                                const IntervalOptions& options) {
  StudyComparison comparison;
  using Key = std::tuple<StudyMode, StudyModel, std::string, std::string, EvaluatorKind>;
  std::map<Key, std::pair<MethodComparison, Pairs>> found;
  for (const std::string& name : a.names()) {
    const std::optional<Json> other = b.find(name);
    if (!other) {
      ++comparison.only_a;
      continue;
    }
    const StudyCell cell_a = cell_from_json(*a.find(name), name);
    const StudyCell cell_b = cell_from_json(*other, name);
    if (cell_a.people.empty() || cell_a.people != cell_b.people) {
      ++comparison.other_people;
      continue;
    }
    for (const StudyTest& test : cell_a.tests) {
      for (const SetName& set : test.chosen_for) {
        if (set.target.value_or(0) != 0) continue;
        const StudyTest* test_b = cell_b.chosen(set);
        if (test_b == nullptr) continue;
        const std::optional<std::size_t> score_a = score_index(test.run, set);
        const std::optional<std::size_t> score_b = score_index(test_b->run, set);
        if (!score_a || !score_b) continue;
        auto& [method, pairs] = found[{cell_a.name.mode, cell_a.name.model, cell_a.name.dataset,
                                       cell_a.name.method, set.kind}];
        method.name = cell_a.name;
        method.name.fold = 0;
        method.set = set;
        add(pairs, test, *score_a, *test_b, *score_b);
      }
    }
  }
  for (const std::string& name : b.names()) comparison.only_b += a.has(name) ? 0 : 1;
  for (auto& [key, entry] : found) {
    auto& [method, pairs] = entry;
    const Random random(0);
    method.people = pairs.robust_a.size();
    method.robust_a = mean(pairs.robust_a);
    method.robust_b = mean(pairs.robust_b);
    method.robustness = compare_pairs(pairs.robust_a, pairs.robust_b, options, random.split(0));
    if (!pairs.l2_a.empty()) {
      method.l2_a = mean(pairs.l2_a);
      method.l2_b = mean(pairs.l2_b);
      method.l2 = compare_pairs(pairs.l2_a, pairs.l2_b, options, random.split(1));
    }
    comparison.methods.push_back(std::move(method));
  }
  return comparison;
}

std::string to_text(const StudyComparison& comparison) {
  using enum TextTable::Align;
  TextTable table({left, left, left, left, left, right, right, right, right, right, right, right,
                   right, right});
  table.header({"data", "answers", "model", "method", "evaluator", "people", "R a", "R b", "a - b",
                "p", "L2 a", "L2 b", "a - b", "p"});
  for (const MethodComparison& method : comparison.methods) {
    const auto number = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.3f}", *value) : std::string();
    };
    table.row({dataset_title(method.name.dataset), std::string(enum_name(method.name.mode)),
               std::string(enum_name(method.name.model)), method.name.method,
               std::string(enum_name(method.set.kind)), std::to_string(method.people),
               number(method.robust_a), number(method.robust_b), difference(method.robustness),
               probability(method.robustness), number(method.l2_a), number(method.l2_b),
               difference(method.l2), probability(method.l2)});
  }
  std::string text = table.text();
  text +=
      "\nR: robust share of all people; L2: mean over people with a valid answer in both; p: "
      "two-sided permutation test over people.\n";
  if (comparison.only_a + comparison.only_b + comparison.other_people > 0) {
    text += fmt::format(
        "Not compared: {} cells only in the first, {} only in the second, {} whose people are not "
        "known to be the same.\n",
        comparison.only_a, comparison.only_b, comparison.other_people);
  }
  return text;
}

Json to_json(const StudyComparison& comparison) {
  Json document = make_envelope("ellice.study-comparison", 1);
  document["only_a"] = comparison.only_a;
  document["only_b"] = comparison.only_b;
  document["other_people"] = comparison.other_people;
  document["methods"] = Json::array();
  for (const MethodComparison& method : comparison.methods) {
    Json json = {{"mode", std::string(enum_name(method.name.mode))},
                 {"dataset", method.name.dataset},
                 {"model", std::string(enum_name(method.name.model))},
                 {"method", method.name.method},
                 {"evaluator", std::string(enum_name(method.set.kind))},
                 {"people", method.people},
                 {"robust_a", method.robust_a},
                 {"robust_b", method.robust_b}};
    const auto put = [&](const std::string& key, const std::optional<PairedDifference>& result) {
      if (!result) return;
      json[key] = {{"difference", result->difference.mean},
                   {"lower", result->difference.interval.low},
                   {"upper", result->difference.interval.high},
                   {"p", result->permutation_p}};
    };
    put("robustness", method.robustness);
    if (method.l2_a) json["l2_a"] = *method.l2_a;
    if (method.l2_b) json["l2_b"] = *method.l2_b;
    put("l2", method.l2);
    document["methods"].push_back(std::move(json));
  }
  return document;
}

}  // namespace ellice
