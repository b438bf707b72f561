#include "search/local_query.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/infinity.hpp"
#include "core/random.hpp"
#include "core/stop.hpp"
#include "search/rounding.hpp"
#include "search/tolerances.hpp"
#include "solver/augmented_descent.hpp"
#include "solver/boxed_quadratic.hpp"

namespace ellice {

namespace {

// Relative width at which the bisection for the largest κ ends: 1e-3 in ε.
constexpr double radius_tolerance = 5e-4;
constexpr std::size_t wide_rows = 4;
// Points from which the largest κ is looked for by searches, which may end on a lower hill. Climbs
// are cheap enough for all.
constexpr std::size_t wide_points = 8;
constexpr int most_widenings = 40;
// Steps of a climb to a local maximum of κ, what one must bring as a share of κ, how often less may
// come, and the damping of its steps, which grows where they fail and shrinks where they do not.
// Climbs that begin with long steps and with short ones end on other hills.
constexpr int most_climb_steps = 60;
constexpr double climb_gain = 1e-7;
constexpr int idle_climbs = 3;
constexpr std::array<double, 3> first_dampings = {1e-2, 1, 1e2};
constexpr double least_damping = 1e-8;
// A point is in the region of a top if no kink lies on this share of the way: tops lie on kinks
// themselves, up to rounding.
constexpr double share_seen = 0.9;
constexpr double most_damping = 1e8;
// Rounds in which a κ that is so much larger gives the starts, while they gain that much.
constexpr int most_rounds = 6;
constexpr double round_growth = 1.03;
constexpr double round_gain = 1.005;

void sort_by_objective(std::vector<LocalQuery::Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.objective < b.objective; });
}

}  // namespace

/// Rounds with local re-solves.
class LocalQuery::Guide final : public RoundingGuide {
 public:
  Guide(LocalQuery& owner) : owner_(&owner) {}

  [[nodiscard]] double margin(VectorArg z) override { return owner_->constraints_.smallest(z); }
  [[nodiscard]] Vector slope(VectorArg z) override {
    Vector values(owner_->constraints_.count());
    Matrix gradients(z.size(), values.size());
    owner_->constraints_.gradients(z, values, gradients);
    Index smallest = 0;
    values.minCoeff(&smallest);
    return gradients.col(smallest);
  }
  [[nodiscard]] std::optional<Vector> solve(const Box& part, VectorArg start) override {
    const NearestPoint problem{.query = owner_->context_.feasible->query(),
                               .lower = part.lower,
                               .upper = part.upper,
                               .weights = *owner_->context_.weights};
    SequentialQuadratic solver(problem, owner_->constraints_.count(), owner_->solver_options());
    if (!solver.solve(owner_->constraints_, start).found) return std::nullopt;
    return solver.point();
  }
  // A pair of steps on fine grids gains little and costs a pass through the network each.
  [[nodiscard]] bool tries_exchanges() const override { return false; }

 private:
  LocalQuery* owner_;
};

LocalQuery::LocalQuery(const QueryContext& context)
    : context_(context),
      function_(context.set->function()),
      constraints_(*function_, context.problem->threshold, *context.feasible) {
  for (const Box& box : context_.feasible->boxes()) {
    pieces_.push_back({.box = &box,
                       .problem = {.query = context_.feasible->query(),
                                   .lower = box.lower,
                                   .upper = box.upper,
                                   .weights = *context_.weights}});
  }
  for (Piece& piece : pieces_) {
    piece.solver = std::make_unique<SequentialQuadratic>(piece.problem, constraints_.count(),
                                                         solver_options());
  }
}

SequentialQuadraticOptions LocalQuery::solver_options() const {
  return {.max_iterations = context_.options->max_iterations};
}

void LocalQuery::set_radius(double kappa, double margin) {
  kappa_ = kappa;
  margin_ = margin;
  constraints_.set_radius(kappa, margin);
}

