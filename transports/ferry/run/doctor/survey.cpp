#include <ferry/run/doctor/survey.hpp>

#include <sys/resource.h>

#include <fmt/format.h>

#include <ferry/run/node.hpp>
#include <ferry/run/router.hpp>

namespace ferry::doctor {
namespace {

// A device pins what it may reach.
constexpr rlim_t kEnoughLocked = rlim_t{1} << 30;

void remark_on_locked_memory(Finding& finding) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < kEnoughLocked) {
    finding.remarks.push_back(
        fmt::format("unless it may exceed limits (CAP_IPC_LOCK), this process can register {} bytes in all: raise the "
                    "limit of locked memory (ulimit -l unlimited, LimitMEMLOCK=infinity in a systemd unit)",
                    limit.rlim_cur));
  }
}

Finding look_at(TransportId transport) {
  Finding finding;
  finding.transport = transport;
  try {
    NodeOptions options;
    options.transports = std::string(to_string(transport));
    options.threads = 1;
    options.name = "doctor";
    Node node(options, actors<>);
    for (const auto& made : node.context().node().transports()) {
      if (made->id() == transport) {
        finding.capabilities = made->capabilities();
        finding.is_usable = true;
      }
    }
  } catch (const Error& error) {
    finding.why = fmt::format("{}: {}", to_string(error.ferry_code()), error.failure().detail());
  }
  if (transport == TransportId::verbs && finding.is_usable) {
    remark_on_locked_memory(finding);
  }
  return finding;
}

}  // namespace

std::vector<Finding> survey() {
  return {look_at(TransportId::shm), look_at(TransportId::verbs), look_at(TransportId::tcp)};
}

std::vector<std::string> automatic_order() {
  std::vector<std::string> names;
  for (const TransportId transport : parse_transports("auto").value()) {
    names.emplace_back(to_string(transport));
  }
  return names;
}

}  // namespace ferry::doctor
