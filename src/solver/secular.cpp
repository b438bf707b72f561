#include "solver/secular.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "core/infinity.hpp"
#include "solver/secular_group.hpp"
#include "solver/tolerances.hpp"

namespace ellice {

namespace {

using lanes::any;
using lanes::broadcast;
using lanes::Lanes;
using lanes::load;
using lanes::Mask;
using lanes::select;
using lanes::store;

constexpr std::align_val_t alignment{sizeof(lanes::Doubles)};

// The root of φ(z) = Σ a²/(z+π) = 1 for φ(0) > 1. φ is convex and decreasing and 1/φ concave, so
// Newton's method on 1/φ approaches from the left.
double pole_of(VectorArg a, VectorArg pi) {
  double z = std::max(0.0, (a.array().square() - pi.array()).maxCoeff());
  for (int i = 0; i < 100; ++i) {
    const double phi = (a.array().square() / (z + pi.array())).sum();
    const double slope = (a.array() / (z + pi.array())).square().sum();
    const double step = (phi - 1) * phi / slope;
    z += step;
    if (!(step > 1e-15 * z)) break;
  }
  return z;
}

}  // namespace

AlignedArray::AlignedArray(std::size_t size)
    : data_(static_cast<double*>(::operator new(size * sizeof(double), alignment))) {
  std::fill_n(data_.get(), size, 0.0);
}

void AlignedArray::Release::operator()(double* data) const {
  ::operator delete(data, alignment);
}

SecularSolver::SecularSolver(VectorArg a, VectorArg inverse_sigma, VectorArg offset, double epsilon,
                             double margin)
    : coefficients_(static_cast<std::size_t>(a.size())),
      epsilon_(epsilon),
      margin_(margin),
      a_squared_(a.squaredNorm()) {
  const Vector pi = 2 * epsilon * inverse_sigma;
  rho_squared_ = epsilon > 0 ? (a.array().square() / pi.array()).sum() : infinity;
  Vector w0 = Vector::Ones(a.size());
  if (epsilon > 0 && rho_squared_ > 1) {
    const double z = pole_of(a, pi);
    nu0_ = 1 / z;
    w0 = z / (z + pi.array());
    start_t_ = (a.array() * w0.array()).square().sum();
    start_a2_ = nu0_ * start_t_;  // = 1 − Σ π(ν0·a·w0)², without the cancellation
    const Vector weights = a.cwiseAbs2().cwiseProduct(pi).cwiseProduct(w0.cwiseAbs2());
    start_w3_ = weights.dot(w0);
    start_w4_ = weights.dot(w0.cwiseAbs2());
  }
  for (Index i = 0; i < a.size(); ++i) {
    coefficients_[static_cast<std::size_t>(i)] = {.a = a[i],
                                                  .pi = pi[i],
                                                  .w0 = w0[i],
                                                  .a2w0 = a[i] * a[i] * w0[i],
                                                  .aw0pi = a[i] * w0[i] * pi[i],
                                                  .aw02pi = a[i] * w0[i] * w0[i] * pi[i],
                                                  .offset = offset[i]};
  }
}

std::size_t SecularSolver::scratch_size() const {
  return coefficients_.size() * width;
}

bool SecularSolver::solve(double* e, Index stride, const double* c, const double* kappa_squared,
                          int live, double* scratch, ConeSummary* summaries) const {
  Group group = start(e, stride, c, kappa_squared, live);
  const Lanes check = group.c0 - group.c0;
  if (any(group.moves)) {
    if (epsilon_ == 0) {
      solve_plain(group);
    } else if (rho_squared_ > 1) {
      solve_secular(e, stride, scratch, group);
    } else {
      solve_compact(e, stride, group);
    }
  }
  if (!(epsilon_ > 0 && rho_squared_ > 1 && any(group.moves))) invert(group, scratch);
  finish(e, stride, scratch, group);
  if (any(group.infeasible)) move_to_best(e, stride, scratch, group);

  // Lanes at rest have distance and bound zero; infeasible ones keep the distance of their best
  // point.
  const Lanes distance = lanes::sqrt(group.distance_squared);
  const Lanes gap = distance - group.lower_bound;
  const Mask exact = (gap <= gap_alarm * distance + group.rounding) & (group.margin >= 0);
  const Lanes relative_gap = select(group.moves & (distance > 0), gap / distance, Lanes{});
  const Lanes bound = group.lower_bound * group.lower_bound;
  for (int l = 0; l < live; ++l) {
    const ConeStatus status = group.infeasible.get(l) ? ConeStatus::infeasible
                              : !group.moves.get(l)   ? ConeStatus::already_feasible
                              : exact.get(l)          ? ConeStatus::optimal
                                                      : ConeStatus::inexact;
    summaries[l] = {.status = status,
                    .iterations = static_cast<int>(group.iterations.get(l)),
                    .distance_squared = group.distance_squared.get(l),
                    .lower_bound_squared = group.infeasible.get(l) ? infinity : bound.get(l),
                    .relative_gap = relative_gap.get(l),
                    .multiplier = group.multiplier.get(l),
                    .margin = group.margin.get(l),
                    .kkt_residual = group.residual.get(l),
                    .nudge = group.nudge.get(l)};
  }
  return !any(~((check <= 0) & (check >= 0)));
}

SecularSolver::Group SecularSolver::start(double* e, Index stride, const double* c,
                                          const double* kappa_squared, int live) const {
  Group group;
  group.live = live;
  group.c = load(c);
  group.kappa_squared = load(kappa_squared);
  Lanes c0 = group.c;
  Lanes q0 = group.kappa_squared;
  Lanes n0 = group.c;
  Lanes r0 = {};
  Lanes v0 = {};
  Lanes a0 = group.kappa_squared;
  Lanes p1 = {};
  Lanes p2 = {};
  for (const Coefficients& k : coefficients_) {
    const Lanes e0 = load(e) + k.offset;
    store(e, e0);
    const Lanes pe = k.pi * e0;
    const Lanes we = k.w0 * e0;
    const Lanes pwe = k.w0 * pe;
    c0 += k.a * e0;
    q0 += pe * e0;
    n0 += k.a * we;
    r0 += k.aw0pi * we;
    v0 += k.aw02pi * we;
    a0 += pwe * we;
    p1 += k.a * pe;
    p2 += pe * pe;
    e += stride;
  }
  group.c0 = c0;
  group.q0 = q0;
  group.n0 = n0;
  group.r0 = r0;
  group.v0 = v0;
  group.a0 = a0;
  group.p1 = p1;
  group.p2 = p2;
  group.moves = ~((c0 >= 0) & (c0 * c0 >= q0));
  for (int l = live; l < width; ++l) group.moves.clear(l);

  group.infeasible = {};
  if (rho_squared_ < 1) {
    const double root = std::sqrt(1 - rho_squared_);
    group.infeasible = group.moves & (group.c < root * lanes::sqrt(group.kappa_squared));
  } else if (rho_squared_ == 1) {
    group.infeasible = group.moves & (group.c <= 0);
  } else if (epsilon_ == 0 && a_squared_ == 0) {
    group.infeasible = group.moves;
  }
  group.moves = group.moves & ~group.infeasible;
  return group;
}

// Computes e from (ν, s), its lower bound from the supporting half-space, and the nudge into the
// set.
void SecularSolver::finish(double* e, Index stride, double* scratch, Group& group) const {
  const Lanes zero = {};
  const Lanes nu = group.nu;
  const Lanes s = group.s;
  Lanes ae = zero;
  Lanes scale = lanes::abs(group.c);
  Lanes q = group.kappa_squared;
  double* move_at = e;
  double* point_at = scratch;
  for (const Coefficients& k : coefficients_) {
    const Lanes e0 = load(move_at);
    const Lanes move = nu * ((s * k.a - k.pi * e0) * load(point_at));
    const Lanes point = e0 + move;
    const Lanes term = k.a * point;
    ae += term;
    scale += lanes::abs(term);
    q += k.pi * (point * point);
    store(move_at, move);
    store(point_at, point);
    move_at += stride;
    point_at += width;
  }
  Lanes root = lanes::sqrt(q);
  Lanes margin = ae + group.c - root;
  scale += root;
  const Lanes wanted = margin_ * scale;
  const Lanes multiplier = nu * s;
  group.multiplier = multiplier;
  group.distance_squared = zero;
  group.lower_bound = zero;
  group.residual = zero;
  group.nudge = zero;
  group.rounding = zero;

  // One round does it, unless the data are so ill-conditioned that the curvature along the step
  // matters.
  Mask open = group.moves;
  for (int round = 0; round < 4 && any(open); ++round) {
    const Lanes inverse_root = select(root > 0, 1 / root, zero);
    Lanes nn = zero;
    Lanes nd = zero;
    Lanes dd = zero;
    Lanes rr = zero;
    move_at = e;
    point_at = scratch;
    for (const Coefficients& k : coefficients_) {
      const Lanes move = load(move_at);
      const Lanes normal = k.a - k.pi * load(point_at) * inverse_root;
      const Lanes defect = move - multiplier * normal;
      nn += normal * normal;
      nd += normal * move;
      dd += move * move;
      rr += defect * defect;
      move_at += stride;
      point_at += width;
    }
    const Lanes inverse_nn = 1 / nn;
    const Lanes length = lanes::sqrt(nn);
    const Lanes inverse_length = length * inverse_nn;
    if (round == 0) {
      group.lower_bound = select(open, lanes::max(zero, (nd - margin) * inverse_length), zero);
      group.residual =
          select(open, lanes::max(lanes::sqrt(rr / dd), lanes::abs(margin) / scale), zero);
      group.rounding = 10 * wanted * inverse_length;
    }
    const Lanes step = select(open, (wanted - margin) * inverse_nn, zero);
    group.nudge += lanes::abs(step) * length;
    ae = zero;
    q = group.kappa_squared;
    dd = zero;
    move_at = e;
    point_at = scratch;
    for (const Coefficients& k : coefficients_) {
      const Lanes before = load(point_at);
      const Lanes change = step * (k.a - k.pi * before * inverse_root);
      const Lanes point = before + change;
      const Lanes move = load(move_at) + change;
      ae += k.a * point;
      q += k.pi * (point * point);
      dd += move * move;
      store(move_at, move);
      store(point_at, point);
      move_at += stride;
      point_at += width;
    }
    root = lanes::sqrt(q);
    margin = ae + group.c - root;
    group.distance_squared = dd;
    open = open & (lanes::abs(margin - wanted) > 0.5 * wanted);
  }
  group.margin = margin;
}

// The maximiser of aᵀe + c − √(Σπe² + κ²) is e = λ·a/π with λ = κ/√(1−ρ²) (theory.md, Result 3).
// finish() has left e0 of lanes that do not move in `scratch`.
void SecularSolver::move_to_best(double* e, Index stride, const double* scratch,
                                 Group& group) const {
  for (int l = 0; l < group.live; ++l) {
    if (!group.infeasible.get(l)) continue;
    const double kappa = std::sqrt(group.kappa_squared.get(l));
    if (epsilon_ == 0 || rho_squared_ == 1) {
      group.margin.set(l, group.c.get(l));
      continue;
    }
    const double rest = std::sqrt(1 - rho_squared_);
    group.margin.set(l, group.c.get(l) - kappa * rest);
    double distance_squared = 0;
    double* move_at = e + l;
    const double* e0_at = scratch + l;
    for (const Coefficients& k : coefficients_) {
      *move_at = kappa / rest * k.a / k.pi - *e0_at;
      distance_squared += *move_at * *move_at;
      move_at += stride;
      e0_at += width;
    }
    group.distance_squared.set(l, distance_squared);
  }
}

}  // namespace ellice
