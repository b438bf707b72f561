// What the scale of the parameters does to the sets of models: a relu network, and the same
// function with its hidden layer multiplied by α and its head divided by it. Prints the tables of
// docs/delta_demo.md.
//
//   delta_demo [data set, diabetes]

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/recipe.hpp"
#include "ellice/model/training.hpp"
#include "ellice/solver/cbc.hpp"
#include "methods/delta_rows.hpp"
#include "model/gauss_newton.hpp"
#include "model/objective.hpp"
#include "sets/uncertainty_set.hpp"

namespace {

using namespace ellice;

/// Units that are off for every row carry no function and make H singular without a penalty.
Network without_dead_units(const Network& network, const RowMatrix& rows) {
  const Vector most = network.row_features(rows).colwise().maxCoeff();
  std::vector<Index> alive;
  for (Index j = 0; j < most.size(); ++j)
    if (most[j] > 0) alive.push_back(j);
  Network result = network;
  result.layers[0].weights = network.layers[0].weights(alive, Eigen::all);
  result.layers[0].bias = network.layers[0].bias(alive);
  result.layers[1].weights = network.layers[1].weights(Eigen::all, alive);
  return result;
}

/// The model with W₁ ← αW₁, b₁ ← αb₁, w ← w/α, and the curvature that belongs to it.
Model rescaled(const Model& model, double alpha, double l2) {
  Model result = model;
  result.network.layers[0].weights *= alpha;
  result.network.layers[0].bias *= alpha;
  result.network.layers[1].weights /= alpha;
  const RowMatrix features = result.network.row_features(model.rows->encoded);
  const Objective objective(features, model.rows->labels, LossKind::logistic, {.l2 = l2});
  result.training.l2 = l2;
  result.curvature = {
      .hessian = objective.hessian(result.network.head()),
      .full = gauss_newton(result.network, model.rows->encoded, LossKind::logistic, 0.1)};
  return result;
}

/// For each declined row the nearest row that is robust, or −1.
std::vector<Index> answers(const Model& model, const std::vector<bool>& robust) {
  const RowMatrix& rows = model.rows->encoded;
  std::vector<Index> result;
  for (Index i = 0; i < rows.rows(); ++i) {
    if (model.logit(rows.row(i).transpose()) >= 0) continue;
    Index best = -1;
    for (Index k = 0; k < rows.rows(); ++k) {
      if (!robust[static_cast<std::size_t>(k)]) continue;
      if (best < 0 || (rows.row(k) - rows.row(i)).norm() < (rows.row(best) - rows.row(i)).norm())
        best = k;
    }
    result.push_back(best);
  }
  return result;
}

struct Line {
  std::string set = {};
  std::vector<std::vector<bool>> robust = {};  // by α
};

template <class Values>
std::vector<bool> at_least(const Values& values, double bound) {
  std::vector<bool> result;
  for (const double value : values) result.push_back(value >= bound);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  use_cbc();
  const std::string name = argc > 1 ? argv[1] : "diabetes";
  const Dataset data = with_numeric_columns(load_recipe(name));
  TrainingOptions options{.model = NetworkKind::mlp, .folds = 0, .store_rows = true};
  Model base = train(data, {.balance = true, .validation = 0.2}, options).model;
  base.network = without_dead_units(base.network, base.rows->encoded);
  const RowMatrix& rows = base.rows->encoded;
  const Vector logits = base.network.logits(rows);
  const std::vector<double> alphas = {0.1, 1, 10};
  const std::vector<double> deltas = {0.01, 0.04};
  const double epsilon = 0.02;

  fmt::print("{}: {} rows, {} declined, {} units\n\n", name, rows.rows(),
             (logits.array() < 0).count(), base.network.layers[0].bias.size());
  fmt::print(
      "| α | max change of a logit | largest head weight | no answer from δ = | largest δ of any "
      "row "
      "| median over accepted rows |\n|---|---|---|---|---|---|\n");
  std::vector<Line> lines;
  for (const double delta : deltas) lines.push_back({.set = fmt::format("box, δ = {}", delta)});
  Line last_free{.set = fmt::format("last layer, l2 = 0, ε = {}", epsilon)};
  Line last{.set = fmt::format("last layer, l2 = 0.001, ε = {}", epsilon)};
  Line full{.set = fmt::format("all layers, damping 0.1, ε = {}", epsilon)};
  for (const double alpha : alphas) {
    const Model model = rescaled(base, alpha, 0);
    const Model penalised = rescaled(base, alpha, 1e-3);
    const Problem problem{.model = &model};
    const Vector largest = largest_deltas(problem, rows, Variant::corrected);
    std::vector<double> positive;
    for (Index i = 0; i < rows.rows(); ++i)
      if (logits[i] >= 0) positive.push_back(largest[i]);
    std::nth_element(positive.begin(), positive.begin() + static_cast<long>(positive.size() / 2),
                     positive.end());
    const Layer& head = model.network.layers[1];
    fmt::print("| {} | {:.1e} | {:.4f} | {:.4f} | {:.5f} | {:.5f} |\n", alpha,
               (model.network.logits(rows) - logits).cwiseAbs().maxCoeff(),
               head.weights.cwiseAbs().maxCoeff(), std::max(head.weights.maxCoeff(), head.bias[0]),
               largest.maxCoeff(), positive[positive.size() / 2]);
    for (std::size_t k = 0; k < deltas.size(); ++k)
      lines[k].robust.push_back(at_least(largest, deltas[k]));
    const auto judge = [&](Line& line, const Model& judged, SetKind kind) {
      line.robust.push_back(
          at_least(robust_logits(*make_set(judged, {.kind = kind}), epsilon, rows), 0.0));
    };
    judge(last_free, model, SetKind::last_layer);
    judge(last, penalised, SetKind::last_layer);
    judge(full, model, SetKind::full);
  }
  fmt::print(
      "\n| set of models | α | robust rows | people with an answer | answers that differ from α = "
      "1 "
      "| mean l2 |\n|---|---|---|---|---|---|\n");
  lines.insert(lines.end(), {last_free, last, full});
  for (const Line& line : lines) {
    const std::vector<Index> reference = answers(base, line.robust[1]);
    for (std::size_t a = 0; a < alphas.size(); ++a) {
      const std::vector<Index> found = answers(base, line.robust[a]);
      int answered = 0;
      int other = 0;
      double distance = 0;
      std::size_t person = 0;
      for (Index i = 0; i < rows.rows(); ++i) {
        if (logits[i] >= 0) continue;
        const Index answer = found[person];
        other += answer != reference[person] ? 1 : 0;
        ++person;
        if (answer < 0) continue;
        ++answered;
        distance += (rows.row(answer) - rows.row(i)).norm();
      }
      fmt::print("| {} | {} | {} | {}/{} | {} | {} |\n", line.set, alphas[a],
                 std::count(line.robust[a].begin(), line.robust[a].end(), true), answered, person,
                 other, answered > 0 ? fmt::format("{:.3f}", distance / answered) : "-");
    }
  }
  return 0;
}
