#include "model_sets.hpp"

namespace ellice {

namespace {

/// One model of an ensemble: its set, and the way from the first model's space to its own,
/// x ↦ stretch∘x + offset.
struct Member {
  std::unique_ptr<const Model> pair = {};  // of a contest: what the set is about
  std::unique_ptr<UncertaintySet> set = {};
  bool same_space = true;
  Vector stretch = {};
  Vector offset = {};
};

class EnsembleFunction final : public RobustFunction {
 public:
  explicit EnsembleFunction(const std::vector<Member>& members) : members_(&members) {
    for (const Member& member : members) functions_.push_back(member.set->function());
  }

  [[nodiscard]] Index members() const override { return static_cast<Index>(functions_.size()); }

  [[nodiscard]] RobustScore value(Index member, VectorArg x) override {
    const Member& at = (*members_)[static_cast<std::size_t>(member)];
    RobustFunction& function = *functions_[static_cast<std::size_t>(member)];
    if (at.same_space) return function.value(0, x);
    moved_ = at.stretch.cwiseProduct(x) + at.offset;
    return function.value(0, moved_);
  }

  RobustScore gradient(Index member, VectorArg x, Vector& logit_gradient,
                       Vector& spread_gradient) override {
    const Member& at = (*members_)[static_cast<std::size_t>(member)];
    RobustFunction& function = *functions_[static_cast<std::size_t>(member)];
    if (at.same_space) return function.gradient(0, x, logit_gradient, spread_gradient);
    moved_ = at.stretch.cwiseProduct(x) + at.offset;
    const RobustScore result = function.gradient(0, moved_, logit_gradient, spread_gradient);
    logit_gradient.array() *= at.stretch.array();
    spread_gradient.array() *= at.stretch.array();
    return result;
  }

  [[nodiscard]] bool spread_hessian(Index member, Matrix& hessian) override {
    const Member& at = (*members_)[static_cast<std::size_t>(member)];
    const bool known = functions_[static_cast<std::size_t>(member)]->spread_hessian(0, hessian);
    if (!at.same_space) {
      hessian.array().colwise() *= at.stretch.array();
      hessian.array().rowwise() *= at.stretch.array().transpose();
    }
    return known;
  }

 private:
  const std::vector<Member>* members_;
  std::vector<std::unique_ptr<RobustFunction>> functions_;
  Vector moved_;
};

class EnsembleSet final : public UncertaintySet {
 public:
  explicit EnsembleSet(std::vector<Member> members) : members_(std::move(members)) {}
  [[nodiscard]] std::unique_ptr<RobustFunction> function() const override {
    return std::make_unique<EnsembleFunction>(members_);
  }

 private:
  std::vector<Member> members_;
};

}  // namespace

std::unique_ptr<UncertaintySet> make_ensemble_set(const Model& model,
                                                  const std::vector<const Model*>& members,
                                                  std::optional<double> damping) {
  std::vector<Member> result;
  result.push_back({.set = make_last_layer_set(model, damping)});
  const Encoder& from = model.encoder;
  for (const Model* member : members) {
    const Encoder& to = member->encoder;
    result.push_back({.set = make_last_layer_set(*member, damping),
                      .same_space = from.mean() == to.mean() && from.scale() == to.scale(),
                      .stretch = from.scale().cwiseQuotient(to.scale()),
                      .offset = (from.mean() - to.mean()).cwiseQuotient(to.scale())});
  }
  return std::make_unique<EnsembleSet>(std::move(result));
}

std::unique_ptr<UncertaintySet> make_contest_set(const Model& model, const Contest& contest,
                                                 std::optional<double> damping) {
  std::vector<Member> result;
  for (Model& pair : pair_models(model, contest, damping)) {
    Member member{.pair = std::make_unique<const Model>(std::move(pair))};
    member.set = make_last_layer_set(*member.pair, std::nullopt);
    result.push_back(std::move(member));
  }
  return std::make_unique<EnsembleSet>(std::move(result));
}

}  // namespace ellice
