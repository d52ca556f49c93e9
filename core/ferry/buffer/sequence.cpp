#include <ferry/buffer/sequence.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <ferry/buffer/members_awaiter.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry {
namespace {

// Local memory, as disjoint ranges [begin, end) of addresses.
class AddressSet {
 public:
  void add(const Chunk& chunk) {
    auto [begin, end] = range(chunk);
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
    }
    while (next != ranges_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }
  bool overlaps(const Chunk& chunk) const {
    const auto [begin, end] = range(chunk);
    const auto next = ranges_.lower_bound(end);
    return next != ranges_.begin() && std::prev(next)->second > begin;
  }

 private:
  static std::pair<std::uintptr_t, std::uintptr_t> range(const Chunk& chunk) {
    const auto begin = reinterpret_cast<std::uintptr_t>(chunk.local);
    return {begin, begin + chunk.length};
  }
  std::map<std::uintptr_t, std::uintptr_t> ranges_;
};

[[noreturn]] void refuse(std::string why) {
  throw Error(Failure(errc::invalid_argument, std::move(why)).during("sequence"));
}

}  // namespace

void Sequence::check() const {
  AddressSet written;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    const detail::Member& member = members_[index];
    if (member.peer == nullptr) {
      refuse(empty_reference(fmt::format("reference of member {}", index)).detail());
    }
    if (member.peer != members_.front().peer) {
      refuse(fmt::format("member {} belongs to another owner than member 0; a sequence has one owner", index));
    }
    if (detail::check_request(member.operation)) {
      continue;  // neither it nor anything behind it is started
    }
    const OperationKind kind = member.operation.kind;
    for (const Chunk& chunk : member.operation.chunks()) {
      if (chunk.length == 0 || is_atomic(kind)) {
        continue;
      }
      if (kind == OperationKind::write && written.overlaps(chunk)) {
        refuse(fmt::format("member {} reads local memory that an earlier member writes; await that one first", index));
      }
      if (kind == OperationKind::read) {
        written.add(chunk);
      }
    }
  }
}

Task<Outcomes> Sequence::run(Limits limits) {
  if (std::exchange(has_run_, true)) {
    detail::refuse_second_run("sequence");
  }
  check();
  if (members_.empty()) {
    co_return Outcomes(members_);
  }
  Peer& peer = *members_.front().peer;
  const std::span<detail::Member> members(members_);
  // A member that is refused locally ends the sequence there: neither it nor anything behind it is started.
  const auto refused = std::find_if(members.begin(), members.end(), [](const detail::Member& member) {
    return static_cast<bool>(detail::admit(member.operation, member.peer));
  });
  const auto count = static_cast<std::size_t>(refused - members.begin());
  const ChannelNumber channel = peer.channel();
  const bool pipelined = peer.pipelines_sequences();
  const std::uint64_t id = peer.node().next_sequence();
  for (std::size_t index = 0; index < count; ++index) {
    members[index].operation.sequence = SequenceTag{id, static_cast<std::uint32_t>(index), pipelined ? channel : 0};
  }
  std::size_t done = 0;
  bool failed = false;
  while (done < count && !failed) {
    const auto part = members.subspan(done, pipelined ? count : 1);
    detail::MembersAwaiter ended(part, limits);
    co_await ended;
    done += part.size();
    failed = std::any_of(part.begin(), part.end(), [](const auto& member) { return bool(member.operation.failure); });
  }
  if (done < members.size() && !failed) {
    members[done].operation.failure = detail::admit(members[done].operation, &peer);
    ++done;
  }
  for (detail::Member& member : members.subspan(done)) {
    member.operation.failure = Failure(errc::not_executed, "an earlier member of the sequence failed");
  }
  co_return Outcomes(members_);
}

}  // namespace ferry
