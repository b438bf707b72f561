#include "report/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "data/spelling.hpp"
#include "report/svg.hpp"
#include "report/text_table.hpp"

namespace ellice {

namespace {

constexpr double panel_width = 250;
constexpr double panel_height = 190;
constexpr double left = 48;  // of a panel: room for the numbers of its axis
constexpr double right = 12;
constexpr double top = 24;
constexpr double bottom = 38;
constexpr double legend_line = 20;

// Okabe and Ito's colours, which people who confuse red and green can tell apart.
constexpr std::array<std::string_view, 8> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#7f7f7f", "#a6761d"};
constexpr std::string_view style =
    "<style>.figure text{font:11px system-ui,sans-serif;fill:#222}.figure .axis{stroke:#888;"
    "stroke-width:1;fill:none}.figure .grid{stroke:#888;stroke-opacity:.2}.figure "
    ".title{font-weight:600;font-size:12px}.figure .note{fill:#888}"
    "svg:root.figure{color-scheme:light dark}"
    "@media(prefers-color-scheme:dark){.figure text{fill:#ddd}}</style>";

/// Where numbers of one axis lie.
class Scale {
 public:
  Scale(double low, double high, double from, double to, bool logarithmic)
      : logarithmic_(logarithmic), low_(place(low)), high_(place(high)), from_(from), to_(to) {}
  [[nodiscard]] double operator()(double value) const {
    const double share = (place(value) - low_) / (high_ - low_);
    return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
  }

 private:
  [[nodiscard]] double place(double value) const {
    return logarithmic_ ? std::log10(value) : value;
  }
  bool logarithmic_;
  double low_, high_, from_, to_;
};

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool is_drawn(const Figure::Point& point, const Figure::Panel& panel) {
  return std::isfinite(point.x) && std::isfinite(point.y) &&
         (!panel.x.logarithmic || point.x > 0) && (!panel.y.logarithmic || point.y > 0);
}

/// The ends of an axis: as asked, else the data's with a little air.
Extent ends(const Figure::Axis& axis, Extent data) {
  const double air = axis.logarithmic ? 0 : 0.04 * (data.high - data.low);
  if (data.high == data.low) {
    data.low -= axis.logarithmic ? data.low / 2 : std::max(0.5 * std::abs(data.low), 1e-3);
    data.high += std::max(0.5 * std::abs(data.high), 1e-3);
  }
  return {.low = axis.low.value_or(data.low - air), .high = axis.high.value_or(data.high + air)};
}

std::vector<double> tick_places(const Figure::Axis& axis, const Extent& extent) {
  if (!axis.logarithmic) return svg::ticks(extent.low, extent.high, 4);
  std::vector<double> places;
  for (double power = std::pow(10, std::ceil(std::log10(extent.low) - 1e-9));
       power <= extent.high * (1 + 1e-9); power *= 10) {
    places.push_back(power);
  }
  if (places.size() < 2) places = {extent.low, extent.high};
  return places;
}

/// Words of at most `most` columns.
std::string shortened(const std::string& words, std::size_t most) {
  if (display_width(words) <= most) return words;
  std::string result = words;
  while (display_width(result) + 1 > most) {
    do result.pop_back();
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xC0) == 0x80);
  }
  return result + "…";
}

/// How many bytes of whole words all names begin with, none of them whole.
std::size_t common_prefix(const std::vector<std::string>& names) {
  std::size_t common = names.front().size();
  for (const std::string& name : names) {
    const auto end = std::mismatch(name.begin(), name.end() - (name.empty() ? 0 : 1),
                                   names.front().begin(), names.front().end())
                         .first;
    common = std::min(common, static_cast<std::size_t>(end - name.begin()));
  }
  if (common == 0) return 0;
  const std::size_t last = names.front().find_last_of("_=-/. ", common - 1);
  return last == std::string::npos ? 0 : last + 1;
}

