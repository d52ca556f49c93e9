#include "settings.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ferry/run/router.hpp>
#include <ferry/tcp/endpoint.hpp>

#include "../command_line/check_determinism.hpp"
#include "../command_line/command_line.hpp"

namespace rdma_pingpong {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = kKiB * kKiB;
constexpr std::uint64_t kGiB = kKiB * kMiB;

constexpr std::uint64_t kSweepFrom = 8;
constexpr std::uint64_t kSweepTo = 256 * kMiB;
constexpr std::uint64_t kSweepCallsTo = 8 * kMiB;  // a message has at most 16 MiB, header included
constexpr std::uint64_t kMemory = 4 * kGiB;        // at each end, at most
constexpr std::uint64_t kMaxDepth = 1024;

// Unless told otherwise: as many operations as move this many bytes, within bounds.
constexpr std::uint64_t kVolume = kGiB;
constexpr std::uint64_t kFewest = 8;
constexpr std::uint64_t kMost = 100'000;
// With checks, which take longer than the operations.
constexpr std::uint64_t kVolumeVerified = 256 * kMiB;
constexpr std::uint64_t kMostVerified = 10'000;
constexpr std::uint64_t kMostWarmup = 1'000;

struct Words {
  std::string op = "read";
  std::string server;
  std::uint64_t iterations = 0;
  std::uint64_t warmup = 0;
};

void declare(CLI::App& app, Settings& settings, Words& words) {
  app.add_option("--transport", settings.transport, "auto, shm, tcp, verbs or sim")
      ->check(CLI::IsMember({"auto", "shm", "tcp", "verbs", "sim"}))
      ->capture_default_str();
  app.add_option("--op", words.op, "read, write, fetch_add, compare_swap or call")
      ->check(CLI::IsMember({"read", "write", "fetch_add", "compare_swap", "call"}))
      ->capture_default_str();
  app.add_option("--size", settings.size,
                 "bytes that an operation moves (64, 4KiB, 1MiB); of atomics, the array of words that they go through")
      ->check(command_line::refuse_sign)
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--depth", settings.depth, "operations under way at once")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(std::uint64_t{1}, kMaxDepth))
      ->capture_default_str();
  app.add_option("--iterations", words.iterations,
                 "operations; by default 100000, or what moves 1 GiB if that is fewer (at least 8); the 99th "
                 "percentile is told from 100 timings on, the 99.9th from 1000, and is n/a (null) below")
      ->check(command_line::refuse_sign)
      ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX));
  app.add_option("--warmup", words.warmup,
                 "operations before, which are not measured; by default a tenth, at most 1000")
      ->check(command_line::refuse_sign);
  app.add_flag("--verify", settings.verify, "check contents and guard bytes after every operation, or timed group");
  app.add_flag("--json", settings.json, "print one JSON object");
  app.add_flag("--sweep", settings.sweep, "every power of two from 8 B to 256 MiB (calls: to 8 MiB)");
  app.add_option("--svg", settings.svg, "draw the sweep into this file");
  app.add_option("--server", words.server, "listen at HOST or HOST:PORT and serve one --connect from another host");
  app.add_option("--connect", settings.connect, "measure against the server that printed this reference");
  app.add_option(
      "--secret-file", settings.secret_file,
      "the secret that --server and --connect share: 64 hexadecimal digits in a file that only you can read");
  app.add_option("--seed", settings.seed, "decides what happens under sim")
      ->check(command_line::refuse_sign)
      ->capture_default_str();
  command_line::add_profile(app, settings.profile);
  command_line::add_check_determinism(app, settings.check_determinism, settings.transport);
}

void check_size(const Settings& settings) {
  if (settings.size == 0) {
    throw CLI::ValidationError("--size", "must be at least 1 byte");
  }
  if (is_atomic(settings.op) && settings.size % sizeof(std::uint64_t) != 0) {
    throw CLI::ValidationError("--size", fmt::format("{} bytes are no array of 8-byte words, which {} works on; give a "
                                                     "multiple of 8",
                                                     settings.size, to_string(settings.op)));
  }
  const std::uint64_t largest = settings.sweep && settings.op != Op::call ? kSweepTo : settings.size;
  if (largest > kMemory / settings.depth) {
    throw CLI::ValidationError(settings.depth == 1 ? "--size" : "--depth",
                               fmt::format("{} operations of {} bytes at once need more than 4 GiB at each "
                                           "end; lower --depth or --size",
                                           settings.depth, largest));
  }
}

