// Crew: who does the work of an exploration: this process, one world after the other, or worker processes on all cores,
// so that one that dies or never ends is a finding.
//
// ThisProcess is the first; the other is <ferry/explorer/worker_processes.hpp>, for the simulator starts no process.
// Owner: the caller of explore(). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ferry/base/time.hpp>

namespace ferry::sim {

// How work ended that gave no answer.
struct Death {
  bool took_too_long = false;
  std::string how;  // "was killed by signal 6 (Aborted); it wrote: …"
};

// Many pieces of work, numbered from 0. work() and report() are called where the work is done, perhaps in a copy of the
// job in another process; take() and died() in the process that called Crew::run, in the order of numbers.
class CrewJob {
 public:
  // False: this piece is a finding, and those of higher numbers need not be done.
  virtual bool work(std::uint64_t number) = 0;
  // What was found since the last report, as bytes for take().
  virtual std::string report() = 0;

  virtual void take(std::string_view report) = 0;
  // The work on that number had no end of its own. A finding.
  virtual void died(std::uint64_t number, const Death& death) = 0;

 protected:
  ~CrewJob() = default;
};

class Crew {
 public:
  struct Answer {
    std::string value;  // what the work returned; empty if it died
    std::string notes;  // all that it had noted until then
    bool has_died = false;
    Death death{};
  };
  using Note = std::function<void(std::string_view)>;  // outlives a death
  using Work = std::function<std::string(const Note& note)>;

  virtual ~Crew() = default;

  // Real time since a moment of its own; stands still where nothing may ask for it.
  virtual Duration now() const noexcept { return {}; }

  // Does the work on 0 … count-1 until a finding. Everything below the lowest finding is done and reported, and nothing
  // beyond it: so what is taken does not depend on how many workers there are.
  virtual void run(std::uint64_t count, CrewJob& job) = 0;

  // Does one piece of work. wall: how long it may take; zero: for ever. notes: of what it notes, at least so many bytes
  // are kept, the last ones; 0: all.
  virtual Answer once(const Work& work, Duration wall, std::size_t notes = 0) = 0;
};

class ThisProcess final : public Crew {
 public:
  void run(std::uint64_t count, CrewJob& job) override;
  Answer once(const Work& work, Duration wall, std::size_t notes = 0) override;  // there is no watch on time
};

}  // namespace ferry::sim
