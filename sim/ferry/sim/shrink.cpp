#include <ferry/sim/shrink.hpp>

#include <algorithm>
#include <utility>

#include <ferry/sim/artefact.hpp>

namespace ferry::sim {
namespace {

bool is_omission(const Choice& choice) noexcept {
  return choice.kind == ChoiceKind::omit;
}

class Shrinker {
 public:
  Shrinker(SmallWorld found, std::vector<Part> parts, std::size_t runs, const Attempt& attempt)
      : best_(std::move(found)), runs_(runs), attempt_(attempt) {
    for (const Part& part : parts) {
      if (!part.is_left_out) {
        parts_.push_back({ChoiceKind::omit, part.subject, part.ordinal, 1});
      }
    }
  }

  // What is left out first needs no choices: so those come last, and may then allow more to be left out.
  SmallWorld make_small() {
    fewer_parts();
    fewer_hosts();
    fewer_choices();
    for (;;) {
      const bool has_fewer_parts = fewer_parts();
      if (!fewer_hosts() && !has_fewer_parts) {
        break;
      }
      fewer_choices();
    }
    drop_idle_omissions();
    return std::move(best_);
  }

 private:
  bool try_it(std::size_t hosts, ChoiceList choices) {
    if (runs_ == 0) {
      return false;
    }
    --runs_;
    auto result = attempt_(hosts, choices);
    if (!result) {
      return false;
    }
    best_ = {hosts, std::move(choices), std::move(*result)};
    return true;
  }

  // Runs of parts, half as long each time. In the order of being asked about: processes before what they do.
  bool fewer_parts() {
    bool is_smaller = false;
    for (std::size_t length = parts_.size(); length > 0; length /= 2) {
      for (std::size_t start = 0; start < parts_.size();) {
        const auto from = parts_.begin() + static_cast<std::ptrdiff_t>(start);
        const auto to = from + static_cast<std::ptrdiff_t>(std::min(length, parts_.size() - start));
        ChoiceList without = best_.choices;
        without.insert(without.end(), from, to);
        if (try_it(best_.hosts, std::move(without))) {
          parts_.erase(from, to);
          is_smaller = true;
        } else {
          start += length;
        }
      }
    }
    return is_smaller;
  }

  bool fewer_hosts() {
    for (std::size_t hosts = 1; hosts < best_.hosts; hosts = hosts < 4 ? hosts + 1 : 2 * hosts) {
      if (try_it(hosts, best_.choices)) {
        return true;
      }
    }
    return false;
  }

  void fewer_choices() {
    ChoiceList omissions;
    ChoiceList others;
    for (const Choice& choice : best_.choices) {
      (is_omission(choice) ? omissions : others).push_back(choice);
    }
    static_cast<void>(shrink(others, runs_, [&](const ChoiceList& candidate) {
      ChoiceList all = omissions;
      all.insert(all.end(), candidate.begin(), candidate.end());
      return try_it(best_.hosts, std::move(all));
    }));
  }

  // Nobody asks any more about the commands of a process that is left out itself. What a world asked that died is lost.
  void drop_idle_omissions() {
    const std::vector<Part> asked = best_.result.parts;
    if (asked.empty()) {
      return;
    }
    ChoiceList choices = best_.choices;
    std::erase_if(choices, [&asked](const Choice& choice) {
      return is_omission(choice) && std::none_of(asked.begin(), asked.end(), [&choice](const Part& part) {
               return part.subject == choice.subject && part.ordinal == choice.ordinal;
             });
    });
    if (choices.size() < best_.choices.size()) {
      static_cast<void>(try_it(best_.hosts, std::move(choices)));
    }
  }

  SmallWorld best_;
  std::size_t runs_;
  const Attempt& attempt_;
  ChoiceList parts_;  // what can still be left out
};

}  // namespace

SmallWorld make_small(SmallWorld found, std::vector<Part> parts, std::size_t runs, const Attempt& attempt) {
  return Shrinker(std::move(found), std::move(parts), runs, attempt).make_small();
}

std::size_t count_choices(const ChoiceList& choices) noexcept {
  return static_cast<std::size_t>(
      std::count_if(choices.begin(), choices.end(), [](const Choice& choice) { return !is_omission(choice); }));
}

}  // namespace ferry::sim
