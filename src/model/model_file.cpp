#include "ellice/model/model_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/as_input.hpp"
#include "core/number_text.hpp"
#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/core/file.hpp"
#include "ellice/core/json.hpp"
#include "model/network_file.hpp"
#include "model/score_points.hpp"
#include "model/softmax_objective.hpp"
#include "solver/cholesky.hpp"

namespace ellice {

namespace {

constexpr std::string_view model_format = "ellice.model";
// What older programs can read is written as version 1.
constexpr int first_version = 1;
constexpr int model_version = 2;

int version_of(const Model& model) {
  const TrainingRecord& training = model.training;
  const std::vector<Feature>& features = model.schema().features;
  const bool has_bins = std::any_of(features.begin(), features.end(),
                                    [](const Feature& feature) { return feature.is_binned(); });
  const bool is_first = !model.origin && !model.deployed && !model.points && !training.weights &&
                        training.penalty_factors.size() == 0 && !has_corners(training) &&
                        !has_bins && model.network.kind != NetworkKind::nam;
  return is_first ? first_version : model_version;
}

Json training_to_json(const TrainingRecord& record) {
  Json result = {{"rows", record.rows},
                 {"selection", fields_to_json(record.selection)},
                 {"loss_kind", std::string(enum_name(record.loss_kind))},
                 {"l2", record.l2},
                 {"penalize_bias", record.penalize_bias},
                 {"loss", record.loss},
                 {"objective", record.objective},
                 {"head_decrement", record.head_decrement},
                 {"seed", record.seed},
                 {"data_sha256", record.data_sha256}};
  if (record.network) result["network"] = fields_to_json(*record.network);
  if (record.penalty_factors.size() > 0)
    result["penalty_factors"] = to_json_array(record.penalty_factors);
  if (has_corners(record)) result["l1"] = to_json_array(record.l1);
  if (record.weights) {
    result["weights"] = {{"column", record.weights->column},
                         {"class_weight", std::string(enum_name(record.weights->class_weight))}};
  }
  return result;
}

RowWeights weights_from_json(JsonObject object) {
  RowWeights weights{.column = object.string("column"),
                     .class_weight = object.choice<ClassWeight>("class_weight")};
  if (weights.column.empty() && weights.class_weight == ClassWeight::none)
    object.wrong("column", "the name of a column, as class_weight is \"none\"");
  object.finish();
  return weights;
}

TrainingRecord training_from_json(JsonObject object, const Network& network) {
  TrainingRecord record{.rows = static_cast<Index>(object.integer("rows")),
                        .loss_kind = object.choice<LossKind>("loss_kind"),
                        .l2 = object.number("l2"),
                        .penalize_bias = object.boolean("penalize_bias"),
                        .loss = object.number("loss"),
                        .objective = object.number("objective"),
                        .head_decrement = object.number("head_decrement"),
                        .seed = object.seed("seed"),
                        .data_sha256 = object.string("data_sha256")};
  fields_from_json(object.object("selection"), record.selection);
  if (object.has("network")) {
    fields_from_json(object.object("network"), record.network.emplace());
  }
  if (object.has("weights")) record.weights = weights_from_json(object.object("weights"));
  if (object.has("penalty_factors")) {
    if (network.layers.size() > 1)
      object.wrong("penalty_factors", "none, as the network has hidden layers");
    record.penalty_factors = object.vector("penalty_factors", network.inputs());
    if (record.penalty_factors.size() > 0 && record.penalty_factors.minCoeff() < 0)
      object.wrong("penalty_factors", "a number >= 0 for each column");
  }
  if (object.has("l1")) {
    if (network.layers.size() > 1 || network.outputs() > 1 || record.penalize_bias)
      object.wrong("l1", "none, as it is for linear models of one score with a free intercept");
    record.l1 = object.vector("l1", network.inputs());
    if (record.l1.size() > 0 && record.l1.minCoeff() < 0)
      object.wrong("l1", "a number >= 0 for each column");
  }
  if (record.rows < 1) object.wrong("rows", "a whole number >= 1");
  for (const char* key : {"l2", "loss", "objective", "head_decrement"}) {
    if (object.number(key) < 0) object.wrong(key, "a number >= 0");
  }
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (record.data_sha256.size() != 64 ||
      !std::all_of(record.data_sha256.begin(), record.data_sha256.end(), is_hex)) {
    object.wrong("data_sha256", "64 hexadecimal digits");
  }
  object.finish();
  return record;
}

/// The lower triangle of a symmetric matrix, row by row.
Json packed_to_json(const Matrix& symmetric) {
  const Index size = symmetric.rows();
  Vector packed(size * (size + 1) / 2);
  Index next = 0;
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j <= i; ++j) packed(next++) = symmetric(i, j);
  }
  return to_json_array(packed);
}

