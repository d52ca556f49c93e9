// Must not compile: what ferry::run does not take. refused_programs_test.cpp reads the messages.
#include <ferry/run/run.hpp>

int wrong_argument(int argc, char** argv) {
  return ferry::run(argc, argv, ferry::actors<>, [](ferry::ActorContext&) -> ferry::Task<int> { co_return 0; });
}
int no_argument(int argc, char** argv) {
  return ferry::run(argc, argv, ferry::actors<>, []() -> ferry::Task<int> { co_return 0; });
}
int gives_nothing(int argc, char** argv) {
  return ferry::run(argc, argv, ferry::actors<>, [](ferry::Context&) -> ferry::Task<void> { co_return; });
}
int no_coroutine(ferry::NodeOptions options) {
  return ferry::run(options, ferry::actors<>, [](ferry::Context&) { return 0; });
}
int no_classes(int argc, char** argv) {
  return ferry::run(argc, argv, [](ferry::Context&) -> ferry::Task<int> { co_return 0; });
}
int nothing_but_the_program() {
  return ferry::run([](ferry::Context&) -> ferry::Task<int> { co_return 0; });
}
int no_arguments_of_main() {
  return ferry::run(ferry::actors<>, [](ferry::Context&) -> ferry::Task<int> { co_return 0; });
}
int braces() {
  return ferry::run({.transports = "shm"}, ferry::actors<>, [](ferry::Context&) { return 0; });
}
int nothing() {
  return ferry::run();
}

// These are all well.
ferry::Task<int> program(ferry::Context&) {
  co_return 0;
}
int well(int argc, char** argv) {
  ferry::NodeOptions options;
  const auto copied = [](ferry::Context) -> ferry::Task<int> { co_return 0; };
  return ferry::run(argc, argv, ferry::actors<>, &program) + ferry::run(options, ferry::actors<>, program) +
         ferry::run(ferry::NodeOptions{}, ferry::actors<>, copied) + ferry::run({}, ferry::actors<>, copied);
}

int main() {}
