#include <ferry/sim/litmus/diagram.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <ferry/base/markup.hpp>

namespace ferry::sim::litmus {
namespace {

// Pixels.
constexpr double kMargin = 20;
constexpr double kNumberWidth = 34;  // of the column of step numbers
constexpr double kTop = 96;          // to the lane heads
constexpr double kHeadHeight = 44;
constexpr double kRow = 26;
constexpr double kMinLaneGap = 96;
constexpr double kCharacter = 6.3;  // of a label; monospace, so that widths are known without a font
constexpr double kSentenceCharacter = 6.1;
constexpr double kHeadCharacter = 7.3;
constexpr double kDot = 3.5;
constexpr double kLegendHeight = 58;
constexpr double kNoteCharacter = 6.6;
constexpr double kLegendCharacter = 5.9;
constexpr double kNodeGap = 14;

constexpr std::string_view kStyle =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}"
    ".title{font-size:17px;font-weight:bold}.note{fill:#555}.number{fill:#999;font-size:11px;text-anchor:end}"
    ".label,.sentence{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:10.5px}"
    ".sentence{fill:#555;font-size:10px}"
    ".label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    ".head{font-size:13px;font-weight:bold;text-anchor:middle}.subhead{font-size:10.5px;fill:#666;text-anchor:middle}"
    ".lane{stroke:#c4c4c4;stroke-width:1.5}.memory{stroke:#b8b8b8;stroke-width:7;stroke-opacity:.45}"
    ".node{fill:#f6f7f9}.nodename{font-size:11px;fill:#888;text-anchor:middle}.grid{stroke:#e8e8e8;stroke-width:1}."
    "arrow{fill:none;stroke-width:1.6}";

struct Look {
  Event::Kind kind;
  std::string_view colour;
  std::string_view dash;  // of the line
  std::string_view meaning;
};

// The Okabe-Ito palette, which colour-blind people tell apart.
constexpr std::array<Look, 5> kLooks = {{
    {Event::Kind::local, "#333333", "", "a step inside a thread or NIC"},
    {Event::Kind::read, "#0072b2", "", "reads memory"},
    {Event::Kind::write, "#d55e00", "", "writes memory"},
    {Event::Kind::post, "#009e73", "", "an operation reaches its queue"},
    {Event::Kind::completion, "#cc79a7", "5 3", "a completion is delivered or polled"},
}};

const Look& look_of(Event::Kind kind) {
  return kLooks[static_cast<std::size_t>(kind)];
}

// Characters of UTF-8 text.
double length_of(std::string_view text) {
  return static_cast<double>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

class Drawing {
 public:
  Drawing(const Narration& narration, const DiagramText& text) : narration_(narration), text_(text) { lay_out(); }

  std::string draw() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n",
        width_, height_, markup_escaped(text_.title), kStyle);
    define_arrowheads();
    add("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", width_, height_);
    add("<text class=\"title\" x=\"{}\" y=\"34\">{}</text>\n", kMargin, markup_escaped(text_.title));
    add("<text class=\"note\" x=\"{}\" y=\"56\">{}</text>\n", kMargin, markup_escaped(text_.note));
    draw_nodes();
    draw_lanes();
    for (std::size_t event = 0; event < narration_.events.size(); ++event) {
      draw_arrow(event);
    }
    for (std::size_t event = 0; event < narration_.events.size(); ++event) {
      draw_event(event);
    }
    draw_legend();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
  }

  void lay_out() {
    // A label stands beside its dot, and no other one in its row: a gap holds the longest label on either side of it.
    const std::size_t lanes = narration_.lanes.size();
    std::vector<double> gaps(lanes + 1, kMinLaneGap);  // before each lane, and after the last
    gaps.front() = 0;
    for (std::size_t number = 0; number < narration_.events.size(); ++number) {
      const Event& event = narration_.events[number];
      double& gap = gaps[event.lane + (is_labelled_left(number) ? 0 : 1)];
      gap = std::max(gap, length_of(event.label) * kCharacter + 26);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double head = half_head(lane);
      gaps[lane] = std::max(gaps[lane], lane == 0 ? head : half_head(lane - 1) + head + kNodeGap);
    }
    double x = kMargin + kNumberWidth;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      x += gaps[lane];
      lanes_.push_back(x);
    }
    sentences_ = x + gaps.back() + 8;
    double sentence = 0;
    for (const Event& event : narration_.events) {
      sentence = std::max(sentence, length_of(event.sentence) * kSentenceCharacter);
    }
    double legend = kMargin;
    for (const Look& look : kLooks) {
      legend += legend_width(look);
    }
    const double longest_note = std::max(length_of(text_.note), length_of(text_.footer));
    width_ = std::max({sentences_ + sentence + kMargin, 2 * kMargin + longest_note * kNoteCharacter, legend + kMargin});
    bottom_ = row(narration_.events.size()) - kRow / 2 + 8;
    height_ = bottom_ + 34 + kLegendHeight;
  }

  double half_head(std::size_t lane) const {
    const Lane& its = narration_.lanes[lane];
    return std::max(length_of(its.name) * kHeadCharacter, length_of(its.subtitle) * kCharacter) / 2 + 10;
  }

