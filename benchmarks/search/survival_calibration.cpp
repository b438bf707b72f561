// Predicted against measured survival: populations with known truth, of which some were kept apart
// until the end, and the paper's nine data sets in halves; fresh rows and rows drawn again, as
// version 0.1.0 predicted it and as it is predicted now. Prints the tables of docs/survival.md and
// writes its figure.
//
//   survival_calibration [models per population, 20] [figure, docs/survival_calibration.svg]

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <Eigen/Cholesky>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>

#include "core/normal.hpp"
#include "data/recipe.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/training.hpp"
#include "methods/automatic.hpp"
#include "radius/selection_effect.hpp"
#include "radius/survival_check.hpp"
#include "sets/ellipsoid.hpp"
#include "sets/stress.hpp"
#include "survival_populations.hpp"

namespace {

using namespace ellice;
using survival::Population;

constexpr int people = 20;
constexpr int refits = 120;
constexpr double ask = 0.9;  // of the rule, besides the levels
constexpr std::array<double, 2> levels = {0.9, 0.97};

/// How models and answers are made; the default is what the formula was developed for.
struct Setting {
  std::string name = {};
  LossKind loss = LossKind::logistic;
  bool penalize_bias = true;
  double threshold = 0;
  CostKind cost = CostKind::l2;
  bool weights = false;
  bool ranges = false;
  SetKind set = SetKind::last_layer;
};

/// One entry of the tables.
struct Cell {
  std::string name = {};
  std::string group = {};
  Index rows = 0;
  Index parameters = 0;
  double level = 0;
  double measured = 0;
  double error = 0;  // standard, over models
  double before = 0;
  double now = 0;
  Interval interval = {};
  double milliseconds = 0;  // of processor time for the prediction of one answer
  [[nodiscard]] double share() const {
    return static_cast<double>(parameters) / static_cast<double>(rows);
  }
  [[nodiscard]] bool covers() const {
    return measured >= interval.low && measured <= interval.high;
  }
};

/// A model with what it was fitted on.
struct Fit {
  Dataset data = {};
  Model model = {};
  StoredRows rows = {};
  Matrix inverse = {};                   // H⁻¹
  Matrix coins = {};                     // V as version 0.1.0 had it
  std::vector<std::size_t> judges = {};  // other fits that retraining might have given
};

Fit fit(Dataset data, double l2, const Setting& setting) {
  if (setting.weights) {
    for (std::size_t j = 0; j < data.schema.features.size(); ++j)
      data.schema.features[j].weight = 0.5 + static_cast<double>(j % 4);
  }
  Fit result{.data = std::move(data)};
  result.model = train(result.data, {},
                       {.loss = setting.loss,
                        .l2 = l2,
                        .penalize_bias = setting.penalize_bias,
                        .folds = 0,
                        .store_rows = setting.set == SetKind::true_set})
                     .model;
  result.rows = {.encoded = result.model.encoder.encode(result.data.raw),
                 .labels = result.data.labels};
  const Model& model = result.model;
  Matrix moments = model.curvature.hessian;
  moments.diagonal().array() -= model.training.l2 + model.curvature.shift;
  if (!model.training.penalize_bias)
    moments(moments.rows() - 1, moments.cols() - 1) += model.training.l2;
  const double noise = model.training.loss_kind == LossKind::squared ? 2 * model.training.loss : 1;
  result.inverse =
      model.curvature.hessian.llt().solve(Matrix::Identity(moments.rows(), moments.cols()));
  result.coins =
      noise / static_cast<double>(model.training.rows) * result.inverse * moments * result.inverse;
  return result;
}

Problem problem_of(const Fit& fit, const Setting& setting, std::optional<Index> fresh) {
  Problem problem{.model = &fit.model,
                  .threshold = setting.threshold,
                  .cost = {.kind = setting.cost},
                  .retraining = {.fresh_rows = fresh},
                  .fitted = &fit.rows};
  problem.set.kind = setting.set;
  if (!setting.ranges) problem.constraints.range = RangePolicy::off;
  return problem;
}

/// As version 0.1.0 predicted it: labels as coin flips, the selection effect above 3 % only.
double before(const Fit& fit, const Problem& problem, const Vector& start, const Vector& end) {
  const Vector x = with_one(end);
  const Vector theta = fit.model.network.head();
  const double margin = theta.dot(x) - problem.threshold;
  const Index n = fit.model.training.rows;
  const double variance = problem.retraining.factor(n) * x.dot(fit.coins * x);
  double shift = 0;
  const Index d = end.size();
  if (problem.retraining.fresh_rows && static_cast<double>(d + 1) > 0.03 * static_cast<double>(n)) {
    const Vector solved = fit.inverse * x;
    const double length = x.dot(solved);
    const Vector gradient = (theta - margin / length * solved).head(d);
    const double mu = gradient.dot(2 * (end - start)) / gradient.squaredNorm();
    Matrix a =
        mu * margin / length *
        (fit.inverse.topLeftCorner(d, d) - solved.head(d) * solved.head(d).transpose() / length);
    a.diagonal().array() += 2;
    const Matrix solver = a.llt().solve(Matrix::Identity(d, d));
    const Vector g = solver * gradient;
    Vector c = -x;
    c.head(d) -= mu * g;
    shift = mu * solver.cwiseProduct(fit.coins.topLeftCorner(d, d)).sum() +
            g.dot(fit.coins.topRows(d) * c) / gradient.dot(g);
  }
  return normal_cdf((margin - std::max(shift, 0.0)) / std::sqrt(variance));
}

struct Explained {
  RowMatrix raw = {};  // the answers that have a prediction
  std::vector<double> before = {}, now = {}, low = {}, high = {};
  double seconds = 0;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Explained explain(const Fit& fit, const Problem& problem, const std::vector<Query>& queries) {
  std::vector<Answer> answers = automatic_generator(problem)->generate(queries, {.threads = 1});
  const std::clock_t start = std::clock();
  if (problem.retraining.fresh_rows) {
    state_fresh_survival(problem, queries, answers, disturbed_generator, {.threads = 1});
  } else {
    const RetrainedHead retrained(fit.model, problem.fitted);
    for (const Answer& answer : answers) {  // again, to be timed
      if (answer.counterfactual)
        (void)retrained.drawn_again(with_one(fit.model.encoder.encode(*answer.counterfactual)),
                                    answer.logit);
    }
  }
  Explained result{.seconds = seconds_since(start)};
  std::vector<Vector> rows;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (!is_certified(answer.status) || !answer.predicted_survival) continue;
    Vector raw(static_cast<Index>(answer.counterfactual->size()));
    for (Index j = 0; j < raw.size(); ++j)
      raw(j) = std::get<double>((*answer.counterfactual)[static_cast<std::size_t>(j)]);
    rows.push_back(raw);
    const Encoder& encoder = fit.model.encoder;
    result.before.push_back(
        before(fit, problem, encoder.encode(answer.query), encoder.encode(*answer.counterfactual)));
    result.now.push_back(*answer.predicted_survival);
    if (!answer.survival_interval) continue;
    result.low.push_back(answer.survival_interval->low);
    result.high.push_back(answer.survival_interval->high);
  }
  result.raw.resize(static_cast<Index>(rows.size()), fit.data.raw.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) result.raw.row(static_cast<Index>(i)) = rows[i];
  return result;
}

double accepted(const Network& network, const Encoder& encoder, const RowMatrix& raw,
                double threshold) {
  return (network.logits(encoder.encode(raw)).array() >= threshold).cast<double>().mean();
}

/// Collects the answers of several models into a cell.
class Collector {
 public:
  explicit Collector(Cell cell) : cell_(std::move(cell)) {}
  void add(const Explained& explained, double share) {
    shares_.push_back(share);
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      if (!from.empty()) to.push_back(mean(from));
    };
    append(before_, explained.before);
    append(now_, explained.now);
    append(low_, explained.low);
    append(high_, explained.high);
    seconds_ += explained.seconds;
    answers_ += explained.now.size();
  }
  [[nodiscard]] std::optional<Cell> cell(double error_factor) const {
    if (shares_.size() < 3) return std::nullopt;
    Cell cell = cell_;
    cell.measured = mean(shares_);
    double squares = 0;
    for (const double share : shares_) squares += std::pow(share - cell.measured, 2);
    const auto count = static_cast<double>(shares_.size());
    cell.error = error_factor * std::sqrt(squares / (count - 1) / count);
    cell.before = mean(before_);
    cell.now = mean(now_);
    cell.interval = low_.empty() ? Interval{.low = std::max(cell.now - 0.03, 0.0),
                                            .high = std::min(cell.now + 0.03, 1.0)}
                                 : Interval{.low = mean(low_), .high = mean(high_)};
    cell.milliseconds = 1e3 * seconds_ / static_cast<double>(answers_);
    return cell;
  }

