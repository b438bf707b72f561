#include "ellice/sets/set_choice.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ellice/core/error.hpp"
#include "model/softmax_objective.hpp"
#include "sets/contest.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

/// Whether rows mean the same to both. What plans may do is asked of the first model alone.
bool reads_the_same(const Schema& one, const Schema& other) {
  return one.target == other.target &&
         std::equal(one.features.begin(), one.features.end(), other.features.begin(),
                    other.features.end(), [](const Feature& a, const Feature& b) {
                      return std::tie(a.name, a.kind, a.levels, a.one_hot) ==
                             std::tie(b.name, b.kind, b.levels, b.one_hot);
                    });
}

void validate_full(const Model& model) {
  require(model.network.layers.size() > 1,
          "the full set is for networks with hidden layers, and this model has none: use the "
          "last-layer set, which covers all its parameters");
  require(model.curvature.full || !model.origin,
          "the full set needs the curvature of all parameters, which only networks that were "
          "trained here have, and this one was imported: use the last-layer or the isotropic set");
  require(model.curvature.full.has_value(),
          "the model has no stored curvature of all its parameters, which the full set needs: "
          "train it again, or use the isotropic or the last-layer set");
  const GaussNewton& curvature = *model.curvature.full;
  require(curvature.vectors.rows() == model.network.parameters() &&
              curvature.vectors.cols() == curvature.values.size(),
          "the curvature has {} eigenvectors of {} entries for {} eigenvalues and {} parameters",
          curvature.vectors.cols(), curvature.vectors.rows(), curvature.values.size(),
          model.network.parameters());
}

void validate_hessian(const Model& model, double damping) {
  try {
    const CholeskyFactor positive_definite(
        with_gauge(damped_hessian(model, damping), model.network.outputs()));
  } catch (const Error& error) {
    fail(ErrorCode::argument, "damping = {} in place of l2 = {}: {}; use a larger one", damping,
         model.training.l2, error.what());
  }
}

void validate_classes(const SetChoice& choice, const Model& model) {
  if (model.network.has_one_output()) {
    if (choice.contest) validate(*choice.contest, model);
    return;
  }
  require(
      choice.kind == SetKind::last_layer || choice.kind == SetKind::true_set,
      "the model has {} classes, for which there are the sets last-layer and true only, not {}; "
      "use `set: last-layer`",
      model.network.outputs(), enum_name(choice.kind));
  require(choice.contest.has_value(), "the model has {} classes: say which one is to win",
          model.network.outputs());
  validate(*choice.contest, model);
}

}  // namespace

void validate(const SetChoice& choice, const Model& model) {
  validate_classes(choice, model);
  require_known_set(choice.kind, model);
  if (choice.damping) {
    require(choice.kind != SetKind::isotropic,
            "the isotropic set has no damping: leave it out, or use the full set");
    require(choice.kind != SetKind::true_set,
            "the true set has no damping, it is that of the objective: leave it out");
    require(*choice.damping > 0 && std::isfinite(*choice.damping),
            "damping = {} must be > 0 and finite", *choice.damping);
  }
  require(choice.kind == SetKind::ensemble || choice.members.empty(),
          "{} further models are given, but the set is {}: they need the ensemble set",
          choice.members.size(), enum_name(choice.kind));
  if (choice.kind == SetKind::full) validate_full(model);
  if (choice.kind == SetKind::true_set) (void)training_rows(choice, model);
  if (choice.kind == SetKind::last_layer || choice.kind == SetKind::ensemble) {
    if (choice.damping) validate_hessian(model, *choice.damping);
  }
  if (choice.kind == SetKind::ensemble) {
    require(!choice.members.empty(),
            "an ensemble needs at least one model beside the first: name the others in `ensemble`");
    for (std::size_t k = 0; k < choice.members.size(); ++k) {
      require(choice.members[k] != nullptr, "model {} of the ensemble is missing", k + 2);
      const Model& member = *choice.members[k];
      require(reads_the_same(member.schema(), model.schema()),
              "model {} of the ensemble has another schema: all must have the same target and "
              "features, with the same kinds and levels",
              k + 2);
      require_known_set(choice.kind, member);
      if (choice.damping) validate_hessian(member, *choice.damping);
    }
  }
}

void require_known_set(SetKind kind, const Model& model) {
  require(kind == SetKind::true_set || !has_corners(model.training),
          "the model has an l1 penalty, so that its nearly as good models are no ellipsoid, not "
          "even to second order: the set {} does not exist for it; use `set: true`, which needs "
          "the training rows",
          enum_name(kind));
}

const StoredRows& training_rows(const SetChoice& choice, const Model& model) {
  if (choice.rows != nullptr) return *choice.rows;
  require(model.rows.has_value(),
          "the true set needs the training rows: give `rows`, or train with `store_rows`");
  return *model.rows;
}

void require_closed_form(SetKind kind) {
  require(is_first_order(kind) || is_ellipsoidal(kind),
          "the {} set is searched by `method: exact` (linear models), network and data only; use "
          "another set or method",
          enum_name(kind));
}

SetChoice second_order(const SetChoice& choice) {
  const bool is_closed = is_first_order(choice.kind) || is_ellipsoidal(choice.kind);
  return is_closed ? choice : SetChoice{.contest = choice.contest};
}

Matrix damped_hessian(const Model& model, std::optional<double> damping) {
  Matrix hessian = model.curvature.hessian;
  if (damping) {
    const Index outputs = model.network.outputs();
    Penalty change = penalty_of(model.training);
    change.l2 = 1;  // what is left is the factors
    hessian.diagonal() +=
        (*damping - model.training.l2) * change.diagonal(hessian.rows() / outputs - 1, outputs);
  }
  return hessian;
}

}  // namespace ellice
