#pragma once

// Rows that some constraints leave, and what sets of models make of them, from the definitions
// alone: a second opinion on what searches say of rows that do not exist.

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ellice/core/types.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model.hpp"
#include "request/problem.hpp"

namespace ellice::problem_zoo {

/// The constraints of one person by name, each of which can be left out.
class PlainRows {
 public:
  PlainRows(const Problem& problem, std::size_t query_index, Vector query,
            std::optional<int> max_changes)
      : problem_(&problem),
        schema_(&problem.model->schema()),
        index_(query_index),
        query_(std::move(query)),
        max_changes_(max_changes) {}

  [[nodiscard]] const Vector& query() const { return query_; }

  /// All names.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> result;
    for (std::size_t j = 0; j < schema_->features.size(); ++j) {
      for (const auto& [name, keeps] : of_feature(j)) result.insert(name);
    }
    for (const Rule& rule : schema_->constraints) result.insert("rule " + rule.text);
    for (const Implication& one : schema_->implications) result.insert("rule " + one.text);
    if (max_changes_) result.insert(limit_name());
    return result;
  }

  /// Whether a row is one under the named constraints alone.
  [[nodiscard]] bool allows(const Vector& row, const std::set<std::string>& kept) const {
    Index changes = 0;
    for (std::size_t j = 0; j < schema_->features.size(); ++j) {
      const double to = row(static_cast<Index>(j));
      if (to == query_(static_cast<Index>(j))) continue;
      ++changes;
      if (!allows_value(j, to, kept)) return false;
    }
    if (max_changes_ && kept.contains(limit_name()) && changes > *max_changes_) return false;
    for (const Rule& rule : schema_->constraints) {
      if (kept.contains("rule " + rule.text) && !keeps(rule, row)) return false;
    }
    return std::all_of(
        schema_->implications.begin(), schema_->implications.end(), [&](const Implication& one) {
          return !kept.contains("rule " + one.text) || !does(one.condition, row, true) ||
                 does(one.consequence, row, false);
        });
  }

  /// Values of a feature to try, its own first: all of them where they are finitely many, and some
  /// near, far and at the ends where they are not.
  [[nodiscard]] std::vector<double> candidates(std::size_t j,
                                               const std::set<std::string>& kept) const {
    const Feature& feature = schema_->features[j];
    const double own = query_(static_cast<Index>(j));
    std::vector<double> all;
    if (!feature.is_number()) {
      for (std::size_t k = 0; k < feature.levels.size(); ++k) all.push_back(static_cast<double>(k));
    } else if (feature.kind == FeatureKind::integer || feature.step) {
      const double step = feature.step.value_or(1);
      const double origin = feature.min.value_or(0);
      for (int k = -25; k <= 40; ++k) all.push_back(origin + k * step);
      for (const double k : {1e3, 1e5, 1e8})
        for (const double side : {-1.0, 1.0}) all.push_back(origin + side * k * step);
    } else {
      for (const double shift : {-1e8, -1e4, -100.0, -10.0, -3.0, -1.0, -0.3, -0.1, 0.1, 0.3, 1.0,
                                 3.0, 10.0, 100.0, 1e4, 1e8}) {
        all.push_back(own + shift);
      }
      for (const double end : ends(j)) all.push_back(end);
      for (const Value& value : feature.allowed) all.push_back(std::get<double>(value));
    }
    std::vector<double> result = {own};
    for (const double value : all) {
      if (value != own && allows_value(j, value, kept)) result.push_back(value);
    }
    return result;
  }

  /// Whether a feature is a number that may be anything between two of its values.
  [[nodiscard]] bool is_continuous(std::size_t j, const std::set<std::string>& kept) const {
    const Feature& feature = schema_->features[j];
    return feature.kind == FeatureKind::numeric && !feature.step &&
           (feature.allowed.empty() || !kept.contains(feature.name + ": among the allowed values"));
  }

