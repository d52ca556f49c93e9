// Calls: every function of libibverbs that this transport uses, as a table, so that a test can put others in: each kind
// of failure is reachable that way. Nothing else in transports/ferry/verbs calls libibverbs. Internal.
//
// One member per call, by the name of the manual page without its prefix. Any thread; the table outlives whoever uses
// it.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace ferry::verbs {

struct Calls {
  ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(ibv_device** list);
  ibv_context* (*open_device)(ibv_device* device);
  int (*close_device)(ibv_context* context);
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes);
  int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes);
  ssize_t (*query_gid_table)(ibv_context* context, ibv_gid_entry* entries, std::size_t count);
  int (*get_async_event)(ibv_context* context, ibv_async_event* event);
  void (*ack_async_event)(ibv_async_event* event);

  ibv_pd* (*alloc_pd)(ibv_context* context);
  int (*dealloc_pd)(ibv_pd* domain);

  ibv_mr* (*reg_mr_iova)(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, int access);
  int (*dereg_mr)(ibv_mr* region);

  ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
  int (*destroy_comp_channel)(ibv_comp_channel* channel);
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** queue, void** context);
  void (*ack_cq_events)(ibv_cq* queue, unsigned count);

  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int vector);
  int (*destroy_cq)(ibv_cq* queue);
  int (*poll_cq)(ibv_cq* queue, int count, ibv_wc* completions);
  int (*req_notify_cq)(ibv_cq* queue, int solicited_only);

  ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes);
  int (*destroy_qp)(ibv_qp* queue);
  int (*modify_qp)(ibv_qp* queue, ibv_qp_attr* attributes, int mask);
  int (*query_qp)(ibv_qp* queue, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial);
  int (*post_send)(ibv_qp* queue, ibv_send_wr* requests, ibv_send_wr** refused);
  int (*post_recv)(ibv_qp* queue, ibv_recv_wr* receives, ibv_recv_wr** refused);
};

// libibverbs itself.
const Calls& library_calls() noexcept;

}  // namespace ferry::verbs
