// A trace as one page: an SVG space-time diagram, and the last events as a table.
#include <ferry/sim/trace.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <ferry/base/markup.hpp>
#include <ferry/sim/virtual_time.hpp>

namespace ferry::sim {
namespace {

constexpr double kLeft = 130;  // of the first lane: the times stand before it
constexpr double kLane = 170;
constexpr double kRow = 18;
constexpr double kTop = 46;
constexpr std::size_t kEvents = 400;

constexpr std::string_view kStyle =
    "body{font:13px Helvetica,Arial,sans-serif;color:#222;margin:24px;background:#fff}h1{font-size:18px}"
    "h2{font-size:15px}svg{display:block}svg "
    "text{font-size:11px;fill:#333;paint-order:stroke;stroke:#fff;stroke-width:3px}.head{font-size:13px;font-weight:"
    "bold}"
    ".time{fill:#777;text-anchor:end;font-family:monospace}.lane{stroke:#ccc}.rule{stroke:#f3f3f3}"
    ".arrow{stroke:#0072b2;stroke-width:1.3;fill:none}.op{stroke:#d55e00}.life{stroke:#009e73}"
    ".dot{fill:#333}.fault{fill:#c00}.word{fill:#c00;font-weight:bold}"
    "table{border-collapse:collapse}td{padding:1px 10px 1px 0;vertical-align:top;font-family:monospace;"
    "white-space:pre-wrap}.is-fault td{color:#c00}.legend span{margin-right:18px}";

// What stands in one row of the diagram: a step, or an event of a process.
struct Row {
  const TracedStep* step = nullptr;
  const TracedEvent* event = nullptr;
};

class Page {
 public:
  Page(const Trace& trace, std::size_t rows) : trace_(trace) {
    pick(rows);
    place_lanes();
  }

  std::string draw(std::string_view title) {
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>"
        "<style>{1}</style></head><body>\n<h1>{0}</h1>\n",
        markup_escaped(title), kStyle);
    out_ += fmt::format(
        "<p class=\"legend\"><span style=\"color:#0072b2\">&#8594; messages and channels</span>"
        "<span style=\"color:#d55e00\">&#8594; one-sided operations</span>"
        "<span style=\"color:#009e73\">&#8594; lives of processes</span>"
        "<span style=\"color:#c00\">&#9679; faults</span> Time runs downward, a row per step; {} earlier steps are "
        "left out.</p>\n",
        left_out_);
    draw_lanes();
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      draw_row(row);
    }
    out_ += "</svg>\n";
    draw_events();
    return std::move(out_) + "</body></html>\n";
  }

