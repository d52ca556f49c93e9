#include <ferry/verbs/verbs_queue_pair.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/verbs/verbs_device.hpp>
#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {
namespace {

using queue::Verb;
using queue::WorkStatus;

// The lower half of a wr_id: position, and whether it is a receive's.
constexpr std::uint32_t kReceive = 0x80000000U;

ibv_wr_opcode opcode_of(const queue::WorkRequest& request) noexcept {
  switch (request.verb) {
    case Verb::put:
      return request.has_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    case Verb::get:
      return IBV_WR_RDMA_READ;
    case Verb::fetch_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Verb::compare_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Verb::send:
    case Verb::flush:
      break;
  }
  return request.has_immediate ? IBV_WR_SEND_WITH_IMM : request.invalidates != 0 ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
}

// A get takes as many numbers as its answer has packets.
std::uint32_t packets_of(const queue::WorkRequest& request, std::uint32_t packet_bytes) noexcept {
  const bool is_atomic = request.verb == Verb::fetch_add || request.verb == Verb::compare_swap;
  return is_atomic ? 1U
                   : static_cast<std::uint32_t>(
                         std::max<std::uint64_t>(1, (request.length + packet_bytes - 1) / packet_bytes));
}

WorkStatus status_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return WorkStatus::success;
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
      return WorkStatus::remote_refusal;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_MW_BIND_ERR:
      return WorkStatus::local_refusal;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return WorkStatus::receiver_not_ready;
    case IBV_WC_WR_FLUSH_ERR:
      return WorkStatus::flushed;
    default:
      // Nothing is known of what the other end did. IBV_WC_LOC_QP_OP_ERR too: soft-RoCE says so where its port is down.
      return WorkStatus::unreachable;
  }
}

}  // namespace

bool PostedIds::take(std::uint32_t position, Entry& entry) noexcept {
  const std::uint64_t ahead = (position - static_cast<std::uint32_t>(first_)) & kMask;
  if (ahead >= size()) {
    return false;
  }
  first_ += ahead;
  entry = take_first();
  return true;
}

VerbsQueuePair::VerbsQueuePair(VerbsDevice& device, Qp qp, const queue::QueuePairOptions& options,
                               queue::QueueEvents& events, std::uint32_t serial, std::uint32_t packet)
    : device_(device),
      options_(options),
      events_(events),
      serial_(serial),
      qp_(std::move(qp)),
      own_(device.address_of(qp_.get()->qp_num, packet)),
      requests_(options.requests),
      receives_(options.receives) {
  teller_->queue = this;
}

VerbsQueuePair::~VerbsQueuePair() {
  device_.remove(*this);
  std::unique_lock lock(teller_->mutex);
  teller_->queue = nullptr;
  const auto here = std::this_thread::get_id();
  teller_->idle.wait(lock, [&] { return teller_->teller == std::thread::id() || teller_->teller == here; });
}

Result<void> VerbsQueuePair::connect(wire::ByteView bytes) {
  const auto other = decode_queue_address(bytes);
  if (!other) {
    return other.error();
  }
  const std::lock_guard lock(mutex_);
  if (is_connected_ || is_stopped_) {
    return Failure(errc::invalid_argument, "a queue pair is connected once");
  }
  auto connected = qp_.connect(own_, *other, device_.options(), own_.reads, options_.endless_rnr_retry);
  is_connected_ = static_cast<bool>(connected);
  next_packet_ = own_.packet;
  return connected;
}

Result<void> VerbsQueuePair::check(std::span<const queue::WorkRequest> requests) const {
  if (!is_connected_) {
    return Failure(errc::invalid_argument, "the queue pair is not connected");
  }
  if (requests.size() > requests_.room()) {
    return Failure(errc::resource_exhausted, fmt::format("{} requests are posted; the queue pair takes {} at most",
                                                         requests_.size(), options_.requests));
  }
  for (const queue::WorkRequest& request : requests) {
    if (request.length > device_.limits().message) {
      return Failure(errc::invalid_argument, fmt::format("a request of {} bytes; the device takes {} at most",
                                                         request.length, device_.limits().message));
    }
    if (request.verb == Verb::flush) {
      return Failure(errc::unsupported, "the device has no flushes");
    }
  }
  return {};
}

