#include "recourse/hull_program.hpp"

#include <algorithm>
#include <cmath>

#include "ellice/core/error.hpp"

namespace ellice {

HullProgram::HullProgram(RowMatrixArg corners, VectorArg query, const Box* box)
    : corners_(corners) {
  MixedInteger::Row total{.lower = 1, .upper = 1};
  for (Index i = 0; i < corners_.rows(); ++i)
    total.terms.push_back({program_.add_variable({.upper = 1}), 1});
  program_.add_row(total);
  for (Index j = 0; j < corners_.cols(); ++j) {
    // e ≥ |x − query|; with Σλ = 1 the query is part of the coefficients.
    const Index e = program_.add_variable({.cost = 1});
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

HullProgram::Affine HullProgram::affine(const Eigen::Ref<const Eigen::RowVectorXd>& weights,
                                        double bias) const {
  const Vector values = (corners_ * weights.transpose()).array() + bias;
  Affine result{.least = values.minCoeff(), .most = values.maxCoeff()};
  for (Index i = 0; i < values.size(); ++i) result.terms.push_back({i, values[i]});
  return result;
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
  std::vector<Affine> units;  // the present layer's activations, as expressions with bounds
  const std::vector<Layer>& layers = network.layers;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    std::vector<Affine> next;
    for (Index k = 0; k < layer.bias.size(); ++k) {
      Affine z;
      if (l == 0) {
        z = affine(layer.weights.row(k), layer.bias[k]);
      } else {
        // The bias times Σλ.
        for (Index i = 0; i < corners_.rows(); ++i) z.terms.push_back({i, layer.bias[k]});
        z.least = z.most = layer.bias[k];
        for (std::size_t j = 0; j < units.size(); ++j) {
          const double weight = layer.weights(k, static_cast<Index>(j));
          for (const MixedInteger::Term& term : units[j].terms)
            z.terms.push_back({term.variable, weight * term.factor});
          z.least += std::min(weight * units[j].least, weight * units[j].most);
          z.most += std::max(weight * units[j].least, weight * units[j].most);
        }
      }
      if (l + 1 == layers.size()) {
        program_.add_row({.terms = z.terms, .lower = margin});
        return;
      }
      if (z.most <= 0) {
        next.push_back({});
      } else if (z.least >= 0) {
        next.push_back(z);
      } else {
        // Both sides: what the unit feeds may want it small or large.
        const Index a = add_at_most_relu(z);
        MixedInteger::Row row{.terms = z.terms, .upper = 0};
        row.terms.push_back({a, -1});
        program_.add_row(row);
        next.push_back({.terms = {{a, 1}}, .least = 0, .most = z.most});
      }
    }
    units = std::move(next);
  }
}

void HullProgram::require_robust(const Network& network, double delta, double margin) {
  const Layer& first = network.layers.front();
  const Layer& head = network.layers.back();
  require(network.layers.size() <= 2, "one program is exact for at most one hidden layer");
  const Index n = norm();
  if (network.layers.size() == 1) {
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
