#include <algorithm>
#include <numeric>

#include "core/number_text.hpp"
#include "data/spelling.hpp"
#include "ellice/core/json.hpp"
#include "report/display.hpp"
#include "report/figure.hpp"
#include "report/shapes.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

constexpr int panel_columns = 4;

/// The features that matter most first.
std::vector<std::size_t> by_range(const Shapes& shapes) {
  std::vector<std::size_t> order(shapes.shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return range_of(shapes.shapes[a]) > range_of(shapes.shapes[b]);
  });
  return order;
}

std::string spelt_value(const Shape& shape, const Feature& feature, Index k) {
  const auto at = static_cast<std::size_t>(k);
  if (!shape.names.empty()) return shape.names[at];
  const std::string number = display_rounded(shape.values[at], 4);
  return feature.unit.empty() ? number : number + " " + feature.unit;
}

std::string band_words(const Shapes& shapes, const Model& model) {
  return fmt::format(
      "What each feature adds to the score (logit), and the band that all models within epsilon = "
      "{} leave open{}; centred over {}.",
      rounded(shapes.epsilon, 4), model.network.is_linear() ? "" : ", the hidden layers fixed",
      shapes.is_over_rows ? "the training rows" : "the values that are shown");
}

Monotone way_of(const Model& model, std::size_t feature) {
  return model.network.groups.empty() ? Monotone::any : model.network.groups[feature].monotone;
}

Figure figure_of(const Shapes& shapes, const Model& model) {
  Figure figure{.title = "Shape functions with their bands",
                .columns = std::min(panel_columns, static_cast<int>(shapes.shapes.size()))};
  // One scale for all: what a feature adds is to be compared with what others add.
  double low = 0;
  double high = 0;
  for (const Shape& shape : shapes.shapes) {
    low = std::min(low, (shape.contribution - shape.spread).minCoeff());
    high = std::max(high, (shape.contribution + shape.spread).maxCoeff());
  }
  const double air = high > low ? 0.04 * (high - low) : 1;
  for (const std::size_t j : by_range(shapes)) {
    const Shape& shape = shapes.shapes[j];
    const Feature& feature = model.schema().features[shape.feature];
    Figure::Series series{.name = "contribution to the score, with its band",
                          .is_band = shape.names.empty()};
    for (Index k = 0; k < shape.contribution.size(); ++k) {
      series.points.push_back({.x = shape.values[static_cast<std::size_t>(k)],
                               .y = shape.contribution(k),
                               .error = shape.spread(k)});
    }
    Figure::Panel panel{.title = feature.title(),
                        .x = {.label = feature.unit, .names = shape.names},
                        .y = {.low = low - air, .high = high + air},
                        .series = {std::move(series)}};
    if (!shape.names.empty()) {
      panel.x.low = -0.5;
      panel.x.high = static_cast<double>(shape.names.size()) - 0.5;
    }
    if (const Monotone way = way_of(model, shape.feature); way != Monotone::any)
      panel.title += way == Monotone::increase ? " ↗" : " ↘";
    figure.panels.push_back(std::move(panel));
  }
  return figure;
}

}  // namespace

std::string shapes_text(const Shapes& shapes, const Model& model) {
  TextTable table({TextTable::Align::left, TextTable::Align::right, TextTable::Align::left,
                   TextTable::Align::right, TextTable::Align::left, TextTable::Align::right});
  table.header({"feature", "least", "at", "most", "at", "band ±"});
  for (const std::size_t j : by_range(shapes)) {
    const Shape& shape = shapes.shapes[j];
    const Feature& feature = model.schema().features[shape.feature];
    Index least = 0;
    Index most = 0;
    const double low = shape.contribution.minCoeff(&least);
    const double high = shape.contribution.maxCoeff(&most);
    table.row({feature.title(), signed_number(low), spelt_value(shape, feature, least),
               signed_number(high), spelt_value(shape, feature, most),
               rounded(shape.spread.maxCoeff(), 3)});
  }
  return fmt::format("{}\n\n{}", band_words(shapes, model), table.text());
}

Json shapes_json(const Shapes& shapes, const Model& model) {
  Json document = make_envelope("ellice.shapes", 1);
  document["model_sha256"] = model.sha256;
  document["set"] = "last-layer";
  document["epsilon"] = shapes.epsilon;
  document["centred_over"] = shapes.is_over_rows ? "rows" : "values";
  document["base"] = shapes.base;
  document["features"] = Json::array();
  for (const Shape& shape : shapes.shapes) {
    const Feature& feature = model.schema().features[shape.feature];
    Json entry = {{"name", feature.name}, {"kind", std::string(enum_name(feature.kind))}};
    if (const Monotone way = way_of(model, shape.feature); way != Monotone::any)
      entry["monotone"] = std::string(enum_name(way));
    if (shape.names.empty()) {
      entry["values"] = shape.values;
    } else {
      entry["values"] = shape.names;
    }
    entry["contribution"] = to_json_array(shape.contribution);
    entry["low"] = to_json_array(shape.contribution - shape.spread);
    entry["high"] = to_json_array(shape.contribution + shape.spread);
    document["features"].push_back(std::move(entry));
  }
  return document;
}

std::string shapes_svg(const Shapes& shapes, const Model& model) {
  return to_svg(figure_of(shapes, model));
}

std::string shapes_html(const Shapes& shapes, const Model& model) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Shape functions</title><style>:root{color-scheme:"
      "light dark}body{font:15px system-ui,sans-serif;margin:2em auto;max-width:1040px;padding:0 "
      "1em}svg{max-width:100%;height:auto}table{border-collapse:collapse}td,th{padding:.2em "
      ".8em;text-align:right}td:first-child,th:first-child{text-align:left}</style></head><body>"
      "<h1>Shape functions</h1>\n";
  out += fmt::format("<p>{} A score is {} plus what the features add.</p>\n",
                     svg::escape(band_words(shapes, model)), rounded(shapes.base, 4));
  out += shapes_svg(shapes, model);
  for (const std::size_t j : by_range(shapes)) {
    const Shape& shape = shapes.shapes[j];
    const Feature& feature = model.schema().features[shape.feature];
    out += fmt::format(
        "<details><summary>{} in numbers</summary><table><thead><tr><th>value</th><th>adds</th>"
        "<th>at least</th><th>at most</th></tr></thead><tbody>\n",
        svg::escape(feature.title()));
    for (Index k = 0; k < shape.contribution.size(); ++k) {
      out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                         svg::escape(spelt_value(shape, feature, k)),
                         signed_number(shape.contribution(k)),
                         signed_number(shape.contribution(k) - shape.spread(k)),
                         signed_number(shape.contribution(k) + shape.spread(k)));
    }
    out += "</tbody></table></details>\n";
  }
  out += fmt::format("<p>Model {}.</p></body></html>\n", model.sha256.substr(0, 16));
  return out;
}

}  // namespace ellice
