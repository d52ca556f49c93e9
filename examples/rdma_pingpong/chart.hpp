// Chart: curves over sizes on logarithmic axes, written as SVG. A dumb value; nothing is drawn but what is in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rdma_pingpong {

struct Point {
  double x = 0;  // greater than 0, like all values on logarithmic axes
  double y = 0;
  std::string text;  // shown where the pointer rests
};

struct Curve {
  std::string name;
  std::string colour;  // "#0072b2"
  bool dashed = false;
  std::vector<Point> points;
};

// One diagram. The y axis covers whole decades around what the curves need.
struct Panel {
  std::string name;                          // of the y axis
  std::function<std::string(double)> label;  // of a mark on the y axis
  std::vector<Curve> curves;
};

struct Chart {
  std::string title;
  std::string note;                            // below the title
  std::string x_name;                          // of the x axis, which all panels share
  std::vector<double> x_marks;                 // in ascending order; the first and last point may lie outside
  std::function<std::string(double)> x_label;  // of a mark
  std::vector<Panel> panels;                   // one below the other; each has at least one point
};

std::string to_svg(const Chart& chart);

}  // namespace rdma_pingpong
