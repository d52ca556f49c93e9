#include <ferry/tcp/channel.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace ferry::tcp {

std::optional<wire::FrameHeader> whole_header(wire::ByteView bytes, Taken& otherwise, Failure& why) {
  if (bytes.size() < wire::kFrameHeaderSize) {
    otherwise = Taken::need_more;
    return std::nullopt;
  }
  const auto header = get_header(bytes);
  if (!header) {
    why = header.error();
    otherwise = Taken::ended;
    return std::nullopt;
  }
  return *header;
}

namespace {

// Silence is counted in ticks in which nothing came, not read off a clock: a process that was itself stopped for a
// while finds one silent tick, not a dead peer. The last byte may come right behind a tick, so one less is waited for.
constexpr int kTicks = 10;

// Receives of a broken channel, for what the peer said last.
constexpr int kLastReceives = 64;

// A socket that had nothing in so many polls is asked only at every kQuietEvery-th: asking takes longer than everything
// else in a poll, and delays the sockets that are in use.
constexpr std::uint32_t kQuietAfter = 64;
constexpr std::uint32_t kQuietEvery = 4;

Duration tick_length(const NodeLimits& limits) noexcept {
  return std::max<Duration>(std::min(limits.failure_detection / kTicks, limits.heartbeat),
                            std::chrono::milliseconds(1));
}

}  // namespace

Result<ChannelBuffers> ChannelBuffers::create() {
  try {
    return ChannelBuffers();
  } catch (const std::bad_alloc&) {
    return Failure(errc::resource_exhausted,
                   fmt::format("no memory for the {} bytes of a connection's buffers; allocate less, or raise the "
                               "process's limit (ulimit -v)",
                               ReceiveBuffer::kCapacity + SendBuffer::kCapacity));
  }
}

Channel::Channel(ChannelEnd& end, std::mutex& mutex, Socket socket, ChannelBuffers buffers, std::string who,
                 const Context& context)
    : end_(end),
      mutex_(mutex),
      socket_(std::move(socket)),
      who_(std::move(who)),
      context_(context),
      tick_(tick_length(context.limits)),
      heartbeat_ticks_(std::max<Duration::rep>(context.limits.heartbeat / tick_, 1)),
      silence_ticks_(std::max<Duration::rep>(context.limits.failure_detection / tick_ - 1, 2)),
      in_(std::move(buffers.in)),
      out_(std::move(buffers.out)),
      clock_(*this) {}

Channel::~Channel() = default;

void Channel::begin() {
  begun_ = true;
  context_.reactor.add(*this);
  context_.executor.start_timer(clock_, saturating_add(context_.executor.now(), tick_));
}

void Channel::end(bool gently) noexcept {
  std::unique_lock lock(mutex_);
  const bool begun = begun_;
  lock.unlock();
  if (begun) {
    context_.reactor.remove(*this);
  }
  lock.lock();
  ended_ = true;
  while (sending_) {  // a system call of another thread that does not wait
    lock.unlock();
    lock.lock();
  }
  lock.unlock();
  if (begun) {
    context_.executor.cancel_timer(clock_);
  }
  if (gently) {
    socket_.close_gently();
  } else {
    socket_.close();
  }
}

void Channel::ask_for_attention() noexcept {
  attention_.store(true, std::memory_order_release);
  context_.reactor.wake();
}

void Channel::fail(const Failure& why, PeerState state) noexcept {
  if (!failure_ || (state == PeerState::gone && state_ == PeerState::unknown)) {
    failure_ = why;
    state_ = state;
    ask_for_attention();
  }
}

void Channel::pump(std::unique_lock<std::mutex>& lock) noexcept {
  if (sending_ || ended_ || failure_) {
    return;
  }
  sending_ = true;
  for (std::size_t turn = 0;;) {
    if (constexpr std::size_t size = wire::kFrameHeaderSize + 8; heartbeat_due_ && out_.room() >= size) {
      heartbeat_due_ = false;
      put_word(put_header(out_.append(size), Kind::heartbeat, 0, 8, 0), end_.acknowledged());
      context_.traffic.heartbeat_bytes.fetch_add(size, std::memory_order_relaxed);
    }
    end_.fill(out_);
    if (out_.empty()) {
      blocked_.store(false, std::memory_order_relaxed);
      break;
    }
    if (turn >= kTurnBytes) {
      ask_for_attention();
      break;
    }
    const wire::ByteView bytes = out_.pending();
    lock.unlock();
    const Socket::Moved moved = socket_.send(bytes);
    lock.lock();
    if (moved.error != 0 && moved.error != EAGAIN) {
      fail(lost(moved.error, "sending"), PeerState::unknown);
      break;
    }
    turn += moved.count;
    sent_ |= moved.count > 0;
    out_.sent(moved.count);
    if (moved.count < bytes.size()) {
      if (!blocked_.exchange(true, std::memory_order_relaxed)) {
        context_.reactor.wake();  // whoever sleeps must wait for room, too
      }
      break;
    }
  }
  sending_ = false;
}

