#include "sets/boundary_accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "ellice/core/error.hpp"
#include "sets/sampling.hpp"

namespace ellice {

namespace {

// Fixed, so that `accuracy:5%` is a number of the model and not of the run.
constexpr std::uint64_t direction_seed = 31;

}  // namespace

BoundaryModels::BoundaryModels(const Model& model, const StoredRows& rows, double threshold,
                               Index count)
    : labels_(rows.labels), threshold_(threshold) {
  require_input(rows.encoded.cols() == model.encoder.columns(),
                "the rows have {} columns, the model has {}", rows.encoded.cols(),
                model.encoder.columns());
  require_input(rows.encoded.rows() > 0, "there are no rows to measure accuracy on");
  const RowMatrix features = model.network.row_features(rows.encoded);
  features_.resize(features.rows(), features.cols() + 1);
  features_ << features, Vector::Ones(features.rows());
  // With ε = 1/2 a boundary model lies at r = 1.
  const Ellipsoid set = last_layer_set(model, 0.5);
  directions_ = sample_boundary(set, count, Random(direction_seed));
  directions_.rowwise() -= set.center().transpose();
  logits_.noalias() = features_ * set.center();
}

BoundaryAccuracy BoundaryModels::accuracy(double epsilon, const Execution& execution) const {
  const double radius = std::sqrt(2 * epsilon);
  const Index rows = features_.rows();
  const auto share_right = [&](const Vector& logits) {
    Index right = 0;
    for (Index i = 0; i < rows; ++i) {
      right += (logits(i) >= threshold_) == (labels_[static_cast<std::size_t>(i)] == 1) ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(rows);
  };
  Vector shares(directions_.rows());
  parallel_for("boundary models", static_cast<std::size_t>(shares.size()), execution,
               [&](std::size_t k) {
                 const auto ray = static_cast<Index>(k);
                 Vector logits = logits_;
                 logits.noalias() += radius * (features_ * directions_.row(ray).transpose());
                 shares(ray) = share_right(logits);
               });
  return {.base = share_right(logits_), .mean = shares.mean(), .worst = shares.minCoeff()};
}

double BoundaryModels::first_loss(Index ray, Index allowed) const {
  struct Event {
    double radius;
    int lost;  // +1 where a row goes wrong, −1 where it comes right
  };
  std::vector<Event> events;
  const Vector slopes = features_ * directions_.row(ray).transpose();
  for (Index i = 0; i < slopes.size(); ++i) {
    const double gap = threshold_ - logits_(i);  // ≤ 0 for a yes
    const bool crosses = gap > 0 ? slopes(i) > 0 : slopes(i) < 0;
    if (!crosses) continue;
    const bool right = (gap <= 0) == (labels_[static_cast<std::size_t>(i)] == 1);
    events.push_back({.radius = gap / slopes(i), .lost = right ? 1 : -1});
  }
  // Gains first, so that rows which change sides at the same model are counted together.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.radius != b.radius ? a.radius < b.radius : a.lost < b.lost;
  });
  Index lost = 0;
  for (const Event& event : events) {
    lost += event.lost;
    if (lost > allowed) return event.radius;
  }
  return std::numeric_limits<double>::infinity();
}

double BoundaryModels::largest_epsilon(double loss, const Execution& execution) const {
  require(loss >= 0 && loss < 1, "a loss of accuracy of {} must be in [0, 1)", loss);
  // A whole number of rows; what rounding makes of 0.05·1000 must not cost one.
  const auto allowed =
      static_cast<Index>(std::floor(loss * static_cast<double>(features_.rows()) + 1e-9));
  Vector radii(directions_.rows());
  parallel_for("boundary models", static_cast<std::size_t>(radii.size()), execution,
               [&](std::size_t k) {
                 radii(static_cast<Index>(k)) = first_loss(static_cast<Index>(k), allowed);
               });
  // Just inside, where rounding cannot put the row on the other side.
  const double radius = radii.minCoeff() * (1 - 1e-9);
  return radius * radius / 2;
}

}  // namespace ellice