  [[nodiscard]] bool allows_value(std::size_t j, double to,
                                  const std::set<std::string>& kept) const {
    const Feature& feature = schema_->features[j];
    const double own = query_(static_cast<Index>(j));
    if (to == own) return true;
    if (feature.kind == FeatureKind::integer && to != std::nearbyint(to)) return false;
    if (feature.step) {
      const double steps = (to - feature.min.value_or(0)) / *feature.step;
      if (std::abs(steps - std::nearbyint(steps)) > 1e-7) return false;
    }
    for (const auto& [name, keeps] : of_feature(j)) {
      if (kept.contains(name) && !keeps(to)) return false;
    }
    return true;
  }

 private:
  using Named = std::pair<std::string, std::function<bool(double)>>;

  [[nodiscard]] std::string limit_name() const {
    return fmt::format("at most {} feature{} may change", *max_changes_,
                       *max_changes_ == 1 ? "" : "s");
  }

  [[nodiscard]] std::pair<double, double> training_range(std::size_t j) const {
    const Encoder& encoder = problem_->model->encoder;
    const Index column = encoder.first_column(j);
    const double own = query_(static_cast<Index>(j));
    return {std::min(own, encoder.min()(column)), std::max(own, encoder.max()(column))};
  }

  [[nodiscard]] std::vector<double> ends(std::size_t j) const {
    const Feature& feature = schema_->features[j];
    const FeatureLimits limits = problem_->constraints.of(index_, feature.name);
    std::vector<double> result;
    for (const auto& end : {limits.min, limits.max, feature.min, feature.max})
      if (end) result.push_back(*end);
    const auto [low, high] = training_range(j);
    for (int k = 0; k <= 6; ++k) result.push_back(low + k / 6.0 * (high - low));
    result.push_back(low);
    result.push_back(high);
    return result;
  }

  [[nodiscard]] std::vector<Named> of_feature(std::size_t j) const {
    const Feature& feature = schema_->features[j];
    const FeatureLimits limits = problem_->constraints.of(index_, feature.name);
    const double own = query_(static_cast<Index>(j));
    std::vector<Named> result;
    const auto add = [&](const std::string& text, std::function<bool(double)> keeps) {
      result.emplace_back(feature.name + ": " + text, std::move(keeps));
    };
    const auto never = [](double) { return false; };
    if (feature.immutable) add("immutable", never);
    if (limits.locked) add("locked", never);
    if (feature.is_number()) {
      if (const auto min = limits.min ? limits.min : feature.min)
        add(fmt::format("at least {}", *min), [b = *min](double v) { return v >= b; });
      if (const auto max = limits.max ? limits.max : feature.max)
        add(fmt::format("at most {}", *max), [b = *max](double v) { return v <= b; });
      if (problem_->constraints.range == RangePolicy::train) {
        const auto range = training_range(j);
        add(fmt::format("within the training range {} to {}", range.first, range.second),
            [range](double v) { return v >= range.first && v <= range.second; });
      }
    }
    const Direction direction = limits.direction.value_or(feature.direction);
    if (direction == Direction::increase)
      add("may only increase", [own](double v) { return v >= own; });
    if (direction == Direction::decrease)
      add("may only decrease", [own](double v) { return v <= own; });
    if (!feature.allowed.empty()) {
      add("among the allowed values", [&feature](double v) {
        return std::any_of(feature.allowed.begin(), feature.allowed.end(), [&](const Value& one) {
          if (const double* number = std::get_if<double>(&one)) return *number == v;
          return feature.levels[static_cast<std::size_t>(v)] == std::get<std::string>(one);
        });
      });
    }
    return result;
  }

  [[nodiscard]] bool keeps(const Rule& rule, const Vector& row) const {
    double excess = -rule.bound;
    double size = std::abs(rule.bound);
    for (const auto& [name, coefficient] : rule.terms) {
      const double term = coefficient * row(static_cast<Index>(*schema_->find(name)));
      excess += term;
      size += std::abs(term);
    }
    if (rule.relation == Rule::Relation::at_most) return excess <= 1e-12 * size;
    if (rule.relation == Rule::Relation::at_least) return excess >= -1e-12 * size;
    return std::abs(excess) <= 1e-12 * size;
  }

