#include <ferry/explorer/worker_processes.hpp>

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <ferry/base/failure.hpp>

namespace ferry::explorer {
namespace {

constexpr int kStrays = 100;           // workers lost between two pieces of work, until that is an error
constexpr int kTickMilliseconds = 50;  // between two looks at those that may take too long

std::size_t usable_cores() noexcept {
  cpu_set_t set;
  const int cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<std::size_t>(std::max(cores, 1));
}

// Numbers side by side, for a peer that is a copy of this process.
template <class... T>
std::string packed(T... number) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&number), sizeof number), ...);
  return bytes;
}

std::uint64_t taken(std::string_view& bytes) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

[[noreturn]] void throw_told(std::string_view text) {
  int code = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), code).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  throw Error(Failure(static_cast<errc>(code), std::string(text)));
}

bool takes_too_long(const Worker& worker, Duration wall) noexcept {
  const std::int64_t since = worker.pulse().since.load(std::memory_order_relaxed);
  return wall > Duration::zero() && since != 0 && monotonic_now() - since > wall.count();
}

std::string too_long(Duration wall) {
  return fmt::format("took longer than {:.1f} s of real time", static_cast<double>(wall.count()) / 1e9);
}

// The side of a worker that does batches.
void serve(WorkerSide& side, sim::CrewJob& job) {
  while (const auto request = side.next()) {
    std::string_view rest = *request;
    const std::uint64_t first = taken(rest);
    const std::uint64_t count = taken(rest);
    std::uint64_t done = 0;
    bool goes_on = true;
    while (goes_on && done < count) {
      side.begin(first + done);
      goes_on = job.work(first + done);
      ++done;
    }
    side.idle();
    side.send('r', packed(done, std::uint64_t{goes_on ? 0U : 1U}) + job.report());
  }
}

}  // namespace

struct WorkerProcesses::Run {
  sim::CrewJob& job;
  std::uint64_t next = 0;
  std::uint64_t end = 0;  // behind the lowest finding known
  std::uint64_t done = 0;
  std::uint64_t reported = 0;  // all below have been taken
  int strays = 0;
  std::deque<Batch> again;                                                 // of workers that were lost
  std::map<std::uint64_t, std::pair<std::uint64_t, std::string>> reports;  // by first number: behind the last, report
  std::map<std::uint64_t, sim::Death> deaths;
  std::vector<Busy> crew;
  ProgressBar bar;
};

WorkerProcesses::WorkerProcesses(const CrewOptions& options) : options_(options) {
  if (options_.batch == 0 || options_.wall < Duration::zero() || options_.workers > 4096) {
    throw Error(
        Failure(errc::invalid_argument,
                "CrewOptions: a batch is at least 1, the wall not negative, and there are at most 4096 workers"));
  }
  if (options_.workers == 0) {
    options_.workers = usable_cores();
  }
}

std::unique_ptr<Worker> WorkerProcesses::start_worker(sim::CrewJob& job) {
  return Worker::start([&job](WorkerSide& side) { serve(side, job); }).value();
}

void WorkerProcesses::run(std::uint64_t count, sim::CrewJob& job) {
  Run run{.job = job, .end = count, .bar = ProgressBar(count)};
  while (run.crew.size() < options_.workers && run.crew.size() * options_.batch < count) {
    run.crew.push_back({start_worker(job), std::nullopt});
  }
  for (;;) {
    assign(run);
    if (std::none_of(run.crew.begin(), run.crew.end(), [](const Busy& busy) { return busy.batch.has_value(); })) {
      break;
    }
    wait(run);
    take(run);
  }
  run.bar.clear();
  if (!run.deaths.empty() && run.deaths.begin()->first + 1 == run.end) {
    job.died(run.deaths.begin()->first, run.deaths.begin()->second);
  }
}

void WorkerProcesses::assign(Run& run) {
  for (Busy& busy : run.crew) {
    if (busy.batch) {
      continue;
    }
    Batch batch;
    if (!run.again.empty()) {
      batch = run.again.front();
      run.again.pop_front();
    } else {
      batch = {run.next, std::min(options_.batch, run.end - std::min(run.end, run.next))};
      run.next += batch.count;
    }
    if (batch.count > 0 && batch.first < run.end) {
      busy.batch = batch;
      busy.worker->request(packed(batch.first, batch.count));
    }
  }
}