 private:
  Cell cell_;
  std::vector<double> shares_, before_, now_, low_, high_;
  double seconds_ = 0;
  std::size_t answers_ = 0;
};

struct Findings {
  std::vector<Cell> fresh = {};
  std::vector<Cell> again = {};
  std::vector<Cell> asked = {};  // fresh rows, ε by the rule; `now` is what was asked for
};

double judged(const std::vector<Fit>& fits, std::size_t i, const RowMatrix& raw, double threshold) {
  double share = 0;
  for (const std::size_t j : fits[i].judges)
    share += accepted(fits[j].model.network, fits[j].model.encoder, raw, threshold);
  return share / static_cast<double>(fits[i].judges.size());
}

void measure_fresh(const std::vector<Fit>& fits, const Setting& setting, const Cell& head,
                   double error_factor, Findings& findings) {
  for (const double level : levels) {
    Cell cell = head;
    cell.level = level;
    Collector collector(cell);
    for (std::size_t i = 0; i < fits.size(); ++i) {
      Problem problem = problem_of(fits[i], setting, fits[i].model.training.rows);
      problem.epsilon = survival_epsilon(fits[i].model, level, problem.retraining);
      const std::vector<Query> queries = declined_rows(problem, fits[i].data.raw, people);
      const Explained explained = explain(fits[i], problem, queries);
      if (explained.now.empty()) continue;
      collector.add(explained, judged(fits, i, explained.raw, setting.threshold));
    }
    if (const auto done = collector.cell(error_factor)) findings.fresh.push_back(*done);
  }
}

