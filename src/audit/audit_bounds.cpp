#include "audit/audit_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "audit/audit_climb.hpp"
#include "audit/golden_section.hpp"
#include "core/infinity.hpp"

namespace ellice::audit {

namespace {

// Points are sought a little beyond what they may cost, so that those that cost just so much lie
// inside.
constexpr double leeway = 0.01;
// Of Newton's method, where one multiple of a half-space is to prove enough.
constexpr int most_multiples = 8;

/// min over the box of cost − s·h.
long double dual_value(const LongVector& plane, long double s, const Box& box,
                       const ColumnCost& cost) {
  const Index d = box.lower.size();
  long double sum = -s * plane(d);
  for (Index i = 0; i < d; ++i) {
    const long double x0 = cost.query(i);
    const long double pull = s * plane(i);
    const long double low = box.lower(i) - x0;
    const long double high = box.upper(i) - x0;
    const long double net = std::max(std::abs(pull) - cost.absolutes(i), 0.0L);
    long double move = 0;
    if (net > 0) {
      const long double free =
          cost.squares(i) > 0 ? net / (2 * cost.squares(i)) : static_cast<long double>(infinity);
      move = pull > 0 ? free : -free;
    }
    move = std::clamp(move, low, high);
    if (std::isinf(move)) return -infinity;
    sum += cost.squares(i) * move * move + cost.absolutes(i) * std::abs(move) - pull * (x0 + move);
  }
  return sum;
}

/// h where cost − s·h is least, and how fast it grows with s from there on.
struct Slope {
  long double h = 0;
  long double bend = 0;
};

Slope slope_at(const LongVector& plane, long double s, const Box& box, const ColumnCost& cost) {
  const Index d = box.lower.size();
  Slope result{.h = plane(d)};
  for (Index i = 0; i < d; ++i) {
    const long double pull = s * plane(i);
    const long double net = std::max(std::abs(pull) - cost.absolutes(i), 0.0L);
    const long double low = static_cast<long double>(box.lower(i)) - cost.query(i);
    const long double high = static_cast<long double>(box.upper(i)) - cost.query(i);
    const long double rate = cost.squares(i) > 0 ? 1 / (2 * cost.squares(i)) : 0;
    const long double move = std::clamp(std::copysign(net * rate, pull), low, high);
    result.h += plane(i) * (cost.query(i) + move);
    const bool is_free = plane(i) > 0 ? move < high : move > low;
    if (is_free && std::abs(pull) >= cost.absolutes(i)) result.bend += plane(i) * plane(i) * rate;
  }
  return result;
}

/// The part of a box in which no single column costs more than `most`, and a little more; nothing
/// if it is empty.
std::optional<Box> affordable(const Box& box, const ColumnCost& cost, double most) {
  Box result = box;
  for (Index i = 0; i < box.lower.size(); ++i) {
    const double by_squares = cost.squares(i) > 0 ? std::sqrt(most / cost.squares(i)) : infinity;
    const double by_absolutes = cost.absolutes(i) > 0 ? most / cost.absolutes(i) : infinity;
    const double reach = (1 + leeway) * std::min(by_squares, by_absolutes);
    result.lower(i) = std::max(box.lower(i), cost.query(i) - reach);
    result.upper(i) = std::min(box.upper(i), cost.query(i) + reach);
    if (result.lower(i) > result.upper(i)) return std::nullopt;
  }
  return result;
}

class CostSearch {
 public:
  CostSearch(const CostQuestion& question, const Region& region)
      : asked_(&question),
        region_(&region),
        chart_(region),
        climb_(*question.cones, question.threshold, chart_) {}

  [[nodiscard]] CostBounds run() {
    if (!chart_.exists()) return best_;
    const Chart::Inside inside = chart_.inside();
    if (inside.is_empty) return {.proved = asked_->enough};
    if (!inside.nu) return best_;
    const std::optional<Vector> start = robust_start(*inside.nu);
    if (start) descend(*start);
    best_.proved = std::min(best_.proved, asked_->enough);
    return best_;
  }