void WorkerProcesses::wait(Run& run) {
  std::vector<pollfd> polled;
  for (const Busy& busy : run.crew) {
    polled.push_back({busy.worker->descriptor(), POLLIN, 0});
  }
  ::poll(polled.data(), polled.size(), kTickMilliseconds);
  for (std::size_t index = 0; index < polled.size(); ++index) {
    Busy& busy = run.crew[index];
    if (polled[index].revents != 0) {
      look(run, busy);
    } else if (busy.batch && takes_too_long(*busy.worker, options_.wall)) {
      busy.worker->kill();
      lost(run, busy, true);
    }
  }
  run.bar.show(run.done, run.end < run.next ? 1 : 0);
}

void WorkerProcesses::look(Run& run, Busy& busy) {
  const bool lives = busy.worker->read();
  while (const auto frame = busy.worker->take()) {
    told(run, busy, *frame);
  }
  if (!lives) {
    lost(run, busy, false);
  }
}

void WorkerProcesses::told(Run& run, Busy& busy, const Frame& frame) {
  if (frame.kind == 'e') {
    run.bar.clear();
    throw_told(frame.bytes);
  }
  std::string_view rest = frame.bytes;
  const std::uint64_t done = taken(rest);
  const bool is_finding = taken(rest) != 0;
  run.done += done;
  const std::uint64_t behind = busy.batch->first + done;
  run.reports[busy.batch->first] = {behind, std::string(rest)};
  if (is_finding) {
    run.end = std::min(run.end, behind);
  }
  busy.batch.reset();
  pass_on_stderr(*busy.worker, &run.bar);
}

// What it had done before in its batch is done again by others, for its report is lost.
void WorkerProcesses::lost(Run& run, Busy& busy, bool took_too_long) {
  const std::uint64_t number = busy.worker->pulse().number.load(std::memory_order_relaxed);
  const std::string how = busy.worker->how_ended();
  const bool was_at_work = busy.worker->is_busy();
  busy.worker.reset();
  const auto batch = std::exchange(busy.batch, std::nullopt);
  if (batch && !was_at_work) {  // it died between two pieces of work, by no fault of theirs
    if (++run.strays > kStrays) {
      throw Error(Failure(errc::spawn_failed, "worker processes die without any work; the last one " + how));
    }
    run.again.push_back(*batch);
  } else if (batch) {
    run.deaths[number] = {took_too_long, took_too_long ? too_long(options_.wall) : how};
    run.end = std::min(run.end, number + 1);
    if (number > batch->first) {
      run.again.push_back({batch->first, number - batch->first});
    }
  }
  busy.worker = start_worker(run.job);
}

void WorkerProcesses::take(Run& run) {
  for (auto next = run.reports.begin(); next != run.reports.end() && next->first == run.reported;
       next = run.reports.erase(next)) {
    if (next->first < run.end) {
      run.job.take(next->second.second);
    }
    run.reported = next->second.first;
  }
}

sim::Crew::Answer WorkerProcesses::once(const Work& work, Duration wall, std::size_t notes) {
  const auto body = [&work](WorkerSide& side) {
    side.begin(0);
    side.send('v', work([&side](std::string_view note) { side.send('n', note); }));
  };
  const auto worker = Worker::start(body).value();
  Answer answer;
  bool has_value = false;
  for (bool lives = true; lives;) {
    pollfd polled{worker->descriptor(), POLLIN, 0};
    ::poll(&polled, 1, kTickMilliseconds);
    lives = worker->read();
    while (const auto frame = worker->take()) {
      if (frame->kind == 'e') {
        throw_told(frame->bytes);
      }
      (frame->kind == 'n' ? answer.notes : answer.value) += frame->bytes;
      has_value = has_value || frame->kind == 'v';
      if (notes > 0 && answer.notes.size() > 2 * notes) {
        answer.notes.erase(0, answer.notes.size() - notes);
      }
    }
    if (lives && !has_value && takes_too_long(*worker, wall)) {
      worker->kill();
      answer.has_died = true;
      answer.death = {true, too_long(wall)};
      return answer;
    }
  }
  if (!has_value) {
    answer.has_died = true;
    answer.death = {false, worker->how_ended()};
  } else {
    pass_on_stderr(*worker, nullptr);
  }
  return answer;
}

void WorkerProcesses::pass_on_stderr(Worker& worker, ProgressBar* bar) {
  const std::string text = worker.take_stderr();
  if (text.empty()) {
    return;
  }
  if (bar != nullptr) {
    bar->clear();
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace ferry::explorer