/// What the rule achieves for 90 %.
void measure_asked(const std::vector<Fit>& fits, const Setting& setting, const Cell& head,
                   double error_factor, Findings& findings) {
  Cell cell = head;
  cell.level = ask;
  Collector collector(cell);
  for (std::size_t i = 0; i < fits.size(); ++i) {
    Problem problem = problem_of(fits[i], setting, fits[i].model.training.rows);
    const std::vector<Query> queries = declined_rows(problem, fits[i].data.raw, people);
    try {
      problem.epsilon = survival_epsilon_for(problem, queries, ask, {.threads = 1});
    } catch (const Error&) {
      continue;  // cannot be reached
    }
    const Explained explained = explain(fits[i], problem, queries);
    if (!explained.now.empty())
      collector.add(explained, judged(fits, i, explained.raw, setting.threshold));
  }
  if (const auto done = collector.cell(error_factor)) findings.asked.push_back(*done);
}

/// Rows drawn again, of the first few models.
void measure_again(const std::vector<Fit>& fits, const Setting& setting, const Cell& head,
                   Findings& findings) {
  constexpr std::size_t models = 3;
  for (const double level : levels) {
    Cell cell = head;
    cell.level = level;
    Collector collector(cell);
    double error = 0;
    for (std::size_t i = 0; i < std::min(models, fits.size()); ++i) {
      const Fit& fit = fits[i];
      Problem problem = problem_of(fit, setting, {});
      problem.epsilon = survival_epsilon(fit.model, level, {});
      const Explained explained =
          explain(fit, problem, declined_rows(problem, fit.data.raw, people));
      if (explained.now.empty()) continue;
      const StressSource source{.base = &fit.model.network,
                                .train = labelled(fit.rows),
                                .loss = fit.model.training.loss_kind,
                                .penalty = {.l2 = fit.model.training.l2,
                                            .penalize_bias = fit.model.training.penalize_bias}};
      const StressSet set = bootstrap_set(source, {.count = refits}, Random(900 + i));
      double sum = 0;
      double squares = 0;
      for (const StressModel& model : set.models) {
        const double share =
            accepted(model.network, fit.model.encoder, explained.raw, setting.threshold);
        sum += share;
        squares += share * share;
      }
      const double share = sum / refits;
      error += (squares / refits - share * share) / refits;
      collector.add(explained, share);
    }
    if (auto done = collector.cell(1)) {
      done->error = std::sqrt(error) / models;
      findings.again.push_back(*done);
    }
  }
}