 private:
  /// A ν that all cones accept with something to spare; nothing where none is found, and then
  /// perhaps a proof that there is none.
  [[nodiscard]] std::optional<Vector> robust_start(const Vector& inside) {
    std::optional<Vector> result;
    const Index n = chart_.size();
    climb_.run(asked_->epsilon, inside, [&](const ConicPoint& centre) {
      const Vector nu = centre.y.head(n);
      if (climb_.margin_at(nu, asked_->epsilon) > 0) {
        result = nu;
        return true;
      }
      const double total = centre.cones.sum();
      const HalfSpace proof =
          chart_.half_space(worst_models(chart_.point(nu)), centre.cones / total,
                            centre.rows / total, Vector::Zero(chart_.base().size()));
      if (!(proof.maximum(*region_, asked_->threshold) < 0)) return false;
      best_.proved = asked_->enough;
      return true;
    });
    return result;
  }

  [[nodiscard]] std::vector<LongVector> worst_models(const Vector& point) const {
    std::vector<LongVector> result;
    const LongVector x = extended(point);
    for (const Cone& cone : *asked_->cones) {
      const LongVector image = cone.spread() * x;
      const long double kappa = std::sqrt(2 * static_cast<long double>(asked_->epsilon));
      result.emplace_back(cone.center() - kappa / std::sqrt(x.dot(image)) * image);
    }
    return result;
  }

  /// ν, then the absolute move of every column where that counts. In units of what is enough.
  void descend(const Vector& start) {
    const ColumnCost& cost = *asked_->cost;
    const Index n = chart_.size();
    const Index d = chart_.base().size();
    std::vector<Index> counted;
    for (Index i = 0; i < d; ++i) {
      if (cost.absolutes(i) > 0 && region_->box.lower(i) < region_->box.upper(i))
        counted.push_back(i);
    }
    const auto extra = static_cast<Index>(counted.size());
    if (n + extra == 0) {  // one point, which all cones accept
      best_.point = chart_.base();
      best_.found = best_.proved = static_cast<double>(cost.at(best_.point));
      return;
    }
    const Index sides = chart_.rows().rows();
    const double unit = asked_->enough;
    ConicProgram program{.curvature = Matrix::Zero(n + extra, n + extra),
                         .slope = Vector::Zero(n + extra),
                         .rows = Matrix::Zero(sides + 2 * extra, n + extra),
                         .bounds = Vector(sides + 2 * extra)};
    const Matrix weighted = (2 / unit * cost.squares).asDiagonal() * chart_.map();
    program.curvature.topLeftCorner(n, n) = chart_.map().transpose() * weighted;
    program.slope.head(n) = weighted.transpose() * (chart_.base() - cost.query);
    program.rows.topLeftCorner(sides, n) = chart_.rows();
    program.bounds.head(sides) = chart_.bounds();
    Vector first(n + extra);
    first.head(n) = start;
    const Vector x = chart_.base() + chart_.map() * start;
    for (Index j = 0; j < extra; ++j) {
      const Index i = counted[static_cast<std::size_t>(j)];
      program.slope(n + j) = cost.absolutes(i) / unit;
      for (const int sign : {1, -1}) {
        const Index row = sides + 2 * j + (sign > 0 ? 0 : 1);
        program.rows.row(row).head(n) = sign * chart_.map().row(i);
        program.rows(row, n + j) = -1;
        program.bounds(row) = sign * (cost.query(i) - chart_.base()(i));
      }
      first(n + j) = std::abs(x(i) - cost.query(i)) + 0.1 * unit / cost.absolutes(i);
    }
    climb_.add_cones(program, asked_->epsilon, 0);
    follow_path(program, first, [&](const ConicPoint& centre) {
      consider(centre, counted);
      return best_.proved >= asked_->enough || best_.found < asked_->wanted;
    });
  }

