#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "data/draft.hpp"
#include "ellice/core/json.hpp"
#include "ellice/data/dataset.hpp"
#include "ellice/model/model_file.hpp"
#include "ellice/model/training.hpp"
#include "keywords.hpp"
#include "model/deciding.hpp"
#include "objects.hpp"
#include "request/query_reader.hpp"
#include "work.hpp"

namespace ellice::python {

HeldModel held(Model model) {
  return {.model = std::make_shared<const Model>(std::move(model))};
}

Schema schema_of(const std::string& text) {
  return parse_schema(text, "schema");
}

Dataset read_frame(const HeldFrame& frame, const Schema& schema, const std::string& weights,
                   ClassValues classes, const Progress& progress) {
  FrameSource source(frame.frame, schema);
  source.hash_rows();
  Dataset data = read_dataset(source, schema, progress, classes, weights);
  data.sha256 = source.sha256();
  data.source = source.name();
  return data;
}

namespace {

List training_keywords() {
  KeywordTable table;
  table.add("training", TrainingOptions{});
  table.add("network", NetworkOptions{});
  table.add("selection", Selection{});
  return table.rows();
}

/// {"income": "increase"}.
std::map<std::string, Monotone> monotone_of(const nb::handle& given) {
  std::map<std::string, Monotone> result;
  if (!nb::isinstance<nb::dict>(given))
    throw nb::type_error("monotone: expected a dict such as {\"income\": \"increase\"}");
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const auto name = nb::cast<std::string>(nb::str(key));
    const std::string text = nb::cast<std::string>(nb::str(value));
    const std::optional<Monotone> way = enum_from_name<Monotone>(text);
    require(way.has_value(), "monotone: {}: found \"{}\", expected increase, decrease or any", name,
            text);
    result[name] = *way;
  }
  return result;
}

HeldModel train_frame(const HeldFrame& frame, const std::string& schema, const Keywords& keywords,
                      int threads, const nb::object& progress) {
  TrainingOptions options;
  Selection selection;
  nb::dict open;
  for (const auto& [key, value] : keywords) open[key] = value;
  const bool gives_hidden = open.contains("hidden");
  // What the command line calls additive: a logistic model on bins with a penalty of its own.
  options.bin_penalty = open.contains("model") && nb::isinstance<nb::str>(open["model"]) &&
                        nb::cast<std::string>(open["model"]) == "additive";
  if (options.bin_penalty) open["model"] = "logistic";
  take_keywords(open, options);
  take_keywords(open, options.network);
  take_keywords(open, selection);
  if (open.contains("monotone")) {
    options.monotone = monotone_of(open["monotone"]);
    nb::del(open["monotone"]);
  }
  for (const auto& [key, value] : open) {
    std::vector<std::string> known = {"schema",  "target",   "favourable",
                                      "threads", "progress", "monotone"};
    for (const nb::handle row : training_keywords())
      known.push_back(nb::cast<std::string>(row[nb::int_(0)]));
    unknown_keyword("train", nb::cast<std::string>(key), known);
  }
  // A softmax model has hidden layers only where some are asked for.
  if (options.model == NetworkKind::softmax && !gives_hidden) options.network.hidden.clear();
  validate(options, "options");
  validate(selection, "options");
  std::optional<Model> model;
  run_whole(progress, threads, [&](const Execution& execution) {
    const Schema known = schema_of(schema);
    const bool has_bins = std::any_of(known.features.begin(), known.features.end(),
                                      [](const Feature& feature) { return feature.is_binned(); });
    require(has_bins || !options.bin_penalty,
            "model = 'additive' is for schemas with features of kind binned; `ellice schema --bins "
            "5` drafts one");
    const bool many = options.model == NetworkKind::softmax;
    const Dataset data =
        read_frame(frame, known, options.weights, many ? ClassValues::all : ClassValues::of_schema,
                   execution.progress);
    model = train(data, selection, options, execution).model;
  });
  return held(std::move(*model));
}

/// The model with another schema, whose features have the same names, kinds and levels.
HeldModel with_schema(const HeldModel& model, const std::string& text) {
  const Schema schema = schema_of(text);
  const Schema& own = model.model->schema();
  bool is_same = schema.features.size() == own.features.size();
  for (std::size_t j = 0; is_same && j < own.features.size(); ++j) {
    const Feature& a = schema.features[j];
    const Feature& b = own.features[j];
    is_same = a.name == b.name && a.kind == b.kind && a.levels == b.levels;
  }
  require(is_same, "the schema must have the features of the model, with their kinds and levels");
  Json document = to_json(*model.model);
  document["schema"] = to_json(schema);
  Model changed = model_from_json(document, "model");
  changed.sha256 = model_sha256(changed);
  return held(std::move(changed));
}

/// What decides gives each row: one logit, or a score for each class.
nb::ndarray<nb::numpy, double, nb::ndim<2>> scores(const HeldModel& held, const HeldFrame& frame) {
  const Model& model = *held.model;
  const auto rows = frame.frame.rows();
  const auto outputs = static_cast<std::size_t>(model.network.outputs());
  auto values = std::make_unique<std::vector<double>>(rows * outputs);
  {
    const nb::gil_scoped_release release;
    FrameSource source(frame.frame, model.schema());
    QueryReader reader(model, source, std::nullopt, OnError::stop);
    constexpr std::size_t block_rows = 8192;
    const Network network = deciding_network(model);
    Vector z(model.encoder.columns());
    for (std::size_t before = 0; before < rows; before += block_rows) {
      for (const Query& query : reader.next(block_rows).queries) {
        model.encoder.encode({query.raw.data(), static_cast<std::size_t>(query.raw.size())}, z);
        const Vector given = network.scores(z);
        std::copy(given.begin(), given.end(),
                  values->begin() + static_cast<std::ptrdiff_t>(query.index * outputs));
      }
    }
  }
  auto* const kept = values.release();
  const nb::capsule owner(kept,
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {kept->data(), {rows, outputs}, owner};
}

std::pair<std::string, std::vector<std::string>> draft(const HeldFrame& frame,
                                                       const std::string& target,
                                                       const std::string& favourable) {
  const nb::gil_scoped_release release;
  FrameSource source(frame.frame, Schema{.target = {.column = target, .favourable = favourable}});
  const SchemaDraft drafted = draft_schema(source, {.target = target, .favourable = favourable});
  return std::pair(compact_text(to_json(drafted.schema)), drafted.open_questions());
}

}  // namespace

void bind_models(nb::module_& module) {
  nb::class_<HeldModel>(module, "Model", "A classifier with all that recourse needs to know of it.")
      .def_prop_ro("sha256", [](const HeldModel& held) { return held.model->sha256; })
      .def_prop_ro("classes", [](const HeldModel& held) { return held.model->decision.classes; })
      .def_prop_ro("threshold",
                   [](const HeldModel& held) {
                     const Model& model = *held.model;
                     return model.deployed ? model.deployed->threshold : model.decision.threshold;
                   })
      .def_prop_ro("excess",
                   [](const HeldModel& held) -> std::optional<double> {
                     if (!held.model->deployed) return std::nullopt;
                     return held.model->deployed->excess;
                   })
      .def_prop_ro("objective",
                   [](const HeldModel& held) { return held.model->training.objective; })
      .def_prop_ro("training_rows", [](const HeldModel& held) { return held.model->training.rows; })
      .def("schema_text",
           [](const HeldModel& held) { return compact_text(to_json(held.model->schema())); })
      .def("schema_yaml", [](const HeldModel& held) { return to_yaml(held.model->schema()); })
      .def("text", [](const HeldModel& held) { return to_text(to_json(*held.model)); })
      .def("compact_text", [](const HeldModel& held) { return compact_text(to_json(*held.model)); })
      .def(
          "write",
          [](const HeldModel& held, const std::string& path) { write_model(path, *held.model); },
          nb::arg("path"))
      .def("with_schema", &with_schema, nb::arg("schema"))
      .def("scores", &scores, nb::arg("frame"));
  module.def(
      "read_model",
      [](const std::string& path) {
        const nb::gil_scoped_release release;
        return held(read_model(path));
      },
      nb::arg("path"));
  module.def(
      "model_of_text",
      [](const std::string& text) {
        const nb::gil_scoped_release release;
        return held(model_from_json(parse_json(text, "model"), "model"));
      },
      nb::arg("text"));
  module.def(
      "schema_text",
      [](const std::string& path) { return compact_text(to_json(read_schema(path))); },
      nb::arg("path"));
  module.def(
      "schema_of_text",
      [](const std::string& text) { return compact_text(to_json(schema_of(text))); },
      nb::arg("text"));
  module.def("train", &train_frame, nb::arg("frame"), nb::arg("schema"), nb::arg("keywords"),
             nb::arg("threads"), nb::arg("progress").none());
  module.def("training_keywords", &training_keywords);
  module.def("draft", &draft, nb::arg("frame"), nb::arg("target"), nb::arg("favourable"));
}

}  // namespace ellice::python
