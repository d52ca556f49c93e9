// NicRig: a few simulated NICs and what a test needs around them: memory by key, queue pairs, completions in order.
//
// No library above: what happens is what a program that speaks to a NIC itself would see. Each host is a process of the
// scheduler. Everything from one seed, or from a list of choices.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <ferry/sim/choice_list.hpp>
#include <ferry/sim/nic/network.hpp>
#include <ferry/sim/nic/nic.hpp>
#include <ferry/sim/scheduler.hpp>

namespace ferry::sim::test {

// One end, with what it has been told.
struct End final : queue::QueueEvents {
  std::unique_ptr<queue::QueuePair> pair;
  std::vector<queue::WorkCompletion> ended;     // requests
  std::vector<queue::WorkCompletion> received;  // receives
  std::vector<Failure> losses;
  std::function<void(const queue::WorkCompletion&)> then{};  // called behind each

  void on_completion(queue::QueuePair&, const queue::WorkCompletion& completion) noexcept override {
    (completion.is_receive ? received : ended).push_back(completion);
    if (then) {
      then(completion);
    }
  }
  void on_queue_lost(queue::QueuePair&, const Failure& why) noexcept override { losses.push_back(why); }
  queue::QueuePair* operator->() const { return pair.get(); }

  // "success", "flushed", … of each request, in the order of being told.
  std::vector<std::string> statuses() const {
    std::vector<std::string> texts;
    for (const auto& completion : ended) {
      texts.emplace_back(to_string(completion.status));
    }
    return texts;
  }
};

class Host final : public NicMemory {
 public:
  static constexpr std::size_t kWords = 4096;

  Host(Network& network, std::uint32_t number)
      : first_key_(number << 16), nic_(std::make_unique<Nic>(network, ProcessNumber(number), *this)) {
    key = add_key(words.data(), sizeof words);
  }

  Nic& nic() { return *nic_; }
  void kill() { nic_->kill(); }

  std::uint32_t add_key(std::uint64_t* base, std::size_t bytes) {
    keys_[++first_key_] = {reinterpret_cast<std::byte*>(base), bytes};
    return first_key_;
  }
  // As the owner does: no packet is let in any more, and what was accepted lands.
  void revoke(std::uint32_t dead) {
    const Range range = keys_.at(dead);
    keys_.erase(dead);
    nic_->finish(range.base, range.bytes);
  }

  alignas(64) std::array<std::uint64_t, kWords> words{};
  std::uint32_t key = 0;  // of all of them

  std::byte* at(std::size_t word) { return reinterpret_cast<std::byte*>(&words[word]); }
  queue::RemoteAddress remote(std::size_t word) const { return {key, word * sizeof(std::uint64_t)}; }

 private:
  struct Range {
    std::byte* base;
    std::size_t bytes;
  };

  std::byte* reach(const queue::RemoteAddress& remote, Access, std::uint64_t length) noexcept override {
    const auto found = keys_.find(remote.key);
    const bool is_inside =
        found != keys_.end() && remote.address <= found->second.bytes && length <= found->second.bytes - remote.address;
    return is_inside ? found->second.base + remote.address : nullptr;
  }
  void invalidate(std::uint32_t dead) noexcept override { revoke(dead); }
  Result<queue::RemoteAddress> remote_address(const RemoteRegion&, std::uint64_t) const override {
    return Failure(errc::unsupported, "there are no regions here");
  }

  std::uint32_t first_key_;
  std::map<std::uint32_t, Range> keys_;
  std::unique_ptr<Nic> nic_;
};

class NicRig final : private StepObserver {
 public:
  explicit NicRig(const FabricOptions& options, std::uint64_t seed, std::size_t count = 2)
      : NicRig(options, std::make_unique<SeededChoices>(seed), count) {}
  NicRig(const FabricOptions& options, std::unique_ptr<ChoiceSource> choices, std::size_t count = 2)
      : choices_(std::move(choices)), scheduler(*choices_, 1'000'000), network(scheduler, options) {
    for (std::size_t index = 0; index < count; ++index) {
      hosts.push_back(std::make_unique<Host>(network, static_cast<std::uint32_t>(index + 1)));
    }
    scheduler.observe(this);
  }
  ~NicRig() {
    scheduler.close();
    for (auto& [name, pair] : ends_) {
      pair.first.pair.reset();
      pair.second.pair.reset();
    }
  }

