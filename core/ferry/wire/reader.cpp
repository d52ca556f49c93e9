#include <ferry/wire/reader.hpp>

#include <fmt/format.h>

namespace ferry::wire {

Result<void> Reader::check(std::string_view what) const {
  if (!ok_) {
    return Failure(errc::malformed, fmt::format("{}: {} bytes expected at byte {}, found {} of them", what, needed_,
                                                offset_, bytes_.size() - offset_));
  }
  return {};
}

Result<void> Reader::finish(std::string_view what) const {
  if (auto complete = check(what); !complete) {
    return complete;
  }
  if (remaining() != 0) {
    return Failure(errc::malformed,
                   fmt::format("{}: the end expected at byte {}, found {} more bytes", what, offset_, remaining()));
  }
  return {};
}

}  // namespace ferry::wire
