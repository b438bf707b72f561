#include <cmath>
#include <optional>
#include <utility>

#include "core/row_sum.hpp"
#include "model/block_product.hpp"
#include "model/network_pass.hpp"
#include "sets/uncertainty_set.hpp"
#include "solver/block_cholesky.hpp"

namespace ellice {

namespace {

/// A part of a question with what its function needs beyond it.
struct PartShape {
  Part part = {};
  /// Closed forms only: L⁻¹ of the picture's H = LLᵀ. Formed, because products with few columns
  /// (relu leaves about half of the features at 0) are several times faster than triangular solves
  /// of this size.
  Matrix whitening = {};
  Matrix padded_whitening = {};  // the same, columns with zeros up to whole blocks
  Matrix inverse = {};           // H⁻¹

  [[nodiscard]] bool same_space() const { return part.stretch.size() == 0; }
};

/// One part at one point after the other.
class PartFunction {
 public:
  explicit PartFunction(const PartShape& shape)
      : shape_(&shape),
        pass_(shape.part.model->network),
        features_(Vector::Ones(shape.part.picture->parameters())),
        whitened_(features_.size()),
        padded_(padded(features_.size())) {}

  /// Leaves h̃ in features_, and L⁻¹h̃ or the worst head. Searches ask for a derivative where they
  /// asked for the value before: closed forms are not computed twice.
  RobustScore score(VectorArg x) {
    if (is_closed() && seen_.size() == x.size() && seen_ == x) return score_;
    const double forward = see(x);
    const double logit = part().rival ? picture().center().dot(features_) : forward;
    spread_ = is_closed() ? whiten() : (logit - search()) / kappa();
    score_ = {.logit = logit, .spread = spread_};
    seen_ = x;
    return score_;
  }

  RobustScore gradient(VectorArg x, Vector& logit_gradient, Vector& spread_gradient) {
    const RobustScore result = score(x);
    find_spread_slope();
    descend(picture().center().head(spread_slope_.size()), logit_gradient);
    descend(spread_slope_, spread_gradient);
    return result;
  }

  RobustScore robust_gradient(double kappa, VectorArg x, Vector& gradient) {
    const RobustScore result = score(x);
    find_spread_slope();
    slope_ = picture().center().head(spread_slope_.size()) - kappa * spread_slope_;
    has_adjoints_ = false;
    descend(slope_, gradient);
    return result;
  }

  void crossed_units(VectorArg step, std::vector<Index>& units) {
    if (shape_->same_space()) {
      pass_.crossed_units(step, units);
    } else {
      moved_ = shape_->part.stretch.cwiseProduct(step);
      pass_.crossed_units(moved_, units);
    }
  }

  [[nodiscard]] RobustFunction::UnitKink unit_kink(Index unit, Vector& normal) {
    if (!has_adjoints_) pass_.unit_adjoints(slope_, adjoints_);
    has_adjoints_ = true;
    // g gains so much per unit of a = max(0, z). Beyond the kink it gains max(0, z) more than its
    // linearisation from the side where the unit is off, max(0, −z) from the other one.
    if (adjoints_(unit) >= 0) return {};
    const double input = pass_.unit_input(unit, normal);
    if (!(input > 0)) normal = -normal;
    if (!shape_->same_space()) normal.array() *= shape_->part.stretch.array();
    return {.weight = -adjoints_(unit), .distance = std::abs(input)};
  }

  /// The root of ∇²s.
  [[nodiscard]] bool spread_root(Matrix& root) {
    if (!live_root(root) && !whole_root(root)) return false;
    if (!shape_->same_space()) root.array().rowwise() *= shape_->part.stretch.array().transpose();
    return true;
  }

  [[nodiscard]] double radius(VectorArg x, double threshold) {
    (void)see(x);
    return part().set->radius(part().direction(features_), threshold);
  }

  [[nodiscard]] bool is_closed() const { return shape_->whitening.size() > 0; }
  [[nodiscard]] const WorstHead* worst() const { return worst_ ? &*worst_ : nullptr; }

 private:
  [[nodiscard]] const Part& part() const { return shape_->part; }
  [[nodiscard]] const Ellipsoid& picture() const { return *shape_->part.picture; }
  [[nodiscard]] double kappa() const { return std::sqrt(2 * part().set->epsilon()); }

