#include "boxed_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "core/row_sum.hpp"
#include "solver/block_cholesky.hpp"

namespace ellice {

namespace {

// Sweeps of the dual ascent; one row needs one.
constexpr int most_sweeps = 100;
// Passes that fix and free coordinates at will, which nearly always is enough.
constexpr Index most_exchanges = 12;
// What sums and differences leave of a row that no free coordinate moves, as a share of its square.
constexpr double least_share = 1e-13;

/// Σ aᵢbᵢ over whole blocks.
double block_dot(const double* a, const double* b, Index width) {
  RowLanes sum = RowLanesMap(a) * RowLanesMap(b);
  for (Index c = row_lanes; c < width; c += row_lanes)
    sum += RowLanesMap(a + c) * RowLanesMap(b + c);
  return sum.sum();
}

/// to += factor·from, from the block of `first` on.
void add_blocks(double factor, const double* from, Index first, Index width, double* to) {
  for (Index c = first / row_lanes * row_lanes; c < width; c += row_lanes)
    Eigen::Map<RowLanes>(to + c) += factor * RowLanesMap(from + c);
}

}  // namespace

BoxedQuadratic::BoxedQuadratic(Index variables, Index rows)
    : diagonal(variables),
      root(0, variables),
      linear(variables),
      constants(rows),
      normals(variables, rows),
      lower(variables),
      upper(variables),
      step_(variables),
      multipliers_(Vector::Zero(rows)),
      slack_(rows),
      scale_(variables),
      lowest_(variables),
      highest_(variables),
      columns_(padded(1 + rows), variables),
      gram_(padded(1 + rows), padded(1 + rows)),
      held_(padded(1 + rows)),
      reduced_(padded(1 + rows), padded(1 + rows)),
      coefficients_(padded(1 + rows)),
      wanted_(variables),
      lengths_(rows),
      dual_(rows, rows),
      rows_(rows),
      places_(static_cast<std::size_t>(variables), Place::free),
      was_freed_(static_cast<std::size_t>(variables)) {}

void BoxedQuadratic::clear_kinks() {
  if (kinks_.empty()) return;
  kinks_.clear();
  constants.conservativeResize(rows_);
  normals.conservativeResize(Eigen::NoChange, rows_);
}

void BoxedQuadratic::add_kink(const KinkRow& kink, double distance) {
  kinks_.push_back(kink);
  const Index count = constants.size() + 1;
  constants.conservativeResize(count);
  constants[count - 1] = distance;
  normals.conservativeResize(Eigen::NoChange, count);
}

void BoxedQuadratic::solve(bool knows_bounds) {
  for (Index i = 0; i < lower.size(); ++i) {
    Place& place = places_[static_cast<std::size_t>(i)];
    const bool stands = lower[i] == 0 || upper[i] == 0;
    const bool was_fixed = knows_bounds && place != Place::free;
    const bool begins_free = lower[i] < upper[i] && !(was_fixed && stands);
    place = begins_free ? Place::free : lower[i] == 0 ? Place::low : Place::high;
  }
  if (is_whole()) {
    make_whole();
  } else {
    scale_ = diagonal.cwiseSqrt().cwiseInverse();
    lowest_ = lower.cwiseQuotient(scale_);
    highest_ = upper.cwiseQuotient(scale_);
    fill_columns();
    collect();
  }
  row_multipliers_.forget();
  settle();
}

void BoxedQuadratic::solve_again() {
  if (!is_whole()) {
    const Index known = height_;
    height_ = root.rows() + 1 + constants.size();
    fill_rows(known);
    collect();
  }
  settle();
}

void BoxedQuadratic::make_whole() {
  scale_.setOnes();
  lowest_ = lower;
  highest_ = upper;
  const Index variables = linear.size();
  whole_.resize(variables, variables);
  for (Index j = 0; j < variables; ++j) {
    for (Index i = j; i < variables; ++i)
      whole_(i, j) = whole_(j, i) = root.col(i).dot(root.col(j));
    whole_(j, j) += diagonal[j];
  }
}

void BoxedQuadratic::fill_columns() {
  height_ = root.rows() + 1 + constants.size();
  const Index width = padded(height_);
  if (columns_.rows() < width) columns_.resize(width, linear.size());
  for (Index i = 0; i < linear.size(); ++i)
    columns_.col(i).head(root.rows()) = scale_[i] * root.col(i);
  fill_rows(root.rows());
}

void BoxedQuadratic::fill_rows(Index first) {
  const Index variables = linear.size();
  width_ = padded(height_);
  if (columns_.rows() < width_) columns_.conservativeResize(width_, Eigen::NoChange);
  for (Index i = 0; i < variables; ++i) {
    double* to = columns_.data() + i * columns_.rows();
    for (Index row = first; row < height_; ++row) {
      const Index k = row - root.rows() - 1;
      to[row] = scale_[i] * (k < 0 ? linear[i] : normals(i, k));
    }
    std::fill(to + height_, to + width_, 0.0);
  }
}

void BoxedQuadratic::collect() {
  if (gram_.rows() < width_) gram_.resize(width_, width_);
  if (held_.size() < width_) held_.resize(width_);
  if (coefficients_.size() < width_) coefficients_.resize(width_);
  gram_.topLeftCorner(width_, height_).setZero();
  held_.head(width_).setZero();
  for (Index i = 0; i < linear.size(); ++i) {
    if (is_free(i)) {
      add_to_gram(i, 1);
    } else {
      add_blocks(bound(i, places_[static_cast<std::size_t>(i)]), column(i), 0, width_,
                 held_.data());
    }
  }
}

void BoxedQuadratic::add_to_gram(Index variable, double times) {
  const double* z = column(variable);
  for (Index a = 0; a < height_; ++a)
    add_blocks(times * z[a], z, a, width_, gram_.data() + a * gram_.rows());
}

void BoxedQuadratic::settle() {
  const Index count = constants.size();
  dual_.resize(count, count);
  slack_.resize(count);
  multipliers_.resize(count);
  lengths_.resize(count);
  for (Index k = 0; k < count; ++k) lengths_[k] = normals.col(k).cwiseProduct(scale_).squaredNorm();
  std::fill(was_freed_.begin(), was_freed_.end(), false);
  // Beyond the exchanges at will each pass fixes a coordinate or frees one for the only time.
  const Index most_passes = most_exchanges + 2 * linear.size() + 1;
  for (Index pass = 0; pass < most_passes; ++pass) {
    eliminate();
    find_multipliers();
    find_wanted();
    if (!exchange(pass < most_exchanges)) break;
  }
  write_step();
}

void BoxedQuadratic::eliminate() {
  const Index pivots =
      is_whole() ? std::count(places_.begin(), places_.end(), Place::free) : root.rows();
  const Index count = constants.size();
  const Index size = pivots + 1 + count;
  if (reduced_.rows() < padded(size)) reduced_.resize(padded(size), padded(size));
  if (is_whole()) {
    eliminate_whole();
  } else {
    eliminate_few();
  }
  (void)eliminate_columns(reduced_.data(), reduced_.rows(), pivots, size);  // I or D is added
  const double sign = is_whole() ? -1 : 1;
  for (Index k = 0; k < count; ++k) {
    slack_[k] = -reduced_(pivots + 1 + k, pivots);
    for (Index l = 0; l <= k; ++l)
      dual_(k, l) = dual_(l, k) = sign * reduced_(pivots + 1 + k, pivots + 1 + l);
  }
}

void BoxedQuadratic::eliminate_few() {
  // With t = Sy the free coordinates are −r − Sᵀt + Gμ, and (I + S·Sᵀ)t = b_S − S·r + S·G·μ, b what
  // the fixed ones add. Cholesky's factor of that matrix, with r and G as further rows, leaves the
  // problem of the multipliers behind.
  const Index n = root.rows();
  for (Index a = 0; a < height_; ++a) reduced_.col(a).head(width_) = gram_.col(a).head(width_);
  for (Index j = 0; j < n; ++j) {
    reduced_(j, j) += 1;
    reduced_(n, j) -= held_[j];
  }
  for (Index k = 0; k < constants.size(); ++k)
    reduced_(n + 1 + k, n) -= held_[n + 1 + k] + constants[k];
}

void BoxedQuadratic::eliminate_whole() {
  // The free coordinates are B⁻¹(Gμ − r), r the slope where the fixed ones stand.
  const Index variables = linear.size();
  free_.clear();
  fixed_step_.setZero(variables);
  for (Index i = 0; i < variables; ++i) {
    const Place place = places_[static_cast<std::size_t>(i)];
    if (place == Place::free) {
      free_.push_back(i);
    } else {
      fixed_step_[i] = bound(i, place);
    }
  }
  slope_ = linear;
  slope_.noalias() += whole_ * fixed_step_;
  const auto n = static_cast<Index>(free_.size());
  const Index count = constants.size();
  for (Index b = 0; b < n; ++b) {
    const Index j = free_[static_cast<std::size_t>(b)];
    auto to = reduced_.col(b).head(padded(n + 1 + count));
    to.setZero();
    for (Index a = b; a < n; ++a) to[a] = whole_(free_[static_cast<std::size_t>(a)], j);
    to[n] = slope_[j];
    for (Index k = 0; k < count; ++k) to[n + 1 + k] = -normals(j, k);
  }
  reduced_.block(0, n, padded(n + 1 + count), count + 1).setZero();
  for (Index k = 0; k < count; ++k)
    reduced_(n + 1 + k, n) = -constants[k] - normals.col(k).dot(fixed_step_);
}

void BoxedQuadratic::find_multipliers() {
  // max −½μᵀSμ − μᵀslack over μ ≥ 0, S = GᵀB⁻¹G of the free coordinates, one μ_k at a time.
  unserved_ = -1;
  for (Index k = 0; k < dual_.cols(); ++k) {
    if (dual_(k, k) > least_share * lengths_[k]) continue;
    // A row that no free coordinate moves cannot be served.
    dual_.row(k).setZero();
    dual_.col(k).setZero();
    if (k < rows_ && slack_[k] < 0) unserved_ = k;
  }
  if (!kinks_.empty()) {
    row_multipliers_.solve(dual_, slack_, kinks_, multipliers_);
    return;
  }
  multipliers_.setZero();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double change = 0;
    for (Index k = 0; k < multipliers_.size(); ++k) {
      if (dual_(k, k) == 0) continue;
      const double rest =
          slack_[k] + dual_.row(k).dot(multipliers_) - dual_(k, k) * multipliers_[k];
      const double next = std::max(0.0, -rest / dual_(k, k));
      change = std::max(change, std::abs(next - multipliers_[k]) / (1 + next));
      multipliers_[k] = next;
    }
    if (multipliers_.size() == 1 || change < 1e-12) break;
  }
}