void measure(const std::vector<Fit>& fits, const Setting& setting, Cell head, double error_factor,
             Findings& findings) {
  head.rows = fits.front().model.training.rows;
  head.parameters = fits.front().model.curvature.hessian.rows();
  measure_fresh(fits, setting, head, error_factor, findings);
  if (setting.name.empty()) measure_asked(fits, setting, head, error_factor, findings);
  measure_again(fits, setting, head, findings);
  const Cell& last = findings.fresh.back();
  fmt::print(stderr, "{} {} {}/{}: {:.1f} → {:.1f} for {:.1f} ± {:.1f}\n", last.group, last.name,
             last.parameters, last.rows, 100 * last.before, 100 * last.now, 100 * last.measured,
             100 * last.error);
}

/// Samples of a population: every model is judged by all others, which costs its error some of its
/// independence (hence 1.3).
void measure_population(const Population& population, const Setting& setting, std::size_t models,
                        const std::string& group, Findings& findings) {
  std::vector<Fit> fits;
  for (std::size_t k = 0; k < models; ++k) {
    fits.push_back(
        fit(sample(population, population.rows, Random(700).split(k)), population.l2, setting));
  }
  for (std::size_t i = 0; i < models; ++i) {
    for (std::size_t j = 0; j < models; ++j) {
      if (i != j) fits[i].judges.push_back(j);
    }
  }
  const std::string name =
      setting.name.empty() ? population.name : population.name + ", " + setting.name;
  measure(fits, setting, {.name = name, .group = group}, 1.3, findings);
}

/// Halves of a data set, each judged by the other.
void measure_dataset(const std::string& name, std::size_t models, Findings& findings) {
  const Dataset all = with_numeric_columns(load_recipe(name));
  const SelectedRows selected = apply_selection(all, {.balance = true});
  std::vector<Fit> fits;
  for (std::size_t k = 0; k + 1 < models; k += 2) {
    std::vector<Index> order = selected.fit;
    Random random = Random(800).split(k);
    random.shuffle(order);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    fits.push_back(fit(select_rows(all, {order.begin(), middle}), 1e-3, {}));
    fits.push_back(fit(select_rows(all, {middle, order.end()}), 1e-3, {}));
    fits[k].judges = {k + 1};
    fits[k + 1].judges = {k};
  }
  measure(fits, {}, {.name = name, .group = "data set"}, 1.41, findings);
}

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

void print_table(const std::string& title, const std::vector<Cell>& cells) {
  fmt::print(
      "\n{}\n\n| | rows | parameters | p/n | level | 0.1.0 | now | interval | measured |\n"
      "|---|---|---|---|---|---|---|---|---|\n",
      title);
  for (const Cell& cell : cells) {
    fmt::print("| {} | {} | {} | {} % | {:.0f} | {} | {} | {}–{} | **{}** ± {} |\n", cell.name,
               cell.rows, cell.parameters, percent(cell.share()), 100 * cell.level,
               percent(cell.before), percent(cell.now), percent(cell.interval.low),
               percent(cell.interval.high), percent(cell.measured), percent(cell.error));
  }
}

