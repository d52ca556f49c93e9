// CrossingExecutor: two executor threads that hand every job to one another, so that actors which call each other run
// on different threads whatever a scheduler would make of them.
#pragma once

#include <memory>

#include <ferry/base/executor.hpp>
#include <ferry/system/system_executor.hpp>

namespace ferry_bench {

// What is not about jobs is the first one's. Any thread.
class CrossingExecutor final : public ferry::Executor {
 public:
  CrossingExecutor() : first_(make()), second_(make()) {
    Place to_second(*first_, *second_);
    Place to_first(*second_, *first_);
  }

  void post(ferry::Job& job) noexcept override { (other == nullptr ? *first_ : *other).post(job); }
  void offload(ferry::Job& job) noexcept override { first_->offload(job); }
  ferry::TimePoint now() const noexcept override { return first_->now(); }
  void start_timer(ferry::Timer& timer, ferry::TimePoint due) noexcept override { first_->start_timer(timer, due); }
  void cancel_timer(ferry::Timer& timer) noexcept override { first_->cancel_timer(timer); }
  bool has_ready_work() const noexcept override { return first_->has_ready_work() || second_->has_ready_work(); }
  void wait(const ferry::Latch& latch) noexcept override { first_->wait(latch); }

 private:
  using Team = ferry::system::SystemExecutor;

  static std::unique_ptr<Team> make() {
    ferry::system::SystemExecutorOptions options;
    options.threads = 1;
    return Team::create(options).value();
  }

  // Tells the one thread of a team where it posts to.
  struct Place : ferry::Job {
    Place(Team& team, Team& other_team) : Job(&run), to(&other_team) {
      team.post(*this);
      done.block();
    }
    static void run(ferry::Job& job) noexcept {
      auto& self = static_cast<Place&>(job);
      other = self.to;
      self.done.set();
    }
    Team* to;
    ferry::Latch done;
  };

  static inline thread_local Team* other = nullptr;  // of an executor thread
  std::unique_ptr<Team> first_;
  std::unique_ptr<Team> second_;
};

}  // namespace ferry_bench