Matrix packed_from_json(JsonObject& object, const char* key, Index size) {
  const Vector packed = object.vector(key, size * (size + 1) / 2);
  Matrix symmetric(size, size);
  Index next = 0;
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j <= i; ++j) symmetric(i, j) = symmetric(j, i) = packed(next++);
    if (symmetric(i, i) < 0) object.wrong(key, "a diagonal without negative numbers");
  }
  return symmetric;
}

Json sampling_to_json(const Sampling& sampling) {
  Json fresh = Json::array();
  for (const ErrorEstimate& estimate : sampling.fresh) {
    fresh.push_back(
        {{"regression", estimate.regression}, {"moments", packed_to_json(estimate.moments)}});
  }
  return {{"mean_logit", sampling.mean_logit},
          {"drawn_again", packed_to_json(sampling.drawn_again)},
          {"fresh", fresh}};
}

Sampling sampling_from_json(JsonObject object, Index parameters) {
  Sampling sampling{.drawn_again = packed_from_json(object, "drawn_again", parameters),
                    .mean_logit = object.number("mean_logit")};
  std::vector<JsonObject> fresh = object.objects("fresh");
  if (fresh.size() != Sampling::estimates) object.wrong("fresh", "three estimates");
  for (std::size_t k = 0; k < fresh.size(); ++k) {
    sampling.fresh[k] = {.moments = packed_from_json(fresh[k], "moments", parameters),
                         .regression = fresh[k].number("regression")};
    if (sampling.fresh[k].regression < 0) fresh[k].wrong("regression", "a number >= 0");
    fresh[k].finish();
  }
  object.finish();
  return sampling;
}

Json curvature_to_json(const Curvature& curvature) {
  Json result = {{"hessian", to_json_rows(curvature.hessian)}, {"shift", curvature.shift}};
  if (curvature.sampling) result["sampling"] = sampling_to_json(*curvature.sampling);
  if (curvature.full) {
    result["full"] = {{"damping", curvature.full->damping},
                      {"cut", curvature.full->cut},
                      {"values", to_json_array(curvature.full->values)},
                      {"vectors", to_json_rows(curvature.full->vectors.transpose())}};
  }
  return result;
}

GaussNewton full_curvature_from_json(JsonObject object, Index parameters) {
  // What rounding leaves of UᵀU = I is far below.
  constexpr double orthogonality_tolerance = 1e-8;
  GaussNewton full{.damping = object.number("damping"),
                   .cut = object.number("cut"),
                   .values = object.vector("values")};
  if (full.damping <= 0) object.wrong("damping", "a number > 0");
  if (full.cut < 0) object.wrong("cut", "a number >= 0");
  for (Index k = 0; k < full.values.size(); ++k) {
    if (full.values(k) <= 0 || (k > 0 && full.values(k) > full.values(k - 1))) {
      object.wrong("values", fmt::format("numbers > 0, the largest first (see entry {})", k));
    }
  }
  const Matrix rows = object.matrix("vectors", full.values.size(), parameters);
  const Matrix products = rows * rows.transpose();
  for (Index i = 0; i < rows.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      const double expected = i == j ? 1 : 0;
      require_input(std::abs(products(i, j) - expected) <= orthogonality_tolerance,
                    "{}: curvature.full.vectors are not orthonormal: the product of vectors {} and "
                    "{} is {}, expected {}; train the model again",
                    object.source(), i, j, products(i, j), expected);
    }
  }
  full.vectors = rows.transpose();
  object.finish();
  return full;
}

Curvature curvature_from_json(JsonObject object, const Network& network) {
  const Index parameters = network.head().size();
  Curvature curvature{.hessian = object.matrix("hessian", parameters, parameters),
                      .shift = object.number("shift")};
  if (curvature.shift < 0) object.wrong("shift", "a number >= 0");
  // To the last digit: two halves that differ describe two sets, and an ill-conditioned H magnifies
  // the difference.
  for (Index i = 0; i < parameters; ++i) {
    for (Index j = 0; j < i; ++j) {
      const double lower = curvature.hessian(i, j);
      const double upper = curvature.hessian(j, i);
      require_input(lower == upper,
                    "{}: curvature.hessian is not symmetric: found {} at [{}][{}] but {} at "
                    "[{}][{}]; train the model again, or write the mean in both places",
                    object.source(), lower, i, j, upper, j, i);
    }
  }
  try {
    const CholeskyFactor positive_definite(with_gauge(curvature.hessian, network.outputs()));
  } catch (const Error& error) {
    fail(ErrorCode::input, "{}: curvature.hessian: {}; train the model again, with a larger l2",
         object.source(), error.what());
  }
  if (!network.is_linear() && network.has_one_output() && object.has("full")) {
    curvature.full = full_curvature_from_json(object.object("full"), network.parameters());
  }
  if (network.is_linear() && network.has_one_output() && object.has("sampling"))
    curvature.sampling = sampling_from_json(object.object("sampling"), parameters);
  object.finish();
  return curvature;
}