void check_server(Settings& settings, const Words& words) {
  if (settings.server && !settings.connect.empty()) {
    throw CLI::ValidationError("--server", "does not go with --connect: the one listens, the other measures");
  }
  if ((settings.server || !settings.connect.empty()) && settings.transport == "sim") {
    throw CLI::ValidationError("--transport", "sim simulates both ends; it goes with neither --server nor --connect");
  }
  if ((settings.server || !settings.connect.empty()) && settings.secret_file.empty()) {
    throw CLI::ValidationError("--secret-file",
                               "is missing: both ends prove that they know its 64 hexadecimal digits; make it with "
                               "(umask 077; openssl rand -hex 32 > FILE) and copy it to the other host");
  }
  if (!settings.connect.empty() && !settings.connect.starts_with("ferry1:")) {
    throw CLI::ValidationError("--connect", "needs the reference that the server printed: ferry1:…");
  }
  if (settings.server) {
    const auto endpoint = ferry::tcp::endpoint_from_string(words.server);
    const auto host = ferry::tcp::host_from_string(words.server);
    if (!endpoint && !host) {
      throw CLI::ValidationError("--server", endpoint.error().detail());
    }
    settings.host = endpoint ? endpoint->host : *host;
    settings.port = endpoint ? endpoint->port : std::uint16_t{0};
  }
}

}  // namespace

std::vector<Workload> Settings::workloads() const {
  std::vector<std::uint64_t> sizes{size};
  if (sweep) {
    sizes.clear();
    for (std::uint64_t each = kSweepFrom; each <= (op == Op::call ? kSweepCallsTo : kSweepTo); each *= 2) {
      sizes.push_back(each);
    }
  }
  std::vector<Workload> list;
  for (const std::uint64_t each : sizes) {
    Workload workload{op, each, depth, 0, 0, verify};
    const std::uint64_t enough = (verify ? kVolumeVerified : kVolume) / workload.bytes_moved();
    workload.iterations = iterations.value_or(std::clamp(enough, kFewest, verify ? kMostVerified : kMost));
    workload.warmup = warmup.value_or(std::min((workload.iterations + 9) / 10, kMostWarmup));
    list.push_back(workload);
  }
  return list;
}

std::optional<int> parse(int argc, char** argv, Settings& settings) {
  Words words;
  CLI::App app("Measures latency and bandwidth of one-sided operations and calls between two processes.");
  declare(app, settings, words);
  try {
    app.parse(argc, argv);
    settings.op = op_from_string(words.op).value();
    settings.server = app.count("--server") > 0;
    if (app.count("--iterations") > 0) {
      settings.iterations = words.iterations;
    }
    if (app.count("--warmup") > 0) {
      settings.warmup = words.warmup;
    }
    if (settings.sweep && (is_atomic(settings.op) || app.count("--size") > 0)) {
      throw CLI::ValidationError("--sweep", is_atomic(settings.op) ? "is of sizes, and atomics always move 8 bytes"
                                                                   : "goes through all sizes; leave out --size");
    }
    if (!settings.svg.empty() && !settings.sweep) {
      throw CLI::ValidationError("--svg", "draws the curve of a --sweep, which is missing");
    }
    if (settings.transport != "sim" && app.count("--profile") > 0) {
      throw CLI::ValidationError("--profile", "is of simulated NICs; it goes with --transport sim");
    }
    check_size(settings);
    check_server(settings, words);
    if (settings.transport == "verbs" && !ferry::has_verbs()) {
      throw CLI::ValidationError(
          "--transport", "verbs is not in this build (libibverbs-dev was missing); choose auto, shm, tcp or sim");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? printed(0) : 2;
  }
  return std::nullopt;
}

}  // namespace rdma_pingpong
