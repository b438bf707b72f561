#include "data/draft_bins.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/number_text.hpp"
#include "data/schema_bins.hpp"
#include "ellice/core/error.hpp"

namespace ellice {

namespace {

/// What tables write for a number that there is not.
const std::set<double>& usual_codes() {
  static const std::set<double> codes = {-7, -8, -9, -77, -88, -99, -777, -888, -999, -9999};
  return codes;
}

std::vector<double> codes_of(const std::vector<double>& numbers, const DraftBins& options) {
  std::set<double> codes;
  for (const double code : options.special) {
    if (std::binary_search(numbers.begin(), numbers.end(), code)) codes.insert(code);
  }
  std::set<double> negative;
  for (const double number : numbers) {
    if (number < 0) negative.insert(number);
  }
  const bool are_codes = !numbers.empty() && numbers.back() >= 0 &&
                         std::all_of(negative.begin(), negative.end(), [&](double number) {
                           return codes.contains(number) || usual_codes().contains(number);
                         });
  if (are_codes) codes.insert(negative.begin(), negative.end());
  return {codes.rbegin(), codes.rend()};
}

/// Three digits are enough for an edge.
double rounded(double number, bool whole) {
  if (number == 0 || whole) return number;
  const double power = std::pow(10, 2 - std::floor(std::log10(std::abs(number))));
  return power > 1 ? std::round(number * power) / power : std::round(number);
}

/// Each bin has about as many rows; fewer bins where values are common.
std::vector<double> quantile_edges(const std::vector<double>& sorted, int bins, bool whole) {
  std::vector<double> edges;
  for (int k = 1; k < bins; ++k) {
    const auto place = static_cast<std::size_t>(k) * sorted.size() / static_cast<std::size_t>(bins);
    const double edge = rounded(sorted[place], whole);
    const bool is_inside = edge >= sorted.front() && edge < sorted.back();
    if (is_inside && (edges.empty() || edge > edges.back())) edges.push_back(edge);
  }
  return edges;
}

}  // namespace

void draft_bins(SchemaDraft& draft, const Dataset& data, const DraftBins& options) {
  require(options.count >= 2, "bins = {} must be at least 2", options.count);
  for (std::size_t j = 0; j < draft.schema.features.size(); ++j) {
    Feature& feature = draft.schema.features[j];
    if (!feature.is_number() || feature.is_binned()) continue;
    const auto column = data.raw.col(static_cast<Index>(j));
    std::vector<double> numbers(column.begin(), column.end());
    std::erase_if(numbers, [](double number) { return std::isnan(number); });
    std::sort(numbers.begin(), numbers.end());
    const std::vector<double> codes = codes_of(numbers, options);
    std::erase_if(numbers, [&](double number) {
      return std::find(codes.begin(), codes.end(), number) != codes.end();
    });
    const bool is_whole = feature.kind == FeatureKind::integer;
    const std::set<double> distinct(numbers.begin(), numbers.end());
    if (numbers.empty() || (codes.empty() && distinct.size() <= 2)) continue;
    feature.kind = FeatureKind::binned;
    feature.bins.edges = quantile_edges(numbers, options.count, is_whole);
    for (const double code : codes)
      feature.bins.special.push_back({.number = code, .text = "code " + number_text(code)});
    if (feature.bins.count() < 2) {
      feature.bins = {};
      feature.kind = is_whole ? FeatureKind::integer : FeatureKind::numeric;
      continue;
    }
    if (!feature.step) feature.step = is_whole ? 1 : usual_bin_step(feature.bins);
    if (codes.empty()) continue;
    std::vector<std::string> texts;
    for (const double code : codes) texts.push_back(number_text(code));
    draft.guesses.push_back({.column = feature.name,
                             .what = fmt::format("codes {}", fmt::join(texts, ", ")),
                             .why = "no other number is negative: say what they mean",
                             .is_doubtful = true});
  }
}

}  // namespace ellice