void VerbsQueuePair::prepare(const queue::WorkRequest& request, ibv_send_wr& work, ibv_sge& piece,
                             bool is_signaled) const noexcept {
  work = {};
  work.opcode = opcode_of(request);
  work.send_flags = (is_signaled ? unsigned{IBV_SEND_SIGNALED} : 0U) | (request.fenced ? unsigned{IBV_SEND_FENCE} : 0U);
  if (request.length > 0) {
    piece = {reinterpret_cast<std::uintptr_t>(request.local), static_cast<std::uint32_t>(request.length),
             request.local_key};
    work.sg_list = &piece;
    work.num_sge = 1;
    const bool is_sent = request.verb == Verb::put || request.verb == Verb::send;
    if (is_sent && request.length <= device_.limits().inline_bytes) {
      work.send_flags |= IBV_SEND_INLINE;
    }
  }
  if (request.has_immediate) {
    work.imm_data = htonl(request.immediate);
  } else if (request.invalidates != 0) {
    work.invalidate_rkey = request.invalidates;
  }
  if (request.verb == Verb::fetch_add || request.verb == Verb::compare_swap) {
    work.wr.atomic.remote_addr = request.remote.address;
    work.wr.atomic.rkey = request.remote.key;
    work.wr.atomic.compare_add = request.verb == Verb::fetch_add ? request.operand : request.expected;
    work.wr.atomic.swap = request.operand;
  } else {
    work.wr.rdma.remote_addr = request.remote.address;
    work.wr.rdma.rkey = request.remote.key;
  }
}

Result<void> VerbsQueuePair::post(std::span<const queue::WorkRequest> requests) {
  const std::lock_guard lock(mutex_);
  if (auto checked = check(requests); !checked || requests.empty()) {
    return checked;
  }
  const std::uint32_t packet_before = next_packet_;
  works_.resize(requests.size());
  pieces_.resize(requests.size());
  for (std::size_t at = 0; at < requests.size(); ++at) {
    // Some must be told of, or their places are never free.
    const bool is_signaled = requests[at].signaled || ++silent_ >= std::max<std::size_t>(options_.requests / 2, 1);
    silent_ = is_signaled ? 0 : silent_;
    prepare(requests[at], works_[at], pieces_[at], is_signaled);
    const PostedIds::Entry entry{.id = requests[at].id,
                                 .is_told = requests[at].signaled,
                                 .packet = next_packet_,
                                 .packets = packets_of(requests[at], qp_.packet_bytes())};
    next_packet_ = (next_packet_ + entry.packets) & QueueAddress::kNumberMask;
    works_[at].wr_id = (std::uint64_t{serial_} << 32) | requests_.push(entry);
    works_[at].next = at + 1 < requests.size() ? &works_[at + 1] : nullptr;
  }
  ibv_send_wr* refused = nullptr;
  const int error = qp_.calls().post_send(qp_.get(), works_.data(), &refused);
  if (error == 0) {
    return {};
  }
  const auto taken = refused == nullptr ? std::size_t{0} : static_cast<std::size_t>(refused - works_.data());
  if (taken == 0) {
    requests_.retract(requests.size());
    next_packet_ = packet_before;
    return verbs_failure(error, "ibv_post_send", device_.name(), errc::invalid_argument);
  }
  // The device has some of them and cannot give them back: all of them end as if it had failed behind those.
  unposted_ += requests.size() - taken;
  stop_locked();
  device_.look_after(*this);
  return {};
}

