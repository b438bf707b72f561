#include <algorithm>
#include <cmath>

#include "core/infinity.hpp"
#include "solver/secular_group.hpp"

// The root (ν, s) of the secular equation, for ε = 0, for ρ² > 1 and for ρ² ≤ 1.

namespace ellice {

namespace {

using lanes::any;
using lanes::broadcast;
using lanes::Lanes;
using lanes::load;
using lanes::Mask;
using lanes::select;
using lanes::store;

constexpr int max_iterations = 60;
// Newton's error squares with each step: a relative step of 1e-5 leaves an error of about 1e-10,
// whose effect on the distance is its square, and finish() takes g to t by steps along the normal.
constexpr double step_tolerance = 1e-5;
// Φ is so straight that the same error remains after a longer step, and after a still longer one
// that uses a good earlier point.
constexpr double straight_step_tolerance = 1e-4;
constexpr double widest_last_step = 1e-2;
// What is left of 1/√B beyond ν0, relative to its value there, is known no better than this.
constexpr double least_rest = 1e-3;

// 1/left and 1/right for the price of one division, the slowest operation of all.
struct Inverses {
  Inverses(const Lanes& left, const Lanes& right) {
    const Lanes both = 1 / (left * right);
    of_left = both * right;
    of_right = both * left;
  }
  Lanes of_left, of_right;
};

}  // namespace

struct SecularSolver::Search {
  Lanes y;
  // An earlier point x = 1/k with Φ(x) and, where the mask says so, 1/Φ′(x).
  Lanes known_y, known_x, known_value, known_inverse_slope;
  Mask slope_known;
};

// ε = 0: the nearest point of the half-space aᵀe + c ≥ 0. With π = 0 the formula of finish() is
// e = e0 + νs·a.
void SecularSolver::solve_plain(Group& group) const {
  group.nu = select(group.moves, broadcast(1), Lanes{});
  group.s = select(group.moves, -group.c0 / a_squared_, Lanes{});
}

// o = 1/(1 + νπ) into `scratch`.
void SecularSolver::invert(const Group& group, double* scratch) const {
  for (const Coefficients& k : coefficients_) {
    store(scratch, 1 / (1 + group.nu * k.pi));
    scratch += width;
  }
}

// theory.md, Result 4, "Iteration": B at ν = 0, ν0 and ∞ gives a rational model of 1/√B with which
// Φ = 0 is a quadratic equation in x.
void SecularSolver::start_secular(const Group& group, Search& search) const {
  const Lanes zero = {};
  const Lanes c0 = group.c0;
  const Lanes m = group.n0 * (1 / nu0_);
  const double ratio = nu0_ / start_t_;
  const Lanes b = ratio * (m * m);
  // B depends on e0 through what is orthogonal to a·w0 only: with N0 = 0 it is q − s² at its top.
  const Lanes along = group.n0 * (1 / start_t_);
  const Lanes a1 = nu0_ * (group.r0 - start_w3_ * along);
  const Lanes last = group.kappa_squared + group.c * group.c * (1 / (rho_squared_ - 1));
  const Lanes middle = lanes::max(
      last, group.a0 + along * (start_w4_ * along - 2 * group.v0) + a1 * a1 * (1 / start_a2_));
  const Lanes first = lanes::max(middle, group.q0 - c0 * c0 + b);

  // √(ν0/T0)/√B ≈ p0 + (rest + bend)·bend·θ/(rest + bend·θ) for θ = ν/ν0.
  const Inverses inverse_b(first, middle);
  const Lanes p0 = lanes::sqrt(ratio * inverse_b.of_left);
  const Lanes p1 = lanes::sqrt(ratio * inverse_b.of_right);
  const Lanes bend = p1 - p0;
  const Lanes rest = lanes::max(lanes::sqrt(ratio / last) - p1, least_rest * p1);
  const Lanes constant = (rest + bend) * p1;
  const Lanes linear = rest + bend + m * bend * (p1 + rest);
  const Lanes discriminant = lanes::max(zero, linear * linear - 4 * (m * bend * constant));

  // For N0 > 0 the derivative at ν = 0 is known as well. A Newton step from there ends below the
  // root, and near it where the query is almost feasible. For N0 ≤ 0 what is known is Φ(0).
  const Lanes half_fall =
      lanes::max(zero, group.p2 - 2 * c0 * group.p1 + c0 * c0 * a_squared_ - b * (1 / nu0_));
  const Mask positive = group.n0 > 0;
  const Lanes slope = 1 + p0 * group.n0 * half_fall * inverse_b.of_left;
  const Lanes share = 1 - m * p0;
  const Inverses inverse_known(m, slope);
  const Inverses inverse(2 * constant, select(positive, slope - share, broadcast(1)));
  const Lanes least = m * share * inverse.of_right;
  const Lanes y = (linear + lanes::sqrt(discriminant)) * inverse.of_left - lanes::max(zero, m);
  search.y = select(positive & ~(y > least), least, y);
  search.y = select(group.moves & (search.y > 0), search.y, broadcast(1));
  search.known_y = select(positive, zero, broadcast(infinity));
  search.known_x = select(positive, inverse_known.of_left, zero);
  search.known_value = select(positive, p0 - inverse_known.of_left, p1);
  search.known_inverse_slope = -inverse_known.of_right;
  search.slope_known = positive;
}

void SecularSolver::solve_secular(const double* e, Index stride, double* scratch,
                                  Group& group) const {
  const Lanes zero = {};
  const Lanes one = broadcast(1);
  const Lanes n0 = group.n0;
  const Lanes low = lanes::max(zero, n0 * (1 / nu0_));
  const Lanes negative = lanes::max(zero, -n0);
  const double ratio = nu0_ / start_t_;
  const std::size_t size = coefficients_.size();
  Search search;
  start_secular(group, search);

  Lanes y = search.y;
  Lanes x = 1 / (y + low);
  Lanes y_low = zero;
  Lanes y_high = broadcast(infinity);
  Mask open = group.moves;
  Lanes nu = zero;
  Lanes s = zero;
  for (int iteration = 0;; ++iteration) {
    const Lanes k = y + low;
    nu = (nu0_ * y + negative) * x;
    Lanes t = zero;
    Lanes r = zero;
    const auto add = [&](std::size_t i, const Lanes& o) {
      store(scratch + i * width, o);
      t += coefficients_[i].a2w0 * o;
      r += coefficients_[i].aw0pi * (o * load(e + static_cast<Index>(i) * stride));
    };
    std::size_t i = 0;
    for (; i + 1 < size; i += 2) {
      const Inverses o(1 + nu * coefficients_[i].pi, 1 + nu * coefficients_[i + 1].pi);
      add(i, o.of_left);
      add(i + 1, o.of_right);
    }
    if (i < size) add(i, 1 / (1 + nu * coefficients_[i].pi));
    const Lanes inverse_t = 1 / t;
    s = (k + r) * inverse_t;
    if (!any(open) || iteration == max_iterations) break;

    // With ρ = (s·a − π·e0)·o the point is e = e0 + νρ.
    Lanes q = group.kappa_squared;
    Lanes g1 = zero;  // Σ a·ρ·o
    Lanes g2 = zero;  // Σ ρ²·o
    const double* from = e;
    const double* o_at = scratch;
    for (const Coefficients& c : coefficients_) {
      const Lanes e0 = load(from);
      const Lanes o = load(o_at);
      const Lanes rho = (s * c.a - c.pi * e0) * o;
      const Lanes rho_o = rho * o;
      const Lanes point = e0 + nu * rho;
      q += c.pi * (point * point);
      g1 += c.a * rho_o;
      g2 += rho * rho_o;
      from += stride;
      o_at += width;
    }
    const Lanes b = ratio * (k * k);
    const Lanes whole = b + (q - s * s);  // B
    const Lanes root = lanes::sqrt(b / whole);
    const Lanes value = x * (root - 1);
    const Lanes half_slope = n0 * g2 + k * (nu * g1 * g1 * inverse_t - b);  // ½dB/dx
    const Inverses inverse(whole + x * root * half_slope, value - search.known_value);
    const Lanes inverse_slope = -whole * inverse.of_left;

    // Newton's step, improved by the polynomial x(Φ) through this point and the one before.
    const Lanes newton = -value * inverse_slope;
    const Lanes chord = (x - search.known_x) * inverse.of_right;
    const Lanes second = inverse_slope - chord;
    const Lanes third =
        select(search.slope_known, second + search.known_inverse_slope - chord, zero);
    const Lanes share = value * inverse.of_right;
    const Lanes improved = newton + value * share * (second + third * (1 - share));
    const Mask holds = (improved * newton > 0) & (lanes::abs(improved) < 2 * lanes::abs(newton));
    const Lanes step = k * select(holds, improved, newton);
    const Lanes growth = 1 + step;
    Lanes next = (y - low * step) / growth;
    Lanes next_x = x * growth;

    const Mask below = value < 0;
    y_low = select(below, y, y_low);
    y_high = select(below, y_high, y);
    const Mask sound = (inverse_slope < 0) & (growth > 0);
    // Accepted before the bracket is looked at: rounding at the root may put it just outside.
    const Lanes change = lanes::abs(next - y);
    const Lanes other = lanes::abs(next - search.known_y);
    const Lanes reach = select(holds & (other < y), other, y);
    const Mask accepted = sound & (change * reach <= straight_step_tolerance * (y * y)) &
                          (change <= widest_last_step * y);
    const Mask inside = sound & (next > y_low) & (next < y_high);
    if (any(open & ~accepted & ~inside)) {
      const Lanes middle = lanes::sqrt(y_low) * lanes::sqrt(y_high);
      Lanes safe = select(y_low > 0, middle, 0.05 * y_high);
      safe = select(y_high < infinity, safe, 8 * y);
      next = select(accepted | inside, next, safe);
      next_x = 1 / (next + low);
    }
    search.known_y = y;
    search.known_x = x;
    search.known_value = value;
    search.known_inverse_slope = inverse_slope;
    search.slope_known = sound;
    y = select(open, next, y);
    x = select(open, next_x, x);
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

}  // namespace ellice
