// The handshake of a new socket: versions, mutual proof of the job's secret, who is who. README.md has it in prose.
//
// Pure state machines: bytes in, bytes out, no socket and no clock; the sources that drive them (Dialer, Greeter) keep
// the time limit. Everything received is a stranger's until the proof was checked, and is bounded: kHandshakeInput.
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include <ferry/base/result.hpp>
#include <ferry/tcp/proof.hpp>
#include <ferry/transport/address.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/wire/bytes.hpp>
#include <ferry/wire/handshake.hpp>

namespace ferry::tcp {

inline constexpr wire::VersionRange kVersions{1, 1};
inline constexpr std::size_t kNameBytes = 256;           // of a process's name
inline constexpr std::size_t kIntroductionBytes = 4096;  // name and addresses
// The most that a handshake keeps of received bytes.
inline constexpr std::size_t kHandshakeInput =
    wire::kHandshakeHeadSize + wire::kHandshakeFieldsLimit + kIntroductionBytes + 64;

// Takes the first `count` bytes away.
void drop_front(wire::Bytes& bytes, std::size_t count);

// What the initiator tells in its first block.
struct Hello {
  Nonce nonce{};
  ProcessId wanted{};
  ProcessId self{};
  std::uint64_t channel = 0;  // counts the sockets of one initiator toward one owner, from 1
};

// What the initiator tells once the owner has proved itself.
struct Introduction {
  std::string name;
  std::vector<Address> addresses;
};

// The owner's last word.
struct Welcome {
  std::uint64_t session = 0;  // a random number; the same as before if the owner still knows this initiator
  std::string name;           // the owner's
};

class InitiatorHandshake {
 public:
  // hello.nonce is filled in.
  static Result<InitiatorHandshake> create(const JobSecret& secret, Hello hello, Introduction introduction);

  // What to send; take it and clear it.
  wire::Bytes& out() noexcept { return out_; }

  // Takes received bytes. True: done, see welcome(). stale_incarnation if another process answers, not_authorised,
  // version_mismatch, malformed, or the owner's own refusal.
  Result<bool> feed(wire::ByteView bytes);

  const Welcome& welcome() const noexcept { return welcome_; }
  // After stale_incarnation. Another process of the job answered, and proved it; one that is another life of the
  // wanted.
  bool met_another() const noexcept { return proved_ && owner_ != hello_.wanted; }
  bool met_successor() const noexcept { return met_another() && owner_.id == hello_.wanted.id; }

 private:
  InitiatorHandshake(const JobSecret& secret, Hello hello, Introduction introduction);
  Result<bool> read_answer();
  Result<bool> read_welcome();

  JobSecret secret_;
  Hello hello_;
  Introduction introduction_;
  ProcessId owner_{};
  Welcome welcome_;
  wire::Bytes first_;  // our block
  wire::Bytes in_;
  wire::Bytes out_;
  bool proved_ = false;  // the owner
  bool answered_ = false;
};

class OwnerHandshake {
 public:
  static Result<OwnerHandshake> create(const JobSecret& secret, ProcessId self);

  wire::Bytes& out() noexcept { return out_; }

  // Takes received bytes. True: the initiator is authenticated and waits for accept(). After a failure what is in out()
  // should still be sent.
  Result<bool> feed(wire::ByteView bytes);

  const Hello& hello() const noexcept { return hello_; }
  const Introduction& introduction() const noexcept { return introduction_; }
  // It looks for another process and will go away by itself.
  bool is_misdirected() const noexcept { return answered_ && hello_.wanted != self_; }

  void accept(const Welcome& welcome);
  // The initiator's feed() gives it `why`.
  void refuse(const Failure& why);

 private:
  OwnerHandshake(const JobSecret& secret, ProcessId self, const Nonce& nonce) noexcept;
  Result<bool> read_hello();
  Result<bool> read_introduction();

  JobSecret secret_;
  ProcessId self_;
  Nonce nonce_;
  Hello hello_;
  Introduction introduction_;
  wire::Bytes first_;   // the initiator's block
  wire::Bytes second_;  // ours
  wire::Bytes in_;
  wire::Bytes out_;
  bool answered_ = false;
  bool introduced_ = false;
};

}  // namespace ferry::tcp
