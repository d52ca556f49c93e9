#include <ferry/tcp/control_stream.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ferry::tcp {

ControlStream::ControlStream(const Context& context, queue::ControlEvents& events, ProcessId peer)
    : context_(context), events_(events), peer_(peer), redial_(*this) {}

ControlStream::Telling::Telling(ControlStream& stream, const std::unique_lock<std::mutex>&) noexcept : stream_(stream) {
  stream.teller_ = std::this_thread::get_id();
}

ControlStream::Telling::~Telling() {
  const std::lock_guard lock(stream_.mutex_);
  stream_.teller_ = {};
  stream_.told_.notify_all();
}

// The channel keeps its stream: a poll goes on after the event in which the link was let go.
std::shared_ptr<Channel> ControlStream::make_channel(Socket socket, ChannelBuffers buffers, const std::string& who) {
  return {new Channel(static_cast<ChannelEnd&>(*this), mutex_, std::move(socket), std::move(buffers), who,
                      context_.channel),
          [stream = shared_from_this()](Channel* channel) { delete channel; }};
}

void ControlStream::begin(Socket socket, ChannelBuffers buffers, const std::string& who) {
  const auto channel = make_channel(std::move(socket), std::move(buffers), who);
  const std::lock_guard lock(mutex_);
  state_ = State::open;
  channel_ = channel;
  channel->begin();
}

void ControlStream::dial(std::vector<std::string> targets, std::shared_ptr<DialMemory> memory) noexcept {
  const std::lock_guard lock(mutex_);
  state_ = State::dialing;
  memory_ = std::move(memory);
  const TimePoint now = context_.channel.executor.now();
  plan_.begin(std::move(targets), saturating_add(now, context_.node.limits().handshake));
  context_.channel.executor.start_timer(redial_, now);  // no event comes from inside this call
}

// Tries the next address; reports when there is none.
void ControlStream::dial_next() noexcept {
  const auto self = shared_from_this();
  for (;;) {
    std::unique_lock lock(mutex_);
    if (state_ != State::dialing) {
      return;
    }
    if (plan_.is_over()) {
      lock.unlock();
      give_up_all();
      return;
    }
    const TimePoint now = context_.channel.executor.now();
    const DialPlan::Attempt attempt = plan_.next(now);
    Hello hello;
    hello.wanted = peer_;
    hello.self = context_.node.self();
    {
      // Higher than any earlier one of this process's, also of one that was cut while the owner began to take over.
      const std::lock_guard guard(memory_->mutex);
      hello.channel = memory_->last_socket =
          std::max(memory_->last_socket + 1, static_cast<std::uint64_t>(now.time_since_epoch().count()));
    }
    lock.unlock();
    DialFailure failure;
    auto dialer = Dialer::create(static_cast<DialerEvents&>(*this), context_.channel, attempt.target, context_.secret,
                                 hello, Introduction{context_.node.name(), context_.node.contact().addresses}, failure);
    lock.lock();
    if (state_ != State::dialing) {
      return;
    }
    if (dialer != nullptr) {
      dialer_ = std::move(dialer);
      dialer_->begin(attempt.limit);
      return;
    }
    static_cast<void>(plan_.failed(failure, context_.channel.executor.now()));  // it was not begun, so not cut
  }
}

void ControlStream::on_dial_failed(Dialer& dialer, const DialFailure& failure) noexcept {
  const auto self = shared_from_this();
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing || dialer_.get() != &dialer) {
    return;  // whoever closes it waits for this poll
  }
  const auto ended = std::exchange(dialer_, nullptr);
  const auto again = plan_.failed(failure, context_.channel.executor.now());
  bool was_replaced = false;
  {
    const std::lock_guard guard(memory_->mutex);
    was_replaced = failure.other_process && memory_->where == ended->where();
  }
  lock.unlock();
  ended->end();
  if (failure.other_incarnation || was_replaced) {
    give_up(failure.why, PeerState::other_incarnation);
    return;
  }
  if (!again) {
    dial_next();
    return;
  }
  lock.lock();
  if (state_ == State::dialing) {
    plan_.repeat();
    context_.channel.executor.start_timer(redial_, *again);
  }
}

// All addresses were tried.
void ControlStream::give_up_all() noexcept {
  std::unique_lock lock(mutex_);
  bool was_open = false;
  {
    const std::lock_guard guard(memory_->mutex);
    was_open = !memory_->where.empty();
  }
  const Failure why = plan_.verdict(was_open, "no address of it is known");
  const PeerState fate = plan_.fate();
  lock.unlock();
  give_up(why, fate);
}

void ControlStream::give_up(const Failure& why, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing) {
    return;
  }
  state_ = State::ended;
  const Telling telling(*this, lock);
  lock.unlock();
  events_.on_control_closed(why, state);
}