std::vector<Vector> LocalQuery::starts(const Piece& piece, Index most_rows) {
  const Vector home = piece.problem.query.cwiseMax(piece.box->lower).cwiseMin(piece.box->upper);
  std::vector<Vector> result = {home, augmented_descent(constraints_, piece.problem, home),
                                climb(*function_, kappa_, context_.problem->threshold,
                                      constraints_.floor(), piece.problem.query, *piece.box, home)};
  if (context_.rows != nullptr) {
    if (context_.rows->centroid()) result.push_back(*context_.rows->centroid());
    const std::vector<Vector> near =
        context_.rows->nearest(piece.problem.query, piece.problem.weights, *piece.box, kappa_,
                               static_cast<std::size_t>(context_.options->row_starts), most_rows);
    result.insert(result.end(), near.begin(), near.end());
    return result;
  }
  const Encoder& encoder = context_.feasible->encoder();
  Random random = Random(context_.options->seed).split(context_.index);
  for (int k = 0; k < context_.options->random_starts; ++k) {
    check_stop();
    Vector point(encoder.columns());
    for (Index i = 0; i < point.size(); ++i) {
      const double raw =
          encoder.min()[i] + random.uniform() * (encoder.max()[i] - encoder.min()[i]);
      point[i] = (raw - encoder.mean()[i]) / encoder.scale()[i];
    }
    result.push_back(std::move(point));
  }
  return result;
}

void LocalQuery::solve(Piece& piece, const Vector& start, std::vector<Candidate>& found) {
  // A robust start is an answer too, should the certificate refuse what is nearer.
  Vector inside = start.cwiseMax(piece.box->lower).cwiseMin(piece.box->upper);
  if (constraints_.smallest(inside) >= 0) {
    const double objective =
        0.5 * (inside - piece.problem.query).cwiseAbs2().dot(piece.problem.weights);
    found.push_back({.point = std::move(inside), .box = piece.box, .objective = objective});
  }
  // Where certificates refuse what is robust to first order, dearer points count as well.
  double cheapest = infinity;
  if (!is_first_order(context_.problem->set.kind)) {
    for (const Candidate& known : found) cheapest = std::min(cheapest, known.objective);
  }
  const SequentialQuadraticResult result =
      piece.solver->solve(constraints_, start, cheapest, piece.ends);
  if (!result.found) return;
  if (!result.given_up && knows_regions()) piece.ends.push_back(piece.solver->point());
  found.push_back(
      {.point = piece.solver->point(), .box = piece.box, .objective = result.objective});
}

bool LocalQuery::knows_regions() const {
  const std::vector<Layer>& layers = context_.problem->model->network.layers;
  return constraints_.knows_kinks() && !is_first_order(context_.problem->set.kind) &&
         std::none_of(layers.begin(), layers.end(), [](const Layer& layer) {
           return layer.activation == Activation::tanh || layer.activation == Activation::sigmoid;
         });
}

std::vector<LocalQuery::Candidate> LocalQuery::search() {
  return searched().found;
}

const LocalQuery::Searched& LocalQuery::searched() {
  if (searched_ && searched_->kappa == kappa_ && searched_->margin == margin_) return *searched_;
  Searched now{.kappa = kappa_, .margin = margin_};
  for (Piece& piece : pieces_) {
    piece.ends.clear();
    now.starts.push_back(starts(piece, some_rows));
    for (const Vector& start : now.starts.back()) solve(piece, start, now.found);
  }
  if (now.found.empty() && context_.rows != nullptr) {
    for (Piece& piece : pieces_) {
      for (const Vector& start :
           context_.rows->nearest(piece.problem.query, piece.problem.weights, *piece.box, kappa_, 0,
                                  std::numeric_limits<Index>::max() / 2)) {
        solve(piece, start, now.found);
      }
    }
  }
  sort_by_objective(now.found);
  searched_ = std::move(now);
  return *searched_;
}

std::vector<LocalQuery::Candidate> LocalQuery::search_from(const std::vector<Candidate>& starts) {
  std::vector<Candidate> found;
  for (Piece& piece : pieces_) piece.ends.clear();
  for (const Candidate& start : starts) {
    for (Piece& piece : pieces_) {
      if (piece.box == start.box) solve(piece, start.point, found);
    }
  }
  sort_by_objective(found);
  return found;
}