  [[nodiscard]] bool does(const Move& move, const Vector& row, bool condition) const {
    const std::size_t j = *schema_->find(move.feature);
    const double from = query_(static_cast<Index>(j));
    const double to = row(static_cast<Index>(j));
    const double tiny = 1e-12 * (std::abs(from) + std::abs(move.by));
    switch (move.kind) {
      case Move::Kind::rises:
        return to > from && to - from >= move.by - tiny;
      case Move::Kind::falls:
        return to < from && from - to >= move.by - tiny;
      case Move::Kind::changes:
        return to != from;
      case Move::Kind::stays:
        return to == from;
      case Move::Kind::becomes:
        break;
    }
    const auto& levels = schema_->features[j].levels;
    const auto level =
        static_cast<double>(std::find(levels.begin(), levels.end(), move.level) - levels.begin());
    return to == level && !(condition && from == level);
  }

  const Problem* problem_;
  const Schema* schema_;
  std::size_t index_;
  Vector query_;
  std::optional<int> max_changes_;
};

/// The smallest score that any model of a set gives to a row (raw numbers), from the definitions:
/// of an ellipsoid by a dense inverse, for one logit or against every rival; of the true set by
/// minimising the objective along a path of multipliers.
class PlainScore {
 public:
  PlainScore(const Problem& problem) : problem_(&problem) {
    const Model& model = *problem.model;
    Matrix hessian = model.curvature.hessian;
    if (problem.set.contest) {
      const Index p = model.encoder.columns() + 1;
      const Index classes = hessian.rows() / p;
      for (Index a = 0; a < classes; ++a) {
        for (Index b = 0; b < classes; ++b)
          hessian.block(a * p, b * p, p, p).diagonal().array() +=
              1.0 / static_cast<double>(classes);
      }
    }
    inverse_ = hessian.inverse();
    if (!model.rows) return;
    rows_.resize(model.rows->encoded.rows(), model.rows->encoded.cols() + 1);
    rows_ << model.rows->encoded, Vector::Ones(rows_.rows());
    labels_.resize(rows_.rows());
    for (Index i = 0; i < rows_.rows(); ++i)
      labels_(i) = model.rows->labels[static_cast<std::size_t>(i)];
  }

  /// Without anybody else's opinion: the base model's own score.
  [[nodiscard]] double base(const Vector& row) const { return at(row, 0); }

  [[nodiscard]] double at(const Vector& row, double epsilon) const {
    const Vector x = lifted(row);
    if (problem_->set.contest) {
      double least = std::numeric_limits<double>::infinity();
      for (const Index rival : problem_->set.contest->rivals)
        least = std::min(least, margin(x, rival, epsilon));
      return least;
    }
    if (problem_->set.kind == SetKind::true_set && epsilon > 0) return true_score(x, epsilon);
    const Vector theta = problem_->model->network.head();
    return theta.dot(x) - std::sqrt(2 * epsilon * x.dot(inverse_ * x));
  }

 private:
  [[nodiscard]] Vector lifted(const Vector& row) const {
    const Encoder& encoder = problem_->model->encoder;
    Vector z(encoder.columns());
    encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
    Vector x(z.size() + 1);
    x << z, 1;
    return x;
  }

  [[nodiscard]] double margin(const Vector& x, Index rival, double epsilon) const {
    const Index p = x.size();
    const Vector theta = problem_->model->network.head();
    Vector a = Vector::Zero(theta.size());
    a.segment(problem_->set.contest->winner * p, p) = x;
    a.segment(rival * p, p) -= x;
    return a.dot(theta) - std::sqrt(2 * epsilon * a.dot(inverse_ * a));
  }

  /// L at θ; its gradient and Hessian where asked for.
  [[nodiscard]] double objective(const Vector& theta, Vector* gradient = nullptr,
                                 Matrix* hessian = nullptr) const {
    const double l2 = problem_->model->training.l2;
    const auto n = static_cast<double>(rows_.rows());
    const Eigen::ArrayXd f = (rows_ * theta).array();
    const Eigen::ArrayXd share = 1 / (1 + (-f).exp());
    const double loss = (f.max(0) + (1 + (-f.abs()).exp()).log() - labels_ * f).sum() / n;
    if (gradient != nullptr)
      *gradient = rows_.transpose() * ((share - labels_) / n).matrix() + l2 * theta;
    if (hessian != nullptr) {
      *hessian = rows_.transpose() * (share * (1 - share) / n).matrix().asDiagonal() * rows_;
      hessian->diagonal().array() += l2;
    }
    return loss + l2 / 2 * theta.squaredNorm();
  }

