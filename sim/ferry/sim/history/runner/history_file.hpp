// Reads histories from JSON lines, as README.md describes them. Of the program ferry-history; needs nlohmann-json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ferry/base/result.hpp>
#include <ferry/sim/history/linearizability.hpp>
#include <ferry/sim/history/object_models.hpp>

namespace ferry::sim {

using AnyModel = std::variant<RegisterModel, LockModel, QueueModel>;

struct HistoryFile {
  AnyModel model;
  std::vector<ObjectCall> calls;
  std::vector<std::string> keys;  // of the objects, by number
};

// name: of the file, for errors. model: what the file's first line leaves open: "register", "lock", "queue"; empty: the
// file has to say. malformed, with file, line, what was found and what was expected.
Result<HistoryFile> parse_history(std::string_view name, std::string_view text, std::string_view model = {});

Verdict judge(const HistoryFile& history, const LinearizabilityOptions& options = {});

}  // namespace ferry::sim
