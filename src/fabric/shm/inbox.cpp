#include "fabric/shm/inbox.hpp"

#include <cstring>
#include <utility>

namespace godwit::fabric::shm {

Inbox::~Inbox() {
  for (const Stream& stream : streams_)
    if (stream.active && !stream.discarded) budget_.used -= stream.size;
}

bool Inbox::begin(std::uint8_t slot, const wire::Header& header, std::uint64_t size) {
  Stream& stream = streams_[slot];
  if (stream.active || size == 0) return false;
  stream.header = header;
  stream.size = stream.left = size;
  stream.active = true;
  stream.discarded = size > budget_.limit - budget_.used;
  if (stream.discarded) return true;
  stream.body = Buffer::allocate(size);
  stream.discarded = stream.body.size() != size;
  if (!stream.discarded) budget_.used += size;
  return true;
}

bool Inbox::append(std::uint8_t slot, Bytes bytes) {
  Stream& stream = streams_[slot];
  if (!stream.active || bytes.empty() || bytes.size() > stream.left) return false;
  if (!stream.discarded)
    std::memcpy(stream.body.data() + (stream.size - stream.left), bytes.data(), bytes.size());
  stream.left -= bytes.size();
  return true;
}

Inbox::Arrived Inbox::take(std::uint8_t slot) {
  Stream& stream = streams_[slot];
  stream.active = false;
  if (!stream.discarded) budget_.used -= stream.size;
  return {stream.header, std::move(stream.body), stream.discarded};
}

}  // namespace godwit::fabric::shm
