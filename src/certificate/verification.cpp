#include "ellice/certificate/verification.hpp"

#include <algorithm>
#include <cmath>

#include "certificate/plain_network.hpp"
#include "certificate/plain_true_set.hpp"
#include "certificate/verification_check.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

using namespace verification;

namespace {

/// What a model sees of a number by its bin, by walking along the edges.
void add_binned(const Bins& bins, double number, std::vector<double>& raw) {
  std::size_t bin = 0;
  for (const double edge : bins.edges) {
    const bool is_beyond = bins.closed == Bins::Closed::right ? number > edge : number >= edge;
    bin += is_beyond ? 1 : 0;
  }
  for (std::size_t k = 0; k < bins.special.size(); ++k) {
    if (bins.special[k].number == number) bin = bins.edges.size() + 1 + k;
  }
  if (!bins.values.empty()) {
    raw.push_back(bins.values[bin]);
    return;
  }
  for (std::size_t k = 0; k < bins.edges.size() + 1 + bins.special.size(); ++k)
    raw.push_back(k == bin ? 1 : 0);
}

/// The point in a model's space. One subtraction and one division in double precision, so that
/// there is nothing to differ in.
Vector encode(const Model& model, const RawRow& point) {
  const Schema& schema = model.schema();
  std::vector<double> raw;
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    if (feature.is_binned()) {
      add_binned(feature.bins, std::get<double>(point[j]), raw);
      continue;
    }
    if (feature.is_number()) {
      raw.push_back(std::get<double>(point[j]));
      continue;
    }
    const auto& level = std::get<std::string>(point[j]);
    const auto found = std::find(feature.levels.begin(), feature.levels.end(), level);
    require(found != feature.levels.end(), "feature \"{}\": \"{}\" is not one of its levels",
            feature.name, level);
    const auto index = static_cast<std::size_t>(found - feature.levels.begin());
    if (feature.kind == FeatureKind::categorical) {
      for (std::size_t k = 0; k < feature.levels.size(); ++k) raw.push_back(k == index ? 1 : 0);
    } else {
      raw.push_back(static_cast<double>(index));
    }
  }
  const Eigen::Map<const Vector> values(raw.data(), static_cast<Index>(raw.size()));
  return (values - model.encoder.mean()).cwiseQuotient(model.encoder.scale());
}

/// Everything that a certificate says of the first-order set of a network.
Recomputed check_first_order(const Model& model, const Certificate& certificate, VectorArg z,
                             const Stated& stated, std::vector<std::string>& failures) {
  Check check(stated, failures);
  PlainNetwork network(model.network);
  if (network.is_on_kink(z))
    check.fail("the point is on the kink of a relu unit, where the network has no derivative");
  const std::vector<long double> j = network.jacobian(z);
  const bool is_full = certificate.set == SetKind::full;
  const long double damping = is_full ? *certificate.damping : 1;
  std::vector<long double> v = j;  // λ(G+λI)⁻¹J = J − Uy, and s² = ‖J − Uy‖²/λ + Σ y²/e
  long double square = 0;
  if (is_full) {
    const GaussNewton& curvature = *model.curvature.full;
    for (Index k = 0; k < curvature.values.size(); ++k) {
      long double c = 0;
      for (std::size_t i = 0; i < j.size(); ++i) {
        c += curvature.vectors(static_cast<Index>(i), k) * j[i];
      }
      const long double e = curvature.values(k);
      const long double share = c / (e + damping);
      square += e * share * share;
      for (std::size_t i = 0; i < j.size(); ++i) {
        v[i] -= e * share * curvature.vectors(static_cast<Index>(i), k);
      }
    }
  }
  for (const long double entry : v) square += entry * entry / damping;
  const long double spread = std::sqrt(square);
  const long double radius = std::sqrt(2 * static_cast<long double>(stated.epsilon));
  const long double logit = network.logit(z);
  const long double robust = logit - radius * spread;
  // Where layers cancel, rounding is measured by sums in which nothing does.
  const long double slope = network.jacobian_size(z) / std::sqrt(damping);
  const long double scale = network.logit_size(z) + radius * slope;
  for (long double& entry : v) entry *= -radius / (spread * damping);
  network.move(v);
  const long double real = network.logit(z);

  check.number("logit", stated.logit, logit, scale);
  check.number("robust_logit", stated.robust_logit, robust, scale);
  check.number("real_logit", certificate.real_logit.value_or(0), real,
               network.logit_size(z) + radius * slope * slope / spread);
  check.threshold("the linearised network's worst", robust);
  check.threshold("the stated worst", stated.robust_logit);
  check.threshold("the real network's", real);
  return {.logit = static_cast<double>(logit), .robust_logit = static_cast<double>(robust)};
}

