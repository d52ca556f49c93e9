// Router defaults: which transports a node has, in which order of preference. "auto" is local, shm, verbs where the
// host has an RDMA device, tcp.
//
// Per peer, core's Peer then takes the first over which a channel can be made, and explains itself (Peer::explain).
#pragma once

#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

// True if this build has the transport verbs.
bool has_verbs() noexcept;

// invalid_argument names the word that is no transport and those that are.
Result<std::vector<TransportId>> parse_transports(std::string_view text);

}  // namespace ferry
