// Router defaults: which transports a node has, in which order of preference. "auto" is local, shm, tcp.
//
// Per peer, core's Peer then takes the first over which a channel can be made, and explains itself (Peer::explain).
#pragma once

#include <string_view>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/memory/region.hpp>

namespace ferry {

// invalid_argument names the word that is no transport and those that are.
Result<std::vector<TransportId>> parse_transports(std::string_view text);

}  // namespace ferry
