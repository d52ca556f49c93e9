// History: the calls on shared objects in the order in which they were made, recorded while a program runs, and written
// as JSON lines that ferry-history judges too (README.md has the format).
//
//   const History::Open write = history.begin(worker, key, {.method = Method::write, .argument = {5}}, now);
//   …
//   history.end(write, {}, now);
//
// A call that is not ended stays one of unknown outcome; withdraw() is for those that provably had no effect. Owner:
// the program's checker; one thread (in a simulated world everything is).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ferry/base/time.hpp>
#include <ferry/sim/history/object_models.hpp>

namespace ferry::sim {

class History {
 public:
  using Open = std::size_t;

  Open begin(std::uint32_t caller, std::uint64_t key, ObjectInput input, TimePoint now);
  void end(Open call, ObjectOutput output, TimePoint now);
  void withdraw(Open call);

  std::size_t size() const noexcept { return calls_.size(); }

  // For check_linearizable, without those that were withdrawn.
  std::vector<ObjectCall> calls() const;

  // A history file: a line for the model, then one for each call.
  template <class Model>
  std::string to_json_lines(const Model& model) const {
    return lines_behind(model.to_json() + "\n");
  }

 private:
  std::string lines_behind(std::string text) const;

  std::vector<ObjectCall> calls_;  // by Open
  std::vector<bool> withdrawn_;
};

}  // namespace ferry::sim
