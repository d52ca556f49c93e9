// What the owner says on the control link.
#include <utility>

#include <fmt/format.h>

#include <ferry/queue/queue_connection.hpp>
#include <ferry/transport/peer.hpp>

namespace ferry::queue {

void QueueConnection::on_control(wire::Bytes&& message) noexcept {
  const Calling calling(*this);
  const Control kind = message.empty() ? Control{} : static_cast<Control>(message[0]);
  const wire::ByteView body = message.empty() ? wire::ByteView{} : wire::ByteView(message).subspan(1);
  std::unique_lock lock(mutex_);
  if (state_ != State::open && state_ != State::greeting) {
    return;
  }
  if (kind == Control::message && state_ == State::open) {
    lock.unlock();
    events_.on_message(*this, wire::Bytes(body));
    return;
  }
  if (kind == Control::goodbye) {
    end_channel(lock, Failure(errc::peer_lost, fmt::format("{} has shut down", who_)), PeerState::gone, false);
    return;
  }
  if (state_ == State::greeting) {
    auto done =
        kind == Control::welcome
            ? on_welcome(body)
            : Failure(errc::malformed, fmt::format("a welcome expected, found kind {}", static_cast<int>(kind)));
    if (!done) {
      end_channel(lock, done.error(), PeerState::unknown, false);
      return;
    }
    lock.unlock();
    node_.executor().cancel_timer(handshake_);
    if (Peer* const peer = node_.peers().find(peer_.id())) {
      lock.lock();
      std::string name = std::exchange(peer_name_, {});
      lock.unlock();
      if (!name.empty()) {
        peer->set_name(std::move(name));
      }
    }
    lock.lock();
    handshake_.armed = false;
    lock.unlock();
    events_.on_open(*this);
    lock.lock();
    if (state_ == State::open) {
      pump();
    }
    lock.unlock();
    settle();
    return;
  }
  if (kind == Control::discarded) {
    const auto discarded = decode_discarded(body);
    Lane* const lane = discarded ? find_lane(discarded->lane) : nullptr;
    if (lane != nullptr && lane->state == Lane::State::broken) {
      const std::uint64_t channel = channel_;
      take_evidence(*lane, *discarded);
      Retired retired = retire(*lane);
      lock.unlock();
      retired = {};
      lock.lock();
      if (state_ != State::open || channel_ != channel) {
        return;
      }
      resolve(*lane);
      take_next_life(*lane);
      advance_flushes();
      pump();
      lock.unlock();
      settle();
      return;
    }
    end_channel(lock,
                discarded ? Failure(errc::malformed, fmt::format("lane {} was not to be discarded", discarded->lane))
                          : discarded.error(),
                PeerState::unknown, false);
    return;
  }
  if (auto done = take_control(kind, body); !done) {
    end_channel(lock, done.error(), PeerState::unknown, false);
    return;
  }
  advance_flushes();
  pump();
  lock.unlock();
  settle();
}

Result<void> QueueConnection::take_control(Control kind, wire::ByteView body) {
  switch (kind) {
    case Control::lane_ready: {
      const auto ready = decode_lane_ready(body);
      return ready ? on_lane_ready(*ready) : ready.error();
    }
    case Control::lane_refused: {
      const auto refused = decode_lane_refused(body);
      if (!refused) {
        return refused.error();
      }
      Lane* const lane = find_lane(static_cast<std::uint32_t>(refused->number));
      if (lane == nullptr || lane->state != Lane::State::opening) {
        return Failure(errc::malformed, fmt::format("lane {} was not to be opened", refused->number));
      }
      lane_failed_to_open(*lane, refused->failure);
      return {};
    }
    case Control::marked: {
      const auto marked = decode_marked(body);
      return marked ? on_marked(*marked) : marked.error();
    }
    case Control::executed: {
      const auto executed = decode_executed(body);
      return executed ? on_executed(*executed) : executed.error();
    }
    case Control::checked: {
      const auto checked = decode_checked(body);
      if (!checked) {
        return checked.error();
      }
      on_checked(*checked);
      return {};
    }
    default:
      return Failure(errc::malformed,
                     fmt::format("an owner's message expected, found kind {}", static_cast<int>(kind)));
  }
}

// Locked. The channel is open afterwards; what waits has its turn.
Result<void> QueueConnection::on_welcome(wire::ByteView body) {
  const auto welcome = decode_welcome(body);
  if (!welcome) {
    return welcome.error();
  }
  const OrderClass own = device_.limits().order;
  const auto is_queue = [](OrderClass order) { return order == OrderClass::strict || order == OrderClass::unordered; };
  if (own != welcome->order && !(is_queue(own) && is_queue(welcome->order))) {
    return Failure(errc::unsupported, "the devices at both ends do not speak the same protocol");
  }
  order_ = own == welcome->order ? own : OrderClass::unordered;
  peer_name_ = welcome->name;
  const bool is_forgotten = session_ != 0 && session_ != welcome->session;
  has_flush_ = device_.limits().flush && welcome->has_flush;
  session_ = welcome->session;
  state_ = State::open;
  if (is_forgotten) {
    end_kept(Failure(errc::outcome_unknown, "the owner has forgotten this process's earlier connection"));
  }
  for (Pending* pending : pool_.all()) {
    if (pending->place == Pending::Place::kept) {
      --kept_;
      pending->place = Pending::Place::posted;
      send_atomic(*pending);
    }
  }
  return {};
}

}  // namespace ferry::queue