struct Summary {
  double cells = 0, before = 0, now = 0, within_error = 0, covered = 0, either = 0, width = 0,
         error = 0, error_before = 0, milliseconds = 0;
};

void print_summary(const std::string& title, const std::vector<Cell>& cells,
                   const std::function<bool(const Cell&)>& wanted) {
  Summary sum;
  for (const Cell& cell : cells) {
    if (!wanted(cell)) continue;
    const double off = std::abs(cell.now - cell.measured);
    const double off_before = std::abs(cell.before - cell.measured);
    ++sum.cells;
    sum.before += off_before <= 0.03 ? 1 : 0;
    sum.now += off <= 0.03 ? 1 : 0;
    sum.within_error += off <= 0.03 + 2 * cell.error ? 1 : 0;
    sum.covered += cell.covers() ? 1 : 0;
    sum.either += off <= 0.03 || cell.covers() ? 1 : 0;
    sum.width += cell.interval.width();
    sum.error += off;
    sum.error_before += off_before;
    sum.milliseconds += cell.milliseconds;
  }
  if (sum.cells == 0) return;
  const auto part = [&](double value) { return 100 * value / sum.cells; };
  fmt::print(
      "| {} | {:.0f} | {:.1f} → {:.1f} | {:.0f} % → {:.0f} % | {:.0f} % | {:.0f} % | {:.0f} % | "
      "{:.1f} | {:.2f} |\n",
      title, sum.cells, part(sum.error_before), part(sum.error), part(sum.before), part(sum.now),
      part(sum.within_error), part(sum.covered), part(sum.either), part(sum.width),
      sum.milliseconds / sum.cells);
}

/// Predicted across, measured up; open: as version 0.1.0 predicted it.
void write_figure(const std::string& path, const Findings& findings) {
  constexpr double size = 420;
  constexpr double margin = 48;
  std::ofstream file(path);
  fmt::print(
      file,
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">
<title>Survival under retraining, predicted and measured</title>
<rect width="{0}" height="{1}" fill="#ffffff"/>
)",
      2 * (size + margin) + 20, size + 2 * margin);
  double left = margin;
  const std::array<std::pair<const char*, const std::vector<Cell>*>, 2> panels = {
      {{"fresh rows", &findings.fresh}, {"rows drawn again", &findings.again}}};
  for (const auto& [title, cells] : panels) {
    const auto x = [&](double share) { return left + share * (size - 20); };
    const auto y = [&](double share) { return margin + (1 - share) * (size - 20); };
    fmt::print(file, "<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", x(0),
               margin - 16, title);
    fmt::print(file,
               "<polygon points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" "
               "fill=\"#e8eef5\"/>\n",
               x(0.03), y(0), x(1), y(0.97), x(0.97), y(1), x(0), y(0.03));
    for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      fmt::print(file,
                 "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
                 "stroke=\"#dddddd\"/>\n<line x1=\"{3:.1f}\" y1=\"{4:.1f}\" x2=\"{5:.1f}\" "
                 "y2=\"{4:.1f}\" stroke=\"#dddddd\"/>\n<text x=\"{0:.1f}\" y=\"{6:.1f}\" "
                 "text-anchor=\"middle\">{7:.0f}</text>\n<text x=\"{8:.1f}\" y=\"{9:.1f}\" "
                 "text-anchor=\"end\">{7:.0f}</text>\n",
                 x(tick), y(0), y(1), x(0), y(tick), x(1), y(0) + 16, 100 * tick, x(0) - 6,
                 y(tick) + 4);
    }
    for (const Cell& cell : *cells) {
      fmt::print(file,
                 "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"none\" stroke=\"#b0764a\"/>\n",
                 x(cell.before), y(cell.measured));
    }
    for (const Cell& cell : *cells) {
      fmt::print(file,
                 "<line x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\" "
                 "stroke=\"#1f5fa8\" stroke-opacity=\"0.4\"/>\n<circle cx=\"{3:.1f}\" "
                 "cy=\"{2:.1f}\" r=\"3\" fill=\"#1f5fa8\"><title>{4} {5}/{6}</title></circle>\n",
                 x(cell.interval.low), x(cell.interval.high), y(cell.measured), x(cell.now),
                 cell.name, cell.parameters, cell.rows);
    }
    fmt::print(file, "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">predicted, %</text>\n",
               x(0.5), y(0) + 34);
    fmt::print(file,
               "<text transform=\"translate({:.0f} {:.0f}) rotate(-90)\" "
               "text-anchor=\"middle\">measured, %</text>\n",
               left - 34, y(0.5));
    left += size + margin;
  }
  fmt::print(file, "</svg>\n");
}

