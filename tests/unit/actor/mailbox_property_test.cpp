// Mailbox order as a property: whatever several senders send, mixed with cancels, exclusive endpoints begin in the
// order of arrival and never overlap, and everything but what was cancelled runs once.
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <memory>

#include "runtime_fixture.hpp"

namespace ferry::runtime_tests {
namespace {

// One thing that happens, drawn.
struct Step {
  int what;          // 0-3: mark, 4-6: nap, 7-8: nap_beside, 9: cancel of an earlier one, 10-11: time passes
  std::size_t from;  // sender; or which earlier one
  std::int64_t nanoseconds;
};

std::vector<Step> any_steps() {
  std::vector<Step> steps;
  for (const auto& [what, from, nanoseconds] : *rc::gen::container<std::vector<std::tuple<int, std::size_t, int>>>(
           rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange<std::size_t>(0, 100), rc::gen::inRange(1, 1000)))) {
    steps.push_back({what, from, nanoseconds});
  }
  return steps;
}

RC_GTEST_FIXTURE_PROP(RuntimeTest, MailboxKeepsTheOrderOfArrivalAndExclusionWhateverIsSent, ()) {
  std::array<std::shared_ptr<FakeInbound>, 3> senders;
  for (auto& sender : senders) {
    sender = std::make_shared<FakeInbound>();
  }
  std::vector<int> exclusive;  // numbers of messages to exclusive endpoints, as they arrive
  std::vector<int> beside;
  std::vector<std::pair<std::shared_ptr<FakeInbound>, CallId>> sent;
  std::vector<bool> cancelled;
  for (const Step& step : any_steps()) {
    const int number = static_cast<int>(sent.size());
    const CallId call(sent.size() + 1);
    const auto& sender = senders[step.from % senders.size()];
    if (step.what < 9) {
      wire::Bytes message = step.what < 4   ? request<&Worker::mark>(call, number)
                            : step.what < 7 ? request<&Worker::nap>(call, number, step.nanoseconds)
                                            : request<&Worker::nap_beside>(call, number, step.nanoseconds);
      (step.what < 7 ? exclusive : beside).push_back(number);
      node->core().sink()->on_request(sender, std::move(message));
      sent.emplace_back(sender, call);
      cancelled.push_back(false);
    } else if (step.what == 9 && !sent.empty()) {
      const std::size_t which = step.from % sent.size();
      cancelled[which] = true;
      node->core().sink()->on_request(sent[which].first, make_cancel({sent[which].second, worker.id()}));
    } else {
      node->executor().advance(Duration(step.nanoseconds));
    }
  }
  node->executor().advance(1h);

  std::vector<int> begun;
  std::vector<int> begun_beside;
  int running = -1;  // the exclusive one
  std::string overlap;
  for (const std::string& line : book.lines) {
    const int number = std::stoi(line.substr(line.find(' ') + 1));
    const bool is_exclusive = std::find(exclusive.begin(), exclusive.end(), number) != exclusive.end();
    if (line.starts_with("end ")) {
      running = is_exclusive ? -1 : running;
      continue;
    }
    if (is_exclusive && running != -1) {
      overlap = line + " while " + std::to_string(running) + " runs";
    }
    (is_exclusive ? begun : begun_beside).push_back(number);
    running = is_exclusive && line.starts_with("begin ") ? number : running;
  }
  RC_ASSERT(overlap == "");
  // What was not cancelled ran once; what was cancelled at most once; all of it in order.
  const auto ran_as_sent = [&](const std::vector<int>& arrived, const std::vector<int>& ran) {
    std::size_t at = 0;
    for (const int number : arrived) {
      if (at < ran.size() && ran[at] == number) {
        ++at;
      } else if (!cancelled[static_cast<std::size_t>(number)]) {
        return false;
      }
    }
    return at == ran.size();
  };
  RC_ASSERT(ran_as_sent(exclusive, begun));
  RC_ASSERT(ran_as_sent(beside, begun_beside));
  std::size_t credited = 0;
  for (const auto& sender : senders) {
    credited += sender->credited();
  }
  RC_ASSERT(credited <= sent.size());
}

}  // namespace
}  // namespace ferry::runtime_tests
