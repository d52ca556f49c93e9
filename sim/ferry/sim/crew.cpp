#include <ferry/sim/crew.hpp>

namespace ferry::sim {

void ThisProcess::run(std::uint64_t count, CrewJob& job) {
  for (std::uint64_t number = 0; number < count && job.work(number); ++number) {
  }
  job.take(job.report());
}

Crew::Answer ThisProcess::once(const Work& work, Duration, std::size_t notes) {
  Answer answer;
  answer.value = work([&answer, notes](std::string_view note) {
    answer.notes += note;
    if (notes > 0 && answer.notes.size() > 2 * notes) {
      answer.notes.erase(0, answer.notes.size() - notes);
    }
  });
  return answer;
}

}  // namespace ferry::sim
