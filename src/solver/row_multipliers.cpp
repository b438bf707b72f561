#include "solver/row_multipliers.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

// Sides that have not settled by then go round.
constexpr int most_turns = 20;
constexpr int most_descents = 300;
constexpr double standstill = 1e-12;
// What no free coordinate moves cannot be served.
constexpr double least_curvature = 1e-300;
// Of the diagonal, for hyperplanes that depend on each other.
constexpr double ridge = 1e-14;

}  // namespace

void RowMultipliers::solve(const Matrix& products, const Vector& constants,
                           const std::vector<KinkRow>& kinks, Vector& multipliers) {
  sides_.resize(static_cast<std::size_t>(constants.size()), Side::off);
  for (int pass = 0; pass < most_turns; ++pass) {
    solve_for_sides(products, constants, kinks, multipliers);
    if (!change_sides(kinks, multipliers)) return;
  }
  descend(products, constants, kinks, multipliers);
}

void RowMultipliers::descend(const Matrix& products, const Vector& constants,
                             const std::vector<KinkRow>& kinks, Vector& multipliers) {
  const Index rows = constants.size() - static_cast<Index>(kinks.size());
  multipliers.setZero();
  slack_ = constants;
  for (int sweep = 0; sweep < most_descents; ++sweep) {
    double change = 0;
    for (Index row = 0; row < rows; ++row) {
      // With its kinks, in the proportion in which they count, so that these hold nothing up.
      right_.setZero(constants.size());
      right_[row] = 1;
      for (std::size_t j = 0; j < kinks.size(); ++j) {
        const Index k = rows + static_cast<Index>(j);
        if (kinks[j].owner != row) continue;
        right_[k] = multipliers[row] > 0 ? multipliers[k] / multipliers[row]
                    : slack_[k] < 0      ? kinks[j].weight
                                         : 0;
      }
      along_.noalias() = products * right_;
      const double curvature = right_.dot(along_);
      if (!(curvature > least_curvature)) continue;
      const double length = std::max(-right_.dot(slack_) / curvature, -multipliers[row]);
      multipliers += length * right_;
      slack_ += length * along_;
      change = std::max(change, std::abs(length) * right_.lpNorm<Eigen::Infinity>());
    }
    for (std::size_t j = 0; j < kinks.size(); ++j) {
      // By itself; the products of one take no more than its column.
      const Index k = rows + static_cast<Index>(j);
      if (!(products(k, k) > least_curvature)) continue;
      const double most = kinks[j].weight * multipliers[kinks[j].owner] - multipliers[k];
      const double length =
          std::clamp(-slack_[k] / products(k, k), -multipliers[k], std::max(-multipliers[k], most));
      multipliers[k] += length;
      slack_ += length * products.col(k);
      change = std::max(change, std::abs(length));
    }
    if (change <= standstill * (1 + multipliers.lpNorm<Eigen::Infinity>())) break;
  }
  multipliers = multipliers.cwiseMax(0);
}

void RowMultipliers::solve_for_sides(const Matrix& products, const Vector& constants,
                                     const std::vector<KinkRow>& kinks, Vector& multipliers) {
  const Index count = constants.size();
  const Index rows = count - static_cast<Index>(kinks.size());
  on_.clear();
  for (Index k = 0; k < count; ++k) {
    if (side(k) == Side::on && products(k, k) > least_curvature) on_.push_back(k);
  }
  // Beyond its kinks a row is another one: it and weight times each of them.
  const auto for_each_beyond = [&](Index row, auto&& add) {
    for (std::size_t j = 0; row < rows && j < kinks.size(); ++j) {
      const Index k = rows + static_cast<Index>(j);
      if (kinks[j].owner == row && side(k) == Side::beyond) add(k, kinks[j].weight);
    }
  };
  const auto size = static_cast<Index>(on_.size());
  combined_.resize(count, size);
  system_.resize(size, size);
  right_.resize(size);
  for (Index a = 0; a < size; ++a) {
    const Index row = on_[static_cast<std::size_t>(a)];
    combined_.col(a) = products.col(row);
    right_[a] = -constants[row];
    for_each_beyond(row, [&](Index k, double weight) {
      combined_.col(a) += weight * products.col(k);
      right_[a] -= weight * constants[k];
    });
  }
  for (Index a = 0; a < size; ++a) {
    const Index row = on_[static_cast<std::size_t>(a)];
    system_.row(a) = combined_.row(row);
    for_each_beyond(row,
                    [&](Index k, double weight) { system_.row(a) += weight * combined_.row(k); });
    system_(a, a) *= 1 + ridge;
  }
  const Eigen::LDLT<Eigen::Ref<Matrix>> in_place(system_);
  in_place.solveInPlace(right_);
  multipliers.setZero(count);
  for (Index a = 0; a < size; ++a) {
    const Index row = on_[static_cast<std::size_t>(a)];
    multipliers[row] = right_[a];
    for_each_beyond(row, [&](Index k, double weight) { multipliers[k] = weight * right_[a]; });
  }
  slack_ = constants;
  slack_.noalias() += products * multipliers;
}

bool RowMultipliers::change_sides(const std::vector<KinkRow>& kinks, const Vector& multipliers) {
  const Index rows = slack_.size() - static_cast<Index>(kinks.size());
  bool any = false;
  const auto turn = [&](Index k, Side to) {
    any = any || side(k) != to;
    side(k) = to;
  };
  for (Index k = 0; k < rows; ++k) {
    double value = slack_[k];
    for (std::size_t j = 0; j < kinks.size(); ++j) {
      if (kinks[j].owner == k)
        value -= kinks[j].weight * std::max(0.0, -slack_[rows + static_cast<Index>(j)]);
    }
    if (side(k) == Side::on ? multipliers[k] < 0 : value < 0)
      turn(k, side(k) == Side::on ? Side::off : Side::on);
  }
  for (std::size_t j = 0; j < kinks.size(); ++j) {
    const Index k = rows + static_cast<Index>(j);
    if (side(kinks[j].owner) == Side::off) {
      turn(k, Side::off);
    } else if (side(k) == Side::on) {
      if (multipliers[k] < 0) turn(k, Side::off);
      if (multipliers[k] > kinks[j].weight * multipliers[kinks[j].owner]) turn(k, Side::beyond);
    } else if (side(k) == Side::off ? slack_[k] < 0 : slack_[k] > 0) {
      turn(k, Side::on);
    }
  }
  return any;
}

}  // namespace ellice