Result<void> VerbsQueuePair::post_receive(std::uint64_t id, std::byte* local, std::size_t length,
                                          std::uint32_t local_key) {
  const std::lock_guard lock(mutex_);
  if (receives_.room() == 0) {
    return Failure(errc::resource_exhausted,
                   fmt::format("{} receives are posted, as many as the queue pair takes", options_.receives));
  }
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(local), static_cast<std::uint32_t>(length), local_key};
  ibv_recv_wr work{};
  work.wr_id = (std::uint64_t{serial_} << 32) | kReceive | receives_.push({.id = id});
  work.sg_list = &piece;
  work.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  if (const int error = qp_.calls().post_recv(qp_.get(), &work, &refused); error != 0) {
    receives_.retract(1);
    return verbs_failure(error, "ibv_post_recv", device_.name(), errc::invalid_argument);
  }
  return {};
}

void VerbsQueuePair::stop_locked() noexcept {
  if (!is_stopped_) {
    is_stopped_ = true;
    was_in_error_ = qp_.stop();
  }
}

void VerbsQueuePair::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stop_locked();
}

bool VerbsQueuePair::has_refused() const noexcept {
  const std::lock_guard lock(mutex_);
  return is_stopped_ && was_in_error_ && !has_failed_ && !is_fatal_;
}

std::optional<std::uint32_t> VerbsQueuePair::progress() const noexcept {
  const std::lock_guard lock(mutex_);
  return is_stopped_ && is_connected_ && device_.tells_progress() ? qp_.expected_packet() : std::nullopt;
}

queue::Acceptance VerbsQueuePair::acceptance(std::uint64_t id, std::uint32_t progress) const noexcept {
  using queue::Acceptance;
  const std::lock_guard lock(mutex_);
  Acceptance found = Acceptance::whole;
  const auto look_at = [&](const PostedIds::Entry& entry) {
    if (entry.id == id) {
      // Numbers of packets have 24 bits, and less than half of them are under way.
      const std::uint32_t ahead = (progress - entry.packet) & QueueAddress::kNumberMask;
      found = ahead == 0 || ahead > QueueAddress::kNumberMask / 2 ? Acceptance::none
              : ahead < entry.packets                             ? Acceptance::part
                                                                  : Acceptance::whole;
    }
  };
  requests_.for_each(look_at);
  std::for_each(failed_.begin(), failed_.end(), look_at);
  return found;
}

void VerbsQueuePair::note_fatal() noexcept {
  const std::lock_guard lock(mutex_);
  is_fatal_ = true;
}

void VerbsQueuePair::complete(const ibv_wc& completion) noexcept {
  const auto position = static_cast<std::uint32_t>(completion.wr_id);
  queue::WorkCompletion told;
  told.is_receive = (position & kReceive) != 0;
  told.status = status_of(completion.status);
  told.vendor_code = completion.status == IBV_WC_SUCCESS ? 0 : completion.vendor_err;
  PostedIds::Entry entry;
  {
    const std::lock_guard lock(mutex_);
    PostedIds& posted = told.is_receive ? receives_ : requests_;
    if (!posted.take(position & PostedIds::kMask, entry)) {
      return;
    }
    has_failed_ |= told.status != WorkStatus::success && told.status != WorkStatus::flushed;
    if (!told.is_receive && told.status != WorkStatus::success) {
      failed_.push_back(entry);
    }
  }
  if (!entry.is_told && told.status == WorkStatus::success) {
    return;
  }
  told.id = entry.id;
  if (told.is_receive && told.status == WorkStatus::success) {
    told.has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
    told.immediate = told.has_immediate ? ntohl(completion.imm_data) : 0;
    told.length = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? 0 : completion.byte_len;
  }
  events_.on_completion(*this, told);
}

// Those come last: what the device had taken ends by itself, flushed.
bool VerbsQueuePair::complete_unposted() noexcept {
  for (;;) {
    queue::WorkCompletion told;
    told.status = WorkStatus::flushed;
    {
      const std::lock_guard lock(mutex_);
      if (unposted_ == 0 || requests_.size() > unposted_) {
        return unposted_ == 0;
      }
      --unposted_;
      failed_.push_back(requests_.take_first());
      told.id = failed_.back().id;
    }
    events_.on_completion(*this, told);
  }
}

void VerbsQueuePair::lose(const Failure& why) noexcept {
  note_fatal();
  stop();
  events_.on_queue_lost(*this, why);
}

}  // namespace ferry::verbs
