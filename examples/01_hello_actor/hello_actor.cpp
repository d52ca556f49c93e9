// An actor is a class whose listed functions can be called from anywhere: another actor, another process, another host.

#include <cstdio>
#include <string>

#include <ferry/ferry.hpp>

#include "../output/output.hpp"

// ferry constructs it, runs one of its endpoints at a time and destroys it: an actor needs no locks.
class Greeter : public ferry::Actor {
 public:
  explicit Greeter(ferry::ActorContext&) {}

  std::string greet(const std::string& whom) { return "Hello, " + whom + "!"; }

  // What can be called from outside. The list stands after the functions that it lists.
  static constexpr auto endpoints = ferry::endpoints<&Greeter::greet>;
};

int main(int argc, char** argv) {
  // actors<…> names the classes that may be constructed in the processes of this program.
  return printed(ferry::run(argc, argv, ferry::actors<Greeter>, [](ferry::Context& context) -> ferry::Task<int> {
    // A spawn gives a mesh of actors, one in each process that was asked; here there is only this one.
    auto greeters = co_await context.this_proc().spawn<Greeter>("greeter");
    const std::string greeting = co_await greeters.only().call<&Greeter::greet>("world");
    std::printf("%s\n", greeting.c_str());
    co_return 0;
  }));
}
