#include "solver/secular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "solver/lanes.hpp"

namespace ellice {

namespace {

using lanes::any;
using lanes::broadcast;
using lanes::Lanes;
using lanes::load;
using lanes::Mask;
using lanes::select;
using lanes::store;

static_assert(SecularSolver::width == lanes::width);
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::align_val_t alignment{sizeof(lanes::Doubles)};
constexpr int max_iterations = 60;
// Newton's error squares with each step: a relative step of 1e-5 leaves an error of about 1e-10,
// whose effect on the distance is its square, and finish() takes g to t by steps along the normal.
constexpr double step_tolerance = 1e-5;
constexpr double gap_alarm = 1e-6;

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

struct SecularSolver::Group {
  int live = 0;
  Lanes c, kappa_squared;
  Lanes c0, q0;              // aᵀe0 + c and Σπe0² + κ²
  Lanes n0, r0, a0, p1, p2;  // sums of the starting point
  Mask moves;                // lanes for which a secular equation has to be solved
  Mask infeasible;           // lanes without a solution
  Lanes nu = {}, s = {};     // the root: e = (e0 + νs·a)/(1 + νπ)
  Lanes iterations = {};
  Lanes margin, multiplier, distance_squared, lower_bound, residual, nudge, rounding;
};

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
  }
  for (Index i = 0; i < a.size(); ++i) {
    coefficients_[static_cast<std::size_t>(i)] = {.a = a[i],
                                                  .pi = pi[i],
                                                  .w0 = w0[i],
                                                  .a2w0 = a[i] * a[i] * w0[i],
                                                  .aw0pi = a[i] * w0[i] * pi[i],
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
    a0 += pwe * we;
    p1 += k.a * pe;
    p2 += pe * pe;
    e += stride;
  }
  group.c0 = c0;
  group.q0 = q0;
  group.n0 = n0;
  group.r0 = r0;
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

// ε = 0: the nearest point of the half-space aᵀe + c ≥ 0. With π = 0 the formula of finish() is
// e = e0 + νs·a.
void SecularSolver::solve_plain(Group& group) const {
  group.nu = select(group.moves, broadcast(1), Lanes{});
  group.s = select(group.moves, -group.c0 / a_squared_, Lanes{});
}

// o = 1/(1 + νπ) into `scratch`. Two reciprocals share a division, the slowest operation of all.
void SecularSolver::invert(const Group& group, double* scratch) const {
  const Lanes nu = group.nu;
  const std::size_t size = coefficients_.size();
  std::size_t i = 0;
  for (; i + 1 < size; i += 2) {
    const Lanes first = 1 + nu * coefficients_[i].pi;
    const Lanes second = 1 + nu * coefficients_[i + 1].pi;
    const Lanes both = 1 / (first * second);
    store(scratch + i * width, both * second);
    store(scratch + (i + 1) * width, both * first);
  }
  if (i < size) store(scratch + i * width, 1 / (1 + nu * coefficients_[i].pi));
}

// theory.md, Result 4: one equation f(y) = √q − s = 0 in y > 0, with ν = (ν0·y + N0⁻)/(y +
// N0⁺/ν0).
void SecularSolver::solve_secular(const double* e, Index stride, double* scratch,
                                  Group& group) const {
  const Lanes zero = {};
  const Lanes one = broadcast(1);
  const Lanes n0 = group.n0;
  const Lanes low = lanes::max(zero, n0 / nu0_);
  const Lanes negative = lanes::max(zero, -n0);

  // The root of the hard case N0 = 0, which is near the root whenever N0 is small.
  const Lanes a1 = nu0_ * group.r0;
  const Lanes sigma = (a1 + lanes::sqrt(a1 * a1 + start_a2_ * group.a0)) / start_a2_;
  Lanes y = sigma * start_t_ - group.r0 - low;
  y = select(y > 0, y, 0.5 * low + 1e-3 * start_t_ * sigma);
  // Where the query is almost feasible, ν is about the step of one Newton iteration on q − s² from
  // ν = 0.
  const Lanes c0 = group.c0;
  const Lanes slope = 2 * (group.p2 - 2 * c0 * group.p1 + c0 * c0 * a_squared_);
  const Lanes nu1 = (group.q0 - c0 * c0) / slope;
  const Mask near = (n0 > 0) & (c0 > 0) & (group.q0 < 2 * c0 * c0) & (nu1 > 0) & (nu1 < 0.5 * nu0_);
  y = select(near, low * nu1 / (nu0_ - nu1), y);
  y = select(group.moves & (y > 0), y, one);

  Lanes y_low = zero;
  Lanes y_high = broadcast(infinity);
  Mask open = group.moves;
  Lanes nu = zero;
  Lanes s = zero;
  for (int iteration = 0;; ++iteration) {
    const Lanes kh = y + low;
    const Lanes inverse_kh = 1 / kh;
    nu = (nu0_ * y + negative) * inverse_kh;
    Lanes t = zero;
    Lanes r = zero;
    const double* from = e;
    const double* o_at = scratch;
    group.nu = nu;
    invert(group, scratch);
    for (const Coefficients& k : coefficients_) {
      const Lanes o = load(o_at);
      t += k.a2w0 * o;
      r += k.aw0pi * (o * load(from));
      from += stride;
      o_at += width;
    }
    const Lanes inverse_t = 1 / t;
    s = (kh + r) * inverse_t;
    if (!any(open) || iteration == max_iterations) break;

    // With ρ = (s·a − π·e0)·o the point is e = e0 + νρ.
    Lanes q = group.kappa_squared;
    Lanes g1 = zero;  // Σ a·ρ·o
    Lanes g2 = zero;  // Σ ρ²·o
    from = e;
    o_at = scratch;
    for (const Coefficients& k : coefficients_) {
      const Lanes e0 = load(from);
      const Lanes o = load(o_at);
      const Lanes rho = (s * k.a - k.pi * e0) * o;
      const Lanes rho_o = rho * o;
      const Lanes point = e0 + nu * rho;
      q += k.pi * (point * point);
      g1 += k.a * rho_o;
      g2 += rho * rho_o;
      from += stride;
      o_at += width;
    }
    const Lanes root = lanes::sqrt(q);
    const Lanes f = root - s;
    const Lanes ds = g1 * inverse_t * inverse_kh;
    // √q·df/dy, where ½d(q−s²)/dy = −(N0/kh²)·g2 − ν·g1²/(T·kh).
    const Lanes df = -(n0 * inverse_kh * inverse_kh * g2 + nu * g1 * ds) - ds * f;

    const Mask below = (s <= 0) | (f > 0);
    y_low = select(below, y, y_low);
    y_high = select(below, y_high, y);
    const Lanes step = -f * root / df;
    const Lanes newton = y + step;
    const Mask sound = (s > 0) & (df < 0);
    // Accepted before the bracket is looked at: rounding at the root may put it just outside.
    const Mask accepted = sound & (lanes::abs(step) <= step_tolerance * y);
    const Mask inside = sound & (newton > y_low) & (newton < y_high);
    Lanes next = newton;
    if (any(open & ~accepted & ~inside)) {
      const Lanes middle = lanes::sqrt(y_low) * lanes::sqrt(y_high);
      Lanes safe = select(y_low > 0, middle, 0.05 * y_high);
      safe = select(y_high < infinity, safe, 8 * y);
      next = select(accepted | inside, newton, safe);
    }
    y = select(open, next, y);
    group.iterations += select(open, one, zero);
    open = open & ~accepted;
  }
  group.nu = select(group.moves, nu, zero);
  group.s = select(group.moves, s, zero);
}

// ρ² ≤ 1: the feasible set is compact and 1 − νβ(ν) = (1−ρ²) + Σ(a²/π)·o has no zero, so ν itself
// serves as unknown. Rare, hence scalar.
void SecularSolver::solve_compact(const double* e, Index stride, Group& group) const {
  double largest = 0;
  for (const Coefficients& k : coefficients_) largest = std::max(largest, k.pi);
  for (int l = 0; l < group.live; ++l) {
    if (!group.moves.get(l)) continue;
    double nu = 1 / largest;
    double nu_low = 0;
    double nu_high = infinity;
    for (int iteration = 0;; ++iteration) {
      double rest = 1 - rho_squared_;
      double numerator = group.c.get(l);
      const double* from = e + l;
      for (const Coefficients& k : coefficients_) {
        const double o = 1 / (1 + nu * k.pi);
        rest += k.a * k.a / k.pi * o;
        numerator += k.a * *from * o;
        from += stride;
      }
      const double s = numerator / rest;
      group.nu.set(l, nu);
      group.s.set(l, s);
      if (iteration == max_iterations || nu_high == nu_low) break;

      double q = group.kappa_squared.get(l);
      double ds = 0;
      from = e + l;
      for (const Coefficients& k : coefficients_) {
        const double o = 1 / (1 + nu * k.pi);
        const double rho = (s * k.a - k.pi * *from) * o;
        const double point = *from + nu * rho;
        q += k.pi * point * point;
        ds += k.a * rho * o;
        from += stride;
      }
      ds /= rest;
      double half_dq = 0;
      from = e + l;
      for (const Coefficients& k : coefficients_) {
        const double o = 1 / (1 + nu * k.pi);
        const double rho = (s * k.a - k.pi * *from) * o;
        half_dq += k.pi * (*from + nu * rho) * (rho + nu * ds * k.a) * o;
        from += stride;
      }
      const double f = std::sqrt(q) - s;
      const double df = half_dq / std::sqrt(q) - ds;
      (s <= 0 || f > 0 ? nu_low : nu_high) = nu;
      const double newton = nu - f / df;
      group.iterations.set(l, iteration + 1);
      if (s > 0 && df < 0 && std::abs(newton - nu) <= step_tolerance * nu) {
        nu = newton;
        nu_low = nu_high;  // ends the loop after the last evaluation
      } else if (s > 0 && df < 0 && newton > nu_low && newton < nu_high) {
        nu = newton;
      } else if (nu_high == infinity) {
        nu *= 8;
      } else {
        nu = nu_low > 0 ? std::sqrt(nu_low) * std::sqrt(nu_high) : 0.05 * nu_high;
      }
    }
  }
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
    const Lanes length = lanes::sqrt(nn);
    if (round == 0) {
      group.lower_bound = select(open, lanes::max(zero, (nd - margin) / length), zero);
      group.residual =
          select(open, lanes::max(lanes::sqrt(rr / dd), lanes::abs(margin) / scale), zero);
      group.rounding = 10 * wanted / length;
    }
    const Lanes step = select(open, (wanted - margin) / nn, zero);
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
