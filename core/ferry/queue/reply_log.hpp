// ReplyLog: the atomics of one initiator that its owner has executed, with their replies, until these are acknowledged:
// so that one that comes again is answered and not executed again. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include <ferry/base/result.hpp>

namespace ferry::queue {

class ReplyLog {
 public:
  struct Reply {
    std::uint64_t value = 0;  // the old one
    Failure failure{};
  };

  // The reply of an atomic that was executed before; null if this one was not. acknowledged: every number up to there
  // has been answered, and will not come again. malformed if it comes nevertheless, or if too many are unacknowledged.
  Result<const Reply*> find(std::uint64_t number, std::uint64_t acknowledged);
  void add(std::uint64_t number, Reply reply) { replies_.emplace(number, std::move(reply)); }
  std::size_t size() const noexcept { return replies_.size(); }

 private:
  std::map<std::uint64_t, Reply> replies_;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace ferry::queue