bool Channel::receive() noexcept {
  if (stream_ended_ || paused_.load(std::memory_order_relaxed)) {
    return false;
  }
  if (++empty_polls_ > kQuietAfter && empty_polls_ % kQuietEvery != 0) {
    return false;
  }
  const Socket::Moved moved = socket_.receive(in_.space());
  if (moved.count > 0) {
    empty_polls_ = 0;
    received_.store(true, std::memory_order_relaxed);
    in_.received(moved.count);
    has_unread_ = true;
    return true;
  }
  if (moved.error == EAGAIN) {
    return false;
  }
  stream_ended_ = true;
  const std::lock_guard lock(mutex_);
  fail(lost(moved.error, "receiving"), PeerState::unknown);
  return false;
}

// Takes whole frames off what was received.
bool Channel::process() noexcept {
  bool any = false;
  while (has_unread_) {
    std::size_t count = 0;
    Failure why;
    const Taken taken = end_.take(in_.unread(), count, why);
    in_.taken(count);
    any |= count > 0;
    if (why) {
      stream_ended_ = true;
      has_unread_ = false;
      const std::lock_guard lock(mutex_);
      fail(why, PeerState::unknown);
      return true;
    }
    paused_.store(taken == Taken::no_room, std::memory_order_relaxed);
    if (taken == Taken::no_room) {
      return any;
    }
    if (taken == Taken::ended) {
      stream_ended_ = true;
    }
    has_unread_ = taken == Taken::some;  // a frame may have no body
  }
  return any;
}

bool Channel::poll() noexcept {
  const bool received = receive();
  const bool blocked = blocked_.load(std::memory_order_relaxed);
  if (!received && !blocked && !paused_.load(std::memory_order_relaxed) &&
      !attention_.load(std::memory_order_acquire)) {
    return false;
  }
  const auto self = shared_from_this();  // a callback may end the channel
  bool worked = attention_.exchange(false, std::memory_order_acquire) || received;
  worked |= process();
  std::unique_lock lock(mutex_);
  pump(lock);
  worked |= blocked && !blocked_.load(std::memory_order_relaxed);
  lock.unlock();
  end_.settle();
  lock.lock();
  if (!failure_ || ended_) {
    return worked;
  }
  lock.unlock();
  end_broken();
  return true;
}

void Channel::end_broken() noexcept {
  empty_polls_ = 0;
  for (int round = 0; round < kLastReceives && receive(); ++round) {
    process();
  }
  std::unique_lock lock(mutex_);
  const Failure why = failure_;
  const PeerState state = state_;
  lock.unlock();
  end_.on_broken(why, state);
}

bool Channel::prepare_to_sleep(bool& write) noexcept {
  const std::lock_guard lock(mutex_);
  write = blocked_.load(std::memory_order_relaxed);
  const bool resumes = paused_.load(std::memory_order_relaxed) && !write;
  return ended_ || !(failure_ || resumes || attention_.load(std::memory_order_acquire));
}

// Any thread: the executor's timer.
void Channel::tick() noexcept {
  std::unique_lock lock(mutex_);
  if (ended_ || failure_) {
    return;
  }
  watch_peer();
  if (std::exchange(sent_, false) || !out_.empty()) {
    idle_ticks_ = 0;
  } else if (++idle_ticks_ >= heartbeat_ticks_) {
    idle_ticks_ = 0;
    heartbeat_due_ = true;
    pump(lock);
  }
  if (!ended_) {
    context_.executor.start_timer(clock_, saturating_add(context_.executor.now(), tick_));
  }
}

// A peer that must read before it can be heard (our answers fill its window) is watched by what it reads.
void Channel::watch_peer() noexcept {
  const bool moved_out = paused_.load(std::memory_order_relaxed) && sent_;
  if (received_.exchange(false, std::memory_order_relaxed) || moved_out) {
    silent_ticks_ = 0;
    return;
  }
  if (++silent_ticks_ < silence_ticks_) {
    return;
  }
  if (!paused_.load(std::memory_order_relaxed) && socket_.has_input()) {
    silent_ticks_ = 0;  // the silence is ours: nobody has polled
    return;
  }
  fail(Failure(errc::peer_lost,
               fmt::format(
                   "{} was silent for {} ms; it may be stopped, or the network is cut", who_,
                   std::chrono::duration_cast<std::chrono::milliseconds>(context_.limits.failure_detection).count())),
       PeerState::unknown);
}

Failure Channel::lost(int error, const char* during) const {
  if (error == 0) {
    return Failure(errc::peer_lost,
                   fmt::format("{} closed the connection without a farewell; the process has ended, or "
                               "something between has cut it",
                               who_));
  }
  return Failure(errc::peer_lost,
                 fmt::format("the connection to {} broke while {}: {}", who_, during, error_text(error)));
}

}  // namespace ferry::tcp
