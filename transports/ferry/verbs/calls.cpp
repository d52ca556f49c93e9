#include <ferry/verbs/calls.hpp>

namespace ferry::verbs {

const Calls& library_calls() noexcept {
  // Lambdas where the library has macros, inline functions or more parameters.
  static const Calls calls{
      .get_device_list = &ibv_get_device_list,
      .free_device_list = &ibv_free_device_list,
      .open_device = &ibv_open_device,
      .close_device = &ibv_close_device,
      .query_device = &ibv_query_device,
      .query_port = [](ibv_context* context, std::uint8_t port,
                       ibv_port_attr* attributes) noexcept { return ibv_query_port(context, port, attributes); },
      .query_gid_table = [](ibv_context* context, ibv_gid_entry* entries,
                            std::size_t count) noexcept { return ibv_query_gid_table(context, entries, count, 0); },
      .get_async_event = &ibv_get_async_event,
      .ack_async_event = &ibv_ack_async_event,
      .alloc_pd = &ibv_alloc_pd,
      .dealloc_pd = &ibv_dealloc_pd,
      .reg_mr_iova =
          [](ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, int access) noexcept {
            return ibv_reg_mr_iova(domain, address, length, iova, static_cast<unsigned>(access));
          },
      .dereg_mr = &ibv_dereg_mr,
      .create_comp_channel = &ibv_create_comp_channel,
      .destroy_comp_channel = &ibv_destroy_comp_channel,
      .get_cq_event = &ibv_get_cq_event,
      .ack_cq_events = &ibv_ack_cq_events,
      .create_cq = &ibv_create_cq,
      .destroy_cq = &ibv_destroy_cq,
      .poll_cq = &ibv_poll_cq,
      .req_notify_cq = &ibv_req_notify_cq,
      .create_qp = &ibv_create_qp,
      .destroy_qp = &ibv_destroy_qp,
      .modify_qp = &ibv_modify_qp,
      .query_qp = &ibv_query_qp,
      .post_send = &ibv_post_send,
      .post_recv = &ibv_post_recv,
  };
  return calls;
}

}  // namespace ferry::verbs
