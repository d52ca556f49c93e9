// VerbsOptions: which RDMA device, port and address a node uses, and how its queue pairs behave on the wire. Names are
// those of the verbs manual pages (ibv_modify_qp, ibv_query_gid).
//
// A dumb value; part of every build, with or without rdma-core.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::verbs {

struct VerbsOptions {
  std::string device;         // "mlx5_0", "rxe0"; empty: the first with an active port
  std::uint8_t port_num = 0;  // from 1; 0: the first active one
  int gid_index = -1;         // in the port's GID table; -1: RoCE v2 with a routable address first (README.md)

  std::uint8_t sl = 0;             // service level, 0 to 15
  std::uint8_t traffic_class = 0;  // of packets with a global header (RoCE: DSCP and ECN)
  std::uint8_t hop_limit = 64;
  std::uint16_t pkey_index = 0;
  std::uint16_t mtu = 0;  // bytes, 256 to 4096, a power of two; 0: the port's

  std::uint8_t timeout = 14;        // until a request is sent again: 4.096 us * 2^timeout; 1 to 31
  std::uint8_t retry_cnt = 7;       // how often, 0 to 7; then the peer counts as unreachable by this queue pair
  std::uint8_t min_rnr_timer = 12;  // code of 0.64 ms: how long a sender waits for a receive; 0 to 31
  std::uint8_t max_rd_atomic = 0;   // reads and atomics under way on a queue pair; 0: as many as both devices can

  // What the device promises about the placement of requests of one queue pair. No query tells.
  enum class Order : std::uint8_t {
    automatic,  // strict for devices known to be so (soft-RoCE), else unordered
    strict,
    unordered,
  };
  Order order = Order::automatic;
};

}  // namespace ferry::verbs
