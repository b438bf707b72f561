#include "sets/full_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/network_pass.hpp"
#include "sets/linear_regions.hpp"

namespace ellice {

namespace {

class FullSet final : public UncertaintySet {
 public:
  FullSet(const Network& network, const GaussNewton& curvature, double damping)
      : network_(&network), damping_(damping), largest_(damping) {
    const Index rank = curvature.values.size();
    const Index width = padded(rank);
    vectors_.setZero(network.parameters(), width);
    weights_.setZero(width);
    if (rank == 0) return;
    vectors_.leftCols(rank) = curvature.vectors;
    const Eigen::ArrayXd e = curvature.values.array();
    weights_.head(rank) = e / (damping * (e + damping));
    largest_ += e.maxCoeff();
  }

  [[nodiscard]] std::unique_ptr<RobustFunction> function() const override;
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] double damping() const { return damping_; }
  /// s from ‖J‖² and Σ q·c².
  [[nodiscard]] double spread(double norm_squared, double shrunk) const {
    // The eigenvectors are orthonormal, so that only rounding can take s² below this.
    return std::sqrt(std::max(norm_squared / damping_ - shrunk, norm_squared / largest_));
  }
  [[nodiscard]] Index width() const { return weights_.size(); }
  [[nodiscard]] const double* row(Index parameter) const {
    return vectors_.data() + parameter * width();
  }
  [[nodiscard]] const RowMatrix& vectors() const { return vectors_; }
  [[nodiscard]] const Vector& weights() const { return weights_; }  // q

 private:
  const Network* network_;
  double damping_;
  double largest_;  // eigenvalue of G + λI
  RowMatrix vectors_;
  Vector weights_;
};

class FullFunction final : public RobustFunction {
 public:
  explicit FullFunction(const FullSet& set)
      : set_(&set),
        pass_(set.network()),
        projection_(Vector::Zero(set.width())),
        solved_(Vector::Zero(set.network().parameters())) {
    const auto count = static_cast<std::size_t>(set.network().parameters());
    parameters_.reserve(count + 3);
    entries_.reserve(count + 3);
    const std::vector<Layer>& layers = set.network().layers;
    is_piecewise_linear_ = std::none_of(layers.begin(), layers.end(), [](const Layer& layer) {
      return layer.activation == Activation::tanh || layer.activation == Activation::sigmoid;
    });
  }

  [[nodiscard]] RobustScore value(Index /*member*/, VectorArg x) override {
    return score(x, Wanted::value);
  }

  RobustScore gradient(Index /*member*/, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override {
    const RobustScore result = score(x, Wanted::gradient);
    projection_.array() *= set_->weights().array();
    solve();
    pass_.input_gradient(logit_gradient);
    pass_.directional_gradient(solved_, spread_gradient);
    spread_gradient /= result.spread;  // never 0: the head's bias has the derivative 1
    return result;
  }

 private:
  enum class Wanted { value, gradient };

  /// Leaves c = UᵀJ in projection_.
  RobustScore score(VectorArg x, Wanted wanted) {
    const double logit = pass_.forward(x);
    pass_.backward();
    double shrunk = 0;
    if (wanted == Wanted::gradient || set_->width() > 0) collect(wanted);
    if (set_->width() > 0) {
      project();
      shrunk = (set_->weights().array() * projection_.array().square()).sum();
    }
    return {.logit = logit, .spread = set_->spread(pass_.parameter_norm_squared(), shrunk)};
  }

  /// The entries of J that are not 0, or those of v that directional_gradient() uses.
  void collect(Wanted wanted) {
    parameters_.clear();
    entries_.clear();
    const std::vector<Layer>& layers = set_->network().layers;
    const bool keep_all = wanted == Wanted::gradient && !is_piecewise_linear_;
    Index first = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const Vector& delta = pass_.adjoint_of(l);
      const Vector& a = pass_.input_of(l);
      const bool keep_zeros =
          wanted == Wanted::gradient && (l == 0 || layers[l - 1].activation != Activation::relu);
      const Index bias = first + set_->network().weights_of(l);
      set_->network().for_each_block(l, [&](const LayerBlock& block) {
        for (Index j = block.first_unit; j < block.first_unit + block.units; ++j) {
          if (delta(j) == 0 && !keep_all) continue;
          const Index row = first + block.first_weight + (j - block.first_unit) * block.inputs;
          for (Index i = 0; i < block.inputs; ++i) {
            const double input = a(block.first_input + i);
            if (input != 0 || keep_zeros) add(row + i, delta(j) * input);
          }
          add(bias + j, delta(j));
        }
      });
      first = bias + delta.size();
    }
    // Whole groups of four; an entry of 0 adds nothing.
    while (parameters_.size() % 4 != 0) add(parameters_.back(), 0);
  }

  void add(Index parameter, double entry) {
    parameters_.push_back(parameter);
    entries_.push_back(entry);
  }

