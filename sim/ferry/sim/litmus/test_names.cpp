#include <ferry/sim/litmus/test_names.hpp>

#include <fmt/format.h>

namespace ferry::sim::litmus {
namespace {

constexpr std::size_t kListed = 8;

}  // namespace

std::optional<std::uint8_t> TestNames::find(const Index& index, std::string_view name) {
  const auto found = index.find(name);
  return found == index.end() ? std::nullopt : std::optional(found->second);
}

NodeIndex TestNames::node(std::string_view name, Program& program) {
  const auto [found, is_new] = nodes.emplace(std::string(name), static_cast<NodeIndex>(program.nodes.size()));
  if (is_new) {
    program.nodes.emplace_back(name);
  }
  return found->second;
}

LocationIndex TestNames::any_location(LineReader& reader) const {
  const auto found = find(locations, reader.peek().text);
  if (!found) {
    reader.refuse(quoted(reader.peek().text) + ", which no init line declares",
                  "a declared location (" + listed(locations) + ")");
  }
  reader.take();
  return found.value_or(0);
}

LocationIndex TestNames::location_on(LineReader& reader, const Program& program, NodeIndex node,
                                     std::string_view role) const {
  if (reader.is_refused()) {
    return 0;
  }
  const std::string expected = fmt::format("{}, a location on node {}", role, program.nodes[node]);
  if (reader.peek().kind != Token::Kind::location) {
    reader.refuse_next(expected);
    return 0;
  }
  const std::string_view text = reader.peek().text;
  const LocationIndex location = any_location(reader);
  if (!reader.is_refused() && program.locations[location].node != node) {
    reader.refuse(quoted(text), expected);
  }
  return location;
}

QueueIndex TestNames::queue(LineReader& reader) const {
  const std::string_view name = reader.name("a queue");
  const auto found = find(queues, name);
  if (!found && !reader.is_refused()) {
    reader.refuse(quoted(name), "a declared queue (" + listed(queues) + ")");
  }
  return found.value_or(0);
}

std::string listed(const TestNames::Index& index) {
  if (index.empty()) {
    return "there is none";
  }
  std::string out;
  std::size_t count = 0;
  for (const auto& [name, value] : index) {
    if (++count > kListed) {
      return out + ", …";
    }
    out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

}  // namespace ferry::sim::litmus
