#include "child_process.hpp"

#include <iostream>
#include <sstream>

#include <ferry/shm/control_packet.hpp>
#include <ferry/shm/job_proof.hpp>
#include <ferry/shm/packet_socket.hpp>

#include <denied_memory.hpp>

#include "test_node.hpp"

namespace ferry::shm::testing {
namespace {

RemoteRegion from_hex(const std::string& text) {
  wire::Bytes bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(at, 2), nullptr, 16)));
  }
  wire::Reader reader({bytes.data(), bytes.size()});
  return decode_region(reader).value();
}

int number_of(errc code) {
  return static_cast<int>(code);
}

class Child {
 public:
  int run() {
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string command;
      words >> command;
      obey(command, words);
    }
    // The threads that read on end with this process.
    ::_exit(0);
  }

 private:
  void say(const std::string& line) {
    const std::lock_guard lock(mutex_);
    std::fprintf(stdout, "%s\n", line.c_str());
    std::fflush(stdout);
  }

  void obey(const std::string& command, std::istringstream& words) {
    std::string text;
    std::uint64_t number = 0;
    if (command == "read") {
      words >> text;
      read(from_hex(text));
    } else if (command == "write") {
      words >> text >> number;
      const RemoteRegion region = from_hex(text);
      std::vector<std::byte> bytes(region.length, static_cast<std::byte>(number));
      Write write(region, bytes);
      write.run(node_.peer(region.owner));
      say(fmt::format("{}", number_of(write.code())));
    } else if (command == "add") {
      words >> text >> number;
      const RemoteRegion region = from_hex(text);
      Atomic add(OperationKind::fetch_add, region, 0, number);
      add.run(node_.peer(region.owner));
      say(fmt::format("{} {}", number_of(add.code()), add.result));
    } else if (command == "read_on" || command == "write_on") {
      words >> text >> number;
      go_on(from_hex(text), command == "write_on", static_cast<std::byte>(number));
    } else if (command == "deny") {
      say(test::deny_memory_of_others() ? "denied" : "no seccomp");
    } else if (command == "stats") {
      const ShmStats stats = node_.transport->stats();
      say(fmt::format("{} {}", stats.foreign_reads, stats.commands));
    } else if (command == "die_meeting") {
      ProcessId id;
      words >> id.id >> id.incarnation >> number;
      die_meeting(id, number);
    } else if (command == "allocate") {
      words >> number;
      allocate(number);
    } else {
      say("what?");
    }
  }

  void read(const RemoteRegion& region) {
    std::vector<std::byte> bytes(region.length);
    Read read(region, bytes);
    read.run(node_.peer(region.owner));
    say(fmt::format("{} {} {} {}", number_of(read.code()), static_cast<unsigned>(bytes.front()),
                    static_cast<unsigned>(bytes.back()), checksum(bytes)));
  }

  void go_on(const RemoteRegion& region, bool writes, std::byte value) {
    std::thread([this, region, writes, value] {
      std::vector<std::byte> bytes(region.length, value);
      Peer& peer = node_.peer(region.owner);
      for (std::size_t count = 0;; ++count) {
        Call call;
        call.kind = writes ? OperationKind::write : OperationKind::read;
        call.region = region;
        call.single = {0, bytes.data(), bytes.size()};
        if (call.run(peer)) {
          say(fmt::format("ended {}", number_of(call.code())));
          return;
        }
        if (count == 0) {
          say(writes ? "writing" : "reading");
        }
      }
    }).detach();  // it ends with the process
  }

  // An owner whose life ends before its channel is whole.
  void die_meeting(ProcessId self, std::uint64_t stage) {
    const FileDescriptor listener = listen_as(self).value();
    say("listening");
    FileDescriptor accepted;
    while (!accepted) {
      accepted = accept_from(listener.get());
    }
    PacketSocket socket(std::move(accepted));
    Packet packet;
    for (std::uint64_t received = 0;;) {
      if (socket.receive(packet) != PacketSocket::Received::packet) {
        continue;
      }
      if (++received == stage) {
        ::_exit(0);
      }
      const Greeting theirs = decode_greeting(packet.bytes).value();
      const Meeting meeting{1, theirs.initiator, self, theirs.nonce, fresh_nonce()};
      Greeting answer;
      answer.initiator = theirs.initiator;
      answer.owner = self;
      answer.nonce = meeting.owner_nonce;
      answer.proof = prove(test_secret(), Role::owner, meeting);
      socket.send(encode_greeting(answer));
    }
  }

  void allocate(std::uint64_t size) {
    auto block = node_.transport->shared_memory()->allocate(size, 64);
    if (!block) {
      say(fmt::format("{} {}", number_of(block.error().code()), block.error().detail()));
      return;
    }
    std::memset(block->memory, 1, size);
    say("0");
  }

  TestNode node_;
  std::mutex mutex_;
};

}  // namespace

int run_child_node() {
  Child child;
  return child.run();
}

}  // namespace ferry::shm::testing
