// Writes a recourse file, then looks at it as a stranger: every certificate, distance, constraint
// and proof is recomputed from the model, and a single altered number is found.

#include <fmt/format.h>

#include <algorithm>
#include <ellice/core/json.hpp>
#include <ellice/ellice.hpp>

int main() {
  using namespace ellice;
  const auto model = std::make_shared<const Model>(train(lending_dataset(2000, 1), {}, {}).model);
  const Explainer explainer({.model = model, .epsilon = "1%"});
  write_file("people.csv", lending_csv(12, 2));
  write_file("plans.json",
             recourse_file_text(explainer, explainer.explain(read_queries("people.csv", *model))));

  Json file = parse_json(read_file("plans.json"), "plans.json");
  const auto failures = [&] {
    const FileAudit all = audit_recourse_file(file, *model, "plans.json");
    for (const AnswerAudit& one : all) {
      for (const std::string& why : one.failures)
        fmt::print("query {}: {}\n", one.query_index, why);
    }
    return std::count_if(all.begin(), all.end(), [](const auto& one) { return !one.holds(); });
  };
  fmt::print("{} answers\n", file["results"].size());
  if (failures() > 0) return 1;
  Json& certificate = file["results"].back()["certificate"];
  certificate["robust_logit"] = certificate["robust_logit"].get<double>() + 1e-6;
  return failures() == 1 ? 0 : 1;
}
