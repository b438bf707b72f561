#include "sets/question.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <utility>

#include "ellice/core/error.hpp"
#include "model/softmax_objective.hpp"
#include "sets/true_set.hpp"

namespace ellice {

namespace {

/// (e_w − e_r) ⊗ h for vectors of any precision.
template <class V>
V spread_out(const V& h, Index outputs, Index winner, Index rival) {
  V result = V::Zero(outputs * h.size());
  result.segment(winner * h.size(), h.size()) = h;
  result.segment(rival * h.size(), h.size()) = -h;
  return result;
}

std::shared_ptr<const HeadSet> make_head_set(const Model& model, const SetChoice& choice,
                                             double epsilon) {
  switch (choice.kind) {
    case SetKind::true_set:
      return std::make_shared<const TrueSet>(
          true_set(model, training_rows(choice, model), epsilon));
    case SetKind::last_layer:
    case SetKind::ensemble:
      break;
    case SetKind::full:
    case SetKind::isotropic:
      fail(ErrorCode::argument, "the set {} is not one of heads", enum_name(choice.kind));
  }
  const Index outputs = model.network.outputs();
  Matrix hessian = damped_hessian(model, choice.damping);
  Matrix rest = gauge_rest(hessian, outputs);
  return std::make_shared<const Ellipsoid>(
      model.network.head(), with_gauge(std::move(hessian), outputs), epsilon, std::move(rest));
}

/// The curvature of θ_w − θ_r when all other parameters adapt (theory.md, Result 38): with
/// V = L⁻¹((e_w − e_r) ⊗ I) = QR the contraction of H⁻¹ = L⁻ᵀL⁻¹ is G = VᵀV = RᵀR, and
/// G⁻¹ = R⁻¹R⁻ᵀ without the square of a condition number.
Matrix pair_curvature(const CholeskyFactor& factor, Index outputs, Index winner, Index rival) {
  const Index p = factor.size() / outputs;
  Matrix v = Matrix::Zero(factor.size(), p);
  v.middleRows(winner * p, p).setIdentity();
  v.middleRows(rival * p, p) = -Matrix::Identity(p, p);
  factor.whiten(v);
  const Eigen::HouseholderQR<Matrix> qr(v);
  Matrix inverse = Matrix::Identity(p, p);
  qr.matrixQR().topRows(p).triangularView<Eigen::Upper>().solveInPlace(inverse);
  const Matrix hessian = inverse * inverse.transpose();
  return (hessian + hessian.transpose()) / 2;
}

}  // namespace

Vector Part::moved(VectorArg x) const {
  if (stretch.size() == 0) return x;
  return stretch.cwiseProduct(x) + offset;
}

Vector Part::features(VectorArg x) const {
  if (stretch.size() == 0 && model->network.is_linear()) return with_one(x);
  return with_one(model->network.features(moved(x)));
}

// With x̃′ = T·x̃ the score is (Tᵀθ)ᵀx̃, and H becomes T⁻¹HT⁻ᵀ.
Ellipsoid Part::linear_picture() const {
  if (stretch.size() == 0) return *picture;
  const Index d = stretch.size();
  Matrix inverse = Matrix::Identity(d + 1, d + 1);  // of T
  inverse.diagonal().head(d) = stretch.cwiseInverse();
  inverse.col(d).head(d) = -offset.cwiseQuotient(stretch);
  Vector center = picture->center();
  center[d] += center.head(d).dot(offset);
  center.head(d).array() *= stretch.array();
  const Matrix hessian = inverse * picture->hessian() * inverse.transpose();
  return {center, (hessian + hessian.transpose()) / 2, picture->epsilon()};
}

double Part::radius(VectorArg features, double threshold, const Vector* nearby) const {
  // The picture is smaller than a set of all classes.
  if (set->is_ellipsoid()) return picture->radius(features, threshold);
  return set->radius(direction(features), threshold, nearby);
}

Vector Part::direction(VectorArg features) const {
  if (!rival) return features;
  return spread_out<Vector>(features, model->network.outputs(), winner, *rival);
}

LongVector Part::direction_extended(const LongVector& features) const {
  if (!rival) return features;
  return spread_out(features, model->network.outputs(), winner, *rival);
}

Vector Part::coefficients(VectorArg head) const {
  if (!rival) return head;
  const Index p = head.size() / model->network.outputs();
  return head.segment(winner * p, p) - head.segment(*rival * p, p);
}

Question::Question(const Model& model, const SetChoice& choice, double epsilon, double threshold)
    : threshold_(threshold) {
  validate(choice, model);
  std::vector<const Model*> models = {&model};
  models.insert(models.end(), choice.members.begin(), choice.members.end());
  for (const Model* one : models) {
    Part part{.model = one, .set = make_head_set(*one, choice, epsilon)};
    const Encoder& from = model.encoder;
    const Encoder& to = one->encoder;
    if (from.mean() != to.mean() || from.scale() != to.scale()) {
      part.stretch = from.scale().cwiseQuotient(to.scale());
      part.offset = (from.mean() - to.mean()).cwiseQuotient(to.scale());
    }
    if (!choice.contest) {
      part.picture = std::dynamic_pointer_cast<const Ellipsoid>(part.set);
      if (!part.picture)
        part.picture =
            std::make_shared<const Ellipsoid>(part.set->center(), part.set->hessian(), epsilon);
      parts_.push_back(std::move(part));
      continue;
    }
    const CholeskyFactor factor(part.set->hessian());
    part.winner = choice.contest->winner;
    for (const Index rival : choice.contest->rivals) {
      part.rival = rival;
      part.picture = std::make_shared<const Ellipsoid>(
          part.coefficients(part.set->center()),
          pair_curvature(factor, one->network.outputs(), part.winner, rival), epsilon);
      parts_.push_back(part);
    }
  }
}

Question Question::with_epsilon(double epsilon) const {
  Question result = *this;
  std::shared_ptr<const HeadSet> before;  // rivals share their set
  std::shared_ptr<const HeadSet> after;
  for (Part& part : result.parts_) {
    if (part.set != before) {
      before = part.set;
      after = before->with_epsilon(epsilon);
    }
    part.set = after;
    part.picture = std::make_shared<const Ellipsoid>(part.picture->at(epsilon));
  }
  return result;
}

bool is_linear(const Model& model, const SetChoice& choice) {
  const auto has_no_hidden = [](const Model& one) { return one.network.is_linear(); };
  return has_no_hidden(model) &&
         std::all_of(choice.members.begin(), choice.members.end(),
                     [&](const Model* member) { return has_no_hidden(*member); });
}

}  // namespace ellice
