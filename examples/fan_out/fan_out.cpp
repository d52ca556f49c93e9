// fan_out: how long does it take until a thousand workers have the weights of one server? Star, tree and chain,
// compared in the simulator's time. See README.md.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "../command_line/command_line.hpp"
#include "chart.hpp"
#include "spread.hpp"
#include "weights.hpp"

namespace fan_out {
namespace {

constexpr std::uint64_t kMostStored = std::uint64_t{1} << 30;  // bytes, of all nodes together

void print_bar(Way way, double share) {
  constexpr int kCells = 40;
  const int filled = static_cast<int>(share * kCells);
  fmt::print(stderr, "\r{:>5} [{:#<{}}{:.<{}}] {:3.0f} %", to_string(way), "", filled, "", kCells - filled,
             share * 100);
  std::fflush(stderr);
}

void print_row(const Settings& settings, const Outcome& outcome) {
  std::vector<double> sorted = outcome.seconds;
  std::sort(sorted.begin(), sorted.end());
  fmt::print("{:>5}  {:>12.6f}  {:>12.6f}  {:>12.6f}  {:>9.2f}  {:>11}  {:#018x}\n", to_string(outcome.way),
             sorted.front(), sorted[sorted.size() / 2], sorted.back(), sorted.back() / limit_seconds(settings),
             outcome.steps, outcome.hash);
  std::fflush(stdout);
}

int run(const Settings& settings, const std::vector<Way>& ways, const std::string& svg) {
  if (settings.check_determinism) {
    int status = 0;
    for (const Way way : ways) {
      fmt::print("{}: ", to_string(way));
      status = std::max(status, check_determinism(way, settings));
    }
    return status;
  }
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  fmt::print("{} workers pull {} bytes from one server, in pieces of {}; a NIC takes {:.6f} s for them\n",
             settings.nodes - 1, settings.bytes, settings.piece, limit_seconds(settings));
  fmt::print("{:>5}  {:>12}  {:>12}  {:>12}  {:>9}  {:>11}  {:>18}\n", "way", "first s", "median s", "last s",
             "x limit", "steps", "hash");
  std::vector<Outcome> outcomes;
  std::string last;
  for (const Way way : ways) {
    std::function<void(double)> progress;
    if (is_terminal) {
      progress = [way](double share) { print_bar(way, share); };
    }
    outcomes.push_back(spread(way, settings, progress));
    const Outcome& outcome = outcomes.back();
    fmt::print(stderr, "{}", is_terminal ? "\r\033[K" : "");
    if (!outcome.wrong.empty()) {
      fmt::print(stderr, "FAILED {}\n", outcome.wrong);
      return 1;
    }
    print_row(settings, outcome);
    last +=
        fmt::format(" {}={:.6f}", to_string(way), *std::max_element(outcome.seconds.begin(), outcome.seconds.end()));
  }
  if (!svg.empty()) {
    std::ofstream file(svg);
    file << to_svg(settings, outcomes);
    if (!file.flush()) {
      fmt::print(stderr, "FAILED {} cannot be written\n", svg);
      return 1;
    }
  }
  fmt::print("OK{} limit={:.6f}\n", last, limit_seconds(settings));
  return 0;
}

}  // namespace
}  // namespace fan_out

int main(int argc, char** argv) {
  using fan_out::Way;
  fan_out::Settings settings;
  std::vector<Way> ways{Way::star, Way::tree, Way::chain};
  std::string svg;
  const std::map<std::string, Way> names{{"star", Way::star}, {"tree", Way::tree}, {"chain", Way::chain}};
  std::vector<std::string> chosen;
  CLI::App app("One server's weights to many workers: star, tree and chain, compared in simulated time.");
  app.add_option("--nodes", settings.nodes, "processes: one server, and workers")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  app.add_option("--bytes", settings.bytes, "of the weights")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(std::uint64_t{1}, fan_out::kMostBytes))
      ->capture_default_str();
  app.add_option("--ways", chosen, "any of star, tree and chain, with commas between them")
      ->delimiter(',')
      ->check(CLI::IsMember({"star", "tree", "chain"}))
      ->default_str("star,tree,chain");
  app.add_option("--piece", settings.piece, "bytes that are pulled at once, and served on")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--fan", settings.fan, "workers that pull from one holder, in the tree")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(1, 4095))
      ->capture_default_str();
  app.add_option("--bandwidth", settings.bytes_per_microsecond, "of a NIC, each way, in bytes per microsecond")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--store", settings.is_stored, "the weights are real memory, whose contents are checked");
  app.add_option("--svg", svg, "file for a plot: when each worker had everything");
  app.add_option("--seed", settings.seed, "decides what happens")
      ->check(command_line::refuse_sign)
      ->capture_default_str();
  command_line::add_profile(app, settings.profile);
  app.add_flag(
      "--check-determinism", settings.check_determinism,
      "runs each way twice, the second time after another one in a heap of another shape; fails with the first "
      "step that differs");
  try {
    app.parse(argc, argv);
    if (!chosen.empty()) {
      ways.clear();
      for (const std::string& name : chosen) {
        ways.push_back(names.at(name));
      }
    }
    if (settings.is_stored && settings.bytes > fan_out::kMostStored / settings.nodes) {
      throw CLI::ValidationError("--store", "all nodes together may store 1 GiB; make --nodes or --bytes smaller");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? printed(0) : 2;
  }
  try {
    return printed(fan_out::run(settings, ways, svg));
  } catch (const std::exception& error) {
    fmt::print(stderr, "FAILED {}\n", error.what());
    return 1;
  }
}