void BoxedQuadratic::solve_back(Index pivots, Vector& result) const {
  for (Index j = pivots - 1; j >= 0; --j) {
    double sum = -reduced_(pivots, j);
    for (Index k = 0; k < multipliers_.size(); ++k)
      sum += (is_whole() ? -1 : 1) * multipliers_[k] * reduced_(pivots + 1 + k, j);
    for (Index i = j + 1; i < pivots; ++i) sum -= reduced_(i, j) * result[i];
    result[j] = sum / reduced_(j, j);
  }
}

void BoxedQuadratic::find_wanted() {
  if (is_whole()) {
    find_wanted_whole();
  } else {
    find_wanted_few();
  }
}

void BoxedQuadratic::find_wanted_few() {
  const Index n = root.rows();
  coefficients_.head(width_).setZero();
  solve_back(n, coefficients_);
  coefficients_.head(n) *= -1;
  coefficients_[n] = -1;
  coefficients_.segment(n + 1, multipliers_.size()) = multipliers_;
  for (Index i = 0; i < wanted_.size(); ++i)
    wanted_[i] = block_dot(column(i), coefficients_.data(), width_);
}

void BoxedQuadratic::find_wanted_whole() {
  const auto n = static_cast<Index>(free_.size());
  if (coefficients_.size() < n) coefficients_.resize(n);
  solve_back(n, coefficients_);
  wanted_ = fixed_step_;
  for (Index a = 0; a < n; ++a) wanted_[free_[static_cast<std::size_t>(a)]] = coefficients_[a];
  if (n == wanted_.size()) return;
  // Fixed ones want to where their own parabola falls.
  slope_ = linear;
  slope_.noalias() += whole_ * wanted_;
  slope_.noalias() -= normals * multipliers_;
  for (Index i = 0; i < wanted_.size(); ++i) {
    if (!is_free(i)) wanted_[i] -= slope_[i] / whole_(i, i);
  }
}

