#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chart.hpp"
#include "histogram.hpp"
#include "slots.hpp"
#include "units.hpp"

namespace rdma_pingpong {
namespace {

using testing::HasSubstr;

TEST(Slots, ChangeOfAnyByteOfAnySlotOrGuardIsFound) {
  for (const std::uint64_t bytes : {1, 7, 8, 63, 64, 65, 200}) {
    Slots slots(3, bytes);
    slots.fill(5);
    ASSERT_EQ(slots.check(5, 3), "");
    for (std::byte& byte : slots.all()) {
      byte ^= std::byte{1};
      ASSERT_NE(slots.check(5, 3), "") << "slots of " << bytes << ", byte " << &byte - slots.all().data();
      byte ^= std::byte{1};
    }
    EXPECT_EQ(slots.check(5, 3), "");
  }
}

TEST(Slots, GuardsOfAHundredTwentyEightBytesLieBetweenSlots) {
  Slots slots(2, 8);
  const std::byte* end = slots.slot(0).data() + 8;
  EXPECT_GE(slots.slot(1).data() - end, 128);
  EXPECT_EQ(slots.check_guards(), "");
  slots.slot(0).data()[8] = std::byte{0};
  EXPECT_EQ(slots.check_guards(), "the guard byte 0 behind slot 0 is 0x00 and was 0xa5");
}

TEST(Slots, ContentsOfAnotherRoundOrSlotAreWrong) {
  Slots slots(2, 1000);
  slots.fill(5);
  EXPECT_THAT(slots.check(6, 2), HasSubstr("byte 0 of 1000 in slot 0"));
  EXPECT_NE(check_pattern(slots.slot(0), 5, 1), "");
  EXPECT_EQ(check_pattern(slots.slot(1), 5, 1), "");
}

TEST(Slots, OnlyTheSlotsThatWereUsedAreCompared) {
  Slots slots(2, 8);
  fill_pattern(slots.slot(0), 9, 0);
  EXPECT_EQ(slots.check(9, 1), "");
  EXPECT_THAT(slots.check(9, 2), HasSubstr("slot 1"));
}

TEST(Histogram, PercentilesAreRightToOnePercent) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 100'000; ++value) {
    histogram.record(value * 1000, 1);
  }
  EXPECT_EQ(histogram.count(), 100'000U);
  EXPECT_EQ(histogram.min(), 1000U);
  EXPECT_EQ(histogram.max(), 100'000'000U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 50'000'500);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(0.5)), 50e6, 0.5e6);
  EXPECT_NEAR(static_cast<double>(histogram.percentile(0.99)), 99e6, 1e6);
  EXPECT_EQ(histogram.percentile(1), histogram.max());
  EXPECT_EQ(histogram.percentile(0), histogram.min());
}

TEST(Histogram, AGroupCountsAsThatManyOperationsOfItsMean) {
  Histogram histogram;
  histogram.record(300, 3);
  histogram.record(700, 1);
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_EQ(histogram.percentile(0.75), 100U);
  EXPECT_EQ(histogram.max(), 700U);
  EXPECT_DOUBLE_EQ(histogram.mean(), 250);
}

TEST(Histogram, TellsATailOnlyWhereATimingLiesBeyondIt) {
  Histogram histogram;
  for (int count = 0; count < 99; ++count) {
    histogram.record(100, 10);
  }
  EXPECT_FALSE(histogram.tail(0.99));
  histogram.record(5'000, 10);
  EXPECT_EQ(histogram.tail(0.99), histogram.percentile(0.99));
  EXPECT_FALSE(histogram.tail(0.999)) << "1000 operations, but 100 timings";
  histogram.clear();
  EXPECT_FALSE(histogram.tail(0.99));
}

TEST(Histogram, EveryValueFindsABucketNearIt) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = (std::uint64_t{1} << bit) + (std::uint64_t{1} << bit) / 3;
    Histogram histogram;
    histogram.record(1, 1);
    histogram.record(value, 1);
    histogram.record(UINT64_MAX, 1);
    const auto found = static_cast<double>(histogram.percentile(0.6));
    EXPECT_NEAR(found, static_cast<double>(value), static_cast<double>(value) / 128 + 1);
  }
}

TEST(Units, NumbersHaveThreeDigits) {
  EXPECT_EQ(duration_text(9.994), "9.99 ns");
  EXPECT_EQ(duration_text(38.06), "38.1 ns");
  EXPECT_EQ(duration_text(999.6), "1.00 us");
  EXPECT_EQ(duration_text(1.5e9), "1.50 s");
  EXPECT_EQ(rate_text(26'240'000), "26.2 M/s");
  EXPECT_EQ(bandwidth_text(1.234e10), "12.3 GB/s");
  EXPECT_EQ(duration_mark(20'000), "20 us");
  EXPECT_EQ(size_text(8), "8 B");
  EXPECT_EQ(size_text(1000), "1000 B");
  EXPECT_EQ(size_text(1024), "1 KiB");
  EXPECT_EQ(size_text(std::uint64_t{256} << 20), "256 MiB");
}

Chart small_chart() {
  Chart chart;
  chart.title = "a < b & \"c\"";
  chart.x_name = "x";
  chart.x_marks = {1, 10, 100};
  chart.x_label = [](double value) { return std::to_string(static_cast<int>(value)); };
  chart.panels.push_back(
      {"y", duration_mark, {{"one", "#000000", false, {{1, 20, "first"}, {10, 50, ""}, {100, 30, "last"}}}}});
  return chart;
}

TEST(Chart, TextIsEscaped) {
  const std::string svg = to_svg(small_chart());
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
}

TEST(Chart, AxesAreLogarithmic) {
  const std::string svg = to_svg(small_chart());
  // x: 1, 10 and 100 are equally far apart. y: from 10 at the bottom to 100 at the top of the diagram.
  EXPECT_THAT(svg, HasSubstr("points=\"102.0,283.7 462.0,164.3 822.0,230.9 \"")) << svg;
  EXPECT_THAT(svg, HasSubstr(">10 ns</text>"));
  EXPECT_THAT(svg, HasSubstr(">100 ns</text>"));
}

TEST(Chart, OneValueAloneHasADecadeToStandIn) {
  Chart chart = small_chart();
  chart.panels.front().curves.front().points = {{10, 100, ""}};
  const std::string svg = to_svg(chart);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace rdma_pingpong