void run(std::size_t models, const std::string& figure) {
  Findings findings;
  for (const Population& population : survival::known_populations())
    measure_population(population, {}, models, "known", findings);
  for (const Population& population : survival::kept_apart())
    measure_population(population, {}, models, "kept apart", findings);
  const std::vector<Setting> settings = {{.name = "unpenalised bias", .penalize_bias = false},
                                         {.name = "squared loss", .loss = LossKind::squared},
                                         {.name = "ranges", .ranges = true},
                                         {.name = "t = 0.5", .threshold = 0.5},
                                         {.name = "weights", .weights = true},
                                         {.name = "cost l1", .cost = CostKind::l1},
                                         {.name = "cost l1+l2", .cost = CostKind::l1_l2},
                                         {.name = "true set", .set = SetKind::true_set}};
  const std::vector<Population> known = survival::known_populations();
  for (const Setting& setting : settings) {
    for (const std::size_t k : {2U, 4U, 7U, 11U})
      measure_population(known[k], setting, models, setting.name, findings);
  }
  for (const std::string& name : recipe_names()) {
    if (name == "lending" || name == "iris3" || name == "wine-grades") continue;
    if (find_dataset_file(name)) measure_dataset(name, models, findings);
  }
  print_table("Fresh rows, as many as the old ones", findings.fresh);
  print_table("Rows drawn again", findings.again);
  print_table("Fresh rows, epsilon by the rule for 90 %", findings.asked);
  fmt::print(
      "\n| cells | number | mean error | within 3 points | within 3 points and twice the "
      "error of the measurement | interval covers | one or the other | its width | ms per answer "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  const auto table = [](const std::string& title, const std::vector<Cell>& cells) {
    for (const char* group : {"known", "kept apart", "data set"})
      print_summary(title + ", " + group, cells,
                    [&](const Cell& cell) { return cell.group == group; });
    print_summary(title + ", p/n ≤ 3 %", cells,
                  [](const Cell& cell) { return cell.share() <= 0.03; });
    print_summary(title + ", 3 % < p/n ≤ 10.5 %", cells,
                  [](const Cell& cell) { return cell.share() > 0.03 && cell.share() <= 0.105; });
    print_summary(title + ", p/n > 10.5 %", cells,
                  [](const Cell& cell) { return cell.share() > 0.105; });
  };
  table("fresh", findings.fresh);
  for (const Setting& setting : settings)
    print_summary("fresh, " + setting.name, findings.fresh,
                  [&](const Cell& cell) { return cell.group == setting.name; });
  table("drawn again", findings.again);
  for (const Setting& setting : settings)
    print_summary("drawn again, " + setting.name, findings.again,
                  [&](const Cell& cell) { return cell.group == setting.name; });
  write_figure(figure, findings);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t models = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
  run(models, argc > 2 ? argv[2] : "docs/survival_calibration.svg");
  return 0;
}
