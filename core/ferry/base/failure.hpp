// Failure: one failure as a value; Error: the same failure thrown at an await.
//
// A Failure is immutable once shared, cheap to copy (one reference count) and may be read from any thread.
// Inside the library failures travel as values (Result<T>); Error is thrown only where a user awaits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <ferry/base/errc.hpp>

namespace ferry {

// What a failed operation may have done at the owner (contract: Quiet completion).
enum class Effect : std::uint8_t {
  none,     // provably nothing
  unknown,  // nothing, a part, all; or, for outcome_unknown, still to come
};

class [[nodiscard]] Failure {
 public:
  // No failure: false as a bool; nothing else but to_text() may be asked of it. What a slot for a failure holds until
  // there is one.
  Failure() noexcept = default;

  // detail: one sentence that names what was attempted, on what, with which numbers, and the remedy if there is one.
  explicit Failure(errc code, std::string detail = {});

  // Builders for the place that creates a failure or adds what it knows; each returns a changed copy.
  Failure during(std::string_view operation) const;
  Failure with_peer(std::string_view peer) const;
  Failure with_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) const;
  Failure with_effect(Effect effect) const;

  explicit operator bool() const noexcept { return info_ != nullptr; }

  errc code() const noexcept { return info_->code; }
  Effect effect() const noexcept { return info_->effect; }
  const std::string& detail() const noexcept { return info_->detail; }
  const std::string& operation() const noexcept { return info_->operation; }
  const std::string& peer() const noexcept { return info_->peer; }
  std::uint64_t offset() const noexcept { return info_->offset; }  // bytes, from the start of what was referred to
  std::uint64_t length() const noexcept { return info_->length; }  // bytes asked for
  std::uint64_t size() const noexcept { return info_->size; }      // bytes that the reference or frame holds

  // None: "no failure".
  // "read_into of offset 96, length 16 of 100 bytes at worker/2: invalid_range: …"
  std::string to_text() const;

 private:
  struct Info {
    errc code{};
    Effect effect = Effect::none;
    bool has_range = false;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t size = 0;
    std::string operation;
    std::string peer;
    std::string detail;
  };

  explicit Failure(std::shared_ptr<const Info> info) noexcept : info_(std::move(info)) {}

  std::shared_ptr<const Info> info_;
};

// Every exception that ferry throws. what() is Failure::to_text().
class Error : public std::system_error {
 public:
  explicit Error(Failure failure);

  const Failure& failure() const noexcept { return failure_; }
  errc ferry_code() const noexcept { return failure_.code(); }
  Effect effect() const noexcept { return failure_.effect(); }
  const std::string& operation() const noexcept { return failure_.operation(); }
  const std::string& peer() const noexcept { return failure_.peer(); }
  std::uint64_t offset() const noexcept { return failure_.offset(); }
  std::uint64_t length() const noexcept { return failure_.length(); }
  std::uint64_t size() const noexcept { return failure_.size(); }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Failure failure_;
  std::string text_;
};

// The failure that an arbitrary exception stands for: an Error's own, else `fallback` with the exception's text.
Failure failure_of(std::exception_ptr exception, errc fallback);

// "type: what()" of an arbitrary exception, cut to `limit` bytes; a fixed text for non-std exceptions.
std::string describe_exception(std::exception_ptr exception, std::size_t limit);

}  // namespace ferry