  /// Four rows of U at a time: c is read and written a quarter as often.
  void project() {
    projection_.setZero();
    for (std::size_t k = 0; k < parameters_.size(); k += 4) {
      const double* r0 = set_->row(parameters_[k]);
      const double* r1 = set_->row(parameters_[k + 1]);
      const double* r2 = set_->row(parameters_[k + 2]);
      const double* r3 = set_->row(parameters_[k + 3]);
      for (Index c = 0; c < projection_.size(); c += row_lanes) {
        Eigen::Map<RowLanes>(projection_.data() + c) +=
            (entries_[k] * RowLanesMap(r0 + c) + entries_[k + 1] * RowLanesMap(r1 + c)) +
            (entries_[k + 2] * RowLanesMap(r2 + c) + entries_[k + 3] * RowLanesMap(r3 + c));
      }
    }
  }

  /// v = J/λ − U(q∘c), where it is used. projection_ holds q∘c.
  void solve() {
    for (std::size_t k = 0; k < parameters_.size(); k += 4) {
      const double* r0 = set_->row(parameters_[k]);
      const double* r1 = set_->row(parameters_[k + 1]);
      const double* r2 = set_->row(parameters_[k + 2]);
      const double* r3 = set_->row(parameters_[k + 3]);
      RowLanes s0 = RowLanes::Zero();
      RowLanes s1 = RowLanes::Zero();
      RowLanes s2 = RowLanes::Zero();
      RowLanes s3 = RowLanes::Zero();
      for (Index c = 0; c < projection_.size(); c += row_lanes) {
        const RowLanes weighted = RowLanesMap(projection_.data() + c);
        s0 += weighted * RowLanesMap(r0 + c);
        s1 += weighted * RowLanesMap(r1 + c);
        s2 += weighted * RowLanesMap(r2 + c);
        s3 += weighted * RowLanesMap(r3 + c);
      }
      // From the last to the first, so that what fills up a group is overwritten by the entry that
      // it repeats.
      solved_(parameters_[k + 3]) = entries_[k + 3] / set_->damping() - s3.sum();
      solved_(parameters_[k + 2]) = entries_[k + 2] / set_->damping() - s2.sum();
      solved_(parameters_[k + 1]) = entries_[k + 1] / set_->damping() - s1.sum();
      solved_(parameters_[k]) = entries_[k] / set_->damping() - s0.sum();
    }
  }

  const FullSet* set_;
  NetworkPass pass_;
  bool is_piecewise_linear_ = false;
  std::vector<Index> parameters_;
  std::vector<double> entries_;  // of J
  Vector projection_;
  Vector solved_;  // v; what is not used keeps older values
};

/// The same where J is affine in x by regions, and the set has eigenpairs.
class PiecewiseFullFunction final : public RobustFunction {
 public:
  explicit PiecewiseFullFunction(const FullSet& set)
      : set_(&set),
        pass_(set.network()),
        regions_(set.network(), set.vectors()),
        projection_(set.width()) {}

  [[nodiscard]] RobustScore value(Index /*member*/, VectorArg x) override {
    const double logit = pass_.forward(x);
    return score(logit, regions_.at(pass_));
  }

  RobustScore gradient(Index /*member*/, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override {
    const double logit = pass_.forward(x);
    const LinearRegions::Region& region = regions_.at(pass_);
    const RobustScore result = score(logit, region);
    logit_gradient = region.logit_gradient;
    // s·∇s = ∇½‖J‖²/λ − ∇cᵀ(q∘c), both back through the layers at once.
    projection_.array() *= set_->weights().array();
    regions_.returned(pass_, projection_, returned_);
    for (std::size_t l = 0; l < returned_.size(); ++l) {
      const double share = region.norms(static_cast<Index>(l)) / set_->damping();
      returned_[l] = share * pass_.input_of(l) - returned_[l];
    }
    pass_.inputs_gradient(returned_, spread_gradient);
    spread_gradient /= result.spread;  // never 0: the head's bias has the derivative 1
    return result;
  }

 private:
  /// Leaves c = UᵀJ in projection_.
  RobustScore score(double logit, const LinearRegions::Region& region) {
    double norm_squared = 0;
    for (Index l = 0; l < region.norms.size(); ++l)
      norm_squared +=
          region.norms(l) * (pass_.input_of(static_cast<std::size_t>(l)).squaredNorm() + 1);
    regions_.image(pass_, projection_);
    const double shrunk = (set_->weights().array() * projection_.array().square()).sum();
    return {.logit = logit, .spread = set_->spread(norm_squared, shrunk)};
  }

  const FullSet* set_;
  NetworkPass pass_;
  LinearRegions regions_;
  Vector projection_;
  std::vector<Vector> returned_;
};

std::unique_ptr<RobustFunction> FullSet::function() const {
  const auto is_curved = [](const Layer& layer) {
    return layer.activation == Activation::tanh || layer.activation == Activation::sigmoid;
  };
  const std::vector<Layer>& layers = network_->layers;
  // A pattern of all units is worth remembering only where there are eigenpairs to multiply, and
  // one pattern is one region only where all features share their units.
  if (width() > 0 && network_->groups.empty() &&
      std::none_of(layers.begin(), layers.end(), is_curved))
    return std::make_unique<PiecewiseFullFunction>(*this);
  return std::make_unique<FullFunction>(*this);
}

}  // namespace

std::unique_ptr<UncertaintySet> make_full_set(const Network& network, const GaussNewton& curvature,
                                              double damping) {
  return std::make_unique<FullSet>(network, curvature, damping);
}

}  // namespace ellice
