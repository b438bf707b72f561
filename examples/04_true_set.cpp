// The true set: every model whose training objective is within ε of the best, not the ellipsoid
// that stands for it. It needs the training rows, which the request shares.

#include <fmt/format.h>

#include <ellice/ellice.hpp>

int main() {
  using namespace ellice;
  const Dataset data = lending_dataset(1000, 1);
  const auto model = std::make_shared<const Model>(train(data, {}, {}).model);
  const auto rows = std::make_shared<const TrainingRows>(training_rows_of(data, *model));
  std::vector<Query> declined;
  for (Index i = 0; i < data.rows() && declined.size() < 3; ++i) {
    if (data.labels[static_cast<std::size_t>(i)] == 0)
      declined.push_back({.index = declined.size(), .raw = data.raw.row(i)});
  }
  std::size_t certified = 0;
  for (const SetKind set : {SetKind::last_layer, SetKind::true_set}) {
    const Explainer explainer({.model = model, .epsilon = "1%", .set = set, .rows = rows});
    for (const Answer& answer : explainer.explain(declined)) {
      fmt::print("{}: cost {:.6f}. {}\n", enum_name(set), answer.distance.weighted,
                 sentence(answer));
      certified += is_certified(answer.status) ? 1 : 0;
    }
  }
  return certified == 2 * declined.size() ? 0 : 1;
}
