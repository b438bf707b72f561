#include "ellice/request/reasons.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"
#include "data/feature_facts.hpp"
#include "data/row_json.hpp"
#include "data/spelling.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/request/answer.hpp"
#include "model/attribution.hpp"
#include "model/deciding.hpp"
#include "model/score_points.hpp"
#include "request/answer_json.hpp"

namespace ellice {

namespace {

// A contribution that is smaller than this share of all of them is rounding.
constexpr double negligible = 1e-12;

/// Numbers at their training mean, which standardising makes 0; levels in equal parts.
Vector centre_of(const Encoder& encoder) {
  Vector point = Vector::Zero(encoder.columns());
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Feature& feature = encoder.schema().features[j];
    if (has_order(feature) && !feature.has_indicators()) continue;
    const auto levels =
        static_cast<double>(feature.is_binned() ? feature.bins.count() : feature.levels.size());
    point.segment(encoder.first_column(j), encoder.column_count(j)).setConstant(1 / levels);
  }
  return point;
}

/// The last column of H without its penalty is (1/n)·Σ φ″·x̃ᵢ, the last entry (1/n)·Σ φ″: their
/// ratio is a mean of the training rows. Nothing where a file's H is not of that form.
std::optional<Vector> curvature_mean(const Model& model) {
  const Encoder& encoder = model.encoder;
  const Matrix& hessian = model.curvature.hessian;
  const Index last = hessian.rows() - 1;
  if (model.network.layers.size() != 1 || last != encoder.columns()) return std::nullopt;
  const double mass = hessian(last, last) - model.curvature.shift -
                      (model.training.penalize_bias ? model.training.l2 : 0);
  if (!(mass > 1e-9 * hessian(last, last))) return std::nullopt;
  const Vector point = hessian.col(last).head(last) / mass;
  const Vector raw = point.cwiseProduct(encoder.scale()) + encoder.mean();
  const Vector slack = 1e-6 * encoder.scale();
  const bool inside = (raw.array() >= (encoder.min() - slack).array()).all() &&
                      (raw.array() <= (encoder.max() + slack).array()).all();
  return inside ? std::optional(point) : std::nullopt;
}

std::string_view people_of(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::accepted:
      return "accepted people";
    case ReferenceKind::borderline:
      return "borderline people";
    case ReferenceKind::average:
      return "all people";
    case ReferenceKind::centre:
      break;
  }
  return "the training rows";
}

/// A mean of ordinal levels: «about bachelor», «between school and bachelor».
std::string level_text(const Feature& feature, double position) {
  const double last = static_cast<double>(feature.levels.size()) - 1;
  position = std::clamp(position, 0.0, last);
  const double nearest = std::round(position);
  if (std::abs(position - nearest) < 0.1) {
    return "about " + feature.level_text(feature.levels[static_cast<std::size_t>(nearest)]);
  }
  const auto below = static_cast<std::size_t>(position);
  return fmt::format("between {} and {}", feature.level_text(feature.levels[below]),
                     feature.level_text(feature.levels[below + 1]));
}

/// «utilisation is 0.75 (above 0.6 and at most 0.9), as for 12 % of accepted people».
std::string binned_text(const Feature& feature, double value, std::optional<double> share,
                        ReferenceKind kind) {
  const std::string words = feature.bins.words(feature.bins.of(value));
  const std::string unit = feature.unit.empty() ? "" : " " + feature.unit;
  std::string text = feature_label(feature) + " is ";
  text += feature.bins.code(value) != nullptr
              ? words
              : fmt::format("{}{} ({})", display_value(value), unit, words);
  if (share && kind != ReferenceKind::centre)
    text += fmt::format(", as for {} of {}", display_percent(*share), people_of(kind));
  return text;
}

