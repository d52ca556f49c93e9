#include "failing_calls.hpp"

#include <cerrno>

namespace ferry::verbs::test {
namespace {

std::atomic<Kind> planned{Kind::none};
std::atomic<int> until{0};
std::atomic<bool> failed{false};
std::atomic<int> objects{0};

bool fails(Kind kind) noexcept {
  if (planned.load() != kind || until.fetch_sub(1) != 1) {
    return false;
  }
  failed = true;
  errno = ENOMEM;
  return true;
}

template <class T>
T* made(T* object) noexcept {
  objects += object == nullptr ? 0 : 1;
  return object;
}

int unmade(int error) noexcept {
  objects -= error == 0 ? 1 : 0;
  return error;
}

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  static constexpr std::array<std::string_view, kKinds + 1> kNames{
      "get_device_list", "open_device", "query_device", "query_port", "query_gid_table", "alloc_pd",
      "reg_mr",          "dereg_mr",    "comp_channel", "create_cq",  "poll_cq",         "req_notify_cq",
      "create_qp",       "modify_qp",   "query_qp",     "post_send",  "post_recv",       "none"};
  return kNames[static_cast<std::size_t>(kind)];
}

void fail(Kind kind, int nth) noexcept {
  failed = false;
  until = nth;
  planned = kind;
}

bool has_failed() noexcept {
  return failed;
}

int alive() noexcept {
  return objects;
}

const Calls& failing_calls() noexcept {
  static const Calls calls = [] {
    static const Calls& real = library_calls();
    Calls table = real;
    table.get_device_list = [](int* count) {
      return fails(Kind::get_device_list) ? nullptr : real.get_device_list(count);
    };
    table.open_device = [](ibv_device* device) {
      return fails(Kind::open_device) ? nullptr : made(real.open_device(device));
    };
    table.close_device = [](ibv_context* context) { return unmade(real.close_device(context)); };
    table.query_device = [](ibv_context* context, ibv_device_attr* attributes) {
      return fails(Kind::query_device) ? ENOMEM : real.query_device(context, attributes);
    };
    table.query_port = [](ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) {
      return fails(Kind::query_port) ? ENOMEM : real.query_port(context, port, attributes);
    };
    table.query_gid_table = [](ibv_context* context, ibv_gid_entry* entries, std::size_t count) {
      return fails(Kind::query_gid_table) ? ssize_t{-ENOMEM} : real.query_gid_table(context, entries, count);
    };
    table.alloc_pd = [](ibv_context* context) {
      return fails(Kind::alloc_pd) ? nullptr : made(real.alloc_pd(context));
    };
    table.dealloc_pd = [](ibv_pd* domain) { return unmade(real.dealloc_pd(domain)); };
    table.reg_mr_iova = [](ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova, int access) {
      return fails(Kind::reg_mr) ? nullptr : made(real.reg_mr_iova(domain, address, length, iova, access));
    };
    table.dereg_mr = [](ibv_mr* region) {
      const bool is_failure = fails(Kind::dereg_mr);
      const int error = unmade(real.dereg_mr(region));
      return is_failure ? EBUSY : error;
    };
    table.create_comp_channel = [](ibv_context* context) {
      return fails(Kind::create_comp_channel) ? nullptr : made(real.create_comp_channel(context));
    };
    table.destroy_comp_channel = [](ibv_comp_channel* channel) { return unmade(real.destroy_comp_channel(channel)); };
    table.create_cq = [](ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int vector) {
      return fails(Kind::create_cq) ? nullptr : made(real.create_cq(context, entries, user, channel, vector));
    };
    table.destroy_cq = [](ibv_cq* queue) { return unmade(real.destroy_cq(queue)); };
    table.poll_cq = [](ibv_cq* queue, int count, ibv_wc* completions) {
      return fails(Kind::poll_cq) ? -1 : real.poll_cq(queue, count, completions);
    };
    table.req_notify_cq = [](ibv_cq* queue, int solicited_only) {
      return fails(Kind::req_notify_cq) ? ENOMEM : real.req_notify_cq(queue, solicited_only);
    };
    table.create_qp = [](ibv_pd* domain, ibv_qp_init_attr* attributes) {
      return fails(Kind::create_qp) ? nullptr : made(real.create_qp(domain, attributes));
    };
    table.destroy_qp = [](ibv_qp* queue) { return unmade(real.destroy_qp(queue)); };
    table.modify_qp = [](ibv_qp* queue, ibv_qp_attr* attributes, int mask) {
      return fails(Kind::modify_qp) ? ENOMEM : real.modify_qp(queue, attributes, mask);
    };
    table.query_qp = [](ibv_qp* queue, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* initial) {
      return fails(Kind::query_qp) ? ENOMEM : real.query_qp(queue, attributes, mask, initial);
    };
    table.post_send = [](ibv_qp* queue, ibv_send_wr* requests, ibv_send_wr** refused) {
      if (fails(Kind::post_send)) {
        *refused = requests;
        return ENOMEM;
      }
      return real.post_send(queue, requests, refused);
    };
    table.post_recv = [](ibv_qp* queue, ibv_recv_wr* receives, ibv_recv_wr** refused) {
      if (fails(Kind::post_recv)) {
        *refused = receives;
        return ENOMEM;
      }
      return real.post_recv(queue, receives, refused);
    };
    return table;
  }();
  return calls;
}

}  // namespace ferry::verbs::test
