#include <algorithm>

#include "loops.hpp"
#include "samples.hpp"
#include "sections.hpp"

namespace ferry_bench {
namespace {

constexpr std::size_t kLargest = kSizes[std::size(kSizes) - 1];

// A plain socket between the two processes, served by threads beside the executors'.
class PlainPeer {
 public:
  PlainPeer(PartnerRef partner, SocketWait wait) : partner_(partner), wait_(wait) {}

  ferry::Task<void> connect() {
    const std::uint16_t port = co_await partner_.call<&Partner::listen>();
    auto call = partner_.call<&Partner::serve>(static_cast<std::uint8_t>(wait_), std::uint64_t{kLargest});
    serving_.emplace(std::move(call));
    running_.emplace(ferry::start(std::move(*serving_)));
    socket_.emplace(PlainSocket::connect(port));
  }
  ferry::Task<double> time(bool is_write, std::span<std::byte> local, std::uint64_t count) {
    auto looping = ferry::offload([this, is_write, local, count] {
      const Clock::time_point begin = Clock::now();
      for (std::uint64_t index = 0; index < count; ++index) {
        is_write ? socket_->write(wait_, local) : socket_->read(wait_, local);
      }
      return nanoseconds_each(begin, static_cast<double>(count));
    });
    co_return co_await looping;
  }
  ferry::Task<void> close() {
    socket_.reset();
    co_await *running_;
  }

 private:
  PartnerRef partner_;
  SocketWait wait_;
  std::optional<ferry::Call<void>> serving_;
  std::optional<ferry::Running<void>> running_;
  std::optional<PlainSocket> socket_;
};

struct Direction {
  const char* name;
  bool is_write;
};

// One loop of a plain socket, opened for it: while it spins, nothing else of these processes should.
ferry::Task<double> time_plain(PartnerRef partner, SocketWait wait, bool is_write, std::span<std::byte> local,
                               std::uint64_t count) {
  PlainPeer plain(partner, wait);
  auto connecting = plain.connect();
  co_await connecting;
  // As long as what is timed: a young connection has a small window yet, which ferry's grew out of long ago.
  auto warming = plain.time(is_write, local, count);
  co_await warming;
  auto timing = plain.time(is_write, local, count);
  const double each = co_await timing;
  auto closing = plain.close();
  co_await closing;
  co_return each;
}

}  // namespace

ferry::Task<int> measure_tcp(ferry::Context context) {
  auto spawning = spawn_partner(context);
  const PartnerRef partner = co_await spawning;
  const ferry::BufferRef all = co_await partner.call<&Partner::register_other>(kLargest);
  const std::int32_t process = co_await partner.call<&Partner::process>();
  const OtherMemory memory(kLargest);
  for (const std::size_t bytes : kSizes) {
    const std::span<std::byte> local = memory.bytes().first(bytes);
    const ferry::BufferRef remote = all.subrange(0, bytes);
    const std::uint64_t count = loop_length(bytes, 12'000, 2);
    const std::string size = size_name(bytes);
    for (const Direction& direction : {Direction{"read", false}, Direction{"write", true}}) {
      Series by_ferry, spinning, blocking;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        // Both sides have gone to sleep, and the caches are the plain sockets': not timed, as theirs is not.
        auto warming = direction.is_write ? time_writes(remote, local, count) : time_reads(remote, local, count);
        co_await warming;
        auto timing = direction.is_write ? time_writes(remote, local, count) : time_reads(remote, local, count);
        by_ferry.add(co_await timing);
        auto spin = time_plain(partner, SocketWait::spin, direction.is_write, local, count);
        spinning.add(co_await spin);
        auto block = time_plain(partner, SocketWait::block, direction.is_write, local, count);
        blocking.add(co_await block);
      }
      const std::string name = std::string("tcp/") + direction.name + "/" + size;
      report(name + "/ferry", by_ferry.median());
      report(name + "/limit", spinning.median());
      report(name + "/blocking", blocking.median());
    }
    CostMeter costs(process);
    auto reading = time_reads(remote, local, count);
    co_await reading;
    costs.report("tcp/read/" + size, count);
  }
  co_return 0;
}

}  // namespace ferry_bench
