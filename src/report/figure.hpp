#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ellice {

/// A grid of line charts that share a legend, as a self-contained SVG.
struct Figure {
  struct Point {
    double x = 0;
    double y = 0;
    double error = 0;  // half the length of the bar around y, or half the width of the band
  };
  struct Series {
    std::string name = {};
    std::vector<Point> points = {};  // in the order in which they are joined
    bool is_band = false;            // errors are a band around a line without marks
  };
  struct Axis {
    std::string label = {};
    std::optional<double> low = {};  // otherwise the data's
    std::optional<double> high = {};
    bool logarithmic = false;  // points that are not positive are left out
    /// Of the places 0, 1, 2 …, in place of numbers; points of such a panel are not joined.
    std::vector<std::string> names = {};
  };
  struct Panel {
    std::string title = {};
    Axis x = {};
    Axis y = {};
    std::vector<Series> series = {};
    std::string note = {};  // shown where there is nothing to draw
  };

  std::string title = {};  // read aloud and shown when hovering
  int columns = 1;
  std::vector<Panel> panels = {};
};

/// Series with the same name have the same colour and mark in every panel; they are listed in the
/// order in which they first occur.
[[nodiscard]] std::string to_svg(const Figure& figure);

}  // namespace ellice
