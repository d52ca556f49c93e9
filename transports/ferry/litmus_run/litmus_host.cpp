#include <ferry/litmus_run/litmus_host.hpp>

#include <array>
#include <span>
#include <utility>

#include <ferry/base/offload.hpp>
#include <ferry/litmus_run/channel_queue.hpp>
#include <ferry/sim/litmus/parser.hpp>

namespace ferry::litmus_run {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) {
    throw Error(result.error());
  }
  return std::move(*result);
}

}  // namespace

LitmusHost::LitmusHost(ActorContext& context, BoardPlace board)
    : context_(context), board_(value_or_throw(Board::open(board))) {}

LitmusHost::~LitmusHost() = default;

Task<BufferRef> LitmusHost::prepare(std::string text, std::uint32_t node) {
  runs_.reset();
  buffer_ = {};
  if (notifications_) {
    co_await *notifications_;
    notifications_.reset();
  }
  auto programs = value_or_throw(litmus::parse("the program to run", text));
  program_ = std::move(programs.front());
  node_ = static_cast<litmus::NodeIndex>(node);
  layout_ = layout_of(program_);
  lines_ = ferry::vector<Line>(layout_.bytes() / sizeof(Line));
  buffer_ = context_.register_memory(std::span(lines_), {.notifications = true});
  notifications_.emplace(take_notifications(buffer_.notifications()));
  co_return buffer_.ref();
}

Task<void> LitmusHost::connect(std::vector<BufferRef> memory) {
  std::vector<std::unique_ptr<RealQueue>> queues(program_.queues.size());
  for (litmus::QueueIndex index = 0; index < queues.size(); ++index) {
    const litmus::Queue& queue = program_.queues[index];
    if (queue.from == node_) {
      // A first read opens the channel: what is posted before there is one would wait for it together.
      litmus::Value ignored = 0;
      const BufferRef& remote = memory.at(queue.to);
      auto read = remote.subrange(0, sizeof ignored).read_into(std::span(&ignored, 1));
      co_await read;
      queues[index] = std::make_unique<ChannelQueue>(program_, index, layout_, board_, this->memory(), remote);
    }
  }
  runs_ = std::make_unique<NodeRuns>(program_, node_, layout_, board_, this->memory(), std::move(queues));
}

Task<SightingsReport> LitmusHost::run(RunOrder order) {
  auto work = ferry::offload([this, order] { return runs_->run(order); });
  auto sightings = co_await work;
  if (!sightings) {
    throw Error(sightings.error());
  }
  SightingsReport report;
  for (const auto& [outcome, hits] : sightings->outcomes) {
    report.outcomes.push_back(outcome);
    report.hits.push_back(hits);
  }
  report.stuck = sightings->stuck;
  co_return report;
}

// Ends with the buffer.
Task<void> LitmusHost::take_notifications(NotificationStream stream) {
  for (;;) {
    auto next = as_result(stream.next());
    const Result<std::uint64_t> tag = co_await next;
    if (!tag) {
      co_return;
    }
    board_.notifications(slot_of(*tag), queue_of(*tag)).arrived.fetch_add(1);
  }
}

}  // namespace ferry::litmus_run
