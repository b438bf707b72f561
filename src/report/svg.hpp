#pragma once

// Plots as inline SVG. Horizontal places are percentages and vertical ones pixels, so that a plot
// fills any width while its text keeps its size. Labels are escaped here; colours come from the
// page's style sheet by class.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ellice::svg {

/// Text made safe for HTML and SVG, in content and in quoted attributes.
[[nodiscard]] std::string escape(std::string_view text);

/// Round numbers from `low` to `high` that divide the way into about `count` parts (1, 2 or 5 times
/// a power of ten); those inside the interval.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

/// Arrow heads that the plots of a page refer to; once per page.
[[nodiscard]] std::string definitions();

/// Where a change lies: a track for the usual range, an open dot for now, a filled one for then.
struct Dumbbell {
  double lower = 0;  // of the usual range; now and then may lie outside
  double upper = 0;
  double now = 0;
  double then = 0;
  std::string lower_text = {};
  std::string upper_text = {};
  int stops = 0;  // of this many levels from lower to upper; 0 for a continuum
  std::string title = {};
};
[[nodiscard]] std::string dumbbell(const Dumbbell& plot);

/// One horizontal bar from 0 to `share` of its track, with an optional mark at another share.
struct Bar {
  double share = 0;
  std::optional<double> mark = {};
  std::string tone = {};  // class
  std::string title = {};
};
[[nodiscard]] std::string bar(const Bar& plot);

struct Segment {
  double size = 0;
  std::string tone = {};
  std::string title = {};
};
/// Segments side by side that together fill the width.
[[nodiscard]] std::string stacked_bar(const std::vector<Segment>& segments,
                                      const std::string& title);

/// How often values from 0 on fall into bins of equal, round width.
[[nodiscard]] std::string histogram(const std::vector<double>& values, const std::string& axis,
                                    const std::string& title);

struct LineChart {
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Mark {  // a vertical line with a label
    double x = 0;
    std::string text = {};
    std::string tone = {};
  };
  std::vector<Point> points = {};  // by rising x ≥ 0
  std::vector<Mark> marks = {};
  std::optional<double> closed_from = {};  // the part of the axis where nothing can be
  std::string x_axis = {};
  std::string y_axis = {};
  std::string title = {};
};
[[nodiscard]] std::string line_chart(const LineChart& plot);

}  // namespace ellice::svg