std::vector<LocalQuery::Candidate> LocalQuery::candidates_at(const Vector& point) const {
  std::vector<Candidate> result;
  for (const Piece& piece : pieces_) {
    result.push_back(
        {.point = point.cwiseMax(piece.box->lower).cwiseMin(piece.box->upper), .box = piece.box});
  }
  return result;
}

bool LocalQuery::widen(Widest& widest, double kappa) {
  // The nearest point to the widest one, not to the query: what counts is that there is one.
  const NearestPoint problem{.query = widest.candidate.point,
                             .lower = widest.candidate.box->lower,
                             .upper = widest.candidate.box->upper,
                             .weights = *context_.weights};
  SequentialQuadraticOptions options = solver_options();
  options.first_feasible = true;
  set_radius(kappa, search_margin);
  SequentialQuadratic solver(problem, constraints_.count(), options);
  if (!solver.solve(constraints_, problem.query).found) return false;
  widest.candidate.point = solver.point();
  widest.kappa = largest_radius(*function_, context_.problem->threshold, solver.point());
  return true;
}

std::optional<LocalQuery::Widest> LocalQuery::widest(double kappa) {
  std::optional<Widest> best;
  for (Piece& piece : pieces_) piece.widened.clear();
  for (const double level : {kappa, 0.0}) widen_from(starts_at(level), kappa, best);
  if (!best) return std::nullopt;
  // A local search ends on its own hill. What is a little out of reach has other starts than what
  // is far out of reach, and they may know a higher one.
  for (int k = 0; k < most_rounds && best->kappa < kappa; ++k) {
    check_stop();
    const double before = best->kappa;
    widen_from(starts_at(std::min(round_growth * before, kappa)), kappa, best);
    if (best->kappa < round_gain * before) break;
  }
  return best;
}

std::vector<LocalQuery::Widest> LocalQuery::starts_at(double kappa) {
  std::vector<Widest> pool;
  const auto offer = [&](const Box& box, const Vector& start) {
    const Vector point = start.cwiseMax(box.lower).cwiseMin(box.upper);
    pool.push_back({.candidate = {.point = point, .box = &box},
                    .kappa = largest_radius(*function_, context_.problem->threshold, point)});
  };
  set_radius(kappa, search_margin);
  const Searched& known = searched();
  for (std::size_t k = 0; k < pieces_.size(); ++k) {
    const Box& box = *pieces_[k].box;
    for (const Vector& start : known.starts[k]) offer(box, start);
    if (context_.rows == nullptr) continue;
    for (const Vector& row : context_.rows->most_robust(box, wide_rows)) offer(box, row);
  }
  for (const Candidate& found : known.found) offer(*found.box, found.point);
  std::stable_sort(pool.begin(), pool.end(),
                   [](const Widest& a, const Widest& b) { return a.kappa > b.kappa; });
  return pool;
}

void LocalQuery::widen_from(std::vector<Widest> pool, double kappa, std::optional<Widest>& best) {
  std::size_t place = 0;
  bool has_climbed = false;
  for (Widest& here : pool) {
    if (here.kappa < 0 || (best && best->kappa >= kappa)) break;
    // Many starts are those of another κ, too, and would end where they ended.
    std::vector<Vector>& begun = piece_of(here.candidate.box).widened;
    if (std::find(begun.begin(), begun.end(), here.candidate.point) != begun.end()) continue;
    begun.push_back(here.candidate.point);
    if (climb_radius(here, kappa)) {
      has_climbed = true;
    } else if (place++ < wide_points) {
      widen_locally(here, kappa);
    } else {
      continue;
    }
    if (!best || here.kappa > best->kappa) best = std::move(here);
  }
  // Climbs end at kinks that searches for a larger κ go around.
  if (has_climbed) widen_locally(*best, kappa);
}

