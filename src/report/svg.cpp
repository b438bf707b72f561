#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/display.hpp"
#include "report/text_table.hpp"

namespace ellice::svg {

namespace {

/// An interval of numbers on the width of a plot.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;  // percent of the width at `low` and at `high`
  double to = 100;
  [[nodiscard]] double at(double value) const {
    return from + (to - from) * (value - low) / (high - low);
  }
};

Axis axis_of(double low, double high, double from, double to) {
  if (!(high > low)) {  // a single value stands in the middle
    const double half = std::max(1.0, std::abs(low)) / 2;
    return {low - half, low + half, from, to};
  }
  return {low, high, from, to};
}

std::string_view anchor(double percent) {
  return percent < 12 ? "start" : percent > 88 ? "end" : "middle";
}

std::string open(std::string_view kind, int height, const std::string& title) {
  return fmt::format(R"(<svg class="plot {}" height="{}" role="img" aria-label="{}">)", kind,
                     height, escape(title));
}

std::string text_at(double percent, double y, std::string_view side, std::string_view tone,
                    std::string_view text) {
  return fmt::format(R"(<text class="{}" x="{:.2f}%" y="{:.1f}" text-anchor="{}">{}</text>)", tone,
                     percent, y, side, escape(text));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view tone,
                 std::string_view extra = "") {
  return fmt::format(R"(<line class="{}" x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}"{}/>)",
                     tone, x1, y1, x2, y2, extra);
}

std::string circle(double x, double y, double radius, std::string_view tone) {
  return fmt::format(R"(<circle class="{}" cx="{:.2f}%" cy="{:.1f}" r="{}"/>)", tone, x, y, radius);
}

std::string rectangle(double x, double y, double width, double height, std::string_view tone,
                      const std::string& title = {}) {
  const std::string inner = title.empty() ? "" : "<title>" + escape(title) + "</title>";
  return fmt::format(
      R"(<rect class="{}" x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}">{}</rect>)", tone,
      x, y, width, height, inner);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Control characters have no place in a page.
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
          out += "\uFFFD";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::vector<double> ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
  std::vector<double> result;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) {
    result.push_back(k * step + 0.0);  // never -0
  }
  return result;
}

std::string definitions() {
  return R"(<svg class="definitions" width="0" height="0" aria-hidden="true"><defs>)"
         R"(<marker id="arrow" viewBox="0 0 8 8" refX="15" refY="4" markerWidth="8" )"
         R"(markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">)"
         R"(<path class="arrow-head" d="M0 0L8 4L0 8z"/></marker></defs></svg>)";
}

std::string dumbbell(const Dumbbell& plot) {
  const auto [low, high] = std::minmax({plot.lower, plot.upper, plot.now, plot.then});
  const Axis axis = axis_of(low, high, 3, 97);
  const double lower = axis.at(plot.lower), upper = axis.at(plot.upper);
  const double now = axis.at(plot.now), then = axis.at(plot.then);
  constexpr double y = 11;
  std::string out = open("dumbbell", 34, plot.title);
  out += line(lower, y, upper, y, "track");
  for (int k = 0; k < plot.stops; ++k) {
    out += circle(axis.at(plot.lower + k), y, 2, "stop");
  }
  // An arrow head needs some room between the dots.
  const bool room = std::abs(then - now) > 12;
  out += line(now, y, then, y, "move", room ? R"~( marker-end="url(#arrow)")~" : "");
  out += circle(now, y, 5, "now");
  out += circle(then, y, 6, "then");
  out += text_at(lower, 31, anchor(lower), "tick", plot.lower_text);
  if (upper - lower > 20) out += text_at(upper, 31, anchor(upper), "tick", plot.upper_text);
  return out + "</svg>";
}

std::string bar(const Bar& plot) {
  const double share = std::clamp(plot.share, 0.0, 1.0);
  std::string out = open("bar", 14, plot.title);
  out += rectangle(0, 2, 100, 10, "track-fill");
  out += rectangle(0, 2, 100 * share, 10, plot.tone);
  if (plot.mark) {
    const double at = 100 * std::clamp(*plot.mark, 0.0, 1.0);
    out += line(at, 0, at, 14, "mark");
  }
  return out + "</svg>";
}

std::string stacked_bar(const std::vector<Segment>& segments, const std::string& title) {
  double whole = 0;
  for (const Segment& segment : segments) whole += segment.size;
  std::string out = open("stacked", 22, title);
  double at = 0;
  for (const Segment& segment : segments) {
    const double width = whole > 0 ? 100 * segment.size / whole : 0;
    out += rectangle(at, 0, width, 22, segment.tone + " segment", segment.title);
    at += width;
  }
  return out + "</svg>";
}

std::string histogram(const std::vector<double>& values, const std::string& axis_name,
                      const std::string& title) {
  constexpr double top = 16, bottom = 136;
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  const std::vector<double> edges = ticks(0, most > 0 ? most : 1, 12);
  const double width = edges[1] - edges[0];
  std::vector<std::size_t> counts(
      std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(most / width))), 0);
  for (const double value : values) {
    ++counts[std::min(counts.size() - 1, static_cast<std::size_t>(value / width))];
  }
  const std::size_t tallest = *std::max_element(counts.begin(), counts.end());
  const Axis axis{0, width * static_cast<double>(counts.size()), 0, 100};

  std::string out = open("histogram", 172, title);
  const double column = 100 / static_cast<double>(counts.size());
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] == 0) continue;
    const double height =
        (bottom - top) * static_cast<double>(counts[k]) / static_cast<double>(tallest);
    const double left = width * static_cast<double>(k);
    out += rectangle(
        column * static_cast<double>(k) + 0.05 * column, bottom - height, 0.9 * column, height,
        "column",
        fmt::format("{} to {}: {}", rounded(left), rounded(left + width), grouped(counts[k])));
    out += text_at(column * (static_cast<double>(k) + 0.5), bottom - height - 4, "middle", "tick",
                   grouped(counts[k]));
  }
  out += line(0, bottom, 100, bottom, "axis");
  for (const double tick : ticks(0, axis.high, 5)) {
    out += line(axis.at(tick), bottom, axis.at(tick), bottom + 4, "axis");
    out += text_at(axis.at(tick), bottom + 17, "middle", "tick", rounded(tick));
  }
  out += text_at(50, bottom + 34, "middle", "axis-name", axis_name);
  return out + "</svg>";
}

