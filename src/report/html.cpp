#include "report/html.hpp"

#include <fmt/format.h>

#include "ellice/core/error.hpp"
#include "ellice/core/json.hpp"
#include "ellice/core/version.hpp"
#include "ellice/model/model_file.hpp"
#include "report/histograms.hpp"
#include "report/svg.hpp"

namespace ellice {

namespace {

Json pairs(const std::vector<std::pair<std::string, std::string>>& lines) {
  Json result = Json::array();
  for (const auto& [name, text] : lines) result.push_back(Json::array({name, text}));
  return result;
}

Json curve_json(const FrontierCurve& curve) {
  Json result = {{"query_index", curve.query_index}};
  if (curve.max_epsilon) {
    result["max_epsilon"] = *curve.max_epsilon;
    result["max_epsilon_is_proved"] = curve.is_max_proved || curve.is_proved;
  }
  result["points"] = Json::array();
  for (const FrontierPoint& point : curve.points) {
    result["points"].push_back({{"epsilon", point.epsilon},
                                {"feasible", point.feasible},
                                {"distance", point.distance},
                                {"cost", point.cost}});
  }
  return result;
}

/// What the page shows beside the two files.
Json page_json(const Model& model, const PageOptions& options,
               const std::vector<FrontierCurve>& curves) {
  Json page = {{"title", options.title},
               {"program", fmt::format("ellice {}", version().number)},
               {"trade_off", options.trade_off},
               {"worth", options.worth},
               {"asked", pairs(asked_lines(model, options))},
               {"options", pairs(options.options)}};
  page["histograms"] = options.rows && options.rows->are_of_model
                           ? training_histograms(model, *options.rows)
                           : Json();
  page["curves"] = Json::array();
  for (const FrontierCurve& curve : curves) page["curves"].push_back(curve_json(curve));
  return page;
}

/// JSON as the text of an element: nothing in it ends or opens one.
std::string as_text_of_element(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

/// Appends the bundle up to and with the place that is filled in, which must be there.
void fill(std::string& out, std::string_view& rest, std::string_view before,
          std::string_view placeholder, std::string_view text) {
  const std::string place = std::string(before) + std::string(placeholder);
  const std::size_t at = rest.find(place);
  require(at != std::string_view::npos, "the page's bundle has no {}", place);
  out += rest.substr(0, at + before.size());
  out += text;
  rest.remove_prefix(at + place.size());
}

}  // namespace

std::string to_html(const Model& model, const PageOptions& options, std::string_view recourse_file,
                    const std::vector<FrontierCurve>& curves) {
  Json file = to_json(model);
  file.erase("rows");  // those of people
  std::string_view rest = page_bundle();
  std::string out;
  out.reserve(rest.size() + 2 * recourse_file.size());
  fill(out, rest, "<title>", "ellice", svg::escape(options.title));
  fill(out, rest, "id=\"ellice-model\">", "null", as_text_of_element(to_text(file)));
  fill(out, rest, "id=\"ellice-page\">", "null",
       as_text_of_element(to_text(page_json(model, options, curves))));
  fill(out, rest, "id=\"ellice-recourse\">", "null", as_text_of_element(recourse_file));
  out += rest;
  return out;
}

}  // namespace ellice
