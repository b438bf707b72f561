#include "certificate/plain_corners.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace ellice {

namespace {

using LongVector = PlainObjective::LongVector;
using LongMatrix = PlainObjective::LongMatrix;

constexpr int most_sweeps = 400;
constexpr int most_patterns = 20;

/// One coordinate after the other, until a sweep changes next to nothing.
void sweep(const LongMatrix& q, const LongVector& linear, const std::vector<long double>& corners,
           LongVector& w) {
  LongVector slopes = q * w + linear;
  for (int round = 0; round < most_sweeps; ++round) {
    long double changed = 0;
    for (Index j = 0; j < w.size(); ++j) {
      const long double corner = corners[static_cast<std::size_t>(j)];
      const long double aim = q(j, j) * w(j) - slopes(j);
      const long double shrunk = aim > corner ? aim - corner : aim < -corner ? aim + corner : 0.0L;
      const long double next = shrunk / q(j, j);
      if (next == w(j)) continue;
      changed = std::max(changed, std::abs(next - w(j)));
      slopes += (next - w(j)) * q.col(j);
      w(j) = next;
    }
    if (changed <= 1e-9L * (1 + w.cwiseAbs().maxCoeff())) return;
  }
}

/// To the minimiser among the signs of w; a parameter that would change its sign on the way stays
/// at 0 from there on.
void settle(const LongMatrix& q, const LongVector& linear, const std::vector<long double>& corners,
            LongVector& w) {
  for (Index round = 0; round <= w.size(); ++round) {
    std::vector<Index> free;
    for (Index j = 0; j < w.size(); ++j) {
      if (w(j) != 0 || corners[static_cast<std::size_t>(j)] == 0) free.push_back(j);
    }
    if (free.empty()) return;
    LongVector slopes = linear(free);
    for (std::size_t k = 0; k < free.size(); ++k) {
      const long double corner = corners[static_cast<std::size_t>(free[k])];
      slopes(static_cast<Index>(k)) += w(free[k]) > 0 ? corner : w(free[k]) < 0 ? -corner : 0.0L;
    }
    const LongVector found = Eigen::LDLT<LongMatrix>(LongMatrix(q(free, free))).solve(-slopes);
    if (!found.allFinite()) return;
    long double share = 1;
    Index first = -1;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const long double here = w(free[k]);
      const long double there = found(static_cast<Index>(k));
      const bool has_corner = corners[static_cast<std::size_t>(free[k])] > 0;
      if (!has_corner || here * there > 0 || !(here / (here - there) < share)) continue;
      share = here / (here - there);
      first = free[k];
    }
    const LongVector before = w(free);
    w(free) = before + share * (found - before);
    if (first < 0) return;
    w(first) = 0;
  }
}

}  // namespace

LongVector lowest_of_picture(const CorneredPicture& picture,
                             const std::vector<long double>& corners) {
  const Index last = picture.at.size() - 1;
  const LongVector c = picture.score.head(last) / picture.score(last);
  LongMatrix h = picture.curvature;
  h.diagonal().array() += held_by_corners * h.diagonal().maxCoeff();
  const LongVector cross = h.col(last).head(last);
  const LongMatrix q = h.topLeftCorner(last, last) - cross * c.transpose() - c * cross.transpose() +
                       h(last, last) * c * c.transpose();
  const LongVector slopes = picture.gradient.head(last) - picture.gradient(last) * c;
  LongVector w = picture.at.head(last);
  const LongVector linear = slopes - q * w;
  for (int pattern = 0; pattern < most_patterns; ++pattern) {
    const LongVector before = w;
    sweep(q, linear, corners, w);
    settle(q, linear, corners, w);
    if ((w - before).cwiseAbs().maxCoeff() <= 1e-16L * w.cwiseAbs().maxCoeff()) break;
  }
  LongVector result = picture.at;
  result(last) -= c.dot(w - picture.at.head(last));
  result.head(last) = w;
  return result;
}

long double expected_gain(const LongVector& gradient, const LongVector& from, const LongVector& to,
                          const std::vector<long double>& corners) {
  long double result = -gradient.dot(to - from);
  long double size = gradient.cwiseProduct(to - from).cwiseAbs().sum();
  for (std::size_t j = 0; j < corners.size(); ++j) {
    const auto at = static_cast<Index>(j);
    result += corners[j] * (std::abs(from(at)) - std::abs(to(at)));
    size += corners[j] * (std::abs(from(at)) + std::abs(to(at)));
  }
  return result > 1e-17L * size ? result : 0;
}

}  // namespace ellice
