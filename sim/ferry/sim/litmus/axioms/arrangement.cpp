#include <ferry/sim/litmus/axioms/arrangement.hpp>

#include <algorithm>
#include <cstddef>

namespace ferry::sim::litmus::axioms {
namespace {

// All sequences that have each of `rows` as a subsequence and nothing else.
template <class Item>
void interleave(std::vector<std::vector<Item>>& rows, std::vector<Item>& sequence,
                std::vector<std::vector<Item>>& out) {
  bool is_done = true;
  for (std::vector<Item>& row : rows) {
    if (row.empty()) {
      continue;
    }
    is_done = false;
    const Item first = row.front();
    row.erase(row.begin());
    sequence.push_back(first);
    interleave(rows, sequence, out);
    sequence.pop_back();
    row.insert(row.begin(), first);
  }
  if (is_done) {
    out.push_back(sequence);
  }
}

template <class Item>
std::vector<std::vector<Item>> interleavings(std::vector<std::vector<Item>> rows) {
  std::vector<std::vector<Item>> out;
  std::vector<Item> sequence;
  interleave(rows, sequence, out);
  return out;
}

// What may be arranged on one queue: the choices of each kind are independent.
struct Choices {
  std::vector<std::vector<OperationIndex>> posted, immediates;
  std::vector<std::vector<EventIndex>> polls, receive_polls;
};

Choices choices_of(const Program& program, const EventStructure& structure, QueueIndex queue) {
  std::vector<std::vector<OperationIndex>> posted, immediates;
  std::vector<std::vector<EventIndex>> polls, receive_polls;
  for (ThreadIndex thread = 0; thread < program.threads.size(); ++thread) {
    posted.emplace_back();
    polls.emplace_back();
    receive_polls.emplace_back();
    const std::vector<Instruction>& instructions = program.threads[thread].instructions;
    for (std::size_t index = 0; index < instructions.size(); ++index) {
      const Instruction& instruction = instructions[index];
      if (instruction.queue != queue) {
        continue;
      }
      if (instruction.opcode == Opcode::post) {
        posted.back().push_back(instruction.operation);
        if (program.operations[instruction.operation].has_immediate) {
          immediates.push_back({instruction.operation});  // they have no order among themselves
        }
      } else if (instruction.opcode == Opcode::poll) {
        polls.back().push_back(structure.execute[thread][index]);
      } else if (instruction.opcode == Opcode::receive_poll) {
        receive_polls.back().push_back(structure.execute[thread][index]);
      }
    }
  }
  return {interleavings(std::move(posted)), interleavings(std::move(immediates)), interleavings(std::move(polls)),
          interleavings(std::move(receive_polls))};
}

class Enumeration {
 public:
  Enumeration(const Program& program, const EventStructure& structure,
              const std::function<bool(const Arrangement&)>& visit)
      : arrangement_(program.queues.size()), visit_(visit) {
    for (QueueIndex queue = 0; queue < program.queues.size(); ++queue) {
      choices_.push_back(choices_of(program, structure, queue));
    }
  }

  bool enumerate(std::size_t queue = 0) {
    if (queue == choices_.size()) {
      return visit_(arrangement_);
    }
    QueueArrangement& its = arrangement_[queue];
    for (const auto& posted : choices_[queue].posted) {
      its.posted = posted;
      for (const auto& immediates : choices_[queue].immediates) {
        its.immediates = immediates;
        for (const auto& polls : choices_[queue].polls) {
          its.polls = polls;
          for (const auto& receive_polls : choices_[queue].receive_polls) {
            its.receive_polls = receive_polls;
            if (!enumerate(queue + 1)) {
              return false;
            }
          }
        }
      }
    }
    return true;
  }

 private:
  std::vector<Choices> choices_;
  Arrangement arrangement_;
  const std::function<bool(const Arrangement&)>& visit_;
};

}  // namespace

void for_each_arrangement(const Program& program, const EventStructure& structure,
                          const std::function<bool(const Arrangement&)>& visit) {
  Enumeration(program, structure, visit).enumerate();
}

}  // namespace ferry::sim::litmus::axioms
