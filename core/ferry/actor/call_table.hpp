// PendingCall: a call that waits for its reply; CallTable: all of a process, by number.
//
// A reply finds its call by a number that is never reused, so a late reply meets nothing. Any thread. Whoever takes a
// call out of the table ends it; deliver functions run under the shard's lock, so that a call which is not in the table
// is not being touched. The table links the calls where they are: one is added and found without an allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <boost/intrusive/unordered_set_hook.hpp>

#include <ferry/actor/message.hpp>
#include <ferry/base/failure.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry {

class Peer;

namespace detail {
struct CallTarget;
}

// Its functions are not virtual: a call that is dropped leaves the table in its destructor, where it would have changed
// the pointer to its virtual functions already, under the eyes of a thread that brings its reply.
class PendingCall : public boost::intrusive::unordered_set_base_hook<> {
 public:
  Peer* call_peer = nullptr;                        // who must answer
  const detail::CallTarget* call_target = nullptr;  // what is called, for reports
  std::atomic<std::uint64_t> call_sent_under{0};    // the channel that its message left by (ChannelNumber); 0: not sent

  // The reply as it arrived, or why there will be none. Called at most once, under the shard's lock.
  void on_reply(wire::Bytes&& message) noexcept { on_reply_(*this, std::move(message)); }
  void on_no_reply(const Failure& why) noexcept { on_no_reply_(*this, why); }

 protected:
  using OnReply = void (*)(PendingCall&, wire::Bytes&&) noexcept;
  using OnNoReply = void (*)(PendingCall&, const Failure&) noexcept;

  PendingCall(OnReply reply, OnNoReply no_reply) noexcept : on_reply_(reply), on_no_reply_(no_reply) {}
  ~PendingCall() = default;

 private:
  friend class CallTable;

  CallId number_{};  // by which the table knows it
  const OnReply on_reply_;
  const OnNoReply on_no_reply_;
};

class CallTable {
 public:
  CallTable();
  ~CallTable();

  CallId add(PendingCall& call);
  // False: it was not there; its end has come or is complete.
  bool remove(CallId id) noexcept;

  // Ends the call with the peer's answer. Does nothing if there is none of that number to this peer.
  void deliver(const Peer& from, CallId id, wire::Bytes&& message) noexcept;
  void fail(CallId id, const Failure& why) noexcept;
  // Fails every call to the peer that was sent by this channel or an earlier one.
  void fail_all(const Peer& peer, const Failure& why, std::uint64_t channel) noexcept;
  // For reports: every call that waits, in the order of their numbers. Only while nothing else uses the table.
  void for_each(const std::function<void(const PendingCall&)>& visit) const;

 private:
  static constexpr std::size_t kShards = 16;
  struct NumberOf;
  struct Spread;
  struct Shard;
  Shard& shard(CallId id) noexcept;

  std::atomic<std::uint64_t> next_{1};
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace ferry
