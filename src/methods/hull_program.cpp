#include "methods/hull_program.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

namespace {

// How much bounds are widened, relative to themselves.
constexpr double rounding = 1e-12;

}  // namespace

HullProgram::HullProgram(RowMatrixArg corners, VectorArg query, const Box* box)
    : corners_(corners), query_(query) {
  MixedInteger::Row total{.lower = 1, .upper = 1};
  for (Index i = 0; i < corners_.rows(); ++i)
    total.terms.push_back({program_.add_variable({.upper = 1}), 1});
  program_.add_row(total);
  for (Index j = 0; j < corners_.cols(); ++j) {
    // e ≥ |x − query|; with Σλ = 1 the query is part of the coefficients.
    const Index e = program_.add_variable({.cost = 1});
    moves_.push_back(e);
    MixedInteger::Row up{.lower = 0};
    MixedInteger::Row down{.lower = 0};
    MixedInteger::Row inside;
    if (box != nullptr) {
      inside.lower = box->lower[j];
      inside.upper = box->upper[j];
    }
    for (Index i = 0; i < corners_.rows(); ++i) {
      const double difference = corners_(i, j) - query[j];
      up.terms.push_back({i, -difference});
      down.terms.push_back({i, difference});
      inside.terms.push_back({i, corners_(i, j)});
    }
    up.terms.push_back({e, 1});
    down.terms.push_back({e, 1});
    program_.add_row(up);
    program_.add_row(down);
    const bool may_bind =
        corners_.col(j).minCoeff() < inside.lower || corners_.col(j).maxCoeff() > inside.upper;
    if (may_bind) program_.add_row(inside);
  }
}

void HullProgram::require_within(double distance) {
  reach_ = std::min(reach_, distance);
  MixedInteger::Row row{.upper = distance};
  for (const Index e : moves_) row.terms.push_back({e, 1});
  program_.add_row(row);
}

double HullProgram::largest(const Line& line) const {
  double value = (corners_ * line.slope).maxCoeff();
  if (std::isfinite(reach_)) {
    const double near_query =
        line.slope.dot(query_) + reach_ * line.slope.lpNorm<Eigen::Infinity>();
    value = std::min(value, near_query);
  }
  value += line.constant;
  return value + rounding * (1 + std::abs(value));
}

double HullProgram::smallest(const Line& line) const {
  return -largest({.slope = -line.slope, .constant = -line.constant});
}

HullProgram::Affine HullProgram::affine(const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                                        double bias) const {
  const Vector values = (corners_ * weights.transpose()).array() + bias;
  Affine result{.low = {.slope = weights.transpose(), .constant = bias}};
  result.high = result.low;
  result.least = smallest(result.low);
  result.most = largest(result.high);
  for (Index i = 0; i < values.size(); ++i) result.terms.push_back({i, values[i]});
  return result;
}

HullProgram::Affine HullProgram::weighted_sum(const std::vector<Affine>& units,
                                              const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                                              double bias) const {
  Affine sum{.low = {.slope = Vector::Zero(corners_.cols()), .constant = bias},
             .least = bias,
             .most = bias};
  sum.high = sum.low;
  // The bias times Σλ.
  for (Index i = 0; i < corners_.rows(); ++i) sum.terms.push_back({i, bias});
  for (std::size_t j = 0; j < units.size(); ++j) {
    const Affine& unit = units[j];
    const double weight = weights[static_cast<Index>(j)];
    if (unit.terms.empty() || weight == 0) continue;
    for (const MixedInteger::Term& term : unit.terms)
      sum.terms.push_back({term.variable, weight * term.factor});
    sum.least += std::min(weight * unit.least, weight * unit.most);
    sum.most += std::max(weight * unit.least, weight * unit.most);
    const Line& low = weight > 0 ? unit.low : unit.high;
    const Line& high = weight > 0 ? unit.high : unit.low;
    sum.low.slope += weight * low.slope;
    sum.low.constant += weight * low.constant;
    sum.high.slope += weight * high.slope;
    sum.high.constant += weight * high.constant;
  }
  // Lines know what units have in common, intervals do not.
  sum.least = std::max(sum.least, smallest(sum.low));
  sum.most = std::min(sum.most, largest(sum.high));
  return sum;
}

HullProgram::Affine HullProgram::relu(const Affine& z, std::optional<bool> is_on) {
  if (z.most <= 0) return {};
  if (z.least >= 0) return z;
  if (is_on) {
    MixedInteger::Row side{.terms = z.terms};
    (*is_on ? side.lower : side.upper) = 0;
    program_.add_row(side);
    return *is_on ? z : Affine{};
  }
  const Index a = add_at_most_relu(z);
  MixedInteger::Row row{.terms = z.terms, .upper = 0};
  row.terms.push_back({a, -1});
  program_.add_row(row);
  // Between the chord above and the better of 0 and z below.
  const double slope = z.most / (z.most - z.least);
  Affine unit{.terms = {{a, 1}}, .low = z.low, .high = z.high, .least = 0, .most = z.most};
  unit.high.slope *= slope;
  unit.high.constant = slope * (unit.high.constant - z.least);
  if (z.most < -z.least) unit.low = {.slope = Vector::Zero(corners_.cols())};
  return unit;
}

