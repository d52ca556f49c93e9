#include <ferry/buffer/batch.hpp>

#include <utility>

#include <ferry/buffer/members_awaiter.hpp>

namespace ferry {

Task<Outcomes> Batch::run(Limits limits) {
  if (std::exchange(has_run_, true)) {
    detail::refuse_second_run("batch");
  }
  if (!members_.empty()) {
    detail::MembersAwaiter ended(members_, limits);
    co_await ended;
  }
  co_return Outcomes(members_);
}

}  // namespace ferry