  static double legend_width(const Look& look) { return 36 + length_of(look.meaning) * kLegendCharacter + 22; }

  // The lane that the arrow of an event comes from, if it has one.
  std::optional<LaneIndex> origin_of(std::size_t number) const {
    const Event& event = narration_.events[number];
    return event.departure ? std::optional(narration_.events[*event.departure].lane) : event.partner;
  }

  // Labels keep out of the way of the arrow that arrives.
  bool is_labelled_left(std::size_t number) const {
    const auto origin = origin_of(number);
    return origin && *origin > narration_.events[number].lane;
  }

  double row(std::size_t event) const { return kTop + kHeadHeight + kRow * (static_cast<double>(event) + 0.9); }

  void define_arrowheads() {
    out_ += "<defs>";
    for (const Look& look : kLooks) {
      add("<marker id=\"head{}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" "
          "orient=\"auto-start-reverse\"><path d=\"M0 0.8L10 5L0 9.2z\" fill=\"{}\"/></marker>",
          static_cast<int>(look.kind), look.colour);
    }
    out_ += "</defs>\n";
  }

  // A background for each node's lanes, with its name above.
  void draw_nodes() {
    for (std::size_t first = 0; first < lanes_.size();) {
      std::size_t last = first;
      while (last + 1 < lanes_.size() && narration_.lanes[last + 1].node == narration_.lanes[first].node) {
        ++last;
      }
      const double left = lanes_[first] - half_head(first) - 2;
      const double right = lanes_[last] + half_head(last) + 2;
      add("<rect class=\"node\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\"/>\n", left, kTop - 20,
          right - left, bottom_ - kTop + 26);
      add("<text class=\"nodename\" x=\"{:.1f}\" y=\"{}\">node {}</text>\n", (left + right) / 2, kTop - 6,
          markup_escaped(narration_.nodes[narration_.lanes[first].node]));
      first = last + 1;
    }
  }

  void draw_lanes() {
    for (std::size_t event = 0; event < narration_.events.size(); ++event) {
      add("<line class=\"grid\" x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", kMargin + kNumberWidth,
          sentences_ - 10, row(event));
    }
    for (std::size_t index = 0; index < narration_.lanes.size(); ++index) {
      const Lane& lane = narration_.lanes[index];
      const double x = lanes_[index];
      add("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{:.1f}\"/>\n",
          lane.kind == Lane::Kind::memory ? "memory" : "lane", x, x, kTop + kHeadHeight, bottom_);
      add("<text class=\"head\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x, kTop + 18, markup_escaped(lane.name));
      add("<text class=\"subhead\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x, kTop + 34, markup_escaped(lane.subtitle));
    }
  }

  // From where something set out, or from the partner lane in the same row, to where it arrives.
  void draw_arrow(std::size_t number) {
    const auto origin = origin_of(number);
    if (!origin) {
      return;
    }
    const Event& event = narration_.events[number];
    const Look& look = look_of(event.kind);
    const double from_x = lanes_[*origin];
    const double to_x = lanes_[event.lane];
    const double side = from_x < to_x ? -1 : 1;
    add("<line class=\"arrow\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-dasharray=\"{}\" marker-end=\"url(#head{})\"/>\n",
        from_x, row(event.departure.value_or(number)), to_x + side * (kDot + 1), row(number), look.colour,
        look.dash.empty() ? "none" : look.dash, static_cast<int>(look.kind));
  }

  void draw_event(std::size_t number) {
    const Event& event = narration_.events[number];
    const double x = lanes_[event.lane];
    const double y = row(number);
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x, y, kDot, look_of(event.kind).colour);
    add("<text class=\"number\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin + kNumberWidth - 12, y + 4, number + 1);
    const bool is_left = is_labelled_left(number);
    add("<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x + (is_left ? -9 : 9), y - 4,
        is_left ? "end" : "start", markup_escaped(event.label));
    add("<text class=\"sentence\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", sentences_, y + 3.5,
        markup_escaped(event.sentence));
  }

  void draw_legend() {
    double x = kMargin;
    const double y = bottom_ + 22;
    add("<text class=\"note\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, y, markup_escaped(text_.footer));
    for (const Look& look : kLooks) {
      const double middle = y + 24;
      if (look.kind == Event::Kind::local) {
        add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x + 14, middle, kDot, look.colour);
      } else {
        add("<line class=\"arrow\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
            "stroke-dasharray=\"{4}\" marker-end=\"url(#head{5})\"/>\n",
            x, x + 28, middle, look.colour, look.dash.empty() ? "none" : look.dash, static_cast<int>(look.kind));
      }
      add("<text class=\"note\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 36, middle + 4, look.meaning);
      x += legend_width(look);
    }
  }

  const Narration& narration_;
  const DiagramText& text_;
  std::vector<double> lanes_;  // x of each
  double sentences_ = 0;       // x of the sentences
  double width_ = 0;
  double bottom_ = 0;  // y where the lanes end
  double height_ = 0;
  std::string out_;
};

}  // namespace

std::string to_svg(const Narration& narration, const DiagramText& text) {
  return Drawing(narration, text).draw();
}

}  // namespace ferry::sim::litmus
