#include <ferry/litmus_run/channel_queue.hpp>

#include <algorithm>

#include <ferry/base/as_result.hpp>

namespace ferry::litmus_run {
namespace {

using litmus::OperationKind;

std::atomic_ref<litmus::Value> word_at(std::byte* at) noexcept {
  return std::atomic_ref(*reinterpret_cast<litmus::Value*>(at));
}

}  // namespace

ChannelQueue::ChannelQueue(const litmus::Program& program, litmus::QueueIndex queue, const Layout& layout, Board& board,
                           std::byte* local, const BufferRef& remote)
    : queue_(queue), layout_(layout), board_(board), local_(local), remote_(remote), runs_(layout.slots) {
  capacity_ = static_cast<std::size_t>(std::count_if(program.operations.begin(), program.operations.end(),
                                                     [queue](const auto& each) { return each.queue == queue; }));
  posted_ = std::make_unique<Posted[]>(capacity_ * layout.slots);
}

// What is under way when the runs were given up loses its memory here.
ChannelQueue::~ChannelQueue() {
  for (std::size_t slot = 0; slot < runs_.size(); ++slot) {
    for (Posted& posted : operations_of(slot).first(runs_[slot].posted)) {
      if (!posted.is_complete.load(std::memory_order_acquire) && !remote_.peer()->abandon(*posted.operation)) {
        for (std::size_t turn = 0; !posted.is_complete.load(std::memory_order_acquire); ++turn) {
          wait_a_little(turn);
        }
      }
    }
  }
}

void ChannelQueue::clear(std::size_t slot) noexcept {
  runs_[slot] = {};
  for (Posted& posted : operations_of(slot)) {
    posted.is_complete.store(false, std::memory_order_relaxed);
  }
}

bool ChannelQueue::post(std::size_t slot, const litmus::Operation& operation) noexcept {
  Run& run = runs_[slot];
  const auto earlier = operations_of(slot).first(run.posted);
  if (operation.is_fenced) {
    for (Posted& before : earlier) {
      for (std::size_t turn = 0; !before.is_put && !before.is_complete.load(std::memory_order_acquire); ++turn) {
        wait_a_little(turn);
      }
    }
  }
  Posted& posted = operations_of(slot)[run.posted];
  try {
    start(posted, request_of(slot, operation, posted));
  } catch (const Error& error) {
    run.failure = error.failure();
    return false;
  } catch (const std::bad_alloc&) {
    run.failure = Failure(errc::resource_exhausted, "there is no memory left for an operation");
    return false;
  }
  ++run.posted;
  run.immediates += operation.has_immediate ? 1U : 0U;
  return true;
}

OperationRequest ChannelQueue::request_of(std::size_t slot, const litmus::Operation& operation, Posted& posted) const {
  const auto remote = [&](const litmus::Chunk& chunk) { return layout_.offset(slot, chunk.remote); };
  posted.is_put = operation.kind == OperationKind::put;
  posted.chunks.clear();
  posted.copied.clear();
  posted.copied.reserve(operation.chunks.size());
  for (const litmus::Chunk& chunk : operation.chunks) {
    std::byte* local = local_ + layout_.offset(slot, chunk.local);
    if (operation.is_inline) {
      posted.copied.push_back(word_at(local).load(std::memory_order_acquire));
      local = reinterpret_cast<std::byte*>(&posted.copied.back());
    }
    posted.chunks.push_back({remote(chunk), local, sizeof(litmus::Value)});
  }
  posted.result = posted.chunks.front().local;
  WriteOptions options{};
  if (operation.has_immediate) {
    options.notify = tag_of(slot, queue_);
  }
  const std::span<const Chunk> chunks(posted.chunks);
  const bool is_one = chunks.size() == 1;
  const BufferRef word = is_one ? remote_.subrange(chunks.front().remote_offset, sizeof(litmus::Value)) : remote_;
  const std::span local(reinterpret_cast<litmus::Value*>(chunks.front().local), 1);
  switch (operation.kind) {
    case OperationKind::put:
      return is_one ? word.write_from(local, options).request() : word.write_from(chunks, options).request();
    case OperationKind::get:
      return is_one ? word.read_into(local).request() : word.read_into(chunks).request();
    case OperationKind::fetch_add:
      return word.fetch_add(operation.operand).request();
    case OperationKind::compare_swap:
      return word.compare_swap(operation.expected, operation.operand).request();
  }
  return {};
}

// As an awaited Transfer does it: in place where the memory can be reached, else through the peer.
void ChannelQueue::start(Posted& posted, const OperationRequest& request) {
  Peer& owner = *remote_.peer();
  if (const Failure why = detail::check_request(request)) {
    throw Error(why);
  }
  posted.is_complete.store(false, std::memory_order_relaxed);
  ferry::Operation& operation = posted.operation.emplace(request);
  const bool is_plain = request.list.data() == nullptr && !request.notify;
  bool is_done = false;
  if (ferry::is_atomic(request.kind)) {
    is_done = owner.try_atomic(request, operation.result);
  } else if (is_plain) {
    is_done = owner.try_transfer(request.kind, request.region, request.single.local);
  }
  if (!is_done) {
    operation.starter = &posted;
    operation.on_complete = &complete;
    is_done = owner.start(operation) == Started::complete;
  }
  if (is_done) {
    complete_here(posted);
  }
}

void ChannelQueue::complete_here(Posted& posted) noexcept {
  if (ferry::is_atomic(posted.operation->kind) && !posted.operation->failure) {
    word_at(posted.result).store(posted.operation->result, std::memory_order_release);
  }
  posted.is_complete.store(true, std::memory_order_release);
}

void ChannelQueue::complete(ferry::Operation& operation) noexcept {
  complete_here(*static_cast<Posted*>(operation.starter));
}

bool ChannelQueue::take_completion(std::size_t slot) noexcept {
  Run& run = runs_[slot];
  if (run.taken == run.posted || !operations_of(slot)[run.taken].is_complete.load(std::memory_order_acquire)) {
    return false;
  }
  ++run.taken;
  return true;
}

bool ChannelQueue::is_quiet(std::size_t slot) noexcept {
  const Run& run = runs_[slot];
  const auto posted = operations_of(slot).first(run.posted);
  return std::all_of(posted.begin(), posted.end(),
                     [](const Posted& each) { return each.is_complete.load(std::memory_order_acquire); }) &&
         (run.immediates == 0 || board_.notifications(slot, queue_).arrived.load() >= run.immediates || failure(slot));
}

Failure ChannelQueue::failure(std::size_t slot) const {
  const Run& run = runs_[slot];
  if (run.failure) {
    return run.failure;
  }
  for (const Posted& posted : operations_of(slot).first(run.posted)) {
    if (posted.is_complete.load(std::memory_order_acquire) && posted.operation->failure) {
      return detail::explain_failure(*posted.operation, posted.operation->failure, remote_.peer());
    }
  }
  return {};
}

}  // namespace ferry::litmus_run
