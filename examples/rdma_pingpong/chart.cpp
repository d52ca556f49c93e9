#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include <ferry/base/markup.hpp>

namespace rdma_pingpong {
namespace {

// Pixels.
constexpr double kWidth = 860;
constexpr double kLeft = 92;
constexpr double kRight = 28;
constexpr double kTop = 74;
constexpr double kPanelHeight = 300;
constexpr double kPanelGap = 34;
constexpr double kBottom = 58;
constexpr double kMarker = 3;

constexpr std::string_view kStyle =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#333}"
    ".title{font-size:17px;font-weight:bold;fill:#111}.note{fill:#555}.axis{font-size:13px;fill:#111}"
    ".grid{stroke:#ddd;stroke-width:1}.fine{stroke:#f0f0f0;stroke-width:1}.frame{fill:none;stroke:#666;stroke-width:1}"
    ".curve{fill:none;stroke-width:2;stroke-linejoin:round}";

// A logarithmic axis: values from low to high onto pixels from `from` to `to`.
struct Axis {
  double low = 1;
  double high = 10;
  double from = 0;
  double to = 1;

  double at(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

class Drawing {
 public:
  Drawing(const Chart& chart, double height) : chart_(chart) {
    double low = chart.x_marks.front();
    double high = chart.x_marks.back();
    for (const Panel& panel : chart.panels) {
      for (const Curve& curve : panel.curves) {
        for (const Point& point : curve.points) {
          low = std::min(low, point.x);
          high = std::max(high, point.x);
        }
      }
    }
    x_ = {low, high, kLeft + 10, kWidth - kRight - 10};
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
        "<title>{2}</title>\n<style>{3}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
        kWidth, height, ferry::markup_escaped(chart.title), kStyle);
    text("title", kLeft, 30, "start", chart.title);
    text("note", kLeft, 50, "start", chart.note);
  }

  void panel(const Panel& panel, double top, bool last) {
    const Axis y = y_axis(panel, top);
    grid_x(top, last);
    grid_y(panel, y);
    add("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft, top, kWidth - kLeft - kRight,
        kPanelHeight);
    add("<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(20 {}) rotate(-90)\">{}</text>\n",
        top + kPanelHeight / 2, ferry::markup_escaped(panel.name));
    for (const Curve& curve : panel.curves) {
      draw(curve, y);
    }
    legend(panel, top);
  }

  std::string end() && {
    add("</svg>\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }
  void text(std::string_view css, double x, double y, std::string_view anchor, std::string_view what) {
    add("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", css, x, y, anchor,
        ferry::markup_escaped(what));
  }
  void line(std::string_view css, double x1, double y1, double x2, double y2) {
    add("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", css, x1, y1, x2, y2);
  }

  static Axis y_axis(const Panel& panel, double top) {
    double low = INFINITY;
    double high = 0;
    for (const Curve& curve : panel.curves) {
      for (const Point& point : curve.points) {
        low = std::min(low, point.y);
        high = std::max(high, point.y);
      }
    }
    low = std::pow(10, std::floor(std::log10(low)));
    high = std::max(std::pow(10, std::ceil(std::log10(high))), low * 10);
    return {low, high, top + kPanelHeight, top};
  }

  void grid_x(double top, bool last) {
    for (const double mark : chart_.x_marks) {
      line("grid", x_.at(mark), top, x_.at(mark), top + kPanelHeight);
      if (last) {
        text("mark", x_.at(mark), top + kPanelHeight + 18, "middle", chart_.x_label(mark));
      }
    }
    if (last) {
      text("axis", (kLeft + kWidth - kRight) / 2, top + kPanelHeight + 42, "middle", chart_.x_name);
    }
  }

  void grid_y(const Panel& panel, const Axis& y) {
    const bool few = y.high / y.low < 150;  // one or two decades: the marks between get labels too
    for (double decade = y.low; decade < y.high * 1.5; decade *= 10) {
      for (const double step : {1.0, 2.0, 5.0}) {
        const double mark = decade * step;
        if (mark > y.high * 1.01) {
          break;
        }
        line(step == 1.0 ? "grid" : "fine", kLeft, y.at(mark), kWidth - kRight, y.at(mark));
        if (step == 1.0 || few) {
          text("mark", kLeft - 8, y.at(mark) + 4, "end", panel.label(mark));
        }
      }
    }
  }

  std::string stroke(const Curve& curve) const {
    return fmt::format("stroke=\"{}\"{}", ferry::markup_escaped(curve.colour),
                       curve.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  void marker(const Curve& curve, double x, double y, std::string_view title) {
    const std::string inside = title.empty() ? "" : fmt::format("<title>{}</title>", ferry::markup_escaped(title));
    if (curve.dashed) {
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\">{}</rect>\n", x - kMarker,
          y - kMarker, 2 * kMarker, 2 * kMarker, ferry::markup_escaped(curve.colour), inside);
    } else {
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\">{}</circle>\n", x, y, kMarker + 0.5,
          ferry::markup_escaped(curve.colour), inside);
    }
  }

  void draw(const Curve& curve, const Axis& y) {
    add("<polyline class=\"curve\" {} points=\"", stroke(curve));
    for (const Point& point : curve.points) {
      add("{:.1f},{:.1f} ", x_.at(point.x), y.at(point.y));
    }
    add("\"/>\n");
    for (const Point& point : curve.points) {
      marker(curve, x_.at(point.x), y.at(point.y), point.text);
    }
  }

  // Top left, where curves that rise with the size are not.
  void legend(const Panel& panel, double top) {
    double y = top + 20;
    for (const Curve& curve : panel.curves) {
      const double x = kLeft + 16;
      add("<line class=\"curve\" {} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", stroke(curve), x, y,
          x + 34, y);
      marker(curve, x + 17, y, "");
      text("mark", x + 42, y + 4, "start", curve.name);
      y += 18;
    }
  }

  const Chart& chart_;
  Axis x_{};
  std::string out_;
};

}  // namespace

std::string to_svg(const Chart& chart) {
  const auto panels = static_cast<double>(chart.panels.size());
  Drawing drawing(chart, kTop + panels * kPanelHeight + (panels - 1) * kPanelGap + kBottom);
  double top = kTop;
  for (const Panel& panel : chart.panels) {
    drawing.panel(panel, top, &panel == &chart.panels.back());
    top += kPanelHeight + kPanelGap;
  }
  return std::move(drawing).end();
}

}  // namespace rdma_pingpong