Decision decision_from_json(JsonObject object, const Schema& schema, NetworkKind kind) {
  Decision decision{.threshold = object.number("threshold"), .classes = object.strings("classes")};
  if (kind == NetworkKind::softmax) {
    if (decision.threshold != 0)
      object.wrong("threshold", "0: the class with the largest score wins");
    if (decision.classes != schema.target.classes) {
      object.wrong("classes", "the classes of schema.target.classes, in their order");
    }
    object.finish();
    return decision;
  }
  if (decision.classes.size() != 2 || decision.classes[0] == decision.classes[1]) {
    object.wrong("classes", "two different labels");
  }
  if (decision.classes[1] != schema.target.favourable) {
    object.wrong("classes", fmt::format("the favourable label \"{}\" in second place",
                                        schema.target.favourable));
  }
  object.finish();
  return decision;
}

Origin origin_from_json(JsonObject object) {
  Origin origin{.kind = object.string("kind"),
                .tool = object.string("tool"),
                .sha256 = object.string("sha256")};
  constexpr std::array<std::string_view, 4> kinds = {"coefficients", "deployed", "onnx",
                                                     "scorecard"};
  if (std::find(kinds.begin(), kinds.end(), origin.kind) == kinds.end())
    object.wrong("kind", R"("coefficients", "deployed", "onnx" or "scorecard")");
  if (object.has("self_check")) {
    origin.self_check = object.number("self_check");
    if (*origin.self_check < 0) object.wrong("self_check", "a number >= 0");
  }
  object.finish();
  return origin;
}

Json origin_to_json(const Origin& origin) {
  Json result = {{"kind", origin.kind}, {"tool", origin.tool}, {"sha256", origin.sha256}};
  if (origin.self_check) result["self_check"] = *origin.self_check;
  return result;
}

Json deployed_to_json(const Deployed& deployed) {
  Json result = {{"head", to_json_array(deployed.head)},
                 {"excess", deployed.excess},
                 {"precision", std::string(enum_name(deployed.precision))},
                 {"threshold", deployed.threshold},
                 {"margin", deployed.margin},
                 {"offsets", to_json_array(deployed.offsets)},
                 {"constant", deployed.constant}};
  if (deployed.sizes.size() > 0) result["sizes"] = to_json_array(deployed.sizes);
  return result;
}

Deployed deployed_from_json(JsonObject object, const Network& network, double threshold) {
  if (!network.has_one_output()) object.wrong("head", "none, as the model has many classes");
  Deployed deployed{.head = object.vector("head", network.head().size()),
                    .excess = object.number("excess"),
                    .precision = object.choice<Precision>("precision"),
                    .threshold = object.number("threshold"),
                    .margin = object.number("margin"),
                    .offsets = object.vector("offsets", network.inputs()),
                    .constant = object.number("constant")};
  for (const char* key : {"excess", "margin", "constant"}) {
    if (object.number(key) < 0) object.wrong(key, "a number >= 0");
  }
  if (deployed.offsets.size() > 0 && deployed.offsets.minCoeff() < 0)
    object.wrong("offsets", "a number >= 0 for each column");
  if (object.has("sizes")) {
    deployed.sizes = object.vector("sizes", deployed.head.size());
    if (!((deployed.sizes - deployed.head.cwiseAbs()).array() >=
          -1e-9 * deployed.sizes.array().abs())
             .all())
      object.wrong("sizes", "at least the size of each entry of head");
  }
  if (!(threshold >= deployed.threshold + deployed.margin))
    object.wrong("margin", fmt::format("at most decision.threshold - deployed.threshold = {}",
                                       number_text(threshold - deployed.threshold)));
  object.finish();
  return deployed;
}

StoredRows rows_from_json(JsonObject object, Index columns, Index rows, std::size_t classes,
                          bool has_weights) {
  StoredRows stored{.encoded = object.matrix("encoded", rows, columns)};
  const Vector labels = object.vector("labels", rows);
  for (const double label : labels) {
    const auto last = static_cast<double>(classes - 1);
    if (!(label >= 0 && label <= last) || label != std::nearbyint(label)) {
      object.wrong("labels", fmt::format("the index of a class, 0 to {}, for each row", last));
    }
    stored.labels.push_back(static_cast<int>(label));
  }
  if (has_weights) {
    stored.weights = object.vector("weights", rows);
    if (!(stored.weights.minCoeff() > 0)) object.wrong("weights", "a number > 0 for each row");
  }
  object.finish();
  return stored;
}

