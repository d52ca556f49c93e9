// Reactor: how a transport gets its turns without threads of its own. EventSource: what is polled.
//
// An idle executor thread polls all sources in a loop for a bounded time, then sleeps until a descriptor is ready; the
// progress thread takes over when user code keeps every executor thread busy (decision 3). Implemented by `system`.
#pragma once

namespace ferry {

class EventSource {
 public:
  // Does what can be done without waiting; true if that was anything. Called by one thread at a time per source, and
  // never after Reactor::remove has returned. Must not run user code.
  virtual bool poll() noexcept = 0;

  // The descriptor that tells of work while nobody polls; constant while added. -1: none (polled only).
  virtual int descriptor() const noexcept = 0;

  // Called before a thread goes to sleep: says what to wait for. False: there is work now, do not sleep.
  // Where `write` is set the descriptor is waited on for writability too.
  virtual bool prepare_to_sleep(bool& write) noexcept = 0;

  // Called after the sleep, before poll(), whoever woke.
  virtual void woken() noexcept = 0;

 protected:
  ~EventSource() = default;
};

class Reactor {
 public:
  virtual void add(EventSource& source) = 0;
  // Returns when the source is not being polled and never will be again. May be called from inside a poll of another
  // source, or of this one.
  virtual void remove(EventSource& source) noexcept = 0;
  // Makes a sleeping poller look again: something was queued that a poll must send. Cheap when nobody sleeps.
  virtual void wake() noexcept = 0;

 protected:
  ~Reactor() = default;
};

}  // namespace ferry
