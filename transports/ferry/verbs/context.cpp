#include <ferry/verbs/context.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <ferry/verbs/verbs_failure.hpp>

namespace ferry::verbs {
namespace {

std::string_view state_text(ibv_port_state state) noexcept {
  switch (state) {
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ARMED:
      return "armed: the subnet manager has not activated it";
    case IBV_PORT_INIT:
      return "initialising: no subnet manager has seen it";
    case IBV_PORT_DOWN:
      return "down: no cable, or its network interface is down";
    default:
      return "in no usable state";
  }
}

// The kernel may know devices that libibverbs cannot reach.
std::string no_device() {
  std::string names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband", ignored)) {
    names += (names.empty() ? "" : ", ") + entry.path().filename().string();
  }
  return names.empty() ? "this host has no RDMA device (soft-RoCE makes one: modprobe rdma_rxe && rdma link add rxe0 "
                         "type rxe netdev INTERFACE)"
                       : fmt::format(
                             "the kernel has {}, which libibverbs does not find: is the module ib_uverbs loaded, "
                             "its provider installed (ibverbs-providers), and /dev/infiniband there, in a "
                             "container too?",
                             names);
}

}  // namespace

Context::Context(const Calls& calls, ibv_context* context, std::string name) noexcept
    : calls_(calls), context_(context), name_(std::move(name)) {}

Context::~Context() {
  calls_.close_device(context_);
}

Result<std::shared_ptr<Context>> Context::open(const Calls& calls, const VerbsOptions& options) {
  int count = 0;
  ibv_device** const list = calls.get_device_list(&count);
  if (list == nullptr && errno == ENOSYS) {
    return Failure(errc::unsupported, no_device());
  }
  if (list == nullptr) {
    return verbs_failure(errno, "ibv_get_device_list", "this host", errc::unsupported);
  }
  std::string reasons;
  errc code = errc::unsupported;
  std::shared_ptr<Context> found;
  for (int index = 0; index < count && found == nullptr; ++index) {
    const std::string name = list[index]->name;
    if (!options.device.empty() && name != options.device) {
      reasons += fmt::format("{}{} is not the one asked for", reasons.empty() ? "" : "; ", name);
      continue;
    }
    auto tried = try_device(calls, list[index], options);
    if (tried) {
      found = std::move(*tried);
    } else {
      code = tried.error().code();
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name, tried.error().detail());
    }
  }
  calls.free_device_list(list);
  if (found != nullptr) {
    return found;
  }
  return Failure(code, count == 0 ? no_device() : "no RDMA device can be used: " + reasons);
}

Result<std::shared_ptr<Context>> Context::try_device(const Calls& calls, ibv_device* device,
                                                     const VerbsOptions& options) {
  ibv_context* const opened = calls.open_device(device);
  if (opened == nullptr) {
    const int error = errno;
    Failure why = verbs_failure(error, "ibv_open_device", device->name, errc::unsupported);
    if (error == EACCES || error == EPERM) {
      why = Failure(why.code(), fmt::format("{}; this process needs read and write permission on /dev/infiniband/{}",
                                            why.detail(), device->dev_name));
    }
    return why;
  }
  auto context = std::make_shared<Context>(calls, opened, device->name);
  if (const int error = calls.query_device(opened, &context->attributes_); error != 0) {
    return verbs_failure(error, "ibv_query_device", device->name, errc::unsupported);
  }
  if (auto chosen = context->choose_port(options); !chosen) {
    return chosen.error();
  }
  if (auto chosen = context->choose_address(options); !chosen) {
    return chosen.error();
  }
  const int flags = ::fcntl(opened->async_fd, F_GETFL);
  if (flags < 0 || ::fcntl(opened->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return verbs_failure(errno, "fcntl of the asynchronous events", device->name, errc::unsupported);
  }
  return context;
}

Result<void> Context::choose_port(const VerbsOptions& options) {
  if (options.port_num > attributes_.phys_port_cnt) {
    return Failure(errc::invalid_argument,
                   fmt::format("port_num is {}; it has ports 1 to {}", options.port_num, attributes_.phys_port_cnt));
  }
  std::string states;
  for (std::uint8_t number = 1; number <= attributes_.phys_port_cnt; ++number) {
    if (options.port_num != 0 && options.port_num != number) {
      continue;
    }
    if (const int error = calls_.query_port(context_, number, &port_); error != 0) {
      return verbs_failure(error, "ibv_query_port", fmt::format("{} port {}", name_, number), errc::unsupported);
    }
    if (port_.state == IBV_PORT_ACTIVE) {
      port_num_ = number;
      return {};
    }
    states += fmt::format("{}port {} is {}", states.empty() ? "" : ", ", number, state_text(port_.state));
  }
  return Failure(errc::unsupported, states);
}

Result<void> Context::choose_address(const VerbsOptions& options) {
  if (!is_ethernet() && options.gid_index < 0) {
    return {};  // LIDs within the subnet
  }
  std::vector<ibv_gid_entry> entries(static_cast<std::size_t>(std::max(port_.gid_tbl_len, 1)) *
                                     attributes_.phys_port_cnt);
  const ssize_t count = calls_.query_gid_table(context_, entries.data(), entries.size());
  if (count < 0) {
    return verbs_failure(static_cast<int>(-count), "ibv_query_gid_table", name_, errc::unsupported);
  }
  std::vector<GidEntry> table;
  for (ssize_t at = 0; at < count; ++at) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(at)];
    if (entry.port_num == port_num_) {
      GidEntry& added = table.emplace_back(GidEntry{entry.gid_index, static_cast<GidType>(entry.gid_type), {}});
      std::copy_n(entry.gid.raw, added.gid.size(), added.gid.begin());
    }
  }
  auto chosen = choose_gid(table, options.gid_index);
  if (!chosen) {
    return Failure(chosen.error().code(), fmt::format("port {}: {}", port_num_, chosen.error().detail()));
  }
  gid_ = *chosen;
  return {};
}

std::string Context::describe() const {
  return is_ethernet() || scope_of(gid_.gid) != GidScope::none
             ? fmt::format("{} port {}, {} {}", name_, port_num_, to_string(gid_.type), to_string(gid_.gid))
             : fmt::format("{} port {}, LID {}", name_, port_num_, port_.lid);
}

}  // namespace ferry::verbs