  /// Along θ(τ) = argmin L(θ) + τ·θᵀx to where L has risen by ε; √(L − L̂) is nearly linear in τ.
  [[nodiscard]] double true_score(const Vector& whole, double epsilon) const {
    const double length = whole.norm();
    const Vector x = whole / length;
    const Vector center = problem_->model->network.head();
    const double least = objective(center);
    double tau = std::sqrt(2 * epsilon / x.dot(inverse_ * x));
    Vector theta = center - tau * (inverse_ * x);
    for (int round = 0; round < 60; ++round) {
      for (int step = 0; step < 50; ++step) {
        Vector gradient;
        Matrix hessian;
        const double before = objective(theta, &gradient, &hessian) + tau * theta.dot(x);
        gradient += tau * x;
        const Vector move = hessian.partialPivLu().solve(gradient);
        double share = 1;
        while (share > 1e-6 &&
               objective(theta - share * move) + tau * (theta - share * move).dot(x) >
                   before + 1e-15)
          share /= 2;
        theta -= share * move;
        if (gradient.dot(move) < 1e-24) break;
      }
      const double risen = std::max(objective(theta) - least, 1e-300);
      const double factor = std::sqrt(epsilon / risen);
      if (std::abs(factor - 1) < 1e-9) break;
      tau *= factor;
    }
    return theta.dot(whole);
  }

  Matrix rows_;  // with a column of ones
  Eigen::ArrayXd labels_;
  const Problem* problem_;
  Matrix inverse_;
};

/// The largest score at ε over the rows that are tried: all combinations of candidates, and from
/// the best ones along every number. An upper bound of nothing, but of what is finite the maximum.
struct Effort {
  std::size_t rows = 20000;  // combinations
  std::size_t starts = 4;    // from which numbers are moved
  double finest = 1e-6;      // step
};
struct PlainBest {
  double score = -std::numeric_limits<double>::infinity();
  Vector row = {};
};

inline PlainBest best_plain_row(const PlainRows& rows, const PlainScore& score, double epsilon,
                                const std::set<std::string>& kept, const Effort& effort) {
  const Index count = rows.query().size();
  std::vector<std::vector<double>> values;
  std::size_t all = 1;
  for (Index j = 0; j < count; ++j) {
    values.push_back(rows.candidates(static_cast<std::size_t>(j), kept));
    all *= values.back().size();
  }
  // Too many: every so manieth, so that all features take part.
  const std::size_t stride = std::max<std::size_t>(1, all / effort.rows) | 1U;
  std::vector<PlainBest> best;
  const auto offer = [&](const Vector& row) {
    if (!rows.allows(row, kept)) return false;
    const double value = score.at(row, epsilon);
    if (best.size() == effort.starts && !(value > best.back().score)) return false;
    best.push_back({value, row});
    std::stable_sort(best.begin(), best.end(),
                     [](const PlainBest& a, const PlainBest& b) { return a.score > b.score; });
    if (best.size() > effort.starts) best.pop_back();
    return true;
  };
  for (std::size_t place = 0; place < all; place += stride) {
    Vector row(count);
    std::size_t rest = place;
    for (Index j = 0; j < count; ++j) {
      const auto& some = values[static_cast<std::size_t>(j)];
      row(j) = some[rest % some.size()];
      rest /= some.size();
    }
    (void)offer(row);
  }
  const std::vector<PlainBest> starts = best;
  for (const PlainBest& start : starts) {
    Vector row = start.row;
    double value = start.score;
    for (double step = 1; step > effort.finest; step /= 2) {
      for (int round = 0; round < 3; ++round) {
        for (Index j = 0; j < count; ++j) {
          if (!rows.is_continuous(static_cast<std::size_t>(j), kept)) continue;
          for (const double side : {-1.0, 1.0}) {
            Vector next = row;
            next(j) += side * step;
            if (!rows.allows(next, kept)) continue;
            const double there = score.at(next, epsilon);
            if (!(there > value)) continue;
            value = there;
            row = next;
          }
        }
      }
    }
    (void)offer(row);
  }
  return best.empty() ? PlainBest{} : best.front();
}

}  // namespace ellice::problem_zoo
