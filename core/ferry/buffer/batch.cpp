#include <ferry/buffer/batch.hpp>

#include <ferry/buffer/members_awaiter.hpp>

namespace ferry {

Task<Outcomes> Batch::run(Limits limits) {
  if (!members_.empty()) {
    detail::MembersAwaiter ended(members_, limits);
    co_await ended;
  }
  co_return Outcomes(members_);
}

}  // namespace ferry
