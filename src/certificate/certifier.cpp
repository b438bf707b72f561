#include "certificate/certifier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "certificate/extended_pass.hpp"
#include "core/infinity.hpp"
#include "ellice/core/error.hpp"
#include "model/deployed_rounding.hpp"
#include "sets/contest.hpp"
#include "sets/paired_inverse.hpp"
#include "sets/paired_product.hpp"
#include "sets/question.hpp"

namespace ellice {

namespace {

/// What the rounding of all layers in extended precision may add up to, relative to sums in which
/// nothing cancels, in units of the margin of reaches() (theory.md, Result 25).
constexpr long double rounding_share = 0x1p-13L;

/// A part's score of the centre and of its worst head.
struct PartScore {
  long double logit = 0;
  long double robust = 0;
  long double scale = 0;  // of its rounding
  LongVector worst = {};  // a head that attains it
};

/// The features h̃ of a row, as each part's model sees it; parts of one model share them.
class SeenRow {
 public:
  /// `encoded` as `model` sees the row.
  SeenRow(const RawRow& point, const Model& model, VectorArg encoded) : point_(&point) {
    see(model, encoded);
  }

  const LongVector& by(const Model& model) {
    if (model_ != &model) see(model, model.encoder.encode(*point_));
    return features_;
  }
  /// What rounding of those of the last model is measured by; empty where they are the row itself.
  [[nodiscard]] const LongVector& sizes() const { return sizes_; }

 private:
  void see(const Model& model, VectorArg encoded) {
    model_ = &model;
    if (model.network.is_linear()) {
      features_.resize(encoded.size() + 1);
      features_.head(encoded.size()) = encoded.cast<long double>();
      sizes_.resize(0);
    } else {
      const ExtendedPass pass = extended_pass(
          model.network, parameter_vector(model.network).cast<long double>(), encoded);
      const LongVector& last = pass.inputs.back();
      features_.resize(last.size() + 1);
      features_.head(last.size()) = last;
      sizes_ = pass.sizes.back();
    }
    features_[features_.size() - 1] = 1;
  }