  /// The network's logit, if it has one output; leaves h̃ in features_.
  double see(VectorArg x) {
    double logit = 0;
    if (shape_->same_space()) {
      logit = pass_.forward(x);
    } else {
      moved_ = shape_->part.stretch.cwiseProduct(x) + shape_->part.offset;
      logit = pass_.forward(moved_);
    }
    features_.head(features_.size() - 1) = pass_.features();
    return logit;
  }

  /// ‖L⁻¹h̃‖.
  double whiten() {
    sum_.clear();
    for (Index j = 0; j < features_.size(); ++j)
      sum_.add(shape_->padded_whitening.col(j).data(), features_(j));
    padded_.setZero();
    sum_.add_to(padded_.data(), padded_.size());
    whitened_ = padded_.head(whitened_.size());
    return whitened_.norm();
  }

  /// The proved worst score; the search begins where the last one ended.
  double search() {
    worst_ = part().set->worst(part().direction(features_), worst_ ? &*worst_ : nullptr);
    return worst_->proved;
  }

  /// What remains of columns without their share along a vector of norm 1/scale.
  void leave_out(const Vector& direction, double scale, Matrix& columns) {
    along_.noalias() = columns.transpose() * direction;
    along_ *= scale * scale;
    columns.noalias() -= direction * along_.transpose();
  }

  /// Leaves ∂s/∂h of the features h.
  void find_spread_slope() {
    const Index m = features_.size() - 1;
    if (is_closed()) {
      spread_slope_.noalias() = shape_->whitening.leftCols(m).transpose() * whitened_;
      spread_slope_ /= spread_;  // never 0: the last entry of h̃ is 1
    } else {
      spread_slope_ = (picture().center() - part().coefficients(worst_->model)).head(m) / kappa();
    }
  }

  /// ∇ₓ vᵀh.
  void descend(VectorArg v, Vector& gradient) {
    pass_.feature_gradient(v, gradient);
    if (!shape_->same_space()) gradient.array() *= shape_->part.stretch.array();
  }

  /// s·∇²s = J_hᵀ((H⁻¹)_ww − (∂s/∂h)(∂s/∂h)ᵀ)J_h (theory.md, Result 24) has a root with a row for
  /// each feature that moves. False where the form of these is not positive definite as computed.
  [[nodiscard]] bool live_root(Matrix& root) {
    const Network& network = pass_.network();
    if (!is_closed() || !network.groups.empty() || network.is_linear()) return false;
    pass_.live_jacobian(live_, live_jacobian_);
    const auto n = static_cast<Index>(live_.size());
    const Index most = padded(live_jacobian_.rows());
    form_.resize(most, most);
    form_.topLeftCorner(padded(n), n).setZero();
    for (Index b = 0; b < n; ++b) {
      const Index j = live_[static_cast<std::size_t>(b)];
      for (Index a = b; a < n; ++a) {
        const Index i = live_[static_cast<std::size_t>(a)];
        form_(a, b) = (shape_->inverse(i, j) - spread_slope_(i) * spread_slope_(j)) / spread_;
      }
    }
    if (!eliminate_columns(form_.data(), form_.rows(), n, n)) return false;
    const Index width = live_jacobian_.cols();
    live_root_.resize(live_jacobian_.rows(), width);
    for (Index a = 0; a < n; ++a)
      sum_rows(live_jacobian_.row(a).data(), width, form_.col(a).data() + a, n - a, width,
               live_root_.row(a).data());
    root = live_root_.topLeftCorner(n, network.inputs());
    return true;
  }

  /// A square root of the form times the features' Jacobian, without what lies along the point
  /// itself, where s is linear. None where the worst head has no curvature.
  [[nodiscard]] bool whole_root(Matrix& root) {
    pass_.feature_jacobian(jacobian_);
    if (!is_closed()) return searched_root(root);
    times_feature_jacobian(pass_.network(), shape_->whitening.leftCols(features_.size() - 1),
                           jacobian_, root);
    leave_out(whitened_, 1 / spread_, root);
    root /= std::sqrt(spread_);
    return true;
  }

