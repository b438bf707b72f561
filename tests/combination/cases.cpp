#include "combination/cases.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "combination/draw.hpp"
#include "combination/schemas.hpp"
#include "core/number_text.hpp"
#include "core/sha256.hpp"
#include "ellice/core/error.hpp"
#include "ellice/model/coefficients.hpp"
#include "ellice/model/deployed.hpp"
#include "methods/method_table.hpp"

namespace ellice::combination {

namespace {

TrainingOptions draw_training(const Schema& schema, Random& random) {
  TrainingOptions options{.folds = 0};
  const bool many = !schema.target.classes.empty();
  options.l2 = one_of<double>(random, {1e-3, 1e-2, 1e-2, 0.1, 1e-5});
  options.penalize_bias = !once_in(random, 4);
  options.store_rows = once_in(random, 3);
  options.refit = once_in(random, 2);
  options.damping = one_of<double>(random, {0.1, 0.1, 0.01, 1});
  const bool hidden = once_in(random, 3);
  options.model = many ? NetworkKind::softmax : hidden ? NetworkKind::mlp : NetworkKind::logistic;
  if (!many && once_in(random, 3)) options.loss = LossKind::squared;
  if (many) options.network.hidden.clear();
  if (!hidden) return options;
  options.network = {.learning_rate = 0.03, .epochs = 20, .patience = 0};
  options.network.hidden = {static_cast<int>(2 + random.below(3))};
  if (once_in(random, 3)) options.network.hidden.push_back(2);
  options.network.activation =
      static_cast<Activation>(random.below(EnumNames<Activation>::names.size()));
  return options;
}

FeatureLimits draw_limits(const Feature& feature, const Spread& spread, Random& random) {
  FeatureLimits limits;
  limits.locked = once_in(random, 4);
  if (feature.is_number() && once_in(random, 2)) {
    const auto bound = [&](double widths) {
      const double value = spread.center + widths * spread.width;
      return feature.kind == FeatureKind::integer ? std::round(value) : value;
    };
    if (once_in(random, 2)) limits.min = bound(-0.2 - random.uniform());
    if (once_in(random, 2)) limits.max = bound(0.2 + random.uniform());
  }
  if (feature.kind != FeatureKind::categorical && once_in(random, 3))
    limits.direction = static_cast<Direction>(random.below(EnumNames<Direction>::names.size()));
  return limits;
}

Constraints draw_constraints(const Population& population, std::size_t people, Random& random) {
  Constraints constraints;
  if (once_in(random, 4)) constraints.range = RangePolicy::off;
  if (once_in(random, 2)) return constraints;
  for (std::size_t j = 0; j < population.schema.features.size(); ++j) {
    const Feature& feature = population.schema.features[j];
    if (once_in(random, 3))
      constraints.features[feature.name] = draw_limits(feature, population.spreads[j], random);
    if (once_in(random, 6)) {
      constraints.queries[random.below(people)][feature.name] =
          draw_limits(feature, population.spreads[j], random);
    }
  }
  return constraints;
}

std::string draw_epsilon(Random& random) {
  static const std::vector<std::string> rules = {
      "0",  "1e-12", "0.001", "0.01", "0.05", "1%",          "1%",           "5%",
      "5%", "10%",   "25%",   "10",   "auto", "target:0.02", "survival:90%", "accuracy:5%"};
  return one_of(random, rules);
}

std::string draw_reason_codes(const Schema& schema, Random& random) {
  std::string text;
  for (const Feature& feature : schema.features) {
    if (once_in(random, 2))
      text +=
          fmt::format("\"{}\": {{code: \"{}\", text: Some words}}\n", feature.name, text.size());
  }
  return text;
}

/// One that there is for such a model, and now and then one that there is not.
SetKind draw_set(const TrainingOptions& training, Random& random) {
  while (true) {
    const auto set = static_cast<SetKind>(random.below(EnumNames<SetKind>::names.size()));
    const bool fits = training.model == NetworkKind::mlp || training.model == NetworkKind::nam ||
                      (!is_first_order(set) &&
                       (training.model == NetworkKind::logistic || set != SetKind::ensemble));
    if (fits || once_in(random, 40)) return set;
  }
}

/// Everything but models, rows, method and its options.
void draw_asked(const Population& population, Case& drawn, Random& random) {
  ExplainRequest& asked = drawn.asked;
  // A further member stops the compiler here, until it is drawn.
  [[maybe_unused]] const auto& [model, epsilon, set, damping, ensemble, rows, cost, constraints,
                                threshold, target, margin, retrain, method, options, seed, display,
                                attack, shows_trade_off, declined, reasons, reason_codes, timings] =
      asked;
  const bool many = !population.schema.target.classes.empty();
  asked.epsilon = draw_epsilon(random);
  if (once_in(random, 2)) asked.set = draw_set(drawn.training, random);
  drawn.has_member = asked.set == SetKind::ensemble;
  const bool takes_damping = asked.set != SetKind::true_set && asked.set != SetKind::isotropic;
  if (takes_damping && once_in(random, 8)) asked.damping = one_of<double>(random, {0.001, 0.1, 1});
  if (once_in(random, 2))
    asked.cost.kind = static_cast<CostKind>(random.below(EnumNames<CostKind>::names.size()));
  if (once_in(random, 12)) asked.cost.sparsity_weight = random.uniform();
  asked.constraints = draw_constraints(population, drawn.people.rows(), random);
  if (!many && once_in(random, 4)) asked.threshold = random.normal() / 2;
  if (many && once_in(random, 3)) asked.margin = random.uniform() / 4;
  if (many && once_in(random, 3)) asked.target = {"later"};
  if (many && once_in(random, 3)) asked.target.emplace_back("granted");
  if (once_in(random, 12)) asked.retrain.fresh_rows = static_cast<Index>(1 + random.below(200));
  asked.seed = random.below(100);
  asked.display = once_in(random, 5);
  asked.attack = once_in(random, 30);
  asked.reasons = !once_in(random, 4);
  asked.timings = once_in(random, 10);
  if (once_in(random, 8)) drawn.reason_codes = draw_reason_codes(population.schema, random);
  drawn.gives_rows = !once_in(random, 4) || asked.set == SetKind::true_set;
}

/// What came later: of a stream of its own, so that seeds draw what they drew before.
void draw_more(Case& drawn, Random& random) {
  ExplainRequest& asked = drawn.asked;
  asked.declined = once_in(random, 8);
  asked.shows_trade_off = once_in(random, 8);
  if (once_in(random, 5)) {
    asked.constraints.horizon = Horizon{
        .amount = one_of<double>(random, {0.5, 1, 3, 12, 120}),
        .per = static_cast<Pace::Period>(random.below(EnumNames<Pace::Period>::names.size()))};
  }
}

bool is_importable(const Case& drawn) {
  return drawn.training.model == NetworkKind::logistic &&
         drawn.training.loss == LossKind::logistic && drawn.training.weights.empty() &&
         drawn.training.class_weight == ClassWeight::none && !drawn.has_member &&
         std::none_of(drawn.schema.features.begin(), drawn.schema.features.end(),
                      [](const Feature& feature) { return feature.is_binned(); });
}

/// Weights of rows and classes, and models that come from elsewhere.
void draw_origin(Case& drawn, Random& random) {
  if (once_in(random, 3)) drawn.training.class_weight = ClassWeight::balanced;
  if (once_in(random, 3)) {
    Column weights{.name = "weight of row", .values = std::vector<double>()};
    const double spread = one_of<double>(random, {0, 0.3, 2});
    const double unit = one_of<double>(random, {1, 1e-6, 1e6});
    for (std::size_t i = 0; i < drawn.table.rows(); ++i)
      std::get<std::vector<double>>(weights.values)
          .push_back(unit * std::exp(spread * random.normal()));
    drawn.training.weights = weights.name;
    drawn.table.columns.push_back(std::move(weights));
  }
  if (!is_importable(drawn) || !once_in(random, 2)) return;
  drawn.is_imported = true;
  drawn.gives_rows = false;
}

/// Models that decide elsewhere.
void draw_deployed(Case& drawn, Random& random) {
  if (drawn.is_imported || drawn.has_member || drawn.training.model == NetworkKind::softmax) return;
  const std::vector<Feature>& features = drawn.schema.features;
  const auto is_binned = [](const Feature& feature) { return feature.is_binned(); };
  if (std::any_of(features.begin(), features.end(), is_binned)) return;
  drawn.is_deployed = once_in(random, 2);
}

bool has_hidden_layers(const Case& drawn) {
  return drawn.training.model != NetworkKind::logistic && !drawn.training.network.hidden.empty();
}

/// All that training can be asked, from fields(), but for what decides which sets and methods there
/// are, which is drawn above. What is of networks alone is asked of others now and then only.
void draw_training_fields(Case& drawn, Random& random) {
  const TrainingOptions before = drawn.training;
  TrainingOptions& training = drawn.training;
  draw_fields(training, random, 6);
  training.model = before.model;
  training.loss = before.loss;
  training.class_weight = before.class_weight;
  // Few steps and sharp tolerances are refused, and most cases are to be trained.
  if (!once_in(random, 20)) {
    training.max_iterations = before.max_iterations;
    training.gradient_tolerance = before.gradient_tolerance;
  }
  if (before.model == NetworkKind::softmax && once_in(random, 2)) training.network.hidden = {3};
  const bool is_network = has_hidden_layers(drawn) || once_in(random, 40);
  if (is_network) {
    const std::vector<int> hidden = training.network.hidden;
    draw_fields(training.network, random, 4);
    training.network.hidden = hidden;
    training.network.epochs = std::min(training.network.epochs, 40);
  }
  training.bin_penalty = once_in(random, has_hidden_layers(drawn) ? 40 : 2);
  const Selection selection = drawn.selection;
  draw_fields(drawn.selection, random, 4);
  drawn.selection.recipe = selection.recipe;
  if (!is_network) drawn.selection.validation.reset();
}

Run draw_run(const Method& method, Random& random) {
  Run run{.method = std::string(method.name)};
  visit_groups(run.options, [&](std::string_view /*name*/, auto& group) {
    if (once_in(random, 2)) draw_fields(group, random, 3);
  });
  ExactOptions& wishes = run.options.exact;
  // What another method would know is asked of it now and then only.
  const ExactOptions none;
  const bool keeps = once_in(random, 20);
  if (!method.limits && !keeps) {
    wishes.node_limit = none.node_limit;
    wishes.time_limit = none.time_limit;
    wishes.proof = none.proof;
  }
  if (!method.trade_off && !keeps) wishes.trade_off = none.trade_off;
  if (!method.plans && !keeps) wishes.plans = none.plans;
  if (!method.few_changes && !keeps) {
    wishes.max_changes = none.max_changes;
    wishes.sparse = none.sparse;
  }
  if (method.limits && !wishes.node_limit && !once_in(random, 3)) wishes.node_limit = 300;
  BaselineOptions& baseline = run.options.baseline;
  if (method.name != "proplace" && !keeps) {
    const BaselineOptions drawn = baseline;
    baseline = {.seed = drawn.seed};
    if (method.is_baseline()) baseline.variant = drawn.variant;
  }
  baseline.tau.reset();
  baseline.delta.reset();
  if (method.parameter == MethodParameter::tau) baseline.tau = random.uniform();
  if (method.parameter == MethodParameter::delta) baseline.delta = random.uniform() / 20;
  return run;
}

/// One that takes such a model, and now and then one that does not.
const Method& draw_method(const Case& drawn, Random& random) {
  while (true) {
    const Method& method = methods()[random.below(methods().size())];
    const bool many = drawn.training.model == NetworkKind::softmax;
    const bool fits =
        !(many && method.is_baseline()) && !(has_hidden_layers(drawn) && method.name == "exact");
    if (fits || once_in(random, 40)) return method;
  }
}

/// As a statistics program would print a model: original units, the first level of each category
/// the reference, covariance from the curvature.
Coefficients coefficients_of(const Model& model, const Dataset& data) {
  const Schema& schema = model.schema();
  const Encoder& encoder = model.encoder;
  const Vector theta = model.network.head();
  const Index bias = theta.size() - 1;
  const auto unit = [&](Index i) -> Vector { return Vector::Unit(theta.size(), i); };
  Coefficients result;
  std::vector<Vector> columns;  // what a change of each term changes of the parameters
  double intercept = theta(bias);
  for (std::size_t j = 0; j < schema.features.size(); ++j) {
    const Feature& feature = schema.features[j];
    const Index first = encoder.first_column(j);
    if (feature.kind == FeatureKind::categorical) {
      intercept += theta(first);
      for (std::size_t level = 1; level < feature.levels.size(); ++level) {
        const Index column = first + static_cast<Index>(level);
        const std::string& name = feature.levels[level];
        result.terms.push_back({.term = feature.one_hot.empty() ? feature.name + "=" + name : name,
                                .estimate = theta(column) - theta(first)});
        columns.push_back(unit(column));
      }
      continue;
    }
    const double mean = encoder.mean()(first);
    const double scale = encoder.scale()(first);
    Coefficient term{.term = feature.name, .estimate = theta(first) / scale};
    if (feature.is_number()) {
      term.min = encoder.min()(first);
      term.max = encoder.max()(first);
      term.mean = std::clamp(mean, *term.min, *term.max);
      term.scale = scale;
    }
    intercept -= term.estimate * mean;
    result.terms.push_back(std::move(term));
    columns.emplace_back(scale * unit(first) + mean * unit(bias));
  }
  result.terms.push_back({.term = "(Intercept)", .estimate = intercept});
  columns.push_back(unit(bias));
  Matrix parameters(theta.size(), static_cast<Index>(columns.size()));
  for (std::size_t t = 0; t < columns.size(); ++t)
    parameters.col(static_cast<Index>(t)) = columns[t];
  Matrix loss = model.curvature.hessian;
  loss.diagonal().array() -= model.training.l2;
  if (!model.training.penalize_bias) loss(bias, bias) += model.training.l2;
  result.rows = data.raw.rows();
  const auto count = static_cast<double>(result.rows);
  const Matrix information = count * parameters.transpose() * loss * parameters;
  result.covariance =
      information.ldlt().solve(Matrix::Identity(information.rows(), information.cols()));
  result.covariance = (0.5 * (result.covariance + result.covariance.transpose())).eval();
  result.log_likelihood = -model.training.loss * count;
  result.sha256 = data.sha256;
  return result;
}

/// Only the exact search looks at bins; whatever else is asked finds them immutable.
void settle_bins(Case& drawn) {
  std::vector<Feature>& features = drawn.schema.features;
  const auto is_binned = [](const Feature& feature) { return feature.is_binned(); };
  if (std::none_of(features.begin(), features.end(), is_binned)) return;
  const bool is_exact =
      !has_hidden_layers(drawn) && !is_first_order(drawn.asked.set.value_or(SetKind::last_layer));
  const auto is_other = [](const Run& run) {
    return run.method != "exact" && run.method != automatic_method;
  };
  if (is_exact) {
    std::erase_if(drawn.runs, is_other);
    return;
  }
  for (Feature& feature : features) {
    if (!feature.is_binned()) continue;
    feature.immutable = true;
    feature.slow.reset();
  }
}

/// The model as a program would hold it that stopped a little off the minimum, by a step that the
/// seed decides.
DeployedModel deployed_of(const Model& model, const Case& given) {
  Random random = Random(given.seed).split(10);
  DeployedModel result{.source = "deployed.json",
                       .layers = model.network.layers,
                       .loss = given.training.loss,
                       .l2 = given.training.l2,
                       .weights = model.training.weights,
                       .precision = once_in(random, 2) ? Precision::float32 : Precision::float64,
                       .sha256 = std::string(64, 'c'),
                       .store_rows = given.training.store_rows};
  const Encoder& encoder = model.encoder;
  for (std::size_t j = 0; j < encoder.schema().features.size(); ++j) {
    const Feature& feature = encoder.schema().features[j];
    const Index first = encoder.first_column(j);
    if (feature.kind == FeatureKind::categorical) {
      for (const std::string& level : feature.levels)
        result.inputs.push_back({.feature = feature.name, .level = level});
    } else {
      result.inputs.push_back({.feature = feature.name,
                               .offset = encoder.mean()(first),
                               .scale = encoder.scale()(first)});
    }
  }
  Layer& head = result.layers.back();
  const double step = one_of<double>(random, {0, 0.01, 0.1});
  head.weights += step * random.normal_vector(head.weights.cols()).transpose();
  head.bias += step * random.normal_vector(1);
  return result;
}

}  // namespace

Case draw_case(std::uint64_t seed) {
  Random random = Random(seed).split(1);
  Case drawn{.seed = seed};
  Population population = draw_population(random);
  Random later = Random(seed).split(5);
  if (once_in(later, 5)) draw_paces(population, later);
  Random apart = Random(seed).split(6);
  if (once_in(apart, 4)) draw_bins(population, apart);
  drawn.schema = population.schema;
  drawn.table = draw_rows(population, random);
  drawn.people = draw_people(population, random);
  drawn.selection.seed = random.below(1000);
  drawn.selection.balance = once_in(random, 8);
  if (once_in(random, 6)) drawn.selection.holdout = 0.2;
  drawn.training = draw_training(population.schema, random);
  if (seed >= 800'000 && drawn.training.model == NetworkKind::mlp) {
    Random structure = Random(seed).split(11);
    if (once_in(structure, 2)) drawn.training.model = NetworkKind::nam;
  }
  draw_asked(population, drawn, random);
  draw_more(drawn, later);
  if (seed >= 500'000) {
    Random origin = Random(seed).split(7);
    draw_origin(drawn, origin);
  }
  if (seed >= 600'000) {
    Random deployed = Random(seed).split(9);
    draw_deployed(drawn, deployed);
  }
  if (seed >= 700'000) {
    Random fields = Random(seed).split(12);
    draw_training_fields(drawn, fields);
  }
  // What «auto» means, as most people ask, and one or two other ways to ask the same.
  Run usual{.method = std::string(automatic_method)};
  if (!has_hidden_layers(drawn)) usual.options.exact.node_limit = 300;
  drawn.runs.push_back(usual);
  for (std::uint64_t count = 1 + random.below(2); count > 0; --count)
    drawn.runs.push_back(draw_run(draw_method(drawn, random), random));
  settle_bins(drawn);
  return drawn;
}

Trained train_case(const Case& given) {
  Trained trained;
  TableSource source(given.table);
  trained.data =
      read_dataset(source, given.schema, {}, ClassValues::of_schema, given.training.weights);
  trained.data.source = given.table.name + ".csv";
  trained.data.sha256 = sha256_hex(csv_text(given.table));
  trained.model =
      std::make_shared<const Model>(train(trained.data, given.selection, given.training).model);
  if (given.is_imported) {
    Schema schema = given.schema;
    if (schema.missing == MissingPolicy::median) schema.missing = MissingPolicy::error;
    trained.model = std::make_shared<const Model>(
        model_of(coefficients_of(*trained.model, trained.data), schema));
  }
  if (given.is_deployed) {
    trained.model =
        std::make_shared<const Model>(model_of(deployed_of(*trained.model, given), trained.data));
  }
  if (given.has_member) {
    Selection other = given.selection;
    other.seed += 1;
    other.balance = !other.balance;
    trained.member =
        std::make_shared<const Model>(train(trained.data, other, given.training).model);
  }
  if (given.gives_rows) {
    trained.rows =
        std::make_shared<const TrainingRows>(training_rows_of(trained.data, *trained.model));
  }
  return trained;
}

ExplainRequest request_of(const Case& given, const Trained& trained, const Run& run) {
  ExplainRequest request = given.asked;
  request.model = trained.model;
  if (trained.member) request.ensemble = {trained.member};
  request.rows = trained.rows;
  request.method = run.method;
  request.options = run.options;
  if (!given.reason_codes.empty()) {
    request.reason_codes =
        parse_reason_codes(given.reason_codes, "codes.yaml", trained.model->schema());
  }
  return request;
}

}  // namespace ellice::combination
