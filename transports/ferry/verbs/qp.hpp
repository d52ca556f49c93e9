// Qp: a reliable connected queue pair of a device (ibv_qp) and its way through its states. Internal.
//
// Owner: a VerbsQueuePair. Keeps its ProtectionDomain and CompletionQueue. Once it is destroyed the device touches no
// memory for it.
#pragma once

#include <memory>
#include <optional>

#include <ferry/base/result.hpp>
#include <ferry/queue/queue_pair.hpp>
#include <ferry/verbs/completion_queue.hpp>
#include <ferry/verbs/options.hpp>
#include <ferry/verbs/protection_domain.hpp>
#include <ferry/verbs/queue_address.hpp>

namespace ferry::verbs {

class Qp {
 public:
  // In INIT: receives may be posted. inline_bytes: of a request, copied at the post. resource_exhausted, …
  static Result<Qp> create(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionQueue> completions,
                           const queue::QueuePairOptions& options, const VerbsOptions& wire,
                           std::uint32_t inline_bytes);
  Qp(Qp&& other) noexcept;
  Qp& operator=(Qp&&) = delete;
  ~Qp();

  ibv_qp* get() const noexcept { return queue_; }
  const Calls& calls() const noexcept { return domain_->calls(); }

  // To RTS. reads: gets and atomics that this end has under way, and accepts, at most. invalid_argument where both ends
  // do not fit each other.
  Result<void> connect(const QueueAddress& own, const QueueAddress& other, const VerbsOptions& wire, std::uint8_t reads,
                       bool endless_rnr_retry);

  // To ERR. True if it was there already, by itself.
  bool stop() noexcept;

  // After stop(), for soft-RoCE: the number of the packet that it expected next from the other end, for good: the
  // device does nothing for the queue pair any more, its receives are gone. None: it does not say.
  std::optional<std::uint32_t> expected_packet() noexcept;

  // Bytes of a packet; after connect().
  std::uint32_t packet_bytes() const noexcept { return packet_bytes_; }

 private:
  Qp(std::shared_ptr<ProtectionDomain> domain, std::shared_ptr<CompletionQueue> completions, ibv_qp* queue,
     std::size_t reserved) noexcept;
  Failure refused(int error, std::string_view state) const;

  std::shared_ptr<ProtectionDomain> domain_;
  std::shared_ptr<CompletionQueue> completions_;
  ibv_qp* queue_;
  std::size_t reserved_;  // of the completion queue
  std::uint32_t packet_bytes_ = 256;
};

}  // namespace ferry::verbs
