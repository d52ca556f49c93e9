#include "responder.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace rdma_pingpong {

ferry::BufferRef Responder::prepare(std::uint64_t slots, std::uint64_t bytes) {
  buffer_ = {};
  memory_ = {};  // the old memory is gone before the new one is made
  memory_ = Slots(slots, bytes);
  buffer_ = context_.register_memory(memory_.all());
  return buffer_.ref();
}

Words Responder::words() {
  Words words{0, UINT64_MAX, 0};
  const std::span<const std::byte> bytes = memory_.slot(0);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    words.sum += word;
    words.least = std::min(words.least, word);
    words.most = std::max(words.most, word);
  }
  return words;
}

}  // namespace rdma_pingpong
