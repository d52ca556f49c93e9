// ChoiceSource: who answers the simulator's questions: everything that is not determined is one choose().
//
// SeededChoices: a random walk, with one stream of numbers per kind, so that more questions of one kind leave the
// answers of the others as they were. InOrderChoices: always 0. Answer 0 always means "in order, nothing unusual".
// Others: strategies.hpp, choice_list.hpp. Owner: the caller of the World, or the World itself. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ferry/base/random.hpp>

namespace ferry::sim {

enum class ChoiceKind : std::uint8_t {
  next,       // which of the things that can happen does; 0: the one that has been able to for longest
  latency,    // how long a message takes, or something late; 0: the plain time
  cut,        // where a piece is torn; 0: nowhere
  remains,    // what of a dead process's packets still arrives; 0: all
  place,      // how long what has arrived takes to take effect; 0: no time
  drop,       // whether a packet gets lost; 0: no
  duplicate,  // whether it arrives twice; 0: no
  delay,      // whether it is late; 0: no
  stall,      // whether a NIC idles before it sends; 0: no
  early,      // whether a request's bytes are read before its turn, or how late; 0: neither
  swarm,      // whether faults of a kind are among those of this world, and how often they strike; 0: none
  fault,      // whether a fault strikes now, and whom; 0: it does not
  moment,     // when a fault strikes next, or ends; 0: soon
  buggify,    // whether code takes an unusual way; 0: no. Of a name, the first asks whether it ever does
  omit,       // whether a part of a program or plan is left out; 0: no. Only a list of choices says 1: see leaves_out()
};
inline constexpr std::size_t kChoiceKinds = 15;
std::string_view to_string(ChoiceKind kind) noexcept;

// What happens one after another by itself: a process's jobs and timers, one operation's packets at one place.
using Lane = std::uint64_t;

struct Question {
  ChoiceKind kind{};
  std::uint64_t n = 0;            // of answers: 0 … n-1; at least 2
  std::uint64_t subject = 0;      // whose: a channel's number; 0: the world's
  std::span<const Lane> lanes{};  // of kind next: of each thing that can happen, in the order of becoming able to
  std::uint64_t odds = 0;         // an answer other than 0 comes about once in so many times; 0: all are as likely
};

class ChoiceSource {
 public:
  virtual ~ChoiceSource() = default;

  // In place of an answer: this world is not wanted any more; it stops after the present step, and its result means
  // nothing.
  static constexpr std::uint64_t kGiveUp = ~std::uint64_t{0};

  // A number below question.n.
  virtual std::uint64_t choose(const Question& question) noexcept = 0;

  // Whether this run goes without the next part of that subject (parts.hpp). Never, but where a failure is run again.
  virtual bool leaves_out(std::uint64_t /*subject*/) noexcept { return false; }

  // There was no choice of what happens next: this alone can.
  virtual void only(Lane) noexcept {}
};

class SeededChoices final : public ChoiceSource {
 public:
  explicit SeededChoices(std::uint64_t seed) noexcept;
  std::uint64_t choose(const Question& question) noexcept override;

 private:
  std::array<Random, kChoiceKinds> streams_;
};

class InOrderChoices final : public ChoiceSource {
 public:
  std::uint64_t choose(const Question&) noexcept override { return 0; }
};

// What random numbers of a world are for, besides choices: each purpose has a stream of its own.
enum class Purpose : std::uint8_t { identity, secret, program };
inline constexpr std::size_t kPurposes = 3;

// The first state of one stream of a world.
constexpr Random stream_of(std::uint64_t seed, std::uint64_t group, std::uint64_t index) noexcept {
  return Random(mix64(mix64(seed) ^ (group << 32) ^ index));
}

}  // namespace ferry::sim