  /// Of (τ/κ)·Jᵀ(M − Mh̃h̃ᵀM/(h̃ᵀMh̃))J for M = AᵀH⁻¹A, H the curvature at the worst head, A the map
  /// from h̃ to the functional's direction and J the Jacobian of the features (theory.md, Result
  /// 30).
  [[nodiscard]] bool searched_root(Matrix& root) {
    const Index p = features_.size();
    Matrix whitened(part().set->center().size(), p);
    for (Index j = 0; j < p; ++j) whitened.col(j) = part().direction(Vector(Vector::Unit(p, j)));
    if (!CholeskyFactor::whiten(part().set->curvature(*worst_), whitened)) return false;
    times_feature_jacobian(pass_.network(), whitened.leftCols(p - 1), jacobian_, root);
    const Vector along = whitened * features_;
    leave_out(along, 1 / along.norm(), root);
    root *= std::sqrt(worst_->multiplier / kappa());
    return true;
  }

  const PartShape* shape_;
  NetworkPass pass_;
  Vector moved_;
  Vector features_;  // h̃
  Vector whitened_;  // closed forms: L⁻¹h̃
  Vector padded_;    // the same with zeros up to a whole block
  RowSum sum_;
  Vector spread_slope_;  // ∂s/∂h
  Vector slope_;         // ∂g/∂h
  Vector adjoints_;      // ∂g/∂a of every unit, where they are known
  bool has_adjoints_ = false;
  std::vector<Index> live_;
  Matrix form_;
  RowMatrix live_jacobian_, live_root_;
  double spread_ = 0;
  Vector seen_;  // where score_ is that of closed forms
  RobustScore score_;
  std::optional<WorstHead> worst_;
  Vector along_;
  Matrix jacobian_;
};

class HeadFunction final : public RobustFunction {
 public:
  explicit HeadFunction(const std::vector<PartShape>& shapes) {
    for (const PartShape& shape : shapes) parts_.emplace_back(shape);
  }

  [[nodiscard]] Index parts() const override { return static_cast<Index>(parts_.size()); }
  [[nodiscard]] RobustScore value(Index part, VectorArg x) override { return at(part).score(x); }
  RobustScore gradient(Index part, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override {
    return at(part).gradient(x, logit_gradient, spread_gradient);
  }
  RobustScore robust_gradient(Index part, double kappa, VectorArg x, Vector& gradient) override {
    return at(part).robust_gradient(kappa, x, gradient);
  }
  void crossed_units(Index part, VectorArg step, std::vector<Index>& units) override {
    at(part).crossed_units(step, units);
  }
  [[nodiscard]] UnitKink unit_kink(Index part, Index unit, Vector& normal) override {
    return at(part).unit_kink(unit, normal);
  }
  [[nodiscard]] bool spread_root(Index part, Matrix& root) override {
    return at(part).spread_root(root);
  }
  [[nodiscard]] double radius(Index part, VectorArg x, double threshold) override {
    if (at(part).is_closed()) return RobustFunction::radius(part, x, threshold);
    return at(part).radius(x, threshold);
  }
  [[nodiscard]] const WorstHead* worst_head(Index part, VectorArg x) override {
    if (!at(part).is_closed()) (void)at(part).score(x);
    return at(part).worst();
  }

 private:
  PartFunction& at(Index part) { return parts_[static_cast<std::size_t>(part)]; }

  std::vector<PartFunction> parts_;
};

class QuestionSet final : public UncertaintySet {
 public:
  explicit QuestionSet(const Question& question) {
    for (const Part& part : question.parts()) {
      PartShape shape{.part = part};
      if (part.set->is_ellipsoid()) {
        const Index p = part.picture->parameters();
        shape.whitening.setIdentity(p, p);
        part.picture->factor().whiten(shape.whitening);
        shape.padded_whitening.setZero(padded(p), p);
        shape.padded_whitening.topRows(p) = shape.whitening;
        shape.inverse = shape.whitening.transpose() * shape.whitening;
      }
      shapes_.push_back(std::move(shape));
    }
  }

  [[nodiscard]] std::unique_ptr<RobustFunction> function() const override {
    return std::make_unique<HeadFunction>(shapes_);
  }

 private:
  std::vector<PartShape> shapes_;
};

}  // namespace

std::unique_ptr<UncertaintySet> make_set(const Question& question) {
  return std::make_unique<QuestionSet>(question);
}

}  // namespace ellice