 private:
  // The last steps that people want to see, those that caused them, and events among them.
  void pick(std::size_t rows) {
    std::map<std::uint64_t, bool> causes;
    std::size_t wanted = 0;
    std::uint64_t first = 0;
    for (auto step = trace_.steps().rbegin(); step != trace_.steps().rend(); ++step) {
      const bool is_cause = causes.contains(step->index);
      if (!is_told(step->kind) && !is_cause) {
        continue;
      }
      if (wanted == rows) {
        ++left_out_;
        continue;
      }
      ++wanted;
      first = step->index;
      rows_.push_back({&*step, nullptr});
      if (step->cause && step->cause.process != step->process) {
        causes.emplace(step->cause.step, true);
      }
    }
    for (const TracedEvent& event : trace_.events()) {
      if (event.index + 1 >= first && event.kind != TracedEvent::Kind::log) {
        rows_.push_back({nullptr, &event});
      }
    }
    const auto key = [](const Row& row) {
      return row.step != nullptr ? std::pair(row.step->index, 0) : std::pair(row.event->index, 1);
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&key](const Row& a, const Row& b) { return key(a) < key(b); });
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].step != nullptr) {
        row_of_step_.emplace(rows_[row].step->index, row);
      }
    }
  }

  void place_lanes() {
    const auto need = [this](ProcessNumber process) { lanes_.try_emplace(process, 0); };
    for (const Row& row : rows_) {
      if (row.step != nullptr) {
        need(row.step->process);
        if (row.step->cause) {
          need(row.step->cause.process);
        }
      } else {
        need(row.event->process);
      }
    }
    std::size_t index = 0;
    for (auto& [process, lane] : lanes_) {
      lane = index++;
    }
  }

  double x_of(ProcessNumber process) const { return kLeft + 60 + kLane * static_cast<double>(lanes_.at(process)); }
  static double y_of(std::size_t row) { return kTop + kRow * (static_cast<double>(row) + 0.5); }

  void draw_lanes() {
    const double width = kLeft + kLane * static_cast<double>(std::max<std::size_t>(lanes_.size(), 1)) + 40;
    const double height = kTop + kRow * static_cast<double>(rows_.size()) + 20;
    out_ += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" role=\"img\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>\n",
        width, height);
    for (const auto& [process, lane] : lanes_) {
      const double x = x_of(process);
      const std::size_t index = process.value() - std::size_t{1};
      const std::string name = !process ? "world"
                               : index < trace_.processes().size()
                                   ? fmt::format("{} ({})", trace_.processes()[index], process.value())
                                   : fmt::format("process {}", process.value());
      out_ += fmt::format(
          "<text class=\"head\" x=\"{:.0f}\" y=\"20\" text-anchor=\"middle\">{}</text>"
          "<line class=\"lane\" x1=\"{:.0f}\" y1=\"28\" x2=\"{:.0f}\" y2=\"{:.0f}\"/>\n",
          x, markup_escaped(name), x, x, height - 8);
    }
  }

  static std::string_view look_of(StepKind kind) {
    switch (kind) {
      case StepKind::sample:
      case StepKind::place:
      case StepKind::packet:
      case StepKind::retry:
      case StepKind::poll:
        return " op";
      case StepKind::lifecycle:
        return " life";
      default:
        return "";
    }
  }

  void draw_row(std::size_t row) {
    const Row& what = rows_[row];
    const double y = y_of(row);
    const TimePoint at = what.step != nullptr ? what.step->at : what.event->at;
    if (!shown_ || *shown_ != at) {
      shown_ = at;
      out_ += fmt::format("<text class=\"time\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n", kLeft - 8, y + 4,
                          seconds(at.time_since_epoch()));
    }
    if (what.event != nullptr) {
      const bool is_fault = what.event->kind == TracedEvent::Kind::fault;
      const std::string text = what.event->kind == TracedEvent::Kind::begins ? "begins" : what.event->text;
      out_ += fmt::format(
          "<circle class=\"dot{}\" cx=\"{:.0f}\" cy=\"{:.1f}\" r=\"4\"/><text{} x=\"{:.0f}\" "
          "y=\"{:.1f}\">{}</text>\n",
          is_fault ? " fault" : "", x_of(what.event->process), y, is_fault ? " class=\"word\"" : "",
          x_of(what.event->process) + 9, y + 4, markup_escaped(text));
      return;
    }
    const TracedStep& step = *what.step;
    const double x = x_of(step.process);
    const auto cause = row_of_step_.find(step.cause.step);
    out_ += fmt::format("<g><title>{}</title>", markup_escaped(to_text(step, trace_.processes())));
    if (step.cause && step.cause.process != step.process && cause != row_of_step_.end()) {
      const double from = x_of(step.cause.process);
      out_ += fmt::format(
          "<line class=\"arrow{}\" x1=\"{:.0f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
          "marker-end=\"url(#tip)\"/>",
          look_of(step.kind), from, y_of(cause->second), x + (from < x ? -4 : 4), y);
    }
    out_ += fmt::format("<circle class=\"dot\" cx=\"{:.0f}\" cy=\"{:.1f}\" r=\"2.5\"/>", x, y);
    if (is_told(step.kind)) {
      // On the side that the arrow does not come from.
      const bool is_left = step.cause && step.cause.process != step.process && x_of(step.cause.process) > x;
      out_ += fmt::format("<text{} x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", is_left ? " text-anchor=\"end\"" : "",
                          is_left ? x - 7 : x + 7, y + 4, short_name(step));
    }
    out_ += "</g>\n";
  }

  void draw_events() {
    out_ += "<h2>Faults, log lines, ends</h2>\n<table>\n";
    const std::size_t count = trace_.events().size();
    for (std::size_t index = count - std::min(count, kEvents); index < count; ++index) {
      const TracedEvent& event = trace_.events()[index];
      const bool is_fault = event.kind == TracedEvent::Kind::fault;
      out_ += fmt::format("<tr{}><td>{}</td></tr>\n", is_fault ? " class=\"is-fault\"" : "",
                          markup_escaped(to_text(event, trace_.processes())));
    }
    out_ += "</table>\n";
  }

  const Trace& trace_;
  std::vector<Row> rows_;
  std::map<std::uint64_t, std::size_t> row_of_step_;
  std::map<ProcessNumber, std::size_t> lanes_;  // left to right: the world, then processes by number
  std::size_t left_out_ = 0;
  std::optional<TimePoint> shown_;
  std::string out_;
};

}  // namespace

std::string to_html(const Trace& trace, std::string_view title, std::size_t rows) {
  return Page(trace, rows).draw(title);
}

}  // namespace ferry::sim