/// Everything that a certificate says of the true set and the score aᵀθ of its models. Where
/// something is wrong, a model of the set may be found that rejects the row.
Recomputed check_true(const std::shared_ptr<const PlainObjective>& shared, const LongVector& theta,
                      const LongVector& a, const Stated& stated, const Vector& worst_model,
                      Verification& result) {
  const PlainObjective& objective = *shared;
  Check check(stated, result.failures);
  const long double logit = theta.dot(a);
  const long double scale = theta.cwiseProduct(a).cwiseAbs().sum();
  const LongVector worst = worst_model.cast<long double>();
  const long double excess = objective.evaluate(worst).objective - objective.optimum();
  // A proof loses what a model misses of the optimality conditions, to first order where there are
  // corners: the cheapest model with that score misses none.
  const LongVector shown =
      objective.corners().empty()
          ? worst
          : PlainTrueSet(shared, theta).cheapest(a, worst.dot(a), &worst).model;
  const long double bound = objective.lower_bound(shown, a, stated.epsilon);

  check.number("logit", stated.logit, logit, scale);
  // Two proofs of the same bound differ by their rounding. An objective that is off by ρ moves the
  // bound by ρ/τ, and τ is about 2ε/penalty (Result 27: h = √(2(L−L̂)) is nearly linear in the
  // score); who issues also keeps ρ from the border of the set, and rounds L̂ as well.
  const long double penalty = logit - bound;
  const long double rounding = std::max(objective.rounding(worst), objective.rounding(theta));
  const long double lost = std::max(1e-13L * (1 + objective.optimum()), 2 * rounding);
  const long double allowed = tolerance * (scale + penalty) + lost * penalty / stated.epsilon;
  check.close("robust_logit", stated.robust_logit, bound, allowed);
  check.close("worst_model's logit", worst.dot(a), bound, allowed);
  if (excess > stated.epsilon * (1 + tolerance)) {
    check.fail(
        fmt::format("worst_model does not belong to the set: its objective is {} above the "
                    "optimum, more than {}",
                    static_cast<double>(excess), stated.epsilon));
  }
  check.threshold("the worst model's", bound);
  check.threshold("the stated worst", stated.robust_logit);
  if (!result.failures.empty()) {
    // A little inside, so that it is of the set when it is written.
    const LongVector lowest = PlainTrueSet(shared, theta).worst(a, stated.epsilon).model;
    const Vector found = (theta + (1 - 1e-9L) * (lowest - theta)).cast<double>();
    const LongVector breaking = found.cast<long double>();
    const long double level = objective.optimum() + stated.epsilon;
    if (objective.evaluate(breaking).objective <= level && breaking.dot(a) < stated.threshold) {
      result.breaking_model = found;
      check.fail(fmt::format("a model of the set gives the row a logit of {}, below the threshold",
                             static_cast<double>(breaking.dot(a))));
    }
  }
  return {.logit = static_cast<double>(logit), .robust_logit = static_cast<double>(bound)};
}

