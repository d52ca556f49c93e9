// Context: an open RDMA device and the port of it that is used (ibv_context). Internal.
//
// Shared by all that is made of it. Any thread. Choosing is by VerbsOptions; every reason why a device is not used is
// told.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/verbs/calls.hpp>
#include <ferry/verbs/gid_choice.hpp>
#include <ferry/verbs/options.hpp>

namespace ferry::verbs {

class Context {
 public:
  // The first device and port, in the order of the system, that the options allow and that can be used.
  // unsupported where there is no device, access_denied, invalid_argument; with a reason for each that was looked at.
  static Result<std::shared_ptr<Context>> open(const Calls& calls, const VerbsOptions& options);

  Context(const Calls& calls, ibv_context* context, std::string name) noexcept;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Calls& calls() const noexcept { return calls_; }
  ibv_context* get() const noexcept { return context_; }
  const std::string& name() const noexcept { return name_; }
  const ibv_device_attr& attributes() const noexcept { return attributes_; }
  std::uint8_t port_num() const noexcept { return port_num_; }
  const ibv_port_attr& port() const noexcept { return port_; }  // when it was opened
  // Every packet carries GIDs: Ethernet, or InfiniBand across subnets.
  bool is_ethernet() const noexcept { return port_.link_layer == IBV_LINK_LAYER_ETHERNET; }
  bool is_iwarp() const noexcept { return context_->device->transport_type == IBV_TRANSPORT_IWARP; }
  // rdma_rxe, the Linux kernel's own, whose peculiarities are known.
  bool is_soft_roce() const noexcept { return attributes_.vendor_id == 0xffffff; }
  const GidEntry& gid() const noexcept { return gid_; }
  // "rxe0 port 1, RoCE v2 10.73.0.1".
  std::string describe() const;

 private:
  static Result<std::shared_ptr<Context>> try_device(const Calls& calls, ibv_device* device,
                                                     const VerbsOptions& options);
  Result<void> choose_port(const VerbsOptions& options);
  Result<void> choose_address(const VerbsOptions& options);

  const Calls& calls_;
  ibv_context* const context_;
  const std::string name_;
  ibv_device_attr attributes_{};
  std::uint8_t port_num_ = 0;
  ibv_port_attr port_{};
  GidEntry gid_{};
};

}  // namespace ferry::verbs