/// One of eight marks of some 7 pixels, so that lines can be told apart without colour.
std::string mark(std::size_t kind, double x, double y, std::string_view colour) {
  const auto path = [&](std::string_view shape) {
    return fmt::format("<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" fill=\"{}\"/>", x, y,
                       shape, colour);
  };
  switch (kind % 8) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" fill=\"{}\"/>", x, y,
                         colour);
    case 1:
      return path("M-3-3H3V3H-3z");
    case 2:
      return path("M0-4L3.6 2.8H-3.6z");
    case 3:
      return path("M0-4.2L4.2 0 0 4.2-4.2 0z");
    case 4:
      return path("M0 4L3.6-2.8H-3.6z");
    case 5:
      return path("M-4-1.2H-1.2V-4H1.2V-1.2H4V1.2H1.2V4H-1.2V1.2H-4z");
    case 6:
      return fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.8\" fill=\"none\" stroke=\"{}\" "
          "stroke-width=\"1.6\"/>",
          x, y, colour);
    default:
      return path("M-4 0L0-1.5 4 0 0 1.5z");
  }
}

class Canvas {
 public:
  explicit Canvas(const Figure& figure) : figure_(&figure) {
    for (const Figure::Panel& panel : figure.panels) {
      for (const Figure::Series& series : panel.series) {
        if (std::find(names_.begin(), names_.end(), series.name) == names_.end())
          names_.push_back(series.name);
      }
    }
  }