  void consider(const ConicPoint& centre, const std::vector<Index>& counted) {
    const ColumnCost& cost = *asked_->cost;
    const Index sides = chart_.rows().rows();
    const Vector point = chart_.point(centre.y.head(chart_.size()));
    const auto paid = static_cast<double>(cost.at(point));
    if (paid < best_.found && robust_logit(*asked_->cones, extended(point), asked_->epsilon) >=
                                  asked_->threshold + asked_->clear) {
      best_.found = paid;
      best_.point = point;
    }
    const double unit = asked_->enough;
    Vector slope = -2 * cost.squares.cwiseProduct(point - cost.query);
    for (std::size_t j = 0; j < counted.size(); ++j) {
      const Index row = sides + 2 * static_cast<Index>(j);
      slope(counted[j]) -= unit * (centre.rows(row) - centre.rows(row + 1));
    }
    const HalfSpace proof = chart_.half_space(worst_models(point), unit * centre.cones,
                                              unit * centre.rows.head(sides), slope);
    const LongVector plane = proof.plane(*region_, asked_->threshold).entries;
    best_.proved = std::max(best_.proved, half_space_cost(plane, region_->box, cost));
  }

  const CostQuestion* asked_;
  const Region* region_;
  Chart chart_;
  Climb climb_;
  CostBounds best_;
};

}  // namespace

long double ColumnCost::at(const Vector& x) const {
  long double sum = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const long double move = static_cast<long double>(x(i)) - query(i);
    sum += squares(i) * move * move + absolutes(i) * std::abs(move);
  }
  return sum;
}

double half_space_cost(const LongVector& plane, const Box& box, const ColumnCost& cost) {
  const auto value = [&](long double s) { return dual_value(plane, s, box, cost); };
  // Concave in s, and 0 or more at 0: doubled until it falls, then golden sections.
  long double high = 1;
  while (high < 1e60L && value(2 * high) > value(high)) high *= 2;
  return static_cast<double>(std::max(value(0), largest_between(value, 0, 2 * high, 100).value));
}

bool does_half_space_cost(const LongVector& plane, const Box& box, const ColumnCost& cost,
                          double enough) {
  // The slope in s is −h where the minimum is, and bends where columns reach their sides: Newton's
  // method from one column free after the other. Any s proves what it gives, so that nothing
  // depends on how good the steps are.
  long double s = 0;
  for (int step = 0; step < most_multiples; ++step) {
    const Slope slope = slope_at(plane, s, box, cost);
    if (!(slope.bend > 0)) break;
    const long double next = s - slope.h / slope.bend;
    if (!(next > 0) || next == s) break;
    s = next;
    if (static_cast<double>(dual_value(plane, s, box, cost)) >= enough) return true;
  }
  return half_space_cost(plane, box, cost) >= enough;
}

CostBounds least_cost(const CostQuestion& question) {
  // Whatever lies beyond costs more than enough.
  const std::optional<Box> box = affordable(question.region->box, *question.cost, question.enough);
  if (!box) return {.proved = question.enough};
  if ((box->lower.array() >= box->upper.array()).all()) {
    for (const RuleRow& rule : question.region->rules) {
      const double value = rule.normal.dot(box->lower);
      const double slack = 1e-9 * rule.normal.cwiseAbs().dot(box->lower.cwiseAbs());
      if (value > rule.upper + slack || value < rule.lower - slack)
        return {.proved = question.enough};
    }
    const double logit = robust_logit(*question.cones, extended(box->lower), question.epsilon);
    if (!(logit >= question.threshold)) return {.proved = question.enough};
    const auto paid = static_cast<double>(question.cost->at(box->lower));
    if (!(logit >= question.threshold + question.clear))
      return {.proved = std::min(paid, question.enough)};
    return {.proved = std::min(paid, question.enough), .found = paid, .point = box->lower};
  }
  const Region region{.box = *box, .rules = question.region->rules};
  return CostSearch(question, region).run();
}

}  // namespace ellice::audit
