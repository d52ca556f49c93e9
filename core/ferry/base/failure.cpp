#include <ferry/base/failure.hpp>

#include <exception>
#include <utility>

#include <fmt/format.h>
#include <boost/core/demangle.hpp>

namespace ferry {

Failure::Failure(errc code, std::string detail) {
  auto info = std::make_shared<Info>();
  info->code = code;
  info->detail = std::move(detail);
  info_ = std::move(info);
}

Failure Failure::during(std::string_view operation) const {
  auto info = std::make_shared<Info>(*info_);
  info->operation = operation;
  return Failure(std::shared_ptr<const Info>(std::move(info)));
}

Failure Failure::with_peer(std::string_view peer) const {
  auto info = std::make_shared<Info>(*info_);
  info->peer = peer;
  return Failure(std::shared_ptr<const Info>(std::move(info)));
}

Failure Failure::with_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) const {
  auto info = std::make_shared<Info>(*info_);
  info->has_range = true;
  info->offset = offset;
  info->length = length;
  info->size = size;
  return Failure(std::shared_ptr<const Info>(std::move(info)));
}

Failure Failure::with_effect(Effect effect) const {
  auto info = std::make_shared<Info>(*info_);
  info->effect = effect;
  return Failure(std::shared_ptr<const Info>(std::move(info)));
}

std::string Failure::to_text() const {
  if (info_ == nullptr) {
    return "no failure";
  }
  std::string text = info_->operation;
  if (info_->has_range) {
    text += fmt::format("{}offset {}, length {} of {} bytes", text.empty() ? "" : " of ", info_->offset, info_->length,
                        info_->size);
  }
  if (!info_->peer.empty()) {
    text += fmt::format("{}at {}", text.empty() ? "" : " ", info_->peer);
  }
  text += fmt::format("{}{}", text.empty() ? "" : ": ", to_string(info_->code));
  text += fmt::format(": {}", info_->detail.empty() ? make_error_code(info_->code).message() : info_->detail);
  if (constexpr std::string_view kNote = " (it may have taken effect)";
      info_->effect == Effect::unknown && !text.ends_with(kNote)) {
    text += kNote;
  }
  return text;
}

Error::Error(Failure failure)
    : std::system_error(make_error_code(failure.code())), failure_(std::move(failure)), text_(failure_.to_text()) {}

std::string describe_exception(std::exception_ptr exception, std::size_t limit) {
  std::string text;
  try {
    std::rethrow_exception(std::move(exception));
  } catch (const std::exception& error) {
    text = fmt::format("{}: {}", boost::core::demangle(typeid(error).name()), error.what());
  } catch (...) {
    text = "an exception that is not derived from std::exception";
  }
  if (text.size() > limit) {
    text.resize(limit);
  }
  return text;
}

Failure failure_of(std::exception_ptr exception, errc fallback) {
  constexpr std::size_t kTextLimit = 64 * 1024;
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error.failure();
  } catch (...) {
    return Failure(fallback, describe_exception(std::current_exception(), kTextLimit));
  }
}

}  // namespace ferry