bool LocalQuery::climb_radius(Widest& widest, double kappa) {
  if (constraints_.count() != 1) return false;
  const Widest start = widest;
  for (const double damping : first_dampings) {
    Widest here = start;
    if (!climb_radius(here, kappa, damping)) return false;
    if (here.kappa > widest.kappa) widest = std::move(here);
    if (widest.kappa >= kappa) break;
  }
  return true;
}

LocalQuery::Piece& LocalQuery::piece_of(const Box* box) {
  return *std::find_if(pieces_.begin(), pieces_.end(),
                       [&](const Piece& piece) { return piece.box == box; });
}

bool LocalQuery::is_in_region(VectorArg from, VectorArg to) {
  crossed_.clear();
  constraints_.crossed_kinks(share_seen * (to - from), crossed_);
  return crossed_.empty();
}

bool LocalQuery::climb_radius(Widest& widest, double kappa, double damping) {
  // κ(x) = (f − t)/s grows where f − κ·s does at the present κ, a concave function in every region
  // of a relu network: maximise its second-order picture on the box, again and again, as
  // Dinkelbach's iteration does (theory.md, Result 8).
  const Box& box = *widest.candidate.box;
  std::vector<Widest>& tops = piece_of(&box).tops;
  Vector& x = widest.candidate.point;
  BoxedQuadratic quadratic(x.size(), 1);
  quadratic.normals.setZero();
  quadratic.constants.setZero();
  const Vector once = Vector::Ones(1);
  Vector values(1);
  Matrix gradients(x.size(), 1);
  Vector trial;
  int idle = 0;
  for (int k = 0; k < most_climb_steps && idle < idle_climbs && widest.kappa < kappa; ++k) {
    check_stop();
    constraints_.set_radius(widest.kappa, 0);
    constraints_.gradients(x, values, gradients);
    if (!gradients.allFinite()) return true;
    // In its region the top of an earlier climb is the highest point (theory.md, Result 77).
    for (const Widest& top : tops) {
      if (top.kappa < widest.kappa || !is_in_region(x, top.candidate.point)) continue;
      widest = top;
      return true;
    }
    if (!constraints_.curvature_root(once, quadratic.root)) return k > 0;
    quadratic.linear = -gradients.col(0);
    quadratic.lower = box.lower - x;
    quadratic.upper = box.upper - x;
    double gain = 0;
    while (damping <= most_damping && !(gain > 0)) {
      quadratic.diagonal = damping * *context_.weights;
      quadratic.solve();
      trial = (x + quadratic.step()).cwiseMax(box.lower).cwiseMin(box.upper);
      const double radius = largest_radius(*function_, context_.problem->threshold, trial);
      gain = radius - widest.kappa;
      if (gain > 0) {
        x.swap(trial);
        widest.kappa = radius;
        damping = std::max(damping / 4, least_damping);
      } else {
        damping *= 8;
      }
    }
    if (!(gain > 0)) break;
    idle = gain > climb_gain * widest.kappa ? 0 : idle + 1;
  }
  if (knows_regions() && widest.kappa < kappa) tops.push_back(widest);
  return true;
}

void LocalQuery::widen_locally(Widest& widest, double kappa) {
  double more = (kappa - widest.kappa) / 2;
  for (int k = 0; k < most_widenings && widest.kappa < kappa; ++k) {
    check_stop();
    if (more < radius_tolerance * std::max(widest.kappa, 1e-3 * kappa)) break;
    more *= widen(widest, std::min(widest.kappa + more, kappa)) ? 1.5 : 0.4;
  }
}

std::optional<Vector> LocalQuery::to_row(const Candidate& candidate) {
  if (!context_.feasible->has_grid()) return context_.feasible->decode(candidate.point);
  Guide guide(*this);
  return round_to_grid(*context_.problem, guide, *context_.feasible, *candidate.box,
                       candidate.point);
}

double LocalQuery::radius_of(const Vector& raw) {
  const Encoder& encoder = context_.feasible->encoder();
  Vector z(encoder.columns());
  encoder.encode({raw.data(), static_cast<std::size_t>(raw.size())}, z);
  return largest_radius(*function_, context_.problem->threshold, z);
}

}  // namespace ellice
