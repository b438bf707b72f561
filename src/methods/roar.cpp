#include "methods/roar.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/random.hpp"
#include "core/stop.hpp"
#include "core/stopwatch.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/loss.hpp"
#include "model/network_pass.hpp"
#include "search/allowed_row.hpp"
#include "search/comparison.hpp"

namespace ellice {

namespace {

constexpr double proximity = 0.01;
constexpr double published_rate = 0.01;
constexpr double published_change = 1e-3;
constexpr int published_steps = 2000;
constexpr double published_seconds = 30;
constexpr Index lime_samples = 5000;
constexpr int most_rounds = 50;
constexpr double least_step = 1e-6;
// What a violated f_w ≥ 0 weighs against a unit of distance when steps are compared.
constexpr double violation_weight = 100;

double class_one_loss(double margin) {
  return std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
}

/// Adam whose second moment never falls (Reddi et al., 2018).
class AmsGrad {
 public:
  explicit AmsGrad(Index size)
      : mean_(Vector::Zero(size)), square_(Vector::Zero(size)), largest_(Vector::Zero(size)) {}

  void step(const Vector& gradient, double rate, Vector& x) {
    mean_share_ *= 0.9;
    square_share_ *= 0.999;
    mean_ = 0.9 * mean_ + 0.1 * gradient;
    square_ = 0.999 * square_ + 0.001 * gradient.cwiseAbs2();
    largest_ = largest_.cwiseMax(square_);
    x.array() -= rate / (1 - mean_share_) * mean_.array() /
                 (largest_.array().sqrt() / std::sqrt(1 - square_share_) + 1e-8);
  }

 private:
  Vector mean_, square_, largest_;
  double mean_share_ = 1;
  double square_share_ = 1;
};

UncertainLine linearised(const Network& network, double threshold, VectorArg x) {
  NetworkPass pass(network);
  const double logit = pass.forward(x) - threshold;
  pass.backward();
  UncertainLine line{.slope = Vector(x.size())};
  pass.input_gradient(line.slope);
  line.constant = logit - line.slope.dot(x);
  return line;
}

}  // namespace

Vector nearest_by_slopes(const UncertainLine& line, VectorArg query, const Box& box,
                         double proximity_weight, double least) {
  struct Piece {
    double rate = 0;  // of f_w per unit of distance
    double length = 0;
    Index column = 0;
    double direction = 0;
  };
  Vector x = query.cwiseMax(box.lower).cwiseMin(box.upper);
  std::vector<Piece> pieces;
  for (Index j = 0; j < x.size(); ++j) {
    for (const double direction : {-1.0, 1.0}) {
      const double room = direction > 0 ? box.upper[j] - x[j] : x[j] - box.lower[j];
      const double to_zero = std::min(room, std::max(0.0, -direction * x[j]));
      const auto add = [&](double rate, double length) {
        if (rate > 0 && length > 0)
          pieces.push_back({.rate = rate, .length = length, .column = j, .direction = direction});
      };
      add(direction * line.slope[j] + line.delta, to_zero);
      add(direction * line.slope[j] - line.delta, room - to_zero);
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.rate > b.rate; });
  double worst = line.worst(x);
  for (const Piece& piece : pieces) {
    // With ρ = 1 the way is worth it until sigmoid(−f_w)·rate = γ.
    const double worth = piece.rate / proximity_weight - 1;
    const double target = std::max(least, worth > 0 ? std::log(worth) : least);
    if (worst >= target) break;
    const double length = std::min(piece.length, (target - worst) / piece.rate);
    x[piece.column] += piece.direction * length;
    worst += piece.rate * length;
  }
  return x;
}

/// LIME's samples, which depend on no query: drawn around the training mean.
struct Roar::Lime {
  Vector mean;
  Vector deviation;
  RowMatrix scaled;
  Vector probability;

  Lime(const Problem& problem, const RowMatrix& rows, std::uint64_t seed)
      : mean(rows.colwise().mean()),
        deviation((rows.rowwise() - mean.transpose()).cwiseAbs2().colwise().mean().cwiseSqrt()),
        scaled(lime_samples, rows.cols()) {
    deviation = (deviation.array() > 0).select(deviation, 1.0);
    Random random(seed);
    for (Index i = 0; i < lime_samples; ++i)
      scaled.row(i) = random.normal_vector(rows.cols()).transpose();
    const RowMatrix samples = (scaled * deviation.asDiagonal()).rowwise() + mean.transpose();
    probability = (problem.model->network.logits(samples).array() - problem.threshold)
                      .unaryExpr([](double f) { return sigmoid(f); });
  }

