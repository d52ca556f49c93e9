#include "chart.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <ferry/base/markup.hpp>

namespace fan_out {
namespace {

// Pixels.
constexpr double kWidth = 860;
constexpr double kHeight = 480;
constexpr double kLeft = 84;
constexpr double kRight = kWidth - 190;  // behind it stand the names of the curves
constexpr double kTop = 78;
constexpr double kBottom = kHeight - 62;
constexpr double kLine = 16;  // between two lines of text, at least

constexpr std::string_view kStyle =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#333}"
    ".title{font-size:17px;font-weight:bold;fill:#111}.note{fill:#555}.axis{font-size:13px;fill:#111}"
    ".grid{stroke:#ddd;stroke-width:1}.fine{stroke:#f0f0f0;stroke-width:1}.frame{fill:none;stroke:#666;stroke-width:1}"
    ".curve{fill:none;stroke-width:2.5;stroke-linejoin:round}.limit{stroke:#333;stroke-width:1.5;stroke-dasharray:6 4}";

struct Label {
  double y;
  std::string text;
  std::string_view colour;
};

std::string_view colour_of(Way way) noexcept {
  return way == Way::star ? "#d55e00" : way == Way::tree ? "#009e73" : "#0072b2";
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

class Drawing {
 public:
  Drawing(double low, double high, double workers)
      : low_(std::pow(10, std::floor(std::log10(low * 0.999)))),
        high_(std::pow(10, std::ceil(std::log10(high * 1.001)))),
        workers_(workers) {}

  template <class... A>
  void add(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<A>(arguments)...);
  }
  double x(double worker) const { return kLeft + (kRight - kLeft) * (worker - 1) / std::max(1.0, workers_ - 1); }
  double y(double seconds) const {
    return kBottom + (kTop - kBottom) * std::log(seconds / low_) / std::log(high_ / low_);
  }

  void time_axis() {
    for (double decade = low_; decade < high_ * 1.001; decade *= 10) {
      for (int times = 2; times < 10 && decade * times < high_; ++times) {
        add("<line class=\"fine\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kLeft, kRight,
            y(decade * times));
      }
      add("<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          kLeft, kRight, y(decade), kLeft - 8, y(decade) + 4, seconds_text(decade));
    }
    add("<text class=\"axis\" transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">simulated time until "
        "it "
        "has everything</text>\n",
        (kTop + kBottom) / 2);
  }
  void worker_axis() {
    constexpr int kMarks = 5;
    for (int mark = 0; mark < kMarks; ++mark) {
      const double worker = std::round(1 + (workers_ - 1) * mark / (kMarks - 1));
      add("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          x(worker), kTop, kBottom, kBottom + 18, worker);
    }
    add("<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">worker, in the order of the way</text>\n",
        (kLeft + kRight) / 2, kBottom + 42);
  }
  void labels(std::vector<Label> labels) {
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y > b.y; });
    double free = kBottom + kLine;
    for (const Label& label : labels) {
      free = std::min(label.y, free - kLine);
      add("<text x=\"{}\" y=\"{:.1f}\" style=\"fill:{}\">{}</text>\n", kRight + 8, free + 4, label.colour,
          ferry::markup_escaped(label.text));
    }
  }
  std::string take() { return std::move(out_); }

 private:
  double low_;
  double high_;
  double workers_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Settings& settings, const std::vector<Outcome>& outcomes) {
  const double limit = limit_seconds(settings);
  double last = limit;
  for (const Outcome& outcome : outcomes) {
    last = std::max(last, *std::max_element(outcome.seconds.begin(), outcome.seconds.end()));
  }
  Drawing drawing(limit, last, static_cast<double>(settings.nodes - 1));
  drawing.add(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
      "<title>fan_out</title>\n<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<text class=\"title\" x=\"{3}\" y=\"30\">fan_out: {4} workers pull {5} bytes from one server</text>\n"
      "<text class=\"note\" x=\"{3}\" y=\"52\">pieces of {6} bytes; NICs of {7:.4g} GB/s each way; a tree of {8}; "
      "simulated, seed {9}</text>\n",
      kWidth, kHeight, kStyle, kLeft, settings.nodes - 1, settings.bytes, settings.piece,
      static_cast<double>(settings.bytes_per_microsecond) / 1e3, settings.fan, settings.seed);
  drawing.time_axis();
  drawing.worker_axis();
  drawing.add("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", kLeft, kTop, kRight - kLeft,
              kBottom - kTop);
  std::vector<Label> labels;
  drawing.add("<line class=\"limit\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kLeft, kRight,
              drawing.y(limit));
  labels.push_back({drawing.y(limit), fmt::format("a NIC's limit: {}", seconds_text(limit)), "#333"});
  for (const Outcome& outcome : outcomes) {
    const double slowest = *std::max_element(outcome.seconds.begin(), outcome.seconds.end());
    drawing.add("<polyline class=\"curve\" stroke=\"{}\" points=\"", colour_of(outcome.way));
    double worker = 1;
    for (const double seconds : outcome.seconds) {
      drawing.add("{:.1f},{:.1f} ", drawing.x(worker++), drawing.y(seconds));
    }
    drawing.add("\"><title>{}: the last after {}</title></polyline>\n", to_string(outcome.way), seconds_text(slowest));
    labels.push_back({drawing.y(outcome.seconds.back()),
                      fmt::format("{}: the last after {}", to_string(outcome.way), seconds_text(slowest)),
                      colour_of(outcome.way)});
  }
  drawing.labels(std::move(labels));
  drawing.add("</svg>\n");
  return drawing.take();
}

}  // namespace fan_out
