// What a peer says before and besides calls, read by pure functions: handshake frames, hellos,
// offers of large bodies, batches, descriptors of regions, and the variable parts of call messages.
// What those messages do to an engine is engine_fuzzer's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fabric/ucx/batch.hpp"
#include "fabric/ucx/offer.hpp"
#include "godwit/sharding.hpp"
#include "trust/handshake.hpp"
#include "trust/handshake_frames.hpp"
#include "wire/call.hpp"
#include "wire/hello.hpp"
#include "wire/region.hpp"

namespace {

using namespace godwit;

void require(bool condition) {
  if (!condition) std::abort();
}

// What was understood can be said again, and is understood the same.
void read_handshake_frames(Bytes bytes) {
  if (const auto offer = trust::decode_offer(bytes)) {
    const std::string said = encode(*offer);
    const auto again = trust::decode_offer(bytes_of(said));
    require(again && again->features == offer->features && again->nonce == offer->nonce);
  }
  if (const auto challenge = trust::decode_challenge(bytes)) {
    require(encode(*challenge) == text_of(bytes));
  }
  if (const auto proof = trust::decode_proof(bytes)) {
    require(trust::encode_proof(*proof) == text_of(bytes));
  }
  if (const auto answer = trust::decode_answer(bytes)) {
    require(trust::encode_answer(*answer) == text_of(bytes));
  }
}

// Neither side may take a stranger's frame for the last one, and both may be asked again.
void shake_hands(Bytes bytes) {
  auto server = trust::Handshake::as_server({});
  static_cast<void>(server.receive(bytes));
  auto client = trust::Handshake::as_client({}, "hello");
  static_cast<void>(client.offer());
  const auto step = client.receive(bytes);
  require(!step || step->next == trust::Handshake::Next::send);
}

void read_call_parts(Bytes bytes) {
  static_cast<void>(wire::parse_call_extensions(bytes));
  static_cast<void>(wire::parse_need_code(bytes));
  static_cast<void>(wire::parse_code(bytes));
  std::uint32_t aux = 0;
  if (bytes.size() < sizeof aux) return;
  std::memcpy(&aux, bytes.data(), sizeof aux);
  const wire::OutcomeWord word = wire::unpack_outcome(aux);
  require(word.ending <= Ending::rejected);
  require(wire::pack(wire::unpack_outcome(wire::pack(word))) == wire::pack(word));
}

// What is accepted says the same again, and nothing computed from it leaves its bounds.
void read_region(Bytes bytes) {
  static_cast<void>(wire::parse_region_grant(bytes));
  const auto region = wire::parse_region(bytes);
  if (!region) return;
  require(encode(*region) == text_of(bytes));
  const std::vector<std::uint32_t> placement = region->placement();
  const ShardMap map(region->map, placement.data());
  const ShardPlace last = map.locate(region->map.capacity - 1);
  require(last.shard < region->shards.size());
  require(last.offset < map.shard_elements(last.shard, region->map.capacity));
  require(map.index_at(last) == region->map.capacity - 1);
}

// What is read lies inside, and what was counted is what is there.
void read_batch(Bytes bytes) {
  std::size_t offset = 0;
  std::size_t count = 0;
  std::size_t body_bytes = 0;
  while (const auto message = fabric::ucx::read_batch_entry(bytes, offset)) {
    ++count;
    body_bytes += message->body.size();
    require(message->body.empty() ||
            (message->body.data() >= bytes.data() &&
             message->body.data() + message->body.size() <= bytes.data() + bytes.size()));
  }
  require(offset <= bytes.size() && count * sizeof(wire::Header) + body_bytes <= offset);
  require(fabric::ucx::count_batch(bytes) == (offset == bytes.size() ? count : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  read_handshake_frames(bytes);
  shake_hands(bytes);
  read_call_parts(bytes);
  read_region(bytes);
  static_cast<void>(wire::parse_peer_hello(text_of(bytes)));
  read_batch(bytes);
  if (const auto offer = fabric::ucx::parse_offer(bytes)) require(offer->size != 0);
  return 0;
}
