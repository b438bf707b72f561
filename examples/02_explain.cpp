// Reads declined people from a CSV file and tells each what to change so that the answer becomes
// yes, and stays yes for every model within 1 % of the best training objective.

#include <fmt/format.h>

#include <ellice/ellice.hpp>

int main() {
  using namespace ellice;
  write_file("people.csv", lending_csv(40, 2));  // as a lender would have it
  const auto model = std::make_shared<const Model>(train(lending_dataset(2000, 1), {}, {}).model);
  ExplainRequest request{.model = model, .epsilon = "1%", .display = true};
  request.constraints.features["loan_amount"].locked = true;
  request.options.exact.max_changes = 3;
  if (const std::string reason = why_unsupported(request); !reason.empty()) {
    fmt::print("{}\n", reason);
    return 1;
  }
  const Explainer explainer(request);
  std::size_t certified = 0;
  const std::vector<Query> people = read_queries("people.csv", *model);
  for (const Answer& answer : explainer.explain(people, {.threads = 0})) {
    fmt::print("{}: {}\n", answer.query_index, sentence(answer));
    certified += is_certified(answer.status) ? 1 : 0;
  }
  fmt::print("{} of {} have a certified plan\n", certified, people.size());
  return 2 * certified > people.size() ? 0 : 1;
}
