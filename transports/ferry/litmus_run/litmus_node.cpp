#include <ferry/litmus_run/litmus_node.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <ferry/base/offload.hpp>
#include <ferry/litmus_run/channel_queue.hpp>
#include <ferry/sim/litmus/parser.hpp>
#include <ferry/transport/node_core.hpp>

namespace ferry::litmus_run {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) {
    throw Error(result.error());
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

bool has_nic_atomics(const NodeCore& node) {
  return std::any_of(node.transports().begin(), node.transports().end(),
                     [](const auto& transport) { return transport->capabilities().atomics_nic; });
}

std::vector<std::byte> to_vector(const wire::Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

LitmusNode::LitmusNode(ActorContext& context, const BoardPlace& board, queue::Device* device)
    : context_(context), board_(value_or_throw(Board::open(board))), device_(device) {}

LitmusNode::~LitmusNode() {
  release();
}

void LitmusNode::release() noexcept {
  runs_.reset();
  targets_.clear();
  initiators_.clear();
  if (local_key_) {
    device_->deregister_local(*std::exchange(local_key_, std::nullopt));
  }
  buffer_ = {};
}

Task<BufferRef> LitmusNode::prepare(std::string text, std::uint32_t node) {
  release();
  if (notifications_) {
    co_await *notifications_;
    notifications_.reset();
  }
  auto programs = value_or_throw(litmus::parse("the program to run", text));
  program_ = std::move(programs.front());
  node_ = static_cast<litmus::NodeIndex>(node);
  layout_ = device_ == nullptr ? layout_of(program_) : layout_for_queue_pairs(program_);
  lines_ = ferry::vector<Line>(layout_.bytes() / sizeof(Line));
  RegisterOptions options;
  options.atomics = device_ != nullptr && has_nic_atomics(context_.node()) ? AtomicDomain::nic : AtomicDomain::cpu;
  options.notifications = device_ == nullptr;
  buffer_ = context_.register_memory(std::span(lines_), options);
  if (device_ == nullptr) {
    notifications_.emplace(take_notifications(buffer_.notifications()));
  } else {
    local_key_ = value_or_throw(device_->register_local(memory(), layout_.bytes()));
  }
  co_return buffer_.ref();
}

Task<std::vector<QueueAddresses>> LitmusNode::connect(std::vector<BufferRef> memory) {
  std::vector<QueueAddresses> addresses(program_.queues.size());
  std::vector<std::unique_ptr<RealQueue>> queues(program_.queues.size());
  targets_.resize(queues.size());
  initiators_.resize(queues.size());
  for (litmus::QueueIndex index = 0; index < queues.size(); ++index) {
    const litmus::Queue& queue = program_.queues[index];
    const BufferRef& remote = memory.at(queue.to);
    if (device_ != nullptr) {
      queues[index] = connect_queue_pair(index, remote, addresses[index]);
    } else if (queue.from == node_) {
      // A first read opens the channel: what is posted before there is one would wait for it together.
      litmus::Value ignored = 0;
      auto read = remote.subrange(0, sizeof ignored).read_into(std::span(&ignored, 1));
      co_await read;
      queues[index] = std::make_unique<ChannelQueue>(program_, index, layout_, board_, this->memory(), remote);
    }
  }
  runs_ = std::make_unique<NodeRuns>(program_, node_, layout_, board_, this->memory(), std::move(queues));
  co_return addresses;
}

// The ends of it that are this node's: none, one, or both.
std::unique_ptr<RealQueue> LitmusNode::connect_queue_pair(litmus::QueueIndex index, const BufferRef& remote,
                                                          QueueAddresses& addresses) {
  const litmus::Queue& queue = program_.queues[index];
  if (queue.to == node_) {
    targets_[index] = value_or_throw(QueuePairTarget::create(board_, *device_));
    addresses.owner = to_vector(targets_[index]->queue_pair().address());
  }
  if (queue.from != node_) {
    return nullptr;
  }
  const QueuePairQueue::Place place{
      device_, {memory(), *local_key_}, value_or_throw(device_->remote_address(remote.region(), 0))};
  auto made = value_or_throw(QueuePairQueue::create(program_, index, layout_, board_, place));
  initiators_[index] = &made->queue_pair();
  addresses.initiator = to_vector(initiators_[index]->address());
  return made;
}

void LitmusNode::join(const std::vector<QueueAddresses>& addresses) {
  for (std::size_t index = 0; device_ != nullptr && index < program_.queues.size(); ++index) {
    if (targets_[index] != nullptr) {
      value_or_throw(targets_[index]->queue_pair().connect(addresses.at(index).initiator));
    }
    if (initiators_[index] != nullptr) {
      value_or_throw(initiators_[index]->connect(addresses.at(index).owner));
    }
  }
}

Task<SightingsReport> LitmusNode::run(RunOrder order) {
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
Task<void> LitmusNode::take_notifications(NotificationStream stream) {
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