  const RawRow* point_;
  const Model* model_ = nullptr;
  LongVector features_;
  LongVector sizes_;
};

/// What rounding of the features does to the score of a head, class by class where it has several.
long double rounding_size(const LongVector& sizes, const LongVector& head) {
  const Index p = sizes.size() + 1;
  long double result = 0;
  for (Index first = 0; first < head.size(); first += p)
    result += sizes.dot(head.segment(first, p - 1).cwiseAbs());
  return result;
}

/// Whether doubles show that a linear model's own score is below the threshold (theory.md,
/// Result 65): what is declined clearly needs no more.
bool surely_declines(const Vector& head, const Vector& encoded, double threshold) {
  const Index d = encoded.size();
  double logit = head[d];
  double scale = std::abs(head[d]);
  for (Index i = 0; i < d; ++i) {
    const double term = head[i] * encoded[i];
    logit += term;
    scale += std::abs(term);
  }
  return logit + 2 * static_cast<double>(d + 4) * 0x1p-53 * scale < threshold;
}

/// Nothing where the centre alone shows that the part fails at `threshold`.
std::optional<PartScore> score(const Part& part, SeenRow& row, double threshold,
                               const WorstHead* nearby) {
  const LongVector& features = row.by(*part.model);
  const Vector of_rival = part.rival ? part.coefficients(part.set->center()) : Vector();
  const Vector& center = part.rival ? of_rival : part.set->center();
  const PairedVector pairs(features);
  PartScore result{
      .logit = static_cast<long double>(paired_dot(center, pairs)),
      .scale = static_cast<long double>(center.cwiseProduct(pairs.high).cwiseAbs().sum())};
  if (result.logit < threshold) return std::nullopt;  // the worst model is no better
  ExtendedWorst worst = part.rival
                            ? part.set->worst_extended(part.direction_extended(features), nearby)
                            : part.set->worst_extended(features, nearby);
  result.robust = worst.robust;
  result.scale += result.logit - worst.robust;
  result.worst = std::move(worst.model);
  if (row.sizes().size() > 0) {
    const LongVector own = part.set->center().cast<long double>();
    result.scale =
        std::max(result.scale, rounding_share * (rounding_size(row.sizes(), own) +
                                                 rounding_size(row.sizes(), result.worst)));
  }
  return result;
}

/// The worst parameters of a first-order set, and what the network makes of them.
struct WorstNetwork {
  long double logit = 0;
  long double robust = 0;  // of the linearised network
  long double real = 0;
  long double scale = 0;  // of its rounding
  long double real_scale = 0;
  bool on_kink = false;
};

/// Nothing where the network's own logit shows that the worst one misses `threshold`.
std::optional<WorstNetwork> worst_network(const Model& model, const SetChoice& choice,
                                          double epsilon, VectorArg encoded, double threshold) {
  const Network& network = model.network;
  const LongVector parameters = parameter_vector(network).cast<long double>();
  const ExtendedPass pass = extended_pass(network, parameters, encoded);
  if (pass.logit < threshold) return std::nullopt;
  const LongVector jacobian = extended_jacobian(network, parameters, pass);
  const long double damping = choice.kind == SetKind::full ? *choice.damping : 1;
  LongVector rest = jacobian;  // J − Uy
  long double along = 0;       // Σ y²/e
  if (choice.kind == SetKind::full && model.curvature.full->values.size() > 0) {
    const GaussNewton& curvature = *model.curvature.full;
    const LongVector e = curvature.values.cast<long double>();
    PairedVector c(e.size());
    add_product(Eigen::Map<const Matrix>(curvature.vectors.data(), e.size(), jacobian.size()),
                PairedVector(jacobian), c);
    LongVector share = c.high.cast<long double>() + c.low.cast<long double>();
    share.array() /= e.array() + damping;
    const LongVector y = e.cwiseProduct(share);
    along = share.dot(y);
    const PairedVector pairs(y);
    for (Index k = 0; k < rest.size(); ++k)
      rest(k) -= static_cast<long double>(row_product(curvature.vectors.row(k).data(), pairs));
  }
  // From above for any y, and without a difference of squares (theory.md, Result 25).
  const long double spread = std::sqrt(rest.squaredNorm() / damping + along);
  const long double radius = std::sqrt(2 * static_cast<long double>(epsilon));
  const ExtendedPass worst =
      extended_pass(network, parameters - (radius / (spread * damping)) * rest, encoded);
  // Rounding of J − Uy moves the worst parameters, and through J the real logit.
  const long double slope = jacobian_size(network, parameters, pass) / std::sqrt(damping);
  const long double margin = radius * spread;
  return WorstNetwork{
      .logit = pass.logit,
      .robust = pass.logit - margin,
      .real = worst.logit,
      .scale = std::max(pass.scale + margin, rounding_share * (pass.size + radius * slope)),
      .real_scale = std::max(worst.scale + margin,
                             rounding_share * (worst.size + radius * slope * slope / spread)),
      .on_kink = pass.on_kink};
}

}  // namespace

Certifier::Certifier(const Model& model, double epsilon, double threshold)
    : Certifier(model, SetChoice{}, epsilon, threshold) {}

Certifier::Certifier(const Model& model, const SetChoice& choice, double epsilon, double threshold)
    : model_(&model), epsilon_(epsilon), threshold_(threshold) {
  require(std::isfinite(threshold), "threshold = {} must be finite", threshold);
  require(epsilon >= 0 && std::isfinite(epsilon), "epsilon = {} must be >= 0 and finite", epsilon);
  validate(choice, model);
  choice_ = with_stated_damping(choice, model);
  claim_ = claim_text(model, choice_, epsilon, threshold);
  if (!is_first_order(choice.kind))
    question_ = std::make_shared<const Question>(model, choice, epsilon, threshold);
}

std::optional<Certificate> Certifier::certify(const RawRow& point, const WorstHead* nearby) const {
  return certify(point, model_->encoder.encode(point), nearby);
}

std::optional<Certificate> Certifier::certify(const RawRow& point, const Vector& encoded,
                                              const WorstHead* nearby) const {
  if (model_->deployed && !accepts_deployed(*model_, encoded, threshold_)) return std::nullopt;
  // Each member decides by its own parameters, from its own threshold on.
  for (const Model* member : choice_.members) {
    const double own = std::max(threshold_, member->decision.threshold);
    if (member->deployed && !accepts_deployed(*member, member->encoder.encode(point), own))
      return std::nullopt;
  }
  return question_ ? certify_parts(point, encoded, nearby) : certify_first_order(point, encoded);
}

bool Certifier::accepts_deployed(const Model& model, const Vector& encoded, double threshold) {
  const Deployed& deployed = *model.deployed;
  Network network = model.network;
  network.set_head(deployed.head);
  const ExtendedPass pass =
      extended_pass(network, parameter_vector(network).cast<long double>(), encoded);
  return reaches(pass.logit, pass.scale, threshold) &&
         rounding_bound(model, encoded) <= deployed.margin;
}

bool Certifier::reaches(long double logit, long double scale, long double threshold) {
  return logit >= threshold + 1e-12L * (scale + std::abs(threshold));
}

Certificate Certifier::blank(const RawRow& point, const Vector& encoded) const {
  Certificate result{.model_sha256 = model_->sha256,
                     .set = choice_.kind,
                     .epsilon = epsilon_,
                     .threshold = threshold_,
                     .point = point,
                     .encoded = encoded,
                     .damping = choice_.damping,
                     .claim = claim_};
  if (!choice_.contest) return result;
  const auto name_of = [&](Index k) {
    return model_->decision.classes[static_cast<std::size_t>(k)];
  };
  result.target = name_of(choice_.contest->winner);
  result.logit = result.robust_logit = std::numeric_limits<double>::infinity();
  const std::vector<Index> acceptable = acceptable_classes(*model_, *choice_.contest);
  if (acceptable.size() > 1) {
    for (const Index k : acceptable) result.acceptable.push_back(name_of(k));
  }
  return result;
}

std::optional<Certificate> Certifier::certify_parts(const RawRow& point, const Vector& encoded,
                                                    const WorstHead* nearby) const {
  const std::vector<Part>& parts = question_->parts();
  const Part& front = parts.front();
  if (front.model == model_ && !front.rival && model_->network.is_linear() &&
      surely_declines(front.set->center(), encoded, threshold_))
    return std::nullopt;
  SeenRow row(point, *model_, encoded);
  std::vector<PartScore> scores;
  scores.reserve(parts.size());
  for (const Part& part : parts) {
    std::optional<PartScore> found =
        score(part, row, threshold_, question_->is_single() ? nearby : nullptr);
    if (!found || !reaches(found->robust, found->scale)) return std::nullopt;
    scores.push_back(std::move(*found));
  }
  Certificate result = blank(point, encoded);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const auto logit = static_cast<double>(scores[i].logit);
    const auto robust = static_cast<double>(scores[i].robust);
    Vector worst = scores[i].worst.cast<double>();
    if (part.rival) {
      result.rivals.push_back(
          {.name = model_->decision.classes[static_cast<std::size_t>(*part.rival)],
           .logit = logit,
           .robust_logit = robust,
           .worst_model = std::move(worst)});
      result.logit = std::min(result.logit, logit);
      result.robust_logit = std::min(result.robust_logit, robust);
    } else if (part.model == model_) {
      result.logit = logit;
      result.robust_logit = robust;
      result.worst_model = std::move(worst);
    } else {
      result.members.push_back({.model_sha256 = part.model->sha256,
                                .logit = logit,
                                .robust_logit = robust,
                                .worst_model = std::move(worst)});
    }
  }
  return result;
}

