// Must not compile: actor classes that lack something. refused_classes_test.cpp reads the messages.
#include <cstdint>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_class.hpp>
#include <ferry/actor/actor_context.hpp>

namespace {

class NoContext : public ferry::Actor {
 public:
  NoContext() {}
  void nothing() {}
  static constexpr auto endpoints = ferry::endpoints<&NoContext::nothing>;
};

class NoEndpoints : public ferry::Actor {
 public:
  explicit NoEndpoints(ferry::ActorContext&) {}
};

}  // namespace

int main() {
  static_cast<void>(ferry::actors<NoContext>.classes());
  static_cast<void>(ferry::actors<NoEndpoints>.classes());
}
