// Must not compile: actor classes that lack something, or whose endpoints take or give what cannot be sent.
// refused_classes_test.cpp reads the messages and counts the errors.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <ferry/actor/actor.hpp>
#include <ferry/actor/actor_class.hpp>
#include <ferry/actor/actor_context.hpp>
#include <ferry/actor/actor_ref.hpp>
#include <ferry/mesh/proc_mesh.hpp>

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

struct Locked {
  std::mutex mutex;
};
class NoDefault {
 public:
  explicit NoDefault(int value);
};

// Hosted and called, as a program would.
template <class T>
class Takes : public ferry::Actor {
 public:
  explicit Takes(ferry::ActorContext&) {}
  void take(T) {}
  static constexpr auto endpoints = ferry::endpoints<&Takes::take>;
};
template <class T>
class Gives : public ferry::Actor {
 public:
  explicit Gives(ferry::ActorContext&) {}
  T give();
  static constexpr auto endpoints = ferry::endpoints<&Gives::give>;
};
template <class T>
T made();

template <class T>
ferry::Task<void> take(ferry::ActorRef<Takes<T>> actor) {
  static_cast<void>(ferry::actors<Takes<T>>.classes());
  static_cast<void>(actor.template try_send<&Takes<T>::take>(made<T>()));
  auto call = actor.template call<&Takes<T>::take>(made<T>());
  co_await call;
}
template <class T>
ferry::Task<void> give(ferry::ActorRef<Gives<T>> actor) {
  static_cast<void>(ferry::actors<Gives<T>>.classes());
  auto call = actor.template call<&Gives<T>::give>();
  co_await call;
}

ferry::Task<void> spawn_with_what_no_constructor_takes(ferry::ProcMesh processes) {
  auto spawning = processes.spawn<Takes<int>>("name", 3);
  co_await spawning;
}

}  // namespace

int main() {
  static_cast<void>(&spawn_with_what_no_constructor_takes);
  static_cast<void>(ferry::actors<NoContext>.classes());
  static_cast<void>(ferry::actors<NoEndpoints>.classes());
  static_cast<void>(take<int*>({}));
  static_cast<void>(give<std::function<void()>>({}));
  static_cast<void>(take<std::vector<std::shared_ptr<int>>>({}));
  static_cast<void>(give<Locked>({}));
  static_cast<void>(take<NoDefault>({}));
}