bool BoxedQuadratic::is_wrong(Index variable) const {
  if (lower[variable] == upper[variable]) return false;
  const bool is_low = places_[static_cast<std::size_t>(variable)] == Place::low;
  if (unserved_ >= 0) {
    const double pull = normals(variable, unserved_);
    return is_low ? pull > 0 : pull < 0;
  }
  return is_low ? wanted_[variable] > lowest_[variable] : wanted_[variable] < highest_[variable];
}

void BoxedQuadratic::fix(Index variable, Place place) {
  places_[static_cast<std::size_t>(variable)] = place;
  if (is_whole()) return;
  add_to_gram(variable, -1);
  add_blocks(bound(variable, place), column(variable), 0, width_, held_.data());
}

void BoxedQuadratic::release(Index variable) {
  Place& place = places_[static_cast<std::size_t>(variable)];
  if (!is_whole()) {
    add_blocks(-bound(variable, place), column(variable), 0, width_, held_.data());
    add_to_gram(variable, 1);
  }
  place = Place::free;
}

bool BoxedQuadratic::exchange(bool at_will) {
  bool any = false;
  for (Index i = 0; i < wanted_.size(); ++i) {
    if (!is_free(i)) {
      if (!at_will || !is_wrong(i)) continue;
      release(i);
      any = true;
    } else if (wanted_[i] < lowest_[i] || wanted_[i] > highest_[i]) {
      fix(i, wanted_[i] < lowest_[i] ? Place::low : Place::high);
      any = true;
    }
  }
  if (any || at_will) return any;
  for (Index i = 0; i < wanted_.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_free(i) || was_freed_[at] || !is_wrong(i)) continue;
    was_freed_[at] = true;
    release(i);
    any = true;
  }
  return any;
}

void BoxedQuadratic::write_step() {
  for (Index i = 0; i < step_.size(); ++i) {
    const Place place = places_[static_cast<std::size_t>(i)];
    step_[i] = place == Place::low    ? lower[i]
               : place == Place::high ? upper[i]
                                      : std::clamp(scale_[i] * wanted_[i], lower[i], upper[i]);
  }
}

}  // namespace ellice