std::optional<Certificate> Certifier::certify_first_order(const RawRow& point,
                                                          const Vector& encoded) const {
  const std::optional<WorstNetwork> worst =
      worst_network(*model_, choice_, epsilon_, encoded, threshold_);
  if (!worst || worst->on_kink || !reaches(worst->robust, worst->scale) ||
      !reaches(worst->real, worst->real_scale)) {
    return std::nullopt;
  }
  Certificate result = blank(point, encoded);
  result.logit = static_cast<double>(worst->logit);
  result.robust_logit = static_cast<double>(worst->robust);
  result.real_logit = static_cast<double>(worst->real);
  return result;
}

Evaluation Certifier::evaluate(const RawRow& point) const {
  if (!question_) {
    const WorstNetwork worst =
        *worst_network(*model_, choice_, epsilon_, model_->encoder.encode(point), -infinity);
    return {.logit = static_cast<double>(worst.logit),
            .robust_logit = static_cast<double>(worst.robust),
            .real_logit = static_cast<double>(worst.real)};
  }
  Evaluation result{.logit = infinity, .robust_logit = infinity};
  SeenRow row(point, *model_, model_->encoder.encode(point));
  for (const Part& part : question_->parts()) {
    const PartScore found = *score(part, row, -infinity, nullptr);
    // An ensemble's logit is that of the model itself; with many classes the smallest lead counts.
    if (part.model == model_)
      result.logit = std::min(result.logit, static_cast<double>(found.logit));
    result.robust_logit = std::min(result.robust_logit, static_cast<double>(found.robust));
  }
  return result;
}

}  // namespace ellice
