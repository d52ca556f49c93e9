#include "session.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <ferry/transport/node_core.hpp>

#include "report.hpp"
#include "requester.hpp"
#include "responder.hpp"
#include "sweep_chart.hpp"

namespace rdma_pingpong {
namespace {

// Who answers, and how to say goodbye.
struct Partner {
  ferry::ActorRef<Responder> responder;
  ferry::BufferRef card;  // of a server: one word, the responder's id; empty: a process of our own
};

ferry::Task<Partner> find_partner(ferry::Context context, std::string connect) {
  if (connect.empty()) {
    auto procs = co_await context.this_host().spawn_procs({{"responder", 1}});
    auto responders = co_await procs.spawn<Responder>("responder");
    co_return Partner{responders.only(), {}};
  }
  // The reference leads to the server's process without any actor; what it names tells which actor to talk to.
  Partner partner;
  partner.card = ferry::BufferRef::from_text(context, connect);
  std::array<std::uint64_t, 1> id{};
  co_await partner.card.read_into(std::span(id));
  partner.responder = ferry::ActorRef<Responder>(ferry::ActorAddress{partner.card.peer(), ferry::ActorId(id.front())});
  co_return partner;
}

ferry::Task<void> say_goodbye(Partner partner) {
  if (partner.card) {
    const std::array<std::uint64_t, 1> id{partner.responder.id().value()};
    // The server may be gone before its answer is here.
    static_cast<void>(co_await ferry::as_result(partner.card.write_from(std::span(id), {.notify = 1})));
  }
}

// Opened before anything is measured, so that a wrong name costs no time.
std::ofstream open_svg(const std::string& name) {
  std::ofstream file;
  if (!name.empty()) {
    file.open(name);
    if (!file) {
      throw std::runtime_error(fmt::format("--svg: {} cannot be written", name));
    }
  }
  return file;
}

}  // namespace

ferry::Task<int> measure_all(ferry::Context context, Settings settings) {
  std::ofstream svg = open_svg(settings.svg);
  auto finding = find_partner(context, settings.connect);
  const Partner partner = co_await finding;

  std::vector<Measurement> measurements;
  for (const Workload& workload : settings.workloads()) {
    Requester requester(context.node(), partner.responder, workload);
    auto measuring = requester.measure();
    measurements.push_back(co_await measuring);
    if (!settings.json) {
      fmt::print("{}{}", measurements.size() == 1 ? table_head(settings, measurements.front()) : "",
                 table_row(measurements.back()));
      std::fflush(stdout);
    }
  }
  auto ending = say_goodbye(partner);
  co_await ending;

  fmt::print("{}", settings.json ? to_json(settings, measurements) + "\n" : table_foot(measurements));
  if (!settings.svg.empty()) {
    svg << to_svg(sweep_chart(measurements));
    svg.close();
    if (!svg) {
      throw std::runtime_error(fmt::format("--svg: {} could not be written to its end", settings.svg));
    }
  }
  co_return 0;
}

ferry::Task<int> serve(ferry::Context context) {
  auto responders = co_await context.this_proc().spawn<Responder>("responder");
  std::array<std::uint64_t, 1> card{responders.only().id().value()};
  ferry::RDMABuffer buffer = context.register_memory(std::span(card));
  ferry::NotificationStream goodbye = buffer.notifications();
  for (const ferry::Address& address : context.node().contact().addresses) {
    fmt::print("listening {}\n", to_string(address));
  }
  fmt::print("reference {}\n", buffer.ref().to_text());
  std::fflush(stdout);
  co_await goodbye.next();
  co_return 0;
}

}  // namespace rdma_pingpong