/// The words of a reason for which no table has others.
std::string default_text(const Feature& feature, const Value& value, double reference,
                         std::optional<double> share, ReferenceKind kind) {
  const std::string name = feature_label(feature);
  if (feature.is_binned()) return binned_text(feature, std::get<double>(value), share, kind);
  if (feature.is_number()) {
    // «duration months is 48», without saying months again.
    const std::string unit =
        feature.unit.empty() || name.ends_with(feature.unit) ? "" : " " + feature.unit;
    return fmt::format("{} is {}{}; the average of {} is {}{}", name,
                       display_start(value, reference), unit, people_of(kind),
                       display_start(reference, value, 3), unit);
  }
  const std::string level = display_value(feature, value);
  if (feature.kind == FeatureKind::ordinal) {
    return fmt::format("{} is {}; the average of {} is {}", name, level, people_of(kind),
                       level_text(feature, reference));
  }
  if (kind == ReferenceKind::centre) {
    return fmt::format("{} is {}, compared with an even mix of its {} levels", name, level,
                       feature.levels.size());
  }
  return fmt::format("{} is {}, as for {} of {}", name, level, display_percent(reference),
                     people_of(kind));
}

}  // namespace

ReasonReference make_reference(const Model& model, double threshold, const StoredRows* rows) {
  if (rows != nullptr) {
    ReasonReference result{.kind = ReferenceKind::accepted,
                           .point = Vector::Zero(model.encoder.columns())};
    const Vector logits = deciding_network(model).logits(rows->encoded);
    for (Index i = 0; i < logits.size(); ++i) {
      if (logits(i) < threshold) continue;
      ++result.rows;
      result.point += rows->encoded.row(i).transpose();
    }
    if (result.rows > 0) {
      result.point /= static_cast<double>(result.rows);
      return result;
    }
  }
  if (std::optional<Vector> mean = curvature_mean(model)) {
    const bool logistic = model.training.loss_kind == LossKind::logistic;
    return {.kind = logistic ? ReferenceKind::borderline : ReferenceKind::average,
            .point = std::move(*mean)};
  }
  return {.kind = ReferenceKind::centre, .point = centre_of(model.encoder)};
}

std::string describe(const ReasonReference& reference) {
  switch (reference.kind) {
    case ReferenceKind::accepted:
      return fmt::format("the average of the {} training rows that the trained model accepts",
                         display_number(static_cast<double>(reference.rows)));
    case ReferenceKind::borderline:
      return "the average borderline case: the mean of the training rows, each weighted by how "
             "undecided the trained model is about it";
    case ReferenceKind::average:
      return "the average of all training rows";
    case ReferenceKind::centre:
      return "the training average of each number, and an even mix of the levels of every other "
             "feature";
  }
  fail(ErrorCode::internal, "unknown reference {}", static_cast<int>(reference.kind));
}

Json to_json(const ReasonReference& reference) {
  Json result = {{"kind", std::string(enum_name(reference.kind))}};
  if (reference.kind == ReferenceKind::accepted) result["rows"] = reference.rows;
  result["text"] = describe(reference);
  result["encoded"] = to_json_array(reference.point);
  return result;
}

ReasonReference reference_from_json(JsonObject object, const Model& model) {
  ReasonReference result{.kind = object.choice<ReferenceKind>("kind")};
  if (result.kind == ReferenceKind::accepted) {
    result.rows = object.integer("rows");
    if (result.rows < 1) object.wrong("rows", "a whole number, >= 1");
  }
  result.point = object.vector("encoded", model.encoder.columns());
  if (object.string("text") != describe(result)) object.wrong("text", describe(result));
  object.finish();
  return result;
}

void write_json(JsonOutput& out, const Reasons& reasons) {
  out.begin_object();
  out.put("reference", reasons.reference);
  out.put("logit", reasons.logit);
  out.put("reference_logit", reasons.reference_logit);
  out.key("items");
  out.begin_array(JsonOutput::Items::structures);
  for (const Reason& reason : reasons.items) {
    out.begin_object();
    out.put("feature", reason.feature);
    out.key("value");
    write_value(out, reason.value);
    out.put("reference", reason.reference);
    out.put("contribution", reason.contribution);
    out.put_if("points", reason.points);
    out.put_if("code", reason.code);
    out.put("text", reason.text);
    out.end_object();
  }
  out.end_array();
  out.put("others", reasons.others);
  out.put("residual", reasons.residual);
  out.end_object();
}

Json to_json(const Reasons& reasons) {
  JsonTree tree;
  write_json(tree, reasons);
  return tree.take();
}