void ControlStream::on_dialed(Dialer& dialer, Socket socket, const Welcome& welcome) noexcept {
  const auto self = shared_from_this();
  std::unique_lock lock(mutex_);
  if (state_ != State::dialing || dialer_.get() != &dialer) {
    return;
  }
  const auto ended = std::exchange(dialer_, nullptr);
  lock.unlock();
  ended->end();
  auto buffers = ChannelBuffers::create();
  if (!buffers) {
    give_up(buffers.error(), PeerState::unknown);
    return;
  }
  const auto channel = make_channel(std::move(socket), std::move(*buffers),
                                    welcome.name.empty() ? ended->where() : welcome.name + " at " + ended->where());
  lock.lock();
  if (state_ != State::dialing) {
    return;
  }
  {
    const std::lock_guard guard(memory_->mutex);
    memory_->where = ended->where();
  }
  state_ = State::open;
  channel_ = channel;
  {
    const Telling telling(*this, lock);
    lock.unlock();
    events_.on_control_open();
  }
  lock.lock();
  if (state_ == State::open) {
    channel->begin();  // not before: its events come behind this one
  }
}

bool ControlStream::send(wire::Bytes&& message) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return false;
  }
  const auto channel = channel_;
  messages_.push(std::move(message), channel->out(), 0);
  channel->pump(lock);
  return true;
}

void ControlStream::fill(SendBuffer& out) noexcept {
  while (messages_.post(out, 0)) {
  }
}

Taken ControlStream::take(wire::ByteView bytes, std::size_t& count, Failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) {
      return Taken::ended;
    }
  }
  if (!assembly_.is_inside_frame()) {
    return take_frame(bytes, count, why);
  }
  if (!assembly_.take(bytes, count)) {
    return assembly_.is_inside_frame() ? Taken::need_more : Taken::some;
  }
  events_.on_control(std::move(assembly_.message()));
  assembly_ = MessageAssembly();
  return Taken::some;
}

Taken ControlStream::take_frame(wire::ByteView bytes, std::size_t& count, Failure& why) {
  Taken otherwise{};
  const auto header = whole_header(bytes, otherwise, why);
  if (!header) {
    return otherwise;
  }
  switch (Kind{header->kind}) {
    case Kind::heartbeat:
      if (header->length != sizeof(std::uint64_t)) {
        why = Failure(errc::malformed, fmt::format("a heartbeat of 8 bytes expected, found {}", header->length));
        return Taken::ended;
      }
      if (bytes.size() < wire::kFrameHeaderSize + sizeof(std::uint64_t)) {
        return Taken::need_more;
      }
      count = wire::kFrameHeaderSize + sizeof(std::uint64_t);
      return Taken::some;
    case Kind::message: {
      // What the queue layer puts in front of a message of the node comes on top of the node's bound.
      constexpr std::size_t kMargin = std::size_t{64} << 10;
      if (auto begun = assembly_.begin(*header, context_.node.limits().frame_bytes + kMargin); !begun) {
        why = begun.error();
        return Taken::ended;
      }
      count = wire::kFrameHeaderSize;
      return Taken::some;
    }
    default:
      why = Failure(errc::malformed, fmt::format("a message or heartbeat expected, found kind {}", header->kind));
      return Taken::ended;
  }
}

void ControlStream::on_broken(const Failure& why, PeerState state) noexcept {
  std::unique_lock lock(mutex_);
  if (state_ != State::open) {
    return;  // whoever closes it waits for this poll
  }
  state_ = State::ended;
  const auto channel = std::exchange(channel_, nullptr);
  const Telling telling(*this, lock);
  lock.unlock();
  channel->end(false);
  if (why.code() == errc::malformed || why.code() == errc::too_large) {
    context_.node.log().write(LogLevel::warning,
                              fmt::format("control: closed the connection to {}: {}", channel->who(), why.detail()));
  }
  events_.on_control_closed(why, state);
}

void ControlStream::close() noexcept {
  std::unique_lock lock(mutex_);
  state_ = State::ended;
  const auto channel = std::exchange(channel_, nullptr);
  const auto dialer = std::exchange(dialer_, nullptr);
  const bool has_dialed = memory_ != nullptr;
  lock.unlock();
  if (dialer != nullptr) {
    dialer->end();
  }
  if (channel != nullptr) {
    channel->end(true);
  }
  if (has_dialed) {
    context_.channel.executor.cancel_timer(redial_);
  }
  lock.lock();
  const auto here = std::this_thread::get_id();
  told_.wait(lock, [&] { return teller_ == std::thread::id() || teller_ == here; });
}

}  // namespace ferry::tcp