  Host& a() { return *hosts[0]; }
  Host& b() { return *hosts[1]; }

  // The initiator's end and the owner's of a connected pair; made when first asked for.
  End& from(const std::string& name) { return pair(name).first; }
  End& to(const std::string& name) { return pair(name).second; }

  void connect(const std::string& name, Host& from, Host& to, const queue::QueuePairOptions& options = {}) {
    auto& [left, right] = ends_[name];
    left.pair = from.nic().create_queue_pair(options, left).value();
    right.pair = to.nic().create_queue_pair(options, right).value();
    left.pair->connect(right.pair->address()).value();
    right.pair->connect(left.pair->address()).value();
  }

  void post(const std::string& queue, const queue::WorkRequest& request) {
    from(queue)->post(std::span(&request, 1)).value();
  }
  queue::WorkRequest put(std::size_t remote, std::size_t local, std::size_t words = 1) {
    return {.id = ++last_id_,
            .verb = queue::Verb::put,
            .local = a().at(local),
            .length = words * 8,
            .remote = b().remote(remote)};
  }
  queue::WorkRequest get(std::size_t local, std::size_t remote, std::size_t words = 1) {
    return {.id = ++last_id_,
            .verb = queue::Verb::get,
            .local = a().at(local),
            .length = words * 8,
            .remote = b().remote(remote)};
  }
  queue::WorkRequest fetch_add(std::size_t local, std::size_t remote, std::uint64_t addend) {
    return {.id = ++last_id_,
            .verb = queue::Verb::fetch_add,
            .local = a().at(local),
            .length = 8,
            .remote = b().remote(remote),
            .operand = addend};
  }
  queue::WorkRequest send(std::size_t local, std::size_t words = 1) {
    return {.id = ++last_id_, .verb = queue::Verb::send, .local = a().at(local), .length = words * 8};
  }

  // Called after every step, once the condition holds for the first time.
  void when(std::function<bool()> condition, std::function<void()> action) {
    watches_.push_back({std::move(condition), std::move(action)});
  }

  // Until nothing can happen any more.
  void run() {
    after_step();
    EXPECT_EQ(scheduler.run(nullptr), Scheduler::End::nothing);
  }

 private:
  struct Watch {
    std::function<bool()> condition;
    std::function<void()> action;
  };

  std::pair<End, End>& pair(const std::string& name) {
    if (ends_[name].first.pair == nullptr) {
      connect(name, a(), b());
    }
    return ends_[name];
  }
  void after_step() override {
    for (std::size_t index = 0; index < watches_.size(); ++index) {
      if (watches_[index].condition && watches_[index].condition()) {
        const auto action = std::move(watches_[index].action);
        watches_[index].condition = nullptr;
        action();
      }
    }
  }

  std::unique_ptr<ChoiceSource> choices_;

 public:
  Scheduler scheduler;
  Network network;
  std::vector<std::unique_ptr<Host>> hosts;

 private:
  std::map<std::string, std::pair<End, End>> ends_;
  std::vector<Watch> watches_;
  std::uint64_t last_id_ = 0;
};

// What a scenario showed, as text, over many seeds.
inline std::set<std::string> outcomes(const FabricOptions& options, std::uint64_t seeds,
                                      const std::function<std::string(NicRig&)>& scenario, std::size_t hosts = 2) {
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    NicRig rig(options, seed, hosts);
    found.insert(scenario(rig));
  }
  return found;
}

}  // namespace ferry::sim::test
