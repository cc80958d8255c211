// Requests about objects, of several processes, to a home: whatever they say, it answers or
// refuses, and when all processes have left nothing is held any more.
//
// An input is messages, each {u8 asker, u8 how, u16 size, bytes}. With how & 1 the handles in it
// are signed as the home would, since no fuzzer guesses a mac; with how & 2 they name objects that
// the home has made before.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.hpp"
#include "call/context.hpp"
#include "ref/home/service.hpp"
#include "ref/stream/service.hpp"

namespace godwit::ref {
namespace {

struct StillClock final : Clock {
  Time time{1'000'000'000};
  [[nodiscard]] Time now() const override { return time; }
};

constexpr NodeId kHome{77};
constexpr std::size_t kAskers = 3;

void check(bool holds) {
  if (!holds) std::abort();
}

class Home {
 public:
  Home()
      : store_(clock_, {.home = kHome,
                        .arena = {.budget_bytes = std::size_t{8} << 20},
                        .key = key_,
                        .last_ticket = 0,
                        .on_ready = [](std::uint64_t) {}}),
        service_(
            store_,
            {.self = {.node = kHome, .epoch = {1}}, .on_use = [] {}, .wake = [](std::uint64_t) {}}),
        topics_(clock_, store_.arena(), {.home = kHome}),
        streams_(topics_, store_, [] {}) {
    service_.answer_streams_by(streams_);
  }

  void ask(std::uint8_t asker, std::uint8_t how, Bytes bytes) {
    Buffer request = Buffer::copy_of(bytes);
    if ((how & 1) != 0) sign(request, (how & 2) != 0);
    call::ReplyBuffer reply;
    reply.prepare(std::size_t{16} << 20);
    const auto answered = service_.answer({.node = NodeId{1U + asker % kAskers},
                                           .may_wait = (how & 4) != 0,
                                           .waiter = (how & 8) != 0 ? ++waiters_ : 0},
                                          request.view(), reply);
    if (!answered || !*answered) return;
    check(reply.view().size() >= 16);
    remember(reply.view().subspan(16));
    if ((how & 16) != 0) {
      clock_.time = clock_.time + std::chrono::milliseconds(how * 10);
      store_.sweep();
      topics_.sweep();
    }
  }

  void end() {
    clock_.time = clock_.time + std::chrono::hours(24);
    store_.sweep();
    topics_.sweep();
    for (const stream::TopicStats& topic : topics_.list(SIZE_MAX)) {
      check(topics_.remove(topic.id).has_value());
    }
    for (const Handle& handle : known_) static_cast<void>(store_.evict(handle));
    store_.sweep();
    check(store_.stats().pins == 0 && store_.stats().borrows == 0);
    check(store_.stats().reservations == 0);
  }

 private:
  void sign(Buffer& request, bool known) {
    wire::ObjectRequest head;
    if (request.size() < sizeof head) return;
    std::memcpy(&head, request.data(), sizeof head);
    std::byte* at = request.data() + sizeof head;
    for (std::uint32_t i = 0; i < head.count; ++i, at += sizeof(wire::ObjectItem)) {
      if (at + sizeof(wire::ObjectItem) > request.data() + request.size()) return;
      Handle handle;
      std::memcpy(&handle, at, sizeof handle);
      if (known && !known_.empty()) handle = known_[handle.object.bytes[0] % known_.size()];
      handle.format = Handle::kFormat;
      handle.home = kHome.value;
      key_.sign(handle);
      std::memcpy(at, &handle, sizeof handle);
    }
  }
  // A handle stands alone in the tail of an answer.
  void remember(Bytes answer) {
    const auto parsed = wire::parse_object_answer(answer);
    if (!parsed || parsed->fixed.code != 0 || known_.size() >= 64) return;
    if (const auto handle = wire::handle_in(*parsed); handle && key_.verify(*handle)) {
      known_.push_back(*handle);
    }
  }

  StillClock clock_;
  const HandleKey key_{{1, 2, 3, 4}};
  ObjectStore store_;
  ObjectService service_;
  stream::StreamStore topics_;
  stream::StreamService streams_;
  std::vector<Handle> known_;
  std::uint64_t waiters_ = 0;
};

}  // namespace
}  // namespace godwit::ref

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  godwit::Bytes rest(reinterpret_cast<const std::byte*>(data), size);
  godwit::ref::Home home;
  while (rest.size() >= 4) {
    const auto asker = static_cast<std::uint8_t>(rest[0]);
    const auto how = static_cast<std::uint8_t>(rest[1]);
    std::uint16_t wanted = 0;
    std::memcpy(&wanted, rest.data() + 2, sizeof wanted);
    rest = rest.subspan(4);
    const std::size_t bytes = std::min<std::size_t>(wanted, rest.size());
    home.ask(asker, how, rest.first(bytes));
    rest = rest.subspan(bytes);
  }
  home.end();
  return 0;
}
