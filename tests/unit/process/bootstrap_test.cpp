// What a parent tells a child: round trips, cut and altered bytes; how a process's end is told.
#include <gtest/gtest.h>

#include <ferry/process/bootstrap.hpp>
#include <ferry/process/process_host.hpp>

namespace ferry {
namespace {

using namespace std::chrono_literals;

Bootstrap sample() {
  Bootstrap bootstrap;
  for (std::size_t at = 0; at < bootstrap.secret.size(); ++at) {
    bootstrap.secret[at] = static_cast<std::byte>(at * 7);
  }
  bootstrap.self = {5, 6};
  bootstrap.name = "gpus/2";
  bootstrap.parent = {{7, 8}, {{TransportId::shm, "a"}, {TransportId::tcp, "127.0.0.1:1"}}};
  bootstrap.transports = "shm,tcp";
  bootstrap.limits.frame_bytes = 12345;
  bootstrap.limits.no_progress = 1s;
  bootstrap.limits.quiet_grace = 2s;
  bootstrap.limits.heartbeat = 3s;
  bootstrap.limits.failure_detection = 4s;
  bootstrap.limits.handshake = 5s;
  return bootstrap;
}

TEST(Bootstrap, GivesBackWhatWasEncoded) {
  const wire::Bytes bytes = encode_bootstrap(sample());
  const auto again = decode_bootstrap({bytes.data(), bytes.size()});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->secret, sample().secret);
  EXPECT_EQ(again->self, sample().self);
  EXPECT_EQ(again->name, "gpus/2");
  EXPECT_EQ(again->parent.id, sample().parent.id);
  EXPECT_EQ(again->parent.addresses, sample().parent.addresses);
  EXPECT_EQ(again->transports, "shm,tcp");
  EXPECT_EQ(again->limits.frame_bytes, 12345U);
  EXPECT_EQ(again->limits.no_progress, 1s);
  EXPECT_EQ(again->limits.quiet_grace, 2s);
  EXPECT_EQ(again->limits.heartbeat, 3s);
  EXPECT_EQ(again->limits.failure_detection, 4s);
  EXPECT_EQ(again->limits.handshake, 5s);
}

TEST(Bootstrap, CutOrAlteredIsAnErrorOrABootstrap) {
  const wire::Bytes bytes = encode_bootstrap(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_bootstrap({bytes.data(), length})) << length;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned value = 0; value < 256; value += 3) {
      wire::Bytes altered = bytes;
      altered[at] = static_cast<std::byte>(value);
      const auto decoded = decode_bootstrap({altered.data(), altered.size()});
      EXPECT_TRUE(decoded || !decoded.error().detail().empty());
    }
  }
}

TEST(ProcessExit, IsToldWithWhatTheProcessWroteLast) {
  EXPECT_EQ((ProcessExit{ProcessExit::How::exited, 3, "no config"}.to_text()),
            "exited with status 3; it wrote: no config");
  EXPECT_EQ((ProcessExit{ProcessExit::How::killed_by_signal, 9, {}}.to_text()),
            "was killed by signal 9 (Killed) and wrote nothing to stderr");
}

}  // namespace
}  // namespace ferry