/// loss + (l2/2)·Σ dⱼθⱼ² in all layers + Σ lⱼ|θⱼ|; what a share of the objective means hangs on it.
void check_objective(const Model& model, JsonObject training) {
  // What another order of adding, or another programme's rounding, leaves is far below.
  constexpr double tolerance = 1e-6;
  const TrainingRecord& record = model.training;
  double squares = 0;
  for (const Layer& layer : model.network.layers) {
    squares += record.penalty_factors.size() == 0
                   ? layer.weights.squaredNorm()
                   : (layer.weights.cwiseAbs2() * record.penalty_factors).sum();
    if (record.penalize_bias) squares += layer.bias.squaredNorm();
  }
  const double absolutes =
      has_corners(record) ? (model.network.layers.front().weights.cwiseAbs() * record.l1).sum() : 0;
  const double expected = record.loss + record.l2 / 2 * squares + absolutes;
  if (std::abs(record.objective - expected) <= tolerance * expected && record.objective > 0) return;
  training.wrong(
      "objective",
      fmt::format(
          "loss + (l2/2)·{}{} = {} + ({}/2)·{}{} = {}, greater than 0; the file was altered",
          record.penalty_factors.size() == 0 ? "‖θ‖²" : "Σ dⱼθⱼ²",
          has_corners(record) ? " + Σ lⱼ|θⱼ|" : "", number_text(record.loss),
          number_text(record.l2), number_text(squares),
          has_corners(record) ? fmt::format(" + {}", number_text(absolutes)) : "",
          number_text(expected)));
}

Model read_document(const Json& value, const std::string& source) {
  JsonObject object(value, source);
  object.envelope(model_format, model_version);
  const Schema schema = schema_from_json(object.at("schema"), source);
  Model model{.encoder = Encoder::from_json(object.at("encoder"), schema, source)};
  const Index columns = model.encoder.columns();
  model.network = network_from_json(object.object("network"), model.encoder);
  model.decision = decision_from_json(object.object("decision"), schema, model.network.kind);
  model.training = training_from_json(object.object("training"), model.network);
  check_objective(model, object.object("training"));
  require_input((model.network.kind == NetworkKind::softmax) ==
                    (model.training.loss_kind == LossKind::softmax),
                "{}: training.loss_kind is \"{}\", which does not go with network.kind \"{}\"",
                source, enum_name(model.training.loss_kind), enum_name(model.network.kind));
  model.curvature = curvature_from_json(object.object("curvature"), model.network);
  if (object.has("origin")) model.origin = origin_from_json(object.object("origin"));
  if (object.has("deployed")) {
    model.deployed =
        deployed_from_json(object.object("deployed"), model.network, model.decision.threshold);
  }
  if (object.has("scorecard"))
    model.points = score_points_from_json(object.object("scorecard"), model);
  if (object.has("recommended")) model.recommended = object.object("recommended").value();
  if (object.has("rows")) {
    model.rows = rows_from_json(object.object("rows"), columns, model.training.rows,
                                model.decision.classes.size(), model.training.weights.has_value());
  }
  object.finish();
  model.sha256 = model_sha256(value);
  return model;
}

}  // namespace

Json to_json(const Model& model) {
  Json result = make_envelope(model_format, version_of(model));
  result["schema"] = to_json(model.schema());
  result["encoder"] = model.encoder.to_json();
  result["network"] = network_to_json(model.network);
  result["decision"] = {{"threshold", model.decision.threshold},
                        {"classes", model.decision.classes}};
  result["training"] = training_to_json(model.training);
  result["curvature"] = curvature_to_json(model.curvature);
  if (model.origin) {
    result["origin"] = origin_to_json(*model.origin);
  }
  if (model.deployed) result["deployed"] = deployed_to_json(*model.deployed);
  if (model.points) result["scorecard"] = to_json(*model.points, model.schema());
  if (model.recommended) result["recommended"] = **model.recommended;
  if (model.rows) {
    result["rows"] = {{"encoded", to_json_rows(model.rows->encoded)},
                      {"labels", model.rows->labels}};
    if (model.rows->weights.size() > 0)
      result["rows"]["weights"] = to_json_array(model.rows->weights);
  }
  return result;
}

Model model_from_json(const Json& value, const std::string& source) {
  return as_input(source, [&] { return read_document(value, source); });
}

Model read_model(const std::string& path) {
  const std::string source = input_name(path);
  return model_from_json(parse_json(read_file(path), source), source);
}

void write_model(const std::string& path, const Model& model) {
  write_file(path, to_text(to_json(model)));
}

std::string model_sha256(Json model) {
  model.erase("recommended");
  model.erase("rows");
  return sha256_hex(canonical_text(model));
}

std::string model_sha256(const Model& model) {
  return model_sha256(to_json(model));
}

}  // namespace ellice
