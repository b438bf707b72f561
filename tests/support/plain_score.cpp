#include "support/plain_score.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

namespace ellice::problem_zoo {

PlainScore::PlainScore(const Problem& problem) : problem_(&problem) {
  const Model& model = *problem.model;
  Matrix hessian = model.curvature.hessian;
  if (problem.set.contest) {
    const Index p = model.encoder.columns() + 1;
    const Index classes = hessian.rows() / p;
    for (Index a = 0; a < classes; ++a) {
      for (Index b = 0; b < classes; ++b)
        hessian.block(a * p, b * p, p, p).diagonal().array() += 1.0 / static_cast<double>(classes);
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

double PlainScore::at(const Vector& row, double epsilon) const {
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

Vector PlainScore::lifted(const Vector& row) const {
  const Encoder& encoder = problem_->model->encoder;
  Vector z(encoder.columns());
  encoder.encode({row.data(), static_cast<std::size_t>(row.size())}, z);
  Vector x(z.size() + 1);
  x << z, 1;
  return x;
}

double PlainScore::margin(const Vector& x, Index rival, double epsilon) const {
  const Index p = x.size();
  const Vector theta = problem_->model->network.head();
  Vector a = Vector::Zero(theta.size());
  a.segment(problem_->set.contest->winner * p, p) = x;
  a.segment(rival * p, p) -= x;
  return a.dot(theta) - std::sqrt(2 * epsilon * a.dot(inverse_ * a));
}

double PlainScore::objective(const Vector& theta, Vector* gradient, Matrix* hessian) const {
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

double PlainScore::true_score(const Vector& whole, double epsilon) const {
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
             objective(theta - share * move) + tau * (theta - share * move).dot(x) > before + 1e-15)
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

}  // namespace ellice::problem_zoo
