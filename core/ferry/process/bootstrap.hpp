// Bootstrap: what a parent tells a process that it starts, over an inherited descriptor, never in argv or environment.
//
// A dumb value with a MessagePack encoding (wire/codec). The secret in it is the job's: whoever reads it may join.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/transport/address.hpp>
#include <ferry/transport/node_core.hpp>
#include <ferry/wire/bytes.hpp>

namespace ferry {

struct Bootstrap {
  JobSecret secret{};
  ProcessId self{};        // the child's identity, chosen by the parent
  std::string name;        // "gpus/2": for people
  Contact parent{};        // where to say hello
  std::string transports;  // the node option, as text: "auto", "tcp", …
  NodeLimits limits{};
};

wire::Bytes encode_bootstrap(const Bootstrap& bootstrap);
Result<Bootstrap> decode_bootstrap(wire::ByteView bytes);

}  // namespace ferry
