// failing_calls: libibverbs' functions, of which the Nth call of one kind fails in place of being made; and how many
// objects are alive that they made.
//
// One plan at a time for the whole program. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include <ferry/verbs/calls.hpp>

namespace ferry::verbs::test {

enum class Kind : unsigned char {
  get_device_list,
  open_device,
  query_device,
  query_port,
  query_gid_table,
  alloc_pd,
  reg_mr,
  dereg_mr,  // is made, and tells an error all the same
  create_comp_channel,
  create_cq,
  poll_cq,
  req_notify_cq,
  create_qp,
  modify_qp,
  query_qp,
  post_send,
  post_recv,
  none,
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::none);
std::string_view to_string(Kind kind) noexcept;

const Calls& failing_calls() noexcept;

// From now on, the nth call (from 1) of that kind fails, and all others are made.
void fail(Kind kind, int nth) noexcept;
// Whether it has.
bool has_failed() noexcept;
// Devices, domains, regions, channels, queues that were made and not unmade.
int alive() noexcept;

}  // namespace ferry::verbs::test
