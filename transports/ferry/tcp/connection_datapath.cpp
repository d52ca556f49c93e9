#include <ferry/tcp/connection.hpp>

#include <fmt/format.h>

namespace ferry::tcp {

Started TcpConnection::start(Operation& operation) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return Started::not_open;
  }
  Pending* const pending = &operation == &reopen_ ? nullptr : requests_.start(operation);
  if (pending == nullptr) {
    return Started::complete;
  }
  operation.connection.store(this, std::memory_order_release);
  // From the first byte that is sent on, another thread may complete it, unless it needs no answer.
  const std::uint64_t id = pending->id();
  channel_->pump(lock);
  if (!requests_.has_done()) [[likely]] {
    return Started::pending;
  }
  Pending* const still = requests_.find(id);
  const bool ended = still != nullptr && still->place == Pending::Place::done;
  if (ended) {
    requests_.withdraw(*still);
    requests_.release(*still);
  }
  if (requests_.has_done() && channel_ != nullptr) {
    channel_->ask_for_attention();  // others' completions are not for this thread to make
  }
  return ended ? Started::complete : Started::pending;
}

bool TcpConnection::send(wire::Bytes&& message) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return false;
  }
  Stats::add(context_.stats.messages);
  messages_.push(std::move(message), channel_->out(), 0);
  channel_->pump(lock);
  if (requests_.has_done() && channel_ != nullptr) {
    channel_->ask_for_attention();
  }
  return true;
}

void TcpConnection::fill(SendBuffer& out) noexcept {
  do {
    requests_.fill(out);
  } while (messages_.post(out, 0));
}

void TcpConnection::settle() noexcept {
  for (;;) {
    std::unique_lock lock(mutex_);
    Pending* const pending = requests_.take_done();
    if (pending == nullptr) {
      return;
    }
    Operation& operation = *pending->operation;
    const bool abandoned = pending->abandoned;
    requests_.release(*pending);
    if (abandoned) {
      changed_.notify_all();
      continue;
    }
    lock.unlock();
    operation.complete();
  }
}

Taken TcpConnection::take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept {
  if (assembly_.is_inside_frame()) {
    return take_message(bytes, count);
  }
  const std::lock_guard lock(mutex_);
  if (state_ != State::open) {
    return Taken::ended;
  }
  return requests_.is_inside_answer() ? requests_.take_data(bytes, count) : take_frame(bytes, count, why);
}

Taken TcpConnection::take_frame(wire::ByteView bytes, std::size_t& count, Failure& why) {
  Taken otherwise{};
  const auto header = whole_header(bytes, otherwise, why);
  if (!header) {
    return otherwise;
  }
  const Kind kind{header->kind};
  const std::size_t head = kind == Kind::data || kind == Kind::message ? 0 : header->length;
  const std::size_t size = wire::kFrameHeaderSize + padded(head);
  if (head > kFailureBytes) {
    why =
        Failure(errc::malformed, fmt::format("an answer of at most {} bytes expected, found {}", kFailureBytes, head));
    return Taken::ended;
  }
  if (bytes.size() < size) {
    return Taken::need_more;
  }
  count = size;
  switch (kind) {
    case Kind::heartbeat:
      return Taken::some;
    case Kind::goodbye:
      channel_->fail(Failure(errc::peer_lost, fmt::format("{} has shut down", channel_->who())), PeerState::gone);
      return Taken::ended;
    case Kind::message:
      if (auto begun = assembly_.begin(*header, node_.limits().frame_bytes); !begun) {
        why = begun.error();
        return Taken::ended;
      }
      return Taken::some;
    default:
      if (auto done = requests_.on_answer(*header, bytes.subspan(wire::kFrameHeaderSize, head)); !done) {
        why = done.error();
        return Taken::ended;
      }
      return Taken::some;
  }
}

Taken TcpConnection::take_message(wire::ByteView bytes, std::size_t& count) {
  if (!assembly_.take(bytes, count)) {
    return assembly_.is_inside_frame() ? Taken::need_more : Taken::some;
  }
  Stats::add(context_.stats.messages);
  events_.on_message(*this, std::move(assembly_.message()));
  return Taken::some;
}

void TcpConnection::cancel(Operation& operation, const Failure& why) noexcept {
  std::unique_lock lock(mutex_);
  wait_while_ending(lock);
  if (operation.connection.load(std::memory_order_acquire) != this) {
    return;
  }
  Pending* const pending = requests_.find(operation);
  const TimePoint silent_by = saturating_add(context_.executor.now(), node_.limits().quiet_grace);
  if (pending == nullptr || !requests_.cancel(*pending, why, silent_by)) {
    return;
  }
  watch_silence();
  if (state_ == State::open) {
    channel_->pump(lock);
  }
  const Calling calling(*this, lock);
  lock.unlock();
  settle();
}

bool TcpConnection::abandon(Operation& operation) noexcept {
  std::unique_lock lock(mutex_);
  wait_while_ending(lock);
  if (operation.connection.load(std::memory_order_acquire) != this) {
    return false;
  }
  Pending* const pending = requests_.find(operation);
  if (pending == nullptr) {
    return false;
  }
  const std::uint64_t id = pending->id();
  pending->abandoned = true;
  const TimePoint silent_by = saturating_add(context_.executor.now(), node_.limits().quiet_grace);
  requests_.cancel(*pending, Failure(errc::cancelled, "it was dropped"), silent_by);
  if (pending->place == Pending::Place::done) {
    requests_.withdraw(*pending);
    requests_.release(*pending);
    return true;
  }
  watch_silence();
  if (state_ == State::open) {
    channel_->pump(lock);
  }
  changed_.wait(lock, [&] { return requests_.find(id) == nullptr; });
  return true;
}

}  // namespace ferry::tcp