  /// Ridge regression of the probability, weighted by nearness to x, which takes the first place.
  [[nodiscard]] UncertainLine fit(VectorArg x, double probability_of_x) const {
    RowMatrix points = scaled;
    points.row(0) = (x - mean).cwiseQuotient(deviation).transpose();
    Vector target = probability;
    target[0] = probability_of_x;
    const double width = 0.75 * 0.75 * static_cast<double>(x.size());
    const Eigen::RowVectorXd centre = points.row(0);
    const Vector weights =
        ((points.rowwise() - centre).rowwise().squaredNorm().array() / (-2 * width)).exp();
    const double total = weights.sum();
    const Eigen::RowVectorXd average = weights.transpose() * points / total;
    const double target_average = weights.dot(target) / total;
    points.rowwise() -= average;
    target.array() -= target_average;
    Matrix normal = points.transpose() * weights.asDiagonal() * points;
    normal.diagonal().array() += 1;
    UncertainLine line{.slope =
                           normal.llt().solve(points.transpose() * weights.cwiseProduct(target))};
    line.constant = target_average - average.dot(line.slope.transpose());
    return line;
  }
};

Roar::Roar(const Problem& problem, const RoarOptions& options, const RowMatrix* rows)
    : problem_(&problem), options_(options), assembler_(problem) {
  validate(problem);
  validate(options, "RoarOptions");
  const bool has_hidden = problem.model->network.layers.size() > 1;
  if (options.variant == Variant::corrected || !has_hidden) return;
  require(rows != nullptr && rows->rows() > 0,
          "the published surrogate of a network is sampled around the training rows, which are not "
          "here");
  lime_ = std::make_unique<Lime>(problem, *rows, options.seed);
}

Roar::~Roar() = default;

UncertainLine Roar::surrogate(VectorArg x) const {
  const Network& network = problem_->model->network;
  UncertainLine line = lime_ ? lime_->fit(x, sigmoid(network.logit(x) - problem_->threshold))
                             : linearised(network, problem_->threshold, x);
  line.delta = options_.delta;
  return line;
}

double Roar::worst(VectorArg x) const {
  return problem_->model->network.logit(x) - problem_->threshold -
         options_.delta * (1 + x.lpNorm<1>());
}

std::vector<Answer> Roar::generate(const std::vector<Query>& queries,
                                   const Execution& execution) const {
  const SpaceMethod method{
      .progress = "descending",
      .published = [&](std::size_t /*index*/,
                       const FeasibleSet& feasible) { return run_published(feasible); },
      .is_enough = [&](const Vector& x) { return worst(x) >= 0; },
      .corrected = [&](Answer& answer,
                       const FeasibleSet& feasible) { run_corrected(answer, feasible); }};
  return answer_in_space(*problem_, assembler_, options_.variant, method, queries, execution);
}

Vector Roar::run_published(const FeasibleSet& feasible) const {
  const Vector& query = feasible.query();
  const UncertainLine line = surrogate(query);
  const Box& box = feasible.relaxed();
  Vector x = query;
  AmsGrad optimizer(x.size());
  double previous = 0;
  const Stopwatch watch;
  for (int step = 0; step < published_steps && watch.seconds() < published_seconds; ++step) {
    check_stop();
    const double margin = line.worst(x);
    const double loss = class_one_loss(margin) + proximity * (x - query).lpNorm<1>();
    const Vector slope = line.slope - line.delta * x.cwiseSign();
    Vector gradient = -sigmoid(-margin) * slope + proximity * (x - query).cwiseSign();
    gradient = (box.lower.array() < box.upper.array()).select(gradient, 0);
    optimizer.step(gradient, published_rate, x);
    if (std::abs(loss - previous) <= published_change) break;
    previous = loss;
  }
  return x;
}

Vector Roar::solve(const FeasibleSet& feasible, const Box& box, double least) const {
  const Vector& query = feasible.query();
  if (problem_->model->network.is_linear())
    return nearest_by_slopes(surrogate(query), query, box, proximity, least);
  const auto merit = [&](double margin, const Vector& x) {
    return class_one_loss(margin) + violation_weight * std::max(0.0, least - margin) +
           proximity * (x - query).lpNorm<1>();
  };
  Vector x = query.cwiseMax(box.lower).cwiseMin(box.upper);
  double radius = 1;
  for (int round = 0; round < most_rounds; ++round) {
    check_stop();
    const UncertainLine line = surrogate(x);
    const Box region{.lower = box.lower.cwiseMax((x.array() - radius).matrix()),
                     .upper = box.upper.cwiseMin((x.array() + radius).matrix())};
    const Vector next = nearest_by_slopes(line, query, region, proximity, least);
    const double step = (next - x).lpNorm<Eigen::Infinity>();
    const double now = merit(line.worst(x), x);
    const double promised = now - merit(line.worst(next), next);
    if (step < least_step || promised <= 0) break;
    const double kept = (now - merit(worst(next), next)) / promised;
    if (kept >= 0.1) x = next;
    radius = kept >= 0.75 ? 2 * radius : kept >= 0.1 ? radius : step / 4;
  }
  return x;
}

void Roar::run_corrected(Answer& answer, const FeasibleSet& feasible) const {
  const Encoder& encoder = feasible.encoder();
  double highest = -std::numeric_limits<double>::infinity();
  const std::vector<SearchStage> stages = search_stages(feasible);
  answer.held = stages.front().held;
  for (const SearchStage& stage : stages) {
    std::optional<Answer> nearest;
    for (const Box& box : stage.boxes) {
      // A row that loses its margin to rounding is tried again with a larger one.
      for (const double least : {1e-9, 1e-3, 1e-2, 1e-1}) {
        const Vector point = solve(feasible, box, least);
        const Vector row = allowed_row(feasible, surrogate(point).slope, point);
        Vector z(point.size());
        encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
        const double reached = worst(z);
        highest = std::max(highest, reached);
        if (reached < 0) continue;
        Answer found = answer;
        assembler_.take(found, row, feasible);
        if (!nearest || found.distance.l1 < nearest->distance.l1) nearest = std::move(found);
        break;
      }
    }
    if (nearest) {
      answer = std::move(*nearest);
      answer.held = stage.held;
      return;
    }
  }
  answer.status = Status::not_found;
  answer.message = fmt::format(
      "no row keeps its class when every weight of the surrogate moves by delta = {}; the best "
      "worst-case logit was {:.6g}{}",
      options_.delta, highest,
      problem_->model->network.layers.size() > 1 ? ". The search is local and proves nothing" : "");
}

}  // namespace ellice
