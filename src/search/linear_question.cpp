#include "search/linear_question.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include "ellice/core/error.hpp"
#include "search/level_cones.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

// Gaps are stated to 1e-9 and checked to 1e-8, and a solve is a hundred times better than its bound
// says, as a rule: what it may lose below this does not show.
constexpr double least_lost = 1e-7;

/// p·u·‖H‖·‖H⁻¹‖, four times: once each for the factor, the inverse, its rounding and its use.
double lost_by(MatrixArg hessian, MatrixArg inverse) {
  constexpr double unit_roundoff = 0x1p-53;
  const double lost =
      4 * static_cast<double>(hessian.rows()) * unit_roundoff * hessian.norm() * inverse.norm();
  return lost < least_lost ? 0 : std::min(lost, 1.0);
}

/// Of heads of all classes, which parts share.
double lost_by(const HeadSet& set) {
  const Index p = set.hessian().rows();
  Matrix root = Matrix::Identity(p, p);
  CholeskyFactor(set.hessian()).whiten(root);
  return lost_by(set.hessian(), root.transpose() * root);
}

/// Sets that are searched for their worst heads, each from the one before.
class SearchedOracle final : public RobustOracle {
 public:
  explicit SearchedOracle(const LinearQuestion& question)
      : question_(&question), worst_(question.cones().size()) {}

  [[nodiscard]] Index parts() const override { return static_cast<Index>(worst_.size()); }
  [[nodiscard]] bool is_conic() const override { return false; }
  [[nodiscard]] const BoxFactor& cone(Index part) const override {
    return question_->cones()[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] double epsilon() const override { return question_->epsilon(); }

  [[nodiscard]] Support at(Index place, VectorArg x, double share) override {
    const Part& part = this->part(place);
    const Vector lifted = with_one(x);
    std::shared_ptr<const WorstHead>& worst = worst_[static_cast<std::size_t>(place)];
    worst = std::make_shared<const WorstHead>(
        part.set->worst(part.direction(lifted), worst.get(), share));
    const Vector terms = part.picture->center().cwiseProduct(lifted);
    return {.x = x,
            .value = worst->attained,
            .proved = worst->proved,
            .scale = terms.cwiseAbs().sum() + (terms.sum() - worst->proved),
            .model = part.coefficients(worst->model),
            .worst = worst};
  }

  /// M = AᵀH⁻¹A for H at the worst head; the border's extent along it is τ√(x̃ᵀMx̃).
  [[nodiscard]] BoxFactor curved_cone(const Support& at, Index place, double boost) const override {
    const Part& part = this->part(place);
    const WorstHead& worst = *at.worst;
    const Vector lifted = with_one(at.x);
    Matrix columns = directions(part, at);
    if (!CholeskyFactor::whiten(part.set->curvature(worst), columns))
      return RobustOracle::curved_cone(at, place, boost);
    const double norm = (columns * lifted).norm();
    return touching_cone(columns.transpose() * columns, at, boost * worst.multiplier * norm,
                         epsilon());
  }

  [[nodiscard]] std::optional<BoxFactor> outer_cone(const Support& at, Index place) const override {
    const Part& part = this->part(place);
    const std::optional<InnerEllipsoid> inner = part.set->touching(*at.worst);
    if (!inner) return {};
    const Matrix columns = directions(part, at);
    return BoxFactor::of_inverse(part.coefficients(inner->center),
                                 columns.transpose() * inner->inverse * columns);
  }

 private:
  /// A: what each coordinate of [x; 1] adds to the functional of heads.
  [[nodiscard]] static Matrix directions(const Part& part, const Support& at) {
    const Index size = at.x.size() + 1;
    Matrix columns(at.worst->model.size(), size);
    for (Index j = 0; j < size; ++j) columns.col(j) = part.direction(Vector(Vector::Unit(size, j)));
    return columns;
  }

  [[nodiscard]] const Part& part(Index place) const {
    return question_->question().parts()[static_cast<std::size_t>(place)];
  }

  const LinearQuestion* question_;
  std::vector<std::shared_ptr<const WorstHead>> worst_;
};

}  // namespace

std::string why_not_exact(const Problem& problem) {
  constexpr std::string_view instead = "use `method: network`, gradient or data";
  if (is_first_order(problem.set.kind)) {
    return fmt::format("the exact search knows sets of heads only, not the set {}; {}",
                       enum_name(problem.set.kind), instead);
  }
  if (problem.model->network.layers.size() > 1) {
    return fmt::format("the exact search is for linear models, and this one has hidden layers; {}",
                       instead);
  }
  if (!is_linear(*problem.model, problem.set)) {
    return fmt::format(
        "the exact search is for linear models, and a member of the ensemble has hidden layers; {}",
        instead);
  }
  return {};
}

struct LinearQuestion::Levels {
  explicit Levels(const Encoder& of) : encoder(&of) {}

  const Encoder* encoder;
  std::once_flag made;
  std::vector<BoxFactor> cones;
};

LinearQuestion::LinearQuestion(const Problem& problem)
    : question_([&] {
        validate(problem);
        const std::string reason = why_not_exact(problem);
        require(reason.empty(), "{}", reason);
        return Question(*problem.model, problem.set, problem.epsilon, problem.threshold);
      }()),
      levels_(std::make_shared<Levels>(problem.model->encoder)) {
  for (const Part& part : question_.parts()) {
    const Ellipsoid picture = part.linear_picture();
    if (cones_.empty()) hessian_ = picture.hessian();
    cones_.emplace_back(picture.center(), picture.hessian());
    if (is_conic()) lost_ = std::max(lost_, lost_by(picture.hessian(), cones_.back().inverse()));
  }
  if (is_conic() && question_.front().rival)
    lost_ = std::max(lost_, lost_by(*question_.front().set));
}

const std::vector<BoxFactor>& LinearQuestion::level_cones() const {
  std::call_once(levels_->made,
                 [&] { levels_->cones = ellice::level_cones(cones_, *levels_->encoder); });
  return levels_->cones;
}

std::unique_ptr<RobustOracle> LinearQuestion::oracle() const {
  if (is_conic()) return std::make_unique<ConicOracle>(cones_, epsilon());
  return std::make_unique<SearchedOracle>(*this);
}

LinearQuestion LinearQuestion::with_epsilon(double epsilon) const {
  LinearQuestion result = *this;
  result.question_ = question_.with_epsilon(epsilon);
  return result;
}

double LinearQuestion::robust_logit(VectorArg z) const {
  const std::unique_ptr<RobustOracle> functions = oracle();
  double least = std::numeric_limits<double>::infinity();
  for (Index k = 0; k < functions->parts(); ++k)
    least = std::min(least, functions->at(k, z).proved);
  return least;
}

double LinearQuestion::radius(VectorArg z) const {
  double least = std::numeric_limits<double>::infinity();
  for (const Part& part : question_.parts())
    least = std::min(least, part.radius(part.features(z), threshold()));
  return least;
}

IntersectionProblem intersection(const LinearQuestion& question, const FeasibleSet& feasible,
                                 const Box& box) {
  IntersectionProblem result{.query = feasible.query(), .lower = box.lower, .upper = box.upper};
  for (const BoxFactor& cone : question.cones()) {
    result.cones.push_back(
        {.factor = &cone, .epsilon = question.epsilon(), .threshold = question.threshold()});
  }
  for (const ModelRule& rule : feasible.rules()) result.rules.push_back(rule.rule);
  return result;
}

}  // namespace ellice
