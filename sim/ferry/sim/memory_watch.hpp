// MemoryWatch: looks for contract races: what each operation of the world may touch and has not touched yet, copies of
// what nobody may change meanwhile, and what was revoked when. Tells a FindingLog. Internal to World.
//
// User code runs in jobs: what has changed behind a job was changed by its process; what changes in other steps, or by
// a NIC, is somebody's operation. A write is over when all its bytes are in memory, since nothing can be ordered behind
// it earlier; a read when it has completed (a member of a Sequence: when all its bytes were sampled).
// Owner: the World. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ferry/queue/message_frame.hpp>
#include <ferry/sim/finding_log.hpp>
#include <ferry/sim/nic/nic_watch.hpp>
#include <ferry/transport/operation.hpp>

namespace ferry::sim {

class World;

class MemoryWatch final : public NicWatch {
 public:
  // Bytes of each range that are compared for changes by a CPU, from its beginning on.
  static constexpr std::uint64_t kCompared = 65536;

  MemoryWatch(World& world, FindingLog& log) : world_(world), log_(log) {}

  // --- Operations: of WatchedConnection.
  std::uint64_t begin(ProcessNumber initiator, const OperationRequest& request, std::uint64_t sequence);
  void end(std::uint64_t use, const Failure& failure);
  void forget(std::uint64_t use) noexcept;  // it was given back, or withdrawn
  // It ended when it began.
  void refused(ProcessNumber initiator, const OperationRequest& request, const Failure& failure);
  // waiting: what waited for a channel that could not be made, in words.
  void channel_ended(ProcessNumber initiator, ProcessId owner, const std::vector<std::string>& waiting);

  // --- Messages: of SimStream, and of Sends. What is not in the receiver's memory, and should be when the message
  // arrives that begins in this frame.
  std::vector<std::uint64_t> relied_on(ProcessNumber from, ProcessNumber to, const queue::MessageFrame& frame) const;
  void message_arrives(const std::vector<std::uint64_t>& uses, ProcessNumber from, ProcessNumber to);

  // --- NICs.
  void on_write(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length) noexcept override;
  void on_read(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length) noexcept override;
  void on_send_posted(QueueNumber queue, ProcessNumber from, ProcessNumber to,
                      wire::ByteView message) noexcept override;
  void on_send(QueueNumber queue, ProcessNumber from, ProcessNumber to, wire::ByteView message) noexcept override;

  // --- Lives.
  void revoked(ProcessNumber owner, RegionHandle region);
  void process_ended(ProcessNumber process, bool was_killed);

  // The process that runs gives these bytes back to the allocator; they are still its own.
  void freed(ProcessNumber process, const std::byte* bytes, std::uint64_t length);

  // The step that was running has ended.
  void step_ended();
  // So has the run: nothing is looked at any more.
  void close() noexcept { is_closed_ = true; }

 private:
  struct Span {
    std::byte* at;
    std::uint64_t length;
  };
  struct Part {
    std::byte* remote;     // null: not known
    std::uint64_t offset;  // in the region
    std::byte* local;
    std::uint64_t length;
  };
  struct Use {
    std::uint64_t id = 0;
    ProcessNumber initiator{};
    ProcessNumber owner{};
    ProcessId owner_id{};
    OperationKind kind{};
    bool is_transmitted = false;
    bool is_complete = false;  // a transmitted write that is not in memory yet
    bool is_job = false;       // a job began it
    std::uint64_t sequence = 0;
    std::uint64_t step = 0;  // by which it was begun
    std::uint64_t bytes = 0;
    TimePoint began{};
    RegionHandle region{};
    std::uint64_t region_bytes = 0;
    std::string phrase;  // "write_from of 256 bytes"
    std::vector<Part> parts;
    std::vector<Span> left;                // at the owner: not written, or sampled, yet
    std::vector<std::uint64_t> relies_on;  // of a flag: uses that should be in memory before it
  };
  struct Copy {
    enum class What : std::uint8_t { read, source, destination };
    std::uint64_t use;
    What what;
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  using RegionName = std::tuple<ProcessId, std::uint32_t, std::uint64_t>;
  struct Life {
    TimePoint end{};
    bool was_killed = false;
  };

  Use make(ProcessNumber initiator, const OperationRequest& request, std::uint64_t sequence) const;
  void look_for_stale_use(const Use& use);
  void look_for_shared_local(const Use& use);
  void look_for_other_writes(const Use& use);
  void find_relied_on(Use& use) const;
  void copy(const Use& use);
  void compare(ProcessNumber process);
  void renew(ProcessNumber process) noexcept;
  void changed(const Copy& copy, std::uint64_t from, std::uint64_t to);
  void land(ProcessNumber from, ProcessNumber at, const std::byte* bytes, std::uint64_t length, OperationKind kind);
  void is_in_memory(const Use& use);
  void drop_copies(std::uint64_t use, bool of_owner_only) noexcept;
  void tell_missing(const Use& missing, const std::string& what);
  void tell_stale(const Use& use, const std::string& when);

  std::string name(ProcessNumber process) const;
  std::string owner_of(const Use& use) const;
  // "writer's write_from of 256 bytes at reader (bytes 0 to 255 of region 1 of 256 bytes, begun at 0.000012000 s)".
  std::string describe(const Use& use) const;

  World& world_;
  FindingLog& log_;
  std::uint64_t last_use_ = 0;
  std::map<std::uint64_t, Use> uses_;
  std::map<ProcessNumber, std::vector<Copy>> copies_;  // by whose memory it is
  std::map<RegionName, TimePoint> revoked_;
  std::map<ProcessNumber, Life> ended_;
  std::set<std::pair<ProcessNumber, ProcessId>> losses_;                               // that an initiator knows
  std::set<std::pair<ProcessNumber, RegionName>> told_as_stale_;                       // once is enough
  std::map<std::pair<QueueNumber, std::uint64_t>, std::vector<std::uint64_t>> sends_;  // what frames rely on
  bool is_closed_ = false;
};

}  // namespace ferry::sim
