// A mistake that a test on this machine may never show is looked for under many seeds: which order of things breaks
// what must always hold? A failure is made small, and can be run again from its text.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <ferry/ferry.hpp>
#include <ferry/sim/explore.hpp>

#include "../output/output.hpp"

class Account : public ferry::Actor {
 public:
  explicit Account(ferry::ActorContext&) {}
  std::int64_t balance() const { return balance_; }

  // Looks, asks elsewhere, takes: what it saw may have changed meanwhile.
  ferry::Task<void> take(std::int64_t amount) {
    if (balance_ >= amount) {
      co_await ferry::sleep_for(std::chrono::microseconds(5));
      balance_ -= amount;
    }
  }

  static constexpr auto endpoints = ferry::endpoints<ferry::concurrent<&Account::take>>;

 private:
  std::int64_t balance_ = 15;
};

// Two customers, one after the other by `gap`.
ferry::Task<int> shop(ferry::sim::World& world, ferry::Context& context, ferry::Duration gap) {
  auto bank = co_await context.this_host().spawn_procs({{"bank", 1}});
  auto accounts = co_await bank.spawn<Account>("account");
  const ferry::ActorRef<Account> account = accounts.only();
  world.always("no debts", [account](const ferry::sim::View& view) {
    const Account* seen = view.peek(account);  // null while it is down
    return seen == nullptr || seen->balance() >= 0;
  });
  auto first = ferry::start(account.call<&Account::take>(std::int64_t{10}));
  co_await ferry::sleep_for(gap);
  co_await account.call<&Account::take>(std::int64_t{10});
  co_await first;
  co_return 0;
}

int main() {
  const auto actors = ferry::actors<Account>;
  const auto hasty = [](ferry::sim::World& world, ferry::Context& context) -> ferry::Task<int> {
    return shop(world, context, std::chrono::microseconds(20));
  };
  const auto patient = [](ferry::sim::World& world, ferry::Context& context) -> ferry::Task<int> {
    return shop(world, context, std::chrono::seconds(1));
  };
  const ferry::sim::Exploration found = ferry::sim::explore({.seeds = 5000}, actors, hasty);
  if (!found.failure) {
    std::puts("nothing found");
    return printed(1);
  }
  const std::string artefact = found.failure->to_text();  // keep it: it is the failure
  const auto again = ferry::sim::replay(artefact, {}, actors, hasty);
  std::printf("found: %s\nrun again from its text: %s\n", found.failure->smallest.what.c_str(),
              again && again->hash == found.failure->smallest.hash ? "the same" : "different");
  const ferry::sim::Exploration mended = ferry::sim::explore({.seeds = 500}, actors, patient);
  std::printf("mended: %s\n", mended.failure ? mended.failure->smallest.what.c_str() : "500 worlds hold");
  return printed(mended.failure ? 1 : 0);
}
