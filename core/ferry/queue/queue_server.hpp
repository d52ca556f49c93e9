// QueueServer: the owner's ends of all channels to one node, and what it remembers of their initiators.
//
// Owner: the transport. Any thread. At most one channel of an initiator is served at a time: a new one is answered only
// once the one before has been discarded, so that nothing of it can have an effect any more.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/queue/control.hpp>
#include <ferry/queue/device.hpp>
#include <ferry/queue/reply_log.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::queue {

class QueueInbound;

// What an owner remembers of one initiator over all its channels.
struct QueueSession {
  explicit QueueSession(std::uint64_t number) noexcept : token(number) {}

  const std::uint64_t token;  // never 0
  std::mutex mutex;           // guards what follows
  ReplyLog replies;
  std::uint64_t channel = 0;  // of the latest hello
  std::shared_ptr<QueueInbound> inbound;
};

class QueueServer {
 public:
  // Makes the link for the events; nothing has been received on it.
  using MakeLink = std::function<std::unique_ptr<ControlLink>(ControlEvents& events)>;

  // first_session: where the numbers of sessions begin, not 0; those of an earlier life of the server must not come
  // again.
  QueueServer(NodeCore& node, Device& device, TransportId transport, std::uint64_t first_session = 1,
              MessageWay way = {}) noexcept
      : node_(node), device_(device), transport_(transport), way_(way), next_token_(first_session) {}
  ~QueueServer();

  // Somebody has connected, and was authenticated. False: this server has been shut down, and no link was made.
  bool accept(const MakeLink& make);

  // Ends every channel, telling its initiator that this process ends; none follows. Blocks until nothing of them runs.
  void shut_down() noexcept;

  // Channels that are served.
  std::size_t size() const noexcept;

 private:
  friend class QueueInbound;

  // A hello has come: ends the channel before. Null: a later one of this initiator was here first.
  std::shared_ptr<QueueSession> take_over(const std::shared_ptr<QueueInbound>& inbound, ProcessId initiator,
                                          std::uint64_t channel);
  // for_good: the initiator will not come back.
  void ended(QueueInbound& inbound, const std::shared_ptr<QueueSession>& session, bool for_good) noexcept;
  void forget_oldest();

  NodeCore& node_;
  Device& device_;
  const TransportId transport_;
  const MessageWay way_;
  mutable std::mutex mutex_;
  bool is_shut_down_ = false;
  std::vector<std::shared_ptr<QueueInbound>> inbounds_;
  std::vector<std::shared_ptr<QueueInbound>> ended_;  // until the next accept(): one may be in its own event
  std::map<ProcessId, std::shared_ptr<QueueSession>> sessions_;
  std::deque<ProcessId> orphans_;  // whose channel ended, oldest first; some have come back
  std::uint64_t next_token_;
};

}  // namespace ferry::queue
