#include "ellice/model/network_pass.hpp"
#include "ellice/solver/cholesky.hpp"
#include "model_sets.hpp"

namespace ellice {

namespace {

class LastLayerSet final : public UncertaintySet {
 public:
  LastLayerSet(const Model& model, std::optional<double> damping)
      : network_(&model.network), head_(model.network.head()) {
    const Matrix hessian = damped_hessian(model, damping);
    whitening_.setIdentity(hessian.rows(), hessian.cols());
    CholeskyFactor(hessian).whiten(whitening_);
  }

  [[nodiscard]] std::unique_ptr<RobustFunction> function() const override;
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const Vector& head() const { return head_; }
  /// L⁻¹ of H = LLᵀ. Formed, because products with few columns (relu leaves about half of the
  /// features at 0) are several times faster than triangular solves of this size.
  [[nodiscard]] const Matrix& whitening() const { return whitening_; }

 private:
  const Network* network_;
  Vector head_;
  Matrix whitening_;
};

class LastLayerFunction final : public RobustFunction {
 public:
  explicit LastLayerFunction(const LastLayerSet& set)
      : set_(&set),
        pass_(set.network()),
        whitened_(set.head().size()),
        solved_(set.head().size() - 1) {}

  [[nodiscard]] RobustScore value(Index /*member*/, VectorArg x) override { return score(x); }

  RobustScore gradient(Index /*member*/, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override {
    const RobustScore result = score(x);
    const Index m = solved_.size();
    solved_.noalias() = set_->whitening().leftCols(m).transpose() * whitened_;
    pass_.feature_gradient(set_->head().head(m), logit_gradient);
    pass_.feature_gradient(solved_, spread_gradient);
    spread_gradient /= result.spread;  // never 0: the last entry of h̃ is 1
    spread_ = result.spread;
    spread_gradient_ = spread_gradient;
    return result;
  }

  [[nodiscard]] bool spread_hessian(Index /*member*/, Matrix& hessian) override {
    pass_.feature_jacobian(jacobian_);
    image_.resize(whitened_.size(), jacobian_.cols());
    image_.noalias() = set_->whitening().leftCols(solved_.size()) * jacobian_;
    hessian.resize(jacobian_.cols(), jacobian_.cols());
    hessian.noalias() = image_.transpose() * image_;
    hessian.noalias() -= spread_gradient_ * spread_gradient_.transpose();
    hessian /= spread_;
    return true;
  }

 private:
  /// Leaves L⁻¹h̃ in whitened_.
  RobustScore score(VectorArg x) {
    const double logit = pass_.forward(x);
    const Vector& features = pass_.features();
    const Matrix& whitening = set_->whitening();
    const Index p = whitened_.size();
    whitened_.setZero();
    for (Index j = 0; j < features.size(); ++j) {
      if (features(j) == 0) continue;
      whitened_.tail(p - j) += features(j) * whitening.col(j).tail(p - j);
    }
    whitened_(p - 1) += whitening(p - 1, p - 1);
    return {.logit = logit, .spread = whitened_.norm()};
  }

  const LastLayerSet* set_;
  NetworkPass pass_;
  Vector whitened_;
  Vector solved_;  // (H⁻¹h̃)_w
  double spread_ = 0;
  Vector spread_gradient_;
  Matrix jacobian_;
  Matrix image_;
};

std::unique_ptr<RobustFunction> LastLayerSet::function() const {
  return std::make_unique<LastLayerFunction>(*this);
}

}  // namespace

std::unique_ptr<UncertaintySet> make_last_layer_set(const Model& model,
                                                    std::optional<double> damping) {
  return std::make_unique<LastLayerSet>(model, damping);
}

}  // namespace ellice