  [[nodiscard]] std::string draw() {
    const auto panels = static_cast<int>(figure_->panels.size());
    const int columns = std::clamp(figure_->columns, 1, std::max(panels, 1));
    const int rows = (panels + columns - 1) / columns;
    const double width = std::max(columns * panel_width, panel_width);
    const double after_legend = draw_legend(width);
    for (int k = 0; k < panels; ++k) {
      draw_panel(figure_->panels[static_cast<std::size_t>(k)], (k % columns) * panel_width,
                 after_legend + (k / columns) * panel_height);
    }
    const double height = after_legend + rows * panel_height;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" role=\"img\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\">{2}<title>{3}"
        "</title>{4}</svg>\n",
        width, height, style, svg::escape(figure_->title), body_);
  }

 private:
  [[nodiscard]] std::size_t index(const std::string& name) const {
    return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }
  [[nodiscard]] static std::string_view colour(std::size_t index) {
    return colours[index % colours.size()];
  }
  void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
    body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>", x1,
                         y1, x2, y2, attributes);
  }
  void text(double x, double y, std::string_view anchor, std::string_view words,
            std::string_view attributes = "") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>", x, y,
                         anchor, attributes, svg::escape(words));
  }

  /// Gives the height it takes.
  double draw_legend(double width) {
    double x = 8;
    double y = legend_line / 2 + 2;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const double wide = 34 + 6.6 * static_cast<double>(display_width(names_[k]));
      if (x > 8 && x + wide > width) {
        x = 8;
        y += legend_line;
      }
      line(x, y, x + 18, y, fmt::format("stroke=\"{}\" stroke-width=\"1.6\"", colour(k)));
      body_ += mark(k, x + 9, y, colour(k));
      text(x + 23, y + 4, "start", names_[k]);
      x += wide;
    }
    return y + legend_line / 2 + 4;
  }

  void draw_panel(const Figure::Panel& panel, double x0, double y0) {
    const double x1 = x0 + left;
    const double x2 = x0 + panel_width - right;
    const double y1 = y0 + panel_height - bottom;
    const double y2 = y0 + top;
    text((x1 + x2) / 2, y0 + 15, "middle", panel.title, "class=\"title\"");
    Extent across;
    Extent up;
    for (const Figure::Series& series : panel.series) {
      for (const Figure::Point& point : series.points) {
        if (!is_drawn(point, panel)) continue;
        across.add(point.x);
        up.add(point.y);
        if (!panel.y.logarithmic) {
          up.add(point.y - point.error);
          up.add(point.y + point.error);
        }
      }
    }
    body_ +=
        fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", x1, y2, y1, x2);
    if (!(across.low <= across.high)) {
      text((x1 + x2) / 2, (y1 + y2) / 2, "middle", panel.note.empty() ? "no data" : panel.note,
           "class=\"note\"");
      return;
    }
    across = ends(panel.x, across);
    up = ends(panel.y, up);
    const Scale x(across.low, across.high, x1, x2, panel.x.logarithmic);
    const Scale y(up.low, up.high, y1, y2, panel.y.logarithmic);
    if (!panel.x.names.empty()) {
      draw_names(panel.x.names, x, y1);
    } else {
      double end = -std::numeric_limits<double>::infinity();  // of the last number written
      for (const double tick : tick_places(panel.x, across)) {
        line(x(tick), y1, x(tick), y1 + 4, "class=\"axis\"");
        const std::string number = display_rounded(tick, 3);
        const double half = 3.1 * static_cast<double>(display_width(number));
        if (x(tick) - half < end + 5) continue;
        text(x(tick), y1 + 15, "middle", number);
        end = x(tick) + half;
      }
    }
    for (const double tick : tick_places(panel.y, up)) {
      line(x1, y(tick), x2, y(tick), "class=\"grid\"");
      text(x1 - 5, y(tick) + 4, "end", rounded(tick, 3));
    }
    if (panel.x.names.empty()) text((x1 + x2) / 2, y1 + 30, "middle", panel.x.label);
    body_ += fmt::format(
        "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}"
        "</text>",
        x0 + 11, (y1 + y2) / 2, svg::escape(panel.y.label));
    for (const Figure::Series& series : panel.series) draw_series(series, panel, x, y);
  }

  /// As many as there is room for, aslant; where some are too long, all of them without what they
  /// have in common.
  void draw_names(const std::vector<std::string>& names, const Scale& x, double y) {
    constexpr double least_distance = 11;
    constexpr std::size_t most = 9;
    const bool are_short = std::all_of(names.begin(), names.end(), [](const std::string& name) {
      return display_width(name) <= most;
    });
    const std::size_t from = are_short || names.size() < 2 ? 0 : common_prefix(names);
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double at = x(static_cast<double>(k));
      line(at, y, at, y + 4, "class=\"axis\"");
      if (at - last < least_distance) continue;
      last = at;
      body_ += fmt::format(
          "<text transform=\"translate({:.1f} {:.1f}) rotate(-30)\" text-anchor=\"end\">{}"
          "<title>{}</title></text>",
          at + 4, y + 10, svg::escape(shortened(names[k].substr(from), most)),
          svg::escape(names[k]));
    }
  }

  void draw_series(const Figure::Series& series, const Figure::Panel& panel, const Scale& x,
                   const Scale& y) {
    const std::size_t kind = index(series.name);
    if (series.is_band) {
      draw_band(series, panel, x, y);
      return;
    }
    std::string path;
    std::string marks;
    for (const Figure::Point& point : series.points) {
      if (!is_drawn(point, panel)) continue;
      const double px = x(point.x);
      const double py = y(point.y);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
      if (point.error > 0) {
        const double low = y(panel.y.logarithmic ? std::max(point.y - point.error, 1e-300)
                                                 : point.y - point.error);
        marks += fmt::format(
            "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}h5M{3:.1f} {2:.1f}h5\" "
            "stroke=\"{4}\" fill=\"none\"/>",
            px, low, y(point.y + point.error), px - 2.5, colour(kind));
      }
      marks +=
          fmt::format("<g><title>{}: {} = {}, {} = {}</title>{}</g>", svg::escape(series.name),
                      svg::escape(panel.x.label), rounded(point.x, 4), svg::escape(panel.y.label),
                      rounded(point.y, 4), mark(kind, px, py, colour(kind)));
    }
    if (panel.x.names.empty()) {
      body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>",
                           path, colour(kind));
    }
    body_ += marks;
  }

  void draw_band(const Figure::Series& series, const Figure::Panel& panel, const Scale& x,
                 const Scale& y) {
    const std::string_view of_series = colour(index(series.name));
    std::string path;
    std::string upper;
    std::string lower;
    for (const Figure::Point& point : series.points) {
      if (!is_drawn(point, panel)) continue;
      const char* const to = path.empty() ? "M" : "L";
      path += fmt::format("{}{:.1f} {:.1f}", to, x(point.x), y(point.y));
      upper += fmt::format("{}{:.1f} {:.1f}", to, x(point.x), y(point.y + point.error));
      lower = fmt::format("L{:.1f} {:.1f}", x(point.x), y(point.y - point.error)) + lower;
    }
    body_ += fmt::format(
        "<path d=\"{}{}z\" fill=\"{}\" fill-opacity=\".22\"/><path d=\"{}\" fill=\"none\" "
        "stroke=\"{}\" stroke-width=\"1.6\"/>",
        upper, lower, of_series, path, of_series);
  }

  const Figure* figure_;
  std::vector<std::string> names_;
  std::string body_;
};

}  // namespace

std::string to_svg(const Figure& figure) {
  return Canvas(figure).draw();
}

}  // namespace ellice