Reasoner::Reasoner(const Model& model, double threshold, ReasonReference reference,
                   ReasonCodes codes)
    : model_(&model),
      threshold_(threshold),
      reference_(std::move(reference)),
      codes_(std::move(codes)) {
  require(supports(model), "{}", unsupported);
  require(reference_.point.size() == model.encoder.columns(),
          "the reference has {} numbers, expected {}, the encoded columns", reference_.point.size(),
          model.encoder.columns());
}

bool Reasoner::supports(const Model& model) {
  return model.network.layers.back().weights.rows() == 1;
}

Vector Reasoner::by_feature(VectorArg columns) const {
  const Encoder& encoder = model_->encoder;
  Vector result(static_cast<Index>(encoder.schema().features.size()));
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    result(static_cast<Index>(j)) =
        columns.segment(encoder.first_column(j), encoder.column_count(j)).sum();
  }
  return result;
}

Vector Reasoner::contributions(const RawRow& row) const {
  return by_feature(
      attribute(deciding_network(*model_), reference_.point, model_->encoder.encode(row))
          .contributions);
}

Reason Reasoner::reason(std::size_t feature, const Value& value, double contribution) const {
  const Encoder& encoder = model_->encoder;
  const Feature& about = encoder.schema().features[feature];
  const Index first = encoder.first_column(feature);
  Reason result{.feature = about.name, .value = value, .contribution = contribution};
  std::optional<double> in_bin;  // the share of people in the same one
  if (about.is_binned()) {
    result.reference = encoder.statistics(feature).mean;
    if (about.has_indicators()) {
      const auto bin = static_cast<Index>(about.bins.of(std::get<double>(value)));
      in_bin = reference_.point(first + bin);
    }
  } else if (has_order(about)) {
    result.reference = encoder.mean()(first) + encoder.scale()(first) * reference_.point(first);
  } else {
    const auto level =
        static_cast<Index>(about.level_index(std::get<std::string>(value)).value_or(0));
    const bool one_column = about.kind == FeatureKind::binary;
    const double share = reference_.point(one_column ? first : first + level);
    result.reference = one_column && level == 0 ? 1 - share : share;
  }
  result.text = default_text(about, value, result.reference, in_bin, reference_.kind);
  if (const ReasonCode* const code = codes_.find(about, value, result.reference)) {
    result.code = code->code;
    if (!code->text.empty()) result.text = code->text;
  }
  if (const std::optional<ScorePoints>& card = model_->points) {
    result.points = contribution * card->scale.factor();
    const std::string code = reason_of(*card, encoder.schema(), feature, value);
    if (!result.code && !code.empty()) result.code = code;
  }
  return result;
}

std::optional<Reasons> Reasoner::of(const RawRow& row) const {
  const Vector z = model_->encoder.encode(row);
  if (deciding_logit(*model_, z) >= threshold_) return std::nullopt;
  const Attribution attribution = attribute(deciding_network(*model_), reference_.point, z);
  const Vector all = by_feature(attribution.contributions);
  const double least = negligible * all.lpNorm<1>();
  std::vector<Index> order(static_cast<std::size_t>(all.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return all(a) < all(b) || (all(a) == all(b) && a < b); });

  Reasons result{.reference = describe(reference_),
                 .logit = attribution.to_logit,
                 .reference_logit = attribution.from_logit,
                 .residual = attribution.residual};
  result.items.reserve(most_reasons);
  for (const Index j : order) {
    if (result.items.size() < most_reasons && all(j) < -least) {
      const auto feature = static_cast<std::size_t>(j);
      result.items.push_back(reason(feature, row[feature], all(j)));
    } else {
      result.others += all(j);
    }
  }
  return result;
}

void add_reasons(std::vector<Answer>& answers, const Reasoner& reasoner,
                 const Execution& execution) {
  constexpr std::size_t part = 64;  // a reason takes less than handing it out
  parallel_for("finding reasons", (answers.size() + part - 1) / part, execution,
               [&](std::size_t p) {
                 for (std::size_t i = p * part; i < std::min((p + 1) * part, answers.size()); ++i) {
                   if (!answers[i].query.empty())
                     answers[i].reasons = reasoner.of(answers[i].query);
                 }
               });
}

}  // namespace ellice
