#include <ferry/sim/crew.hpp>

namespace ferry::sim {

void ThisProcess::run(std::uint64_t count, CrewJob& job) {
  for (std::uint64_t number = 0; number < count && job.work(number); ++number) {
  }
  job.take(job.report());
}

Crew::Answer ThisProcess::once(const Work& work, Duration, std::size_t) {
  Answer answer;
  answer.value = work([&answer](std::string_view note) { answer.notes += note; });
  return answer;
}

}  // namespace ferry::sim