/// The parameters that decide elsewhere must reach the threshold, and the margin must bound what
/// their arithmetic does to this row (theory.md, Result 57).
void check_deployed(const Model& model, VectorArg z, const Stated& stated,
                    std::vector<std::string>& failures) {
  const Deployed& deployed = *model.deployed;
  const long double unit = deployed.precision == Precision::float32 ? 0x1p-24L : 0x1p-53L;
  const auto lost = [&](std::size_t terms) {  // of a sum of products, there and here
    const auto n = static_cast<long double>(terms);
    const long double there = (2 * n + 8) * unit;
    const long double here = (4 * n + 32) * unit_roundoff;
    return there / (1 - there) + here / (1 - here);
  };
  const std::vector<Layer>& layers = model.network.layers;
  std::vector<long double> values;
  std::vector<long double> sizes;   // of the terms, in the program's own units
  std::vector<long double> errors;  // of the values
  for (Index j = 0; j < z.size(); ++j) {
    const long double scale = model.encoder.scale()(j);
    const long double raw = model.encoder.mean()(j) + scale * z(j);
    values.push_back(z(j));
    sizes.push_back((std::abs(raw) + deployed.offsets(j)) / scale);
    errors.push_back(0);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const bool is_head = l + 1 == layers.size();
    const Layer& layer = layers[l];
    std::vector<long double> next;
    std::vector<long double> next_errors;
    for (Index k = 0; k < layer.weights.rows(); ++k) {
      const auto weight = [&](std::size_t i) -> long double {
        const auto at = static_cast<Index>(i);
        return is_head ? deployed.head(at) : layer.weights(k, at);
      };
      const long double bias = is_head ? deployed.head(deployed.head.size() - 1) : layer.bias(k);
      // Of two outputs each is rounded by itself.
      const bool is_pair = is_head && deployed.sizes.size() > 0;
      const auto size_of = [&](std::size_t i) -> long double {
        return is_pair ? deployed.sizes(static_cast<Index>(i)) : std::abs(weight(i));
      };
      long double sum = bias;
      long double size = 8 + (l == 0 ? deployed.constant : std::abs(bias));
      if (is_pair && l > 0) size = 8 + deployed.sizes(deployed.sizes.size() - 1);
      long double error = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        sum += weight(i) * values[i];
        size += size_of(i) * (sizes[i] + errors[i]);
        error += std::abs(weight(i)) * errors[i];
      }
      error += lost(values.size()) * size;
      if (!is_head) {
        const bool is_curved =
            layer.activation == Activation::tanh || layer.activation == Activation::sigmoid;
        if (is_curved) error += 16 * unit;
        if (layer.activation == Activation::relu && sum < 0) sum = 0;
        if (layer.activation == Activation::tanh) sum = std::tanh(sum);
        if (layer.activation == Activation::sigmoid) sum = 1 / (1 + std::exp(-sum));
      }
      next.push_back(sum);
      next_errors.push_back(error);
    }
    values = std::move(next);
    errors = std::move(next_errors);
    sizes.clear();
    for (const long double value : values) sizes.push_back(std::abs(value));
  }
  Check check(stated, failures);
  check.threshold("the deployed model's", values.front());
  if (errors.front() > deployed.margin * (1 + tolerance)) {
    check.fail(
        fmt::format("rounding may change the deployed model's score by {}, and its margin "
                    "is {}",
                    static_cast<double>(errors.front()), deployed.margin));
  }
}

/// What a certificate says of one of the other models of an ensemble; gives its robust logit.
double check_member(const Certificate& certificate, std::size_t k, const Model& model,
                    const Stated& stated, std::vector<std::string>& failures) {
  const MemberCertificate& member = certificate.members[k];
  const Index head = model.network.layers.back().weights.cols() + 1;
  require(member.worst_model.size() == head,
          "members[{}].worst_model has {} entries, the model's head has {}", k,
          member.worst_model.size(), head);
  Stated own = stated;
  own.prefix = fmt::format("members[{}].", k);
  own.logit = member.logit;
  own.robust_logit = member.robust_logit;
  const Vector z = encode(model, certificate.point);
  const Recomputed one = check_head(model, hessian_of(model, certificate.damping), z, own,
                                    member.worst_model, failures);
  if (model.deployed) {
    own.threshold = std::max(own.threshold, model.decision.threshold);
    check_deployed(model, z, own, failures);
  }
  return one.robust_logit;
}

}  // namespace

Verifier::Verifier(const Model& model, std::vector<const Model*> members, const StoredRows* rows)
    : model_(&model),
      members_(std::move(members)),
      rows_(rows == nullptr && model.rows ? &*model.rows : rows),
      eliminated_(std::make_shared<EliminatedHessian>(hessian_of(model, {}))) {
  if (rows_ == nullptr) return;
  objective_ = std::make_shared<PlainObjective>(model, *rows_);
  require_input(objective_->rows_fit(),
                "the rows are not those of the model: their number, or the model's loss or Hessian "
                "on them, is not that of its file; give the data that it was trained on");
}

