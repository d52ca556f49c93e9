#include <ferry/buffer/sequence.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <ferry/base/random.hpp>
#include <ferry/buffer/members_awaiter.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry {
namespace {

struct LocalRange {
  const std::byte* begin;
  const std::byte* end;
};

Failure refuse(std::string why) {
  return Failure(errc::invalid_argument, std::move(why)).during("sequence");
}

// Local memory that a member changes, or reads.
void collect(const Operation& operation, OperationKind kind, std::vector<LocalRange>& out) {
  if (operation.kind == kind) {
    for (const Chunk& chunk : operation.chunks()) {
      if (chunk.length > 0) {
        out.push_back({chunk.local, chunk.local + chunk.length});
      }
    }
  }
}

}  // namespace

void Sequence::check() const {
  std::vector<LocalRange> written;
  std::vector<LocalRange> read;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    const detail::Member& member = members_[index];
    if (member.peer == nullptr || member.peer != members_.front().peer) {
      throw Error(
          refuse(fmt::format("member {} belongs to another owner than member 0; a sequence has one owner", index)));
    }
    read.clear();
    collect(member.operation, OperationKind::write, read);
    for (const LocalRange& source : read) {
      if (std::any_of(written.begin(), written.end(), [&](const LocalRange& earlier) {
            return source.begin < earlier.end && earlier.begin < source.end;
          })) {
        throw Error(refuse(
            fmt::format("member {} reads local memory that an earlier member writes; await that one first", index)));
      }
    }
    collect(member.operation, OperationKind::read, written);
  }
}

Task<Outcomes> Sequence::run(Limits limits) {
  check();
  if (members_.empty()) {
    co_return Outcomes(members_);
  }
  Peer& peer = *members_.front().peer;
  const std::span<detail::Member> members(members_);
  // A member that is refused locally ends the sequence there, before anything behind it is started.
  std::size_t count = 0;
  while (count < members.size() && !detail::check_request(members[count].operation)) {
    ++count;
  }
  const std::size_t step = peer.pipelines_sequences() ? std::max<std::size_t>(count, 1) : 1;
  const std::uint64_t id = peer.node().next_sequence();
  for (std::size_t index = 0; index < members.size(); ++index) {
    members[index].operation.sequence = SequenceTag{id, static_cast<std::uint32_t>(index)};
  }
  std::size_t done = 0;
  bool failed = false;
  while (done < members.size() && !failed) {
    const auto part = members.subspan(done, std::min(step, members.size() - done));
    detail::MembersAwaiter ended(part, limits);
    co_await ended;
    done += part.size();
    failed = std::any_of(part.begin(), part.end(), [](const auto& member) { return bool(member.operation.failure); });
  }
  for (detail::Member& member : members.subspan(done)) {
    member.operation.failure = Failure(errc::not_executed, "an earlier member of the sequence failed");
  }
  co_return Outcomes(members_);
}

}  // namespace ferry
