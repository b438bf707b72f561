// A model with three classes: what has to change so that «yes» wins, or so that one of two classes
// does, for every near-optimal model.

#include <fmt/format.h>

#include <ellice/ellice.hpp>

int main() {
  using namespace ellice;
  Dataset data = lending_dataset(1500, 1);
  const Index debt = static_cast<Index>(*data.schema.find("debt"));
  const double typical = data.raw.col(debt).mean();
  for (std::size_t i = 0; i < data.labels.size(); ++i) {  // of those declined, some may come again
    const bool low = data.raw(static_cast<Index>(i), debt) < typical;
    data.labels[i] = data.labels[i] == 1 ? 2 : low ? 1 : 0;
  }
  data.classes = data.schema.target.classes = {"no", "later", "yes"};
  data.schema.target.favourable = "yes";
  const auto model =
      std::make_shared<const Model>(train(data, {}, {.model = NetworkKind::softmax}).model);

  const Dataset people = lending_dataset(8, 2);
  std::vector<Query> queries;
  for (Index i = 0; i < people.rows(); ++i)
    queries.push_back({.index = queries.size(), .raw = people.raw.row(i)});
  std::size_t certified = 0;
  for (const std::vector<std::string>& target :
       {std::vector<std::string>{"yes"}, {"later", "yes"}}) {
    const Explainer explainer({.model = model, .epsilon = "0.5%", .target = target, .margin = 0.1});
    for (const Answer& answer : explainer.explain(queries)) {
      fmt::print("{}: {}\n", fmt::join(target, " or "), sentence(answer));
      certified += is_certified(answer.status) ? 1 : 0;
    }
  }
  return certified > 0 ? 0 : 1;
}