SetChoice Verifier::choice_of(const Certificate& certificate) const {
  const bool has_many = model_->network.outputs() > 1;
  const Index own_head = model_->network.head().size();
  const Index head = is_first_order(certificate.set) || has_many ? 0 : own_head;
  require(certificate.model_sha256 == model_->sha256 &&
              certificate.point.size() == model_->schema().features.size() &&
              certificate.encoded.size() == model_->encoder.columns() &&
              certificate.worst_model.size() == head &&
              std::all_of(certificate.rivals.begin(), certificate.rivals.end(),
                          [&](const RivalCertificate& rival) {
                            return has_many && rival.worst_model.size() == own_head;
                          }),
          "the certificate is for another model: model_sha256 is \"{}\", the model's is \"{}\"",
          certificate.model_sha256, model_->sha256);
  SetChoice choice{.kind = certificate.set, .damping = certificate.damping, .rows = rows_};
  if (has_many) choice.contest = contest_of(*model_, certificate);
  for (const MemberCertificate& member : certificate.members) {
    const auto found = std::find_if(members_.begin(), members_.end(), [&](const Model* model) {
      return model->sha256 == member.model_sha256;
    });
    require(found != members_.end(),
            "the certificate speaks of the model {} of an ensemble: give that model, too",
            member.model_sha256);
    choice.members.push_back(*found);
  }
  validate(choice, *model_);
  require(certificate.damping.has_value() || certificate.set != SetKind::full,
          "a certificate of the full set states its damping");
  const bool is_true = certificate.set == SetKind::true_set;
  require(is_true || is_first_order(certificate.set) || is_ellipsoidal(certificate.set),
          "the set {} has no verifier yet", enum_name(certificate.set));
  if (is_true) {
    require_input(
        objective_->objective_fits(),
        "the model file contradicts itself: its training.objective, {}, is not the one on "
        "the rows of its training; it was altered since: train or import it again",
        model_->training.objective);
  }
  return choice;
}

Recomputed Verifier::check_scores(const Certificate& certificate, const SetChoice& choice,
                                  const Vector& z, const Stated& stated,
                                  Verification& result) const {
  if (is_first_order(certificate.set))
    return check_first_order(*model_, certificate, z, stated, result.failures);
  if (certificate.set == SetKind::true_set) {
    if (!choice.contest) {
      return check_true(objective_, head_of(*model_), features_of(*model_, z), stated,
                        certificate.worst_model, result);
    }
    const auto check_rival = [&](const RivalPart& part) {
      return check_true(objective_, part.theta, part.a, part.stated, part.worst_model, result);
    };
    return check_contest(*model_, *choice.contest, check_rival, z, certificate, stated,
                         result.failures);
  }
  const std::shared_ptr<const EliminatedHessian> eliminated =
      certificate.damping
          ? std::make_shared<EliminatedHessian>(hessian_of(*model_, certificate.damping))
          : eliminated_;
  if (!choice.contest)
    return check_head(*model_, *eliminated, z, stated, certificate.worst_model, result.failures);
  return check_contest(*model_, *choice.contest,
                       ellipsoid_rival_check(*eliminated, result.failures), z, certificate, stated,
                       result.failures);
}

Verification Verifier::verify(const Certificate& certificate) const {
  const SetChoice choice = choice_of(certificate);
  Verification result;
  const Vector z = encode(*model_, certificate.point);
  for (Index i = 0; i < z.size(); ++i) {
    if (std::abs(certificate.encoded(i) - z(i)) <= 1e-15 * std::abs(z(i))) continue;
    result.failures.push_back(
        fmt::format("encoded[{}] is {}, but the point gives {}", i, certificate.encoded(i), z(i)));
    break;
  }
  const Stated stated{.logit = certificate.logit,
                      .robust_logit = certificate.robust_logit,
                      .epsilon = certificate.epsilon,
                      .threshold = certificate.threshold};
  const Recomputed recomputed = check_scores(certificate, choice, z, stated, result);
  if (model_->deployed) check_deployed(*model_, z, stated, result.failures);
  result.logit = recomputed.logit;
  result.robust_logit = recomputed.robust_logit;
  for (std::size_t k = 0; k < certificate.members.size(); ++k) {
    const double robust = check_member(certificate, k, *choice.members[k], stated, result.failures);
    result.robust_logit = std::min(result.robust_logit, robust);
  }
  if (with_stated_damping(choice, *model_).damping != certificate.damping ||
      certificate.claim !=
          claim_text(*model_, choice, certificate.epsilon, certificate.threshold)) {
    result.failures.emplace_back("the claim is not the sentence that belongs to these numbers");
  }
  return result;
}

}  // namespace ellice
