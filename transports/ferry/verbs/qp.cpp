#include <ferry/verbs/qp.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {
namespace {

constexpr std::uint8_t kEndlessRnrRetry = 7;
constexpr std::uint8_t kRnrRetry = 3;
// rdma_rxe takes a retry_cnt of 7 as endless. It sends no word of a read that it refuses half-way, so that the
// requester would try for ever.
constexpr std::uint8_t kSoftRoceRetries = 6;

ibv_mtu path_mtu(const QueueAddress& own, const QueueAddress& other, std::uint16_t wanted) noexcept {
  int mtu = std::min(own.mtu, other.mtu);
  for (int code = IBV_MTU_256; wanted != 0 && code <= IBV_MTU_4096; ++code) {
    if ((128 << code) == wanted) {
      mtu = std::min(mtu, code);
    }
  }
  return static_cast<ibv_mtu>(mtu);
}

}  // namespace

Result<Qp> Qp::create(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionQueue> completions,
                      const queue::QueuePairOptions& options, const VerbsOptions& wire, std::uint32_t inline_bytes) {
  ibv_qp_init_attr initial{};
  initial.send_cq = completions->get();
  initial.recv_cq = completions->get();
  initial.qp_type = IBV_QPT_RC;
  initial.cap.max_send_wr = static_cast<std::uint32_t>(options.requests);
  initial.cap.max_recv_wr = static_cast<std::uint32_t>(options.receives);
  initial.cap.max_send_sge = 1;
  initial.cap.max_recv_sge = 1;
  initial.cap.max_inline_data = inline_bytes;
  const Context& context = domain->context();
  ibv_qp* const queue = domain->calls().create_qp(domain->get(), &initial);
  if (queue == nullptr) {
    const int error = errno;
    completions->release(options.requests + options.receives);
    return verbs_failure(error, "ibv_create_qp", context.name(), errc::resource_exhausted);
  }
  Qp made(std::move(domain), std::move(completions), queue, options.requests + options.receives);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = context.port_num();
  attributes.pkey_index = wire.pkey_index;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (context.attributes().atomic_cap != IBV_ATOMIC_NONE) {
    attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  if (const int error = made.calls().modify_qp(queue, &attributes,
                                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
      error != 0) {
    return made.refused(error, "INIT");
  }
  return made;
}

Qp::Qp(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionQueue> completions, ibv_qp* queue,
       std::size_t reserved) noexcept
    : domain_(std::move(domain)), completions_(std::move(completions)), queue_(queue), reserved_(reserved) {}

Qp::Qp(Qp&& other) noexcept
    : domain_(std::move(other.domain_)),
      completions_(std::move(other.completions_)),
      queue_(std::exchange(other.queue_, nullptr)),
      reserved_(other.reserved_),
      packet_bytes_(other.packet_bytes_) {}

Qp::~Qp() {
  if (queue_ != nullptr) {
    calls().destroy_qp(queue_);
    completions_->release(reserved_);
  }
}

Failure Qp::refused(int error, std::string_view state) const {
  return verbs_failure(error, fmt::format("ibv_modify_qp to {}", state), domain_->context().name(),
                       errc::resource_exhausted);
}

Result<void> Qp::connect(const QueueAddress& own, const QueueAddress& other, const VerbsOptions& wire,
                         std::uint8_t reads, bool endless_rnr_retry) {
  if (own.is_ethernet != other.is_ethernet || own.gid_type != other.gid_type) {
    return Failure(errc::invalid_argument,
                   fmt::format("this end speaks {} over {}, the other end {} over {}: choose devices of one kind, or "
                               "entries of one kind by gid_index",
                               to_string(own.gid_type), own.is_ethernet ? "Ethernet" : "InfiniBand",
                               to_string(other.gid_type), other.is_ethernet ? "Ethernet" : "InfiniBand"));
  }
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = path_mtu(own, other, wire.mtu);
  packet_bytes_ = 128U << static_cast<unsigned>(attributes.path_mtu);
  attributes.dest_qp_num = other.queue_pair;
  attributes.rq_psn = other.packet;
  attributes.max_dest_rd_atomic = std::max<std::uint8_t>(reads, 1);
  attributes.min_rnr_timer = wire.min_rnr_timer;
  attributes.ah_attr.port_num = domain_->context().port_num();
  attributes.ah_attr.dlid = other.lid;
  attributes.ah_attr.sl = wire.sl;
  if (scope_of(other.gid) != GidScope::none) {
    attributes.ah_attr.is_global = 1;
    std::copy(other.gid.begin(), other.gid.end(), attributes.ah_attr.grh.dgid.raw);
    attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(domain_->context().gid().index);
    attributes.ah_attr.grh.hop_limit = wire.hop_limit;
    attributes.ah_attr.grh.traffic_class = wire.traffic_class;
  }
  constexpr int kReceiving = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const int error = calls().modify_qp(queue_, &attributes, kReceiving); error != 0) {
    return refused(error, "RTR");
  }
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = wire.timeout;
  attributes.retry_cnt =
      domain_->context().is_soft_roce() ? std::min(wire.retry_cnt, kSoftRoceRetries) : wire.retry_cnt;
  attributes.rnr_retry = endless_rnr_retry ? kEndlessRnrRetry : kRnrRetry;
  attributes.sq_psn = own.packet;
  attributes.max_rd_atomic = std::max<std::uint8_t>(std::min(reads, other.reads), 1);
  constexpr int kSending =
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (const int error = calls().modify_qp(queue_, &attributes, kSending); error != 0) {
    return refused(error, "RTS");
  }
  return {};
}

bool Qp::stop() noexcept {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  const bool is_known = calls().query_qp(queue_, &attributes, IBV_QP_STATE, &initial) == 0;
  const bool was_in_error = is_known && (attributes.qp_state == IBV_QPS_ERR || attributes.qp_state == IBV_QPS_SQE);
  attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  calls().modify_qp(queue_, &attributes, IBV_QP_STATE);
  return was_in_error;
}

// In ERR the device may still be executing a packet that it had begun; the way to RESET waits for that, and leaves the
// number alone (drivers/infiniband/sw/rxe: rxe_qp_reset).
std::optional<std::uint32_t> Qp::expected_packet() noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  if (calls().modify_qp(queue_, &attributes, IBV_QP_STATE) != 0) {
    return std::nullopt;
  }
  attributes = {};
  ibv_qp_init_attr initial{};
  if (calls().query_qp(queue_, &attributes, IBV_QP_RQ_PSN, &initial) != 0) {
    return std::nullopt;
  }
  return attributes.rq_psn;
}

}  // namespace ferry::verbs
