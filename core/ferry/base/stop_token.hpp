// Stop tokens: the standard ones, and a view of one that may stand in an options struct inside an await.
//
// Options structs must be trivially copyable (g++ 12 destroys others twice inside co_await); a StopTokenView is a
// pointer to the caller's token, which lives at least until the await has read it.
#pragma once

#include <stop_token>

namespace ferry {

using StopSource = std::stop_source;
using StopToken = std::stop_token;

class StopTokenView {
 public:
  constexpr StopTokenView() noexcept = default;
  constexpr StopTokenView(const StopToken& token) noexcept : token_(&token) {}  // NOLINT: a view, on purpose implicit

  // The token viewed; one that never stops where there is none.
  StopToken token() const noexcept { return token_ == nullptr ? StopToken() : *token_; }
  bool stop_requested() const noexcept { return token_ != nullptr && token_->stop_requested(); }
  constexpr explicit operator bool() const noexcept { return token_ != nullptr; }

 private:
  const StopToken* token_ = nullptr;
};

}  // namespace ferry
