#include "ellice/rashomon/certificate.hpp"

#include <cmath>
#include <limits>

#include "ellice/core/error.hpp"
#include "ellice/rashomon/ellipsoid.hpp"

namespace ellice {

namespace {

constexpr std::string_view format_name = "ellice.certificate";
constexpr int newest_version = 1;

using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// b − hᵀs with the rounding error of twice the working precision: each product and each sum is
/// split into its rounded value and its exact error (Ogita, Rump and Oishi, 2005).
double residual(VectorArg h, const LongVector& s, double b) {
  double sum = b;
  double errors = 0;
  long double tail = 0;  // of what a double does not hold of s
  for (Index j = 0; j < h.size(); ++j) {
    const auto leading = static_cast<double>(s(j));
    const double product = -h(j) * leading;
    errors += std::fma(-h(j), leading, -product);
    const double total = sum + product;
    const double back = total - sum;
    errors += (sum - (total - back)) + (product - back);
    sum = total;
    tail += h(j) * (s(j) - static_cast<long double>(leading));
  }
  return static_cast<double>(static_cast<long double>(sum) + errors - tail);
}

/// H⁻¹x̃ to the last digits of double for every H that Cholesky can factor: iterative refinement
/// (Higham, Accuracy and Stability, 12.1), with residuals so exact that the condition of H does
/// not show.
LongVector refined_solve(const RashomonEllipsoid& set, const Vector& x_tilde) {
  LongVector solution = LongVector::Zero(x_tilde.size());
  Vector remainder = x_tilde;
  double last_correction = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 10; ++step) {
    const Vector correction = set.factor().solve(remainder);
    const double size = correction.norm();
    if (!(size < last_correction)) break;  // as exact as it gets
    last_correction = size;
    solution += correction.cast<long double>();
    for (Index i = 0; i < remainder.size(); ++i) {
      remainder(i) = residual(set.hessian().col(i), solution, x_tilde(i));
    }
  }
  return solution;
}

}  // namespace

Certifier::Certifier(const Model& model, double epsilon, double threshold)
    : model_(&model), set_(last_layer_set(model, epsilon)), threshold_(threshold) {
  require(std::isfinite(threshold), "threshold = {} must be finite", threshold);
  claim_ = claim_text(model, SetKind::last_layer, epsilon, threshold);
}

std::optional<Certificate> Certifier::certify(const RawRow& point) const {
  const Vector encoded = model_->encoder.encode(point);
  const Vector x_tilde = with_one(encoded);
  const LongVector exact_x = x_tilde.cast<long double>();
  const LongVector theta = set_.center().cast<long double>();
  const long double logit = theta.dot(exact_x);
  if (logit < threshold_) return std::nullopt;  // the worst model is no better than the base model
  const LongVector solved = refined_solve(set_, x_tilde);
  const long double norm = std::sqrt(exact_x.dot(solved));
  const long double radius = std::sqrt(2 * static_cast<long double>(set_.epsilon()));
  const long double robust = logit - radius * norm;
  const LongVector worst = theta - (radius / norm) * solved;

  const long double scale = theta.cwiseProduct(exact_x).cwiseAbs().sum() + radius * norm +
                            std::abs(static_cast<long double>(threshold_));
  if (!(robust >= static_cast<long double>(threshold_) + 1e-12L * scale)) return std::nullopt;
  return Certificate{.model_sha256 = model_->sha256,
                     .set = SetKind::last_layer,
                     .epsilon = set_.epsilon(),
                     .threshold = threshold_,
                     .point = point,
                     .encoded = encoded,
                     .logit = static_cast<double>(logit),
                     .robust_logit = static_cast<double>(robust),
                     .worst_model = worst.cast<double>(),
                     .claim = claim_};
}

std::string claim_text(const Model& model, SetKind /*set*/, double epsilon, double threshold) {
  const std::string e = number_text(epsilon);
  std::string text = fmt::format(
      "Every model θ with ½(θ−θ̂)ᵀH(θ−θ̂) ≤ {} gives this point a logit of at least {}, where θ̂ and "
      "H are "
      "the parameters and the Hessian in the model file.",
      e, number_text(threshold));
  const TrainingRecord& training = model.training;
  if (training.loss_kind == LossKind::squared && model.curvature.shift == 0) {
    text += fmt::format(
        " These are exactly the models whose training objective is within {} of the optimum.", e);
  } else {
    text += fmt::format(
        " To second order these are the models whose training objective is within {} of the "
        "optimum; "
        "models outside this ellipsoid are not covered.",
        e);
  }
  if (model.curvature.shift > 0) {
    text += fmt::format(
        " H contains a diagonal shift of {} that is not part of the objective: without it the set "
        "of "
        "near-optimal models is unbounded.",
        number_text(model.curvature.shift));
  }
  // Off the optimum the objective is not centred on θ̂; 1 % of ε is where that begins to matter.
  if (training.head_decrement > 0.01 * epsilon && training.head_decrement > 1e-15) {
    text += fmt::format(" θ̂ itself is {} above the minimum of the objective.",
                        number_text(training.head_decrement));
  }
  return text;
}

Json to_json(const Certificate& certificate, const Schema& schema) {
  Json result = make_envelope(format_name, newest_version);
  result["model_sha256"] = certificate.model_sha256;
  result["set"] = std::string(enum_name(certificate.set));
  result["epsilon"] = certificate.epsilon;
  result["threshold"] = certificate.threshold;
  result["point"] = row_to_json(schema, certificate.point);
  result["encoded"] = to_json_array(certificate.encoded);
  result["logit"] = certificate.logit;
  result["robust_logit"] = certificate.robust_logit;
  result["worst_model"] = to_json_array(certificate.worst_model);
  result["claim"] = certificate.claim;
  return result;
}

Certificate certificate_from_json(const Json& value, const Model& model, const std::string& source,
                                  const std::string& path) {
  JsonObject object(value, source, path);
  object.envelope(format_name, newest_version);
  Certificate certificate{.model_sha256 = object.string("model_sha256")};
  if (certificate.model_sha256 != model.sha256) {
    fail(
        ErrorCode::input,
        "{}: {}: the certificate is for another model: model_sha256 is {}, the model file's is {}; "
        "verify it against the model that it was issued for",
        source, path.empty() ? "top level" : path, certificate.model_sha256, model.sha256);
  }
  certificate.set = object.choice<SetKind>("set");
  certificate.epsilon = object.number("epsilon");
  if (certificate.epsilon < 0) object.wrong("epsilon", "a number >= 0");
  certificate.threshold = object.number("threshold");
  certificate.point = row_from_json(model.schema(), object.at("point"), source,
                                    path.empty() ? "point" : path + ".point");
  const Index columns = model.encoder.columns();
  certificate.encoded = object.vector("encoded", columns);
  certificate.logit = object.number("logit");
  certificate.robust_logit = object.number("robust_logit");
  certificate.worst_model = object.vector("worst_model", columns + 1);
  certificate.claim = object.string("claim");
  object.finish();
  return certificate;
}

}  // namespace ellice