std::string line_chart(const LineChart& plot) {
  constexpr double top = 38, bottom = 168;
  double x_most = 0, y_most = 0;
  for (const auto& [x, y] : plot.points) {
    x_most = std::max(x_most, x);
    y_most = std::max(y_most, y);
  }
  for (const LineChart::Mark& mark : plot.marks) x_most = std::max(x_most, mark.x);
  const Axis across = axis_of(0, 1.06 * x_most, 0, 100);
  const Axis up = axis_of(0, y_most > 0 ? 1.08 * y_most : 1, bottom, top);

  std::string out = open("line-chart", 206, plot.title);
  if (plot.closed_from) {
    const double from = across.at(std::min(*plot.closed_from, across.high));
    out += rectangle(from, top, 100 - from, bottom - top, "closed");
  }
  for (const double tick : ticks(up.low, up.high, 4)) {
    out += line(0, up.at(tick), 100, up.at(tick), "grid");
    out += fmt::format(R"(<text class="tick" x="-7" y="{:.1f}" text-anchor="end">{}</text>)",
                       up.at(tick) + 4, rounded(tick));
  }
  out += line(0, bottom, 100, bottom, "axis");
  for (const double tick : ticks(across.low, across.high, 4)) {
    out += line(across.at(tick), bottom, across.at(tick), bottom + 4, "axis");
    out += text_at(across.at(tick), bottom + 17, "middle", "tick", rounded(tick));
  }
  // The mark to the right has its label on top; those to its left stay clear of its line.
  std::vector<LineChart::Mark> marks = plot.marks;
  std::stable_sort(marks.begin(), marks.end(),
                   [](const auto& a, const auto& b) { return a.x > b.x; });
  double label_y = 12;
  for (const LineChart::Mark& mark : marks) {
    const double x = across.at(mark.x);
    const std::string_view side = label_y == 12 ? anchor(x) : x < 30 ? "start" : "end";
    out += line(x, label_y + 4, x, bottom, "mark " + mark.tone);
    out += text_at(x, label_y, side, "mark-name " + mark.tone, mark.text);
    label_y += 15;
  }
  for (std::size_t i = 1; i < plot.points.size(); ++i) {
    const auto& [x0, y0] = plot.points[i - 1];
    const auto& [x1, y1] = plot.points[i];
    out += line(across.at(x0), up.at(y0), across.at(x1), up.at(y1), "curve");
  }
  for (const auto& [x, y] : plot.points) {
    out += fmt::format(
        R"(<circle class="curve-dot" cx="{:.2f}%" cy="{:.1f}" r="2.5"><title>{} {:.3g}: {:.3g}</title></circle>)",
        across.at(x), up.at(y), escape(plot.x_axis), x, y);
  }
  out += fmt::format(R"(<text class="axis-name" x="-40" y="10" text-anchor="start">{}</text>)",
                     escape(plot.y_axis));
  out += text_at(50, bottom + 34, "middle", "axis-name", plot.x_axis);
  return out + "</svg>";
}

}  // namespace ellice::svg
