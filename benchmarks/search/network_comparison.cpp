// The paper's continuous experiments with networks, on five data sets and four folds: its own
// method as its authors ran it, rebuilt, against ours, judged by retrained, noisy and adversarial
// networks. Both are tuned on validation rows per evaluator, as in the paper. Prints the table of
// docs/networks.md, with the values that the paper gives; times and counts of models go to standard
// error.
//
//   network_comparison [data sets] [--folds 4] [--people 60] [--retrains 200] [--corrected]
//
// --corrected makes the noisy and the adversarial networks as they should be made rather than as
// the authors made them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stopwatch.hpp"
#include "data/folds.hpp"
#include "data/recipe.hpp"
#include "ellice/core/json.hpp"
#include "ellice/model/model_file.hpp"
#include "model/gauss_newton.hpp"
#include "model/network_training.hpp"
#include "model/objective.hpp"
#include "search/gradient.hpp"
#include "search/local_search.hpp"
#include "sets/stress.hpp"
#include "solver/cholesky.hpp"

namespace {

using namespace ellice;

struct Settings {
  std::vector<std::string> datasets = {};
  int folds = 4;
  int people = 60;
  int retrains = 200;
  Variant variant = Variant::published;
};

struct Protocol {
  std::string dataset;
  std::vector<int> hidden;
  std::array<std::array<double, 2>, 3> published;  // R and L2 of ElliCE for each evaluator
};

// Table «continuous, full» of the paper.
const std::vector<Protocol>& protocols() {
  static const std::vector<Protocol> all = {
      {"diabetes", {16}, {{{.977, 2.146}, {.985, 3.050}, {.980, 3.221}}}},
      {"banknote", {16}, {{{1.000, 1.125}, {.995, 1.644}, {.990, 1.475}}}},
      {"iris", {16}, {{{.995, 2.492}, {1.000, 2.936}, {.998, 2.333}}}},
      {"wine", {32, 32}, {{{.964, 3.69}, {.978, 3.46}, {.939, 3.65}}}},
      {"parkinsons", {32, 32}, {{{.885, 2.560}, {.999, 1.226}, {.999, 1.40}}}},
  };
  return all;
}

constexpr std::array<StressKind, 3> evaluators = {StressKind::retrain, StressKind::noise,
                                                  StressKind::adversarial};
constexpr double l2 = 1e-3;

/// Everything that one fold needs.
struct FoldSetup {
  Model model = {};
  StoredRows train = {};
  std::vector<Query> validation = {};
  std::vector<Query> test = {};
  std::vector<StressSet> sets = {};
  NetworkOptions options = {};
};

std::vector<Query> declined(const Model& model, const Dataset& data, int most) {
  std::vector<Query> queries;
  const Vector logits = model.network.logits(model.encoder.encode(data.raw));
  for (Index i = 0; i < logits.size() && std::cmp_less(queries.size(), most); ++i) {
    if (logits(i) >= 0) continue;
    queries.push_back({.index = queries.size(), .raw = data.raw.row(i).transpose()});
  }
  return queries;
}

FoldSetup prepare(const Dataset& data, const Fold& fold, int number, const Protocol& protocol,
                  const Settings& settings) {
  const Dataset outer = select_rows(data, fold.train);
  const Fold inner =
      stratified_split(outer.labels, 0.2, Random(static_cast<std::uint64_t>(number)));
  const Dataset fitted = select_rows(outer, inner.train);
  const Dataset validation = select_rows(outer, inner.test);
  FoldSetup setup{.model = {.encoder = Encoder::fit(fitted)}};
  Model& model = setup.model;
  setup.options.hidden = protocol.hidden;
  setup.train = {.encoded = model.encoder.encode(fitted.raw), .labels = fitted.labels};
  const LabelledRows rows = labelled(setup.train);
  const RowMatrix validation_rows = model.encoder.encode(validation.raw);
  const LabelledRows held{.features = &validation_rows, .labels = &validation.labels};
  const Penalty penalty{.l2 = l2};
  const NetworkFit fit = fit_network(rows, held, LossKind::logistic, penalty, setup.options,
                                     Random(42 + static_cast<std::uint64_t>(number)));
  model.network = fit.network;
  model.decision.classes = data.classes;
  NetworkObjective objective(rows, LossKind::logistic, penalty);
  model.training = {.rows = fitted.rows(),
                    .l2 = l2,
                    .loss = objective.loss(fit.network),
                    .objective = fit.objective,
                    .data_sha256 = std::string(64, '0')};
  const RowMatrix features = fit.network.row_features(setup.train.encoded);
  const Objective head(features, setup.train.labels, LossKind::logistic, penalty);
  model.curvature.hessian = head.hessian(fit.network.head());
  model.curvature.full = gauss_newton(fit.network, setup.train.encoded, LossKind::logistic);
  model.sha256 = model_sha256(to_json(model));

  setup.validation = declined(model, validation, settings.people);
  setup.test = declined(model, select_rows(data, fold.test), settings.people);
  const StressSource source{.base = &model.network,
                            .train = rows,
                            .validation = held,
                            .penalty = penalty,
                            .network = setup.options};
  const double bound = 1.1 * base_objective(source);
  for (const StressKind kind : evaluators) {
    const StressOptions options{.variant = settings.variant,
                                .count = kind == StressKind::retrain ? settings.retrains : 600};
    setup.sets.push_back(make_stress_set(kind, source, bound, options,
                                         Random(1000 + static_cast<std::uint64_t>(number)), {}));
  }
  return setup;
}

struct Scores {
  double validity = 0;
  std::array<double, 3> robustness = {};  // of all rows, by evaluator
  double length = 0;                      // mean l2 of valid answers
};

Scores score(const FoldSetup& setup, const std::vector<Answer>& answers) {
  std::vector<Vector> points;
  double length = 0;
  for (const Answer& answer : answers) {
    if (!answer.counterfactual || answer.logit < 0) continue;
    points.push_back(setup.model.encoder.encode(*answer.counterfactual));
    length += answer.distance.l2;
  }
  Scores result;
  if (points.empty()) return result;
  const auto all = static_cast<double>(answers.size());
  RowMatrix rows(static_cast<Index>(points.size()), setup.train.encoded.cols());
  for (std::size_t i = 0; i < points.size(); ++i) rows.row(static_cast<Index>(i)) = points[i];
  result.validity = static_cast<double>(points.size()) / all;
  result.length = length / static_cast<double>(points.size());
  for (std::size_t e = 0; e < evaluators.size(); ++e) {
    const std::vector<bool> held = accepted_by_all(setup.sets[e], rows, 0);
    result.robustness[e] = static_cast<double>(std::count(held.begin(), held.end(), true)) / all;
  }
  return result;
}

Problem problem_of(const FoldSetup& setup, double epsilon, SetKind set) {
  Problem problem{.model = &setup.model, .epsilon = epsilon};
  problem.set.kind = set;
  return problem;
}

struct Timing {
  double seconds = 0;
  std::size_t answers = 0;
};

std::vector<Answer> paper_answers(const FoldSetup& setup, double epsilon,
                                  const std::vector<Query>& queries, Timing& timing) {
  const Problem problem = problem_of(setup, epsilon, SetKind::last_layer);
  const GradientSearch search(problem, {.preset = GradientPreset::as_run});
  const Stopwatch watch;
  std::vector<Answer> answers = search.generate(queries, {.threads = 1});
  timing.seconds += watch.seconds();
  timing.answers += queries.size();
  return answers;
}

std::vector<Answer> our_answers(const FoldSetup& setup, double epsilon,
                                const std::vector<Query>& queries, SetKind set, Timing& timing) {
  const Problem problem = problem_of(setup, epsilon, set);
  const LocalSearch search(problem, &setup.train);
  const Stopwatch watch;
  std::vector<Answer> answers = search.generate(queries, {.threads = 1});
  timing.seconds += watch.seconds();
  timing.answers += queries.size();
  return answers;
}

/// The first level with the largest (validity, robustness), as the paper tunes.
std::array<std::size_t, 3> tune(const std::vector<Scores>& levels) {
  std::array<std::size_t, 3> chosen = {};
  for (std::size_t e = 0; e < 3; ++e) {
    for (std::size_t i = 1; i < levels.size(); ++i) {
      const auto key = [&](std::size_t k) {
        return std::pair(levels[k].validity, levels[k].robustness[e]);
      };
      if (key(i) > key(chosen[e])) chosen[e] = i;
    }
  }
  return chosen;
}

double largest_kappa(const FoldSetup& setup) {
  const Problem problem = problem_of(setup, 0, SetKind::full);
  const std::unique_ptr<UncertaintySet> set = make_set(setup.model, problem.set);
  const std::unique_ptr<RobustFunction> function = set->function();
  std::vector<double> radii;
  for (Index i = 0; i < setup.train.encoded.rows(); ++i) {
    const RobustScore at = function->value(0, setup.train.encoded.row(i).transpose());
    if (at.logit > 0) radii.push_back(at.logit / at.spread);
  }
  std::sort(radii.begin(), radii.end());
  return 1.7 * radii[static_cast<std::size_t>(0.97 * static_cast<double>(radii.size() - 1))];
}

/// Sums over folds of one method's cells.
struct Cells {
  std::array<double, 3> robustness = {};
  std::array<double, 3> length = {};
  void add(std::size_t e, const Scores& scores) {
    robustness[e] += scores.robustness[e];
    length[e] += scores.length;
  }
};

void run(const Protocol& protocol, const Settings& settings) {
  Dataset data = with_numeric_columns(load_recipe(protocol.dataset));
  data = select_rows(data, balanced_rows(data.labels, Random(42)));
  const std::vector<Fold> folds = stratified_folds(data.labels, 4, Random(42));
  std::map<std::string, Cells> cells;
  Timing paper_time;
  Timing full_time;
  Timing last_time;
  std::string sizes;
  for (int number = 1; number <= settings.folds; ++number) {
    const Stopwatch watch;
    const FoldSetup setup =
        prepare(data, folds[static_cast<std::size_t>(number - 1)], number, protocol, settings);
    sizes += fmt::format(" {}/{}/{}", setup.sets[0].models.size(), setup.sets[1].models.size(),
                         setup.sets[2].models.size());
    fmt::print(stderr, "{} fold {}: models ready after {:.0f} s\n", protocol.dataset, number,
               watch.seconds());

    std::vector<Scores> levels;
    std::vector<double> epsilons;
    for (int k = 0; k < 40; ++k) {
      epsilons.push_back(0.0025 + 0.005 * k);
      levels.push_back(
          score(setup, paper_answers(setup, epsilons.back(), setup.validation, paper_time)));
    }
    std::array<std::size_t, 3> chosen = tune(levels);
    for (std::size_t e = 0; e < 3; ++e) {
      cells["rebuilt"].add(
          e, score(setup, paper_answers(setup, epsilons[chosen[e]], setup.test, paper_time)));
    }

    const double largest = largest_kappa(setup);
    levels.clear();
    std::vector<double> kappas;
    for (int i = 0; i < 24; ++i) {
      kappas.push_back(largest * std::pow(i / 23.0, 1.3));
      levels.push_back(score(setup, our_answers(setup, kappas.back() * kappas.back() / 2,
                                                setup.validation, SetKind::full, full_time)));
      const auto& robust = levels.back().robustness;
      if (*std::min_element(robust.begin(), robust.end()) == 1) break;
    }
    chosen = tune(levels);
    for (std::size_t e = 0; e < 3; ++e) {
      for (const double factor : {1.0, 1.1}) {
        const double kappa = factor * kappas[chosen[e]];
        cells[factor == 1.0 ? "ours" : "ours x 1.1"].add(
            e, score(setup,
                     our_answers(setup, kappa * kappa / 2, setup.test, SetKind::full, full_time)));
      }
    }
    (void)our_answers(setup, 0.02, setup.test, SetKind::last_layer, last_time);
    fmt::print(stderr, "{} fold {}: done after {:.0f} s\n", protocol.dataset, number,
               watch.seconds());
  }
  const auto n = static_cast<double>(settings.folds);
  const auto print = [](std::string_view name, std::string_view method, const auto& cell) {
    fmt::print("| {} | {} |", name, method);
    for (std::size_t e = 0; e < 3; ++e) {
      const auto [robustness, length] = cell(e);
      fmt::print(" {:.3f} / {:.2f} |", robustness, length);
    }
    fmt::print("\n");
  };
  const auto print_sums = [&](std::string_view method, const Cells& sums) {
    print("", method,
          [&](std::size_t e) { return std::pair(sums.robustness[e] / n, sums.length[e] / n); });
  };
  print(protocol.dataset, "published", [&](std::size_t e) {
    return std::pair(protocol.published[e][0], protocol.published[e][1]);
  });
  for (const std::string method : {"rebuilt", "ours", "ours x 1.1"})
    print_sums(method, cells[method]);
  std::fflush(stdout);
  const auto micro = [](const Timing& timing) {
    return 1e6 * timing.seconds / static_cast<double>(timing.answers);
  };
  fmt::print(stderr,
             "{}: models kept (retrain/dropout/awp) by fold{}; us per answer: rebuilt {:.0f}, full "
             "set {:.0f}, last layer {:.0f}\n",
             protocol.dataset, sizes, micro(paper_time), micro(full_time), micro(last_time));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atoi(argv[++i]) : 0; };
    if (argument == "--folds") {
      settings.folds = number();
    } else if (argument == "--people") {
      settings.people = number();
    } else if (argument == "--retrains") {
      settings.retrains = number();
    } else if (argument == "--corrected") {
      settings.variant = Variant::corrected;
    } else {
      settings.datasets.push_back(argument);
    }
  }
  fmt::print("| data | method | retrain | dropout | adversarial |\n|---|---|---|---|---|\n");
  for (const Protocol& protocol : protocols()) {
    const auto& wanted = settings.datasets;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), protocol.dataset) != wanted.end())
      run(protocol, settings);
  }
  return EXIT_SUCCESS;
}
