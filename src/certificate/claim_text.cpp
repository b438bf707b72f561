#include <algorithm>
#include <cmath>

#include "core/number_text.hpp"
#include "ellice/certificate/certificate.hpp"
#include "ellice/core/error.hpp"
#include "sets/contest.hpp"
#include "sets/off_optimum.hpp"

namespace ellice {

namespace {

/// The sentence about a model that is not the minimiser of its objective, or nothing.
std::string decrement_text(double decrement, double epsilon, std::string_view what) {
  if (!is_off_optimum(decrement, epsilon)) return "";
  return fmt::format(" {} is {} above the minimum of the objective.", what, number_text(decrement));
}

std::string first_order_text(const Model& model, const SetChoice& choice, double epsilon,
                             const std::string& threshold) {
  const std::string radius = number_text(std::sqrt(2 * epsilon));
  std::string text = fmt::format(
      "To first order: the network, linearised in all its parameters Θ around those of the model "
      "file, Θ̂, gives this point a logit of at least {} for every Θ with ",
      threshold);
  if (choice.kind == SetKind::isotropic) {
    text += fmt::format("½‖Θ−Θ̂‖² ≤ {} (radius {}).", number_text(epsilon), radius);
  } else {
    text += fmt::format(
        "½(Θ−Θ̂)ᵀ(G+λI)(Θ−Θ̂) ≤ {} (damping λ = {}, radius {}), where G is the Gauss–Newton matrix "
        "in the model file.",
        number_text(epsilon), number_text(choice.damping.value_or(0)), radius);
  }
  text +=
      " At the parameters that are worst for the linearised network the real one was evaluated and "
      "reaches this logit, too; of the real network at other parameters nothing is proved.";
  if (choice.kind == SetKind::full) {
    text += decrement_text(model.training.head_decrement, epsilon,
                           "With the hidden layers fixed, Θ̂ itself");
  }
  return text;
}

/// What every model of the set gives where there are many classes.
std::string contest_text(const Model& model, const Contest& contest, const std::string& margin) {
  const std::vector<Index> acceptable = acceptable_classes(model, contest);
  const std::string& winner = model.decision.classes[static_cast<std::size_t>(contest.winner)];
  const std::string lead =
      margin == "0" ? "is larger" : fmt::format("is larger by at least {}", margin);
  if (acceptable.size() == 1) {
    return fmt::format(
        "class {} a score at this point that {} than that of every other class, so that it is the "
        "class predicted",
        winner, lead);
  }
  return fmt::format(
      "class {} a score at this point that {} than that of each of the classes {}, so that the "
      "class predicted is {}",
      winner, lead, class_names(model, contest.rivals), class_text(model, acceptable));
}

std::string true_text(const Model& model, const SetChoice& choice, const std::string& epsilon,
                      const std::string& threshold) {
  const bool has_hidden = model.network.layers.size() > 1;
  const std::string_view noun = has_hidden ? "head" : "model";
  return fmt::format(
      "Every {} θ whose training objective L(θ) on the {} rows that the model was fitted on is "
      "within {} of its minimum{} gives {}. These are all such {}s, not an approximation of them: "
      "{}robust_logit is a lower bound over the set that is proved by the dual of the problem, and "
      "worst_model is a {} of the set that attains it up to rounding.{}",
      noun, model.training.rows, epsilon, has_hidden ? ", the hidden layers fixed," : "",
      choice.contest ? contest_text(model, *choice.contest, threshold)
                     : fmt::format("this point a logit of at least {}", threshold),
      noun, choice.contest ? "for each rival " : "", noun,
      has_hidden ? " No change of the hidden layers is covered." : "");
}

/// What is said of parameters that decide elsewhere.
std::string deployed_text(const Model& model, const std::string& whose) {
  if (!model.deployed) return "";
  const Deployed& deployed = *model.deployed;
  return fmt::format(
      " The deployed parameters{}, {} above the minimum, give it this logit as well; their own "
      "threshold is {}, and the difference bounds what {} arithmetic loses of their score.",
      whose, number_text(deployed.excess), number_text(deployed.threshold),
      enum_name(deployed.precision));
}

std::string set_text(const Model& model, const SetChoice& choice, double epsilon, double threshold);

}  // namespace

SetChoice with_stated_damping(const SetChoice& choice, const Model& model) {
  SetChoice result = choice;
  if (choice.kind == SetKind::full) {
    result.damping = choice.damping.value_or(model.curvature.full->damping);
  } else if (choice.damping) {
    const auto is_own = [&](const Model& one) { return one.training.l2 == *choice.damping; };
    const bool is_own_of_all =
        is_own(model) && std::all_of(choice.members.begin(), choice.members.end(),
                                     [&](const Model* member) { return is_own(*member); });
    if (is_own_of_all) result.damping.reset();
  }
  return result;
}

std::string claim_text(const Model& model, const SetChoice& choice, double epsilon,
                       double threshold) {
  std::string text = set_text(model, choice, epsilon, threshold) + deployed_text(model, "");
  for (std::size_t k = 0; k < choice.members.size(); ++k)
    text += deployed_text(*choice.members[k], fmt::format(" of model {}", k + 2));
  return text;
}

namespace {

std::string set_text(const Model& model, const SetChoice& choice, double epsilon,
                     double threshold) {
  const std::string e = number_text(epsilon);
  const std::string t = number_text(threshold);
  switch (choice.kind) {
    case SetKind::full:
    case SetKind::isotropic:
      return first_order_text(model, choice, epsilon, t);
    case SetKind::true_set:
      return true_text(model, choice, e, t);
    case SetKind::last_layer:
    case SetKind::ensemble:
      break;
  }
  std::vector<const Model*> models = {&model};
  models.insert(models.end(), choice.members.begin(), choice.members.end());
  const bool is_ensemble = choice.kind == SetKind::ensemble;
  const bool has_hidden = std::any_of(models.begin(), models.end(), [](const Model* one) {
    return one->network.layers.size() > 1;
  });
  const bool is_exact = std::all_of(models.begin(), models.end(), [](const Model* one) {
    return one->training.loss_kind == LossKind::squared && one->curvature.shift == 0;
  });
  const std::string_view noun = has_hidden ? "head" : "model";
  double shift = 0;
  for (const Model* one : models) shift = std::max(shift, one->curvature.shift);
  const double decrement = largest_decrement(model, choice);
  const std::string_view center = is_ensemble ? "θ̂ of one of the models" : "θ̂ itself";

  std::string text;
  if (is_ensemble) {
    text = fmt::format("For each of the {} models, this one and those under members: every ",
                       models.size());
  } else {
    text = "Every ";
  }
  text += fmt::format(
      "{} θ with ½(θ−θ̂)ᵀH(θ−θ̂) ≤ {} gives {}, where θ̂ and H are the parameters and the Hessian{} "
      "in "
      "{} file{}.",
      noun, e,
      choice.contest ? contest_text(model, *choice.contest, t)
                     : fmt::format("this point a logit of at least {}", t),
      has_hidden ? " of the head" : "", is_ensemble ? "that model's" : "the model",
      has_hidden ? ", and the hidden layers are fixed" : "");
  if (choice.damping) {
    text += fmt::format(
        " In H the damping {} stands in place of the objective's own l2: these are not the {}s "
        "whose training objective is within {} of the optimum.",
        number_text(*choice.damping), noun, e);
  } else if (is_off_optimum(decrement, epsilon)) {
    text += fmt::format(
        " {} is {} above the minimum of the objective: these are not the {}s whose training "
        "objective is within {} of the optimum, but an ellipsoid around θ̂ by the objective's "
        "curvature; {}s outside it are not covered.",
        center, number_text(decrement), noun, e, noun);
  } else if (is_exact) {
    text += fmt::format(
        " These are exactly the {}s whose training objective is within {} of the optimum.", noun,
        e);
  } else {
    text += fmt::format(
        " To second order these are the {}s whose training objective is within {} of the optimum; "
        "{}s outside this ellipsoid are not covered.",
        noun, e, noun);
  }
  if (has_hidden) text += " Nor is any change of the hidden layers.";
  if (shift > 0) {
    text += fmt::format(
        " H contains a diagonal shift of {} that is not part of the objective: without it the set "
        "of near-optimal models is unbounded.",
        number_text(shift));
  }
  return choice.damping ? text + decrement_text(decrement, epsilon, center) : text;
}

}  // namespace

}  // namespace ellice