Index HullProgram::norm() {
  if (norm_ >= 0) return norm_;
  MixedInteger::Row sum{.lower = 0};
  for (Index j = 0; j < corners_.cols(); ++j) {
    const Index p = program_.add_variable({});
    MixedInteger::Row up{.terms = {{p, 1}}, .lower = 0};
    MixedInteger::Row down{.terms = {{p, 1}}, .lower = 0};
    for (Index i = 0; i < corners_.rows(); ++i) {
      up.terms.push_back({i, -corners_(i, j)});
      down.terms.push_back({i, corners_(i, j)});
    }
    program_.add_row(up);
    program_.add_row(down);
    sum.terms.push_back({p, -1});
  }
  norm_ = program_.add_variable({});
  sum.terms.push_back({norm_, 1});
  program_.add_row(sum);
  return norm_;
}

Index HullProgram::add_at_most_relu(const Affine& z) {
  if (z.most <= 0) return -1;
  const Index a = program_.add_variable({.upper = z.most});
  MixedInteger::Row row{.terms = z.terms, .lower = 0};
  row.terms.push_back({a, -1});
  if (z.least < 0) {
    const Index on = program_.add_binary();
    program_.add_row({.terms = {{a, 1}, {on, -z.most}}, .upper = 0});
    row.terms.push_back({on, z.least});
    row.lower = z.least;
  }
  program_.add_row(row);
  return a;
}

Index HullProgram::add_at_least_relu(const Affine& z) {
  if (z.most <= 0) return -1;
  const Index a = program_.add_variable({});
  MixedInteger::Row row{.terms = z.terms, .upper = 0};
  row.terms.push_back({a, -1});
  program_.add_row(row);
  return a;
}

void HullProgram::require_accepted(const Network& network, double margin) {
  add_network(network, margin, nullptr);
}

void HullProgram::require_accepted_beside(const Network& network, double margin, VectorArg point) {
  const Vector beside = point;
  add_network(network, margin, &beside);
}

void HullProgram::add_network(const Network& network, double margin, const Vector* beside) {
  std::vector<Affine> units;  // the present layer's activations
  Vector at_point = beside != nullptr ? *beside : Vector();
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    std::vector<Affine> next;
    if (beside != nullptr) at_point = (layer.weights * at_point + layer.bias).eval();
    for (Index k = 0; k < layer.bias.size(); ++k) {
      const Affine z = l == 0 ? affine(layer.weights.row(k), layer.bias[k])
                              : weighted_sum(units, layer.weights.row(k), layer.bias[k]);
      if (l + 1 == network.layers.size()) {
        program_.add_row({.terms = z.terms, .lower = margin});
        return;
      }
      next.push_back(relu(z, beside != nullptr ? std::optional(at_point[k] > 0) : std::nullopt));
    }
    units = std::move(next);
    at_point = at_point.cwiseMax(0.0);
  }
}

void HullProgram::require_robust(const Network& network, double delta, double margin) {
  const Layer& first = network.layers.front();
  const Layer& head = network.layers.back();
  require(network.layers.size() <= 2, "one program is exact for at most one hidden layer");
  const Index n = norm();
  if (network.is_linear()) {
    MixedInteger::Row row{.terms = affine(head.weights.row(0), head.bias[0]).terms,
                          .lower = margin + delta};
    row.terms.push_back({n, -delta});
    program_.add_row(row);
    return;
  }
  const double longest = corners_.cwiseAbs().rowwise().sum().maxCoeff();
  MixedInteger::Row logit{.lower = margin - head.bias[0] + delta};
  for (Index j = 0; j < first.bias.size(); ++j) {
    const double factor = head.weights(0, j) - delta;
    const double side = factor >= 0 ? -1 : 1;  // the unit's own worst is its least or its most
    Affine z = affine(first.weights.row(j), first.bias[j] + side * delta);
    z.terms.push_back({n, side * delta});
    if (factor >= 0) {
      z.least -= delta * longest;  // ‖x‖₁ is convex: largest at a corner
    } else {
      z.most += delta * longest;
    }
    const Index a = factor >= 0 ? add_at_most_relu(z) : add_at_least_relu(z);
    if (a >= 0) logit.terms.push_back({a, factor});
  }
  program_.add_row(logit);
}

HullProgram::Solution HullProgram::solve(double seconds) const {
  const MixedIntegerSolution found = ellice::solve(program_, seconds);
  Solution result{.status = found.status, .distance = found.objective};
  if (found.status == MixedIntegerStatus::optimal)
    result.point = corners_.transpose() * found.values.head(corners_.rows());
  return result;
}

}  // namespace ellice
