#include "sets/contest.hpp"

#include <Eigen/QR>
#include <algorithm>

#include "ellice/core/error.hpp"
#include "model/softmax_objective.hpp"
#include "sets/uncertainty_set.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

bool contains(const std::vector<Index>& classes, Index wanted) {
  return std::find(classes.begin(), classes.end(), wanted) != classes.end();
}

}  // namespace

Contest make_contest(const Model& model, Index winner, const std::vector<Index>& acceptable) {
  Contest contest{.winner = winner};
  for (Index k = 0; k < model.network.outputs(); ++k) {
    if (k != winner && !contains(acceptable, k)) contest.rivals.push_back(k);
  }
  return contest;
}

std::vector<Index> acceptable_classes(const Model& model, const Contest& contest) {
  std::vector<Index> result;
  for (Index k = 0; k < model.network.outputs(); ++k) {
    if (!contains(contest.rivals, k)) result.push_back(k);
  }
  return result;
}

std::string class_names(const Model& model, const std::vector<Index>& classes) {
  std::vector<std::string> names;
  for (const Index k : classes) {
    names.push_back(model.decision.classes[static_cast<std::size_t>(k)]);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string class_text(const Model& model, const std::vector<Index>& classes) {
  return (classes.size() > 1 ? "one of " : "") + class_names(model, classes);
}

Index find_class(const Model& model, const std::string& name) {
  const std::vector<std::string>& classes = model.decision.classes;
  const auto found = std::find(classes.begin(), classes.end(), name);
  require(found != classes.end(), "the model has no class \"{}\"; {}", name,
          suggestion(name, classes));
  return found - classes.begin();
}

void validate(const Contest& contest, const Model& model) {
  const Index classes = model.network.outputs();
  require(classes > 1,
          "the model has one logit: a target class and a margin are for softmax models; use a "
          "threshold");
  require(contest.winner >= 0 && contest.winner < classes, "class {} must be >= 0 and < {}",
          contest.winner, classes);
  require(!contest.rivals.empty(),
          "every class of the model is acceptable: there is nothing to ask for");
  for (std::size_t k = 0; k < contest.rivals.size(); ++k) {
    const Index rival = contest.rivals[k];
    require(rival >= 0 && rival < classes && rival != contest.winner &&
                (k == 0 || rival > contest.rivals[k - 1]),
            "rival {} must be another class, each once and in their order", rival);
  }
}

std::vector<Model> pair_models(const Model& model, const Contest& contest,
                               std::optional<double> damping) {
  validate(contest, model);
  const Layer& head = model.network.layers.back();
  const Index classes = model.network.outputs();
  const Index p = head.weights.cols() + 1;
  const CholeskyFactor factor(with_gauge(damped_hessian(model, damping), classes));
  std::vector<Model> result;
  for (const Index rival : contest.rivals) {
    // With V = L⁻¹((e_y − e_c) ⊗ I) = QR the contraction of H⁻¹ = L⁻ᵀL⁻¹ is G = VᵀV = RᵀR, and
    // G⁻¹ = R⁻¹R⁻ᵀ without the square of a condition number.
    Matrix v = Matrix::Zero(classes * p, p);
    v.middleRows(contest.winner * p, p).setIdentity();
    v.middleRows(rival * p, p) = -Matrix::Identity(p, p);
    factor.whiten(v);
    const Eigen::HouseholderQR<Matrix> qr(v);
    Matrix inverse = Matrix::Identity(p, p);
    qr.matrixQR().topRows(p).triangularView<Eigen::Upper>().solveInPlace(inverse);
    const Matrix hessian = inverse * inverse.transpose();

    Model pair{.encoder = model.encoder, .network = model.network};
    pair.network.kind = model.network.layers.size() > 1 ? NetworkKind::mlp : NetworkKind::logistic;
    Layer& own = pair.network.layers.back();
    own.weights = head.weights.row(contest.winner) - head.weights.row(rival);
    own.bias = Vector::Constant(1, head.bias(contest.winner) - head.bias(rival));
    pair.training = model.training;
    pair.training.loss_kind = LossKind::logistic;
    pair.curvature.hessian = (hessian + hessian.transpose()) / 2;
    pair.curvature.shift = model.curvature.shift;
    result.push_back(std::move(pair));
  }
  return result;
}

}  // namespace ellice
