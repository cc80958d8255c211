// A process that uses objects and streams in all ways, and looks at what comes of it.
#pragma once

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "godwit/stream.hpp"
#include "node/object_for_test.hpp"
#include "node/soak_account_for_test.hpp"

namespace godwit::node::soak {

using Numbers = std::uint64_t[];

// With which a worker ends that has found a fault, after saying which.
constexpr int kFault = 3;

// Whose elements all follow from the first.
inline std::vector<std::uint64_t> pattern(std::uint64_t seed, std::size_t size) {
  std::vector<std::uint64_t> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = i == 0 ? seed : mix64(seed + i);
  return all;
}

// Does what a worker does for the account of it.
class Doer {
 public:
  explicit Doer(Life& life) : life_(life) {}

  [[nodiscard]] bool told_to_end() const { return life_.told_to_end; }

  // A result with an error that is not excused ends the process.
  template <class F>
  auto attempt(Deed deed, F&& act) {
    life_.doing = deed;
    auto result = act();
    if (result) {
      ++life_.done[static_cast<std::size_t>(deed)];
    } else if (is_excused(deed, result.error().code)) {
      ++life_.excused[static_cast<std::size_t>(deed)];
    } else {
      fail(deed, std::string(to_string(result.error().code)) + ": " + result.error().message);
    }
    return result;
  }
  // A handle that was made with its promise does not know the size.
  void check(std::span<const std::uint64_t> elements, const Handle& handle) {
    life_.doing = Deed::read;
    const bool known = handle.size != Handle::kSizeUnknown;
    if (elements.empty() || (known && elements.size_bytes() != handle.size)) {
      fail(Deed::read, std::to_string(elements.size_bytes()) + " bytes of an object of " +
                           std::to_string(handle.size));
    }
    for (std::size_t i = 1; i < elements.size(); ++i) {
      if (elements[i] == mix64(elements[0] + i)) continue;
      fail(Deed::read,
           "element " + std::to_string(i) + " of " + std::to_string(elements.size()) + " is wrong");
    }
    ++life_.done[static_cast<std::size_t>(Deed::read)];
  }

 private:
  [[noreturn]] static void fail(Deed deed, const std::string& why) {
    std::fprintf(stderr, "worker %d, %s: %s\n", ::getpid(), name_of(deed), why.c_str());
    ::_exit(kFault);
  }

  Life& life_;
};

// What it makes ends by itself: with a lease, or with this process.
class Worker {
 public:
  Worker(Fleet fleet, std::uint64_t home, std::uint64_t seed, Doer& doer)
      : fleet_(std::move(fleet)),
        home_(detail::ObjectDoor(fleet_.objects()).caller(), home),
        random_(seed),
        doer_(doer) {}

  void work() {
    while (!doer_.told_to_end()) {
      if (!out_ || !in_) open();
      if (out_ && in_) step();
      if (kept_.size() > 20) kept_.pop_front();
      if (owned_.size() > 5) owned_.pop_front();
    }
  }

 private:
  // The topic's home is never killed; a consumer may have been told that it was too slow.
  void open() {
    auto out = doer_.attempt(Deed::open_topic, [&] {
      return Producer<std::string>::open(home_, "handles",
                                         {.topic = TopicOptions{.max_bytes = 1 << 20},
                                          .batch_items = 4,
                                          .patience = std::chrono::milliseconds(50)});
    });
    auto in = doer_.attempt(Deed::open_topic, [&] {
      return Consumer<std::string>::join(home_, "handles", "all",
                                         {.lease = std::chrono::seconds(2), .items = 4});
    });
    if (!out || !in) return;
    out_.emplace(*std::move(out));
    in_.emplace(*std::move(in));
  }

  // The other one comes and goes.
  NodeHandle node() {
    const std::vector<NodeHandle> nodes = fleet_.nodes();
    return nodes.empty() ? home_ : nodes[random_.below(nodes.size())];
  }
  Lifetime lifetime() {
    if (random_.below(2) == 0) return Lifetime::process();
    return Lifetime::lease(std::chrono::milliseconds(1 + random_.below(2000)));
  }
  std::vector<std::uint64_t> some() {
    constexpr std::array<std::size_t, 4> kSizes{1, 100, 10'000, 200'000};
    return pattern(random_.next(), 1 + random_.below(kSizes[random_.below(4)]));
  }

  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1: return put();
      case 2:
      case 3: return receive();
      case 4: return own();
      case 5: return promise();
      case 6: return change();
      default: return evict();
    }
  }
  void put() {
    const auto ref =
        doer_.attempt(Deed::put, [&] { return node().put(some(), {.lifetime = lifetime()}); });
    if (!ref) return;
    send(*ref);
    remember(*ref);
  }
  void send(const Ref<Numbers>& ref) {
    const Status sent =
        doer_.attempt(Deed::send, [&] { return out_->send(ref.handle().to_text()); });
    if (!sent) out_.reset();
  }
  void receive() {
    for (int i = 0; i < 4; ++i) {
      auto item =
          doer_.attempt(Deed::receive, [&] { return in_->next(std::chrono::milliseconds(5)); });
      if (!item && item.error().code != ErrorCode::deadline) in_.reset();
      if (!item || !*item) return;
      remember(Ref<Numbers>::parse(fleet_, ***item).value());
      if (random_.below(8) != 0) (*item)->ack();
    }
  }
  void own() {
    auto owned = doer_.attempt(Deed::own, [&] { return Owned<Numbers>::put(node(), some()); });
    if (!owned) return;
    if (random_.below(2) == 0) {
      const auto borrowed =
          doer_.attempt(Deed::borrow, [&] { return Borrowed<Numbers>::from(owned->ref()); });
      if (borrowed) read(borrowed->ref());
    }
    owned_.push_back(*std::move(owned));
  }
  void promise() {
    auto made = doer_.attempt(Deed::promise, [&] {
      return Promise<Numbers>::make(
          node(), {.object = {.lifetime = lifetime()}, .at_most = std::chrono::seconds(1)});
    });
    if (!made) return;
    send(made->ref());
    switch (random_.below(3)) {
      case 0:
        static_cast<void>(doer_.attempt(Deed::keep_promise, [&] { return made->set(some()); }));
        break;
      case 1:
        static_cast<void>(doer_.attempt(
            Deed::break_promise, [&] { return made->fail(ErrorCode::app_error, "on purpose"); }));
        break;
      default: break;  // given up
    }
  }
  void change() {
    if (refs_.empty()) return;
    const Ref<Numbers> ref = random_.pick<Ref<Numbers>>(refs_);
    switch (random_.below(3)) {
      case 0:
        static_cast<void>(doer_.attempt(Deed::update, [&] { return ref.update(some()); }));
        break;
      case 1:
        static_cast<void>(doer_.attempt(Deed::set_lifetime, [&] {
          return ref.set_lifetime(Lifetime::lease(std::chrono::milliseconds(50)));
        }));
        break;
      default:
        const auto value =
            doer_.attempt(Deed::await, [&] { return ref.wait(std::chrono::milliseconds(20)); });
        if (value) doer_.check(**value, ref.handle());
    }
  }
  void evict() {
    if (refs_.empty()) return;
    const Ref<Numbers> ref = random_.pick<Ref<Numbers>>(refs_);
    static_cast<void>(doer_.attempt(Deed::evict, [&] { return ref.evict(); }));
  }
  // Nothing: it is not there, and that is excused.
  std::optional<Pinned<Numbers>> read(const Ref<Numbers>& ref) {
    const auto value = doer_.attempt(Deed::resolve, [&] { return ref.resolve(); });
    if (!value) return std::nullopt;
    doer_.check(**value, ref.handle());
    return *value;
  }
  void remember(const Ref<Numbers>& ref) {
    if (auto value = read(ref)) kept_.push_back(*std::move(value));
    refs_.push_back(ref);
    if (refs_.size() > 30) refs_.erase(refs_.begin());
  }

  Fleet fleet_;
  const NodeHandle home_;
  Random random_;
  Doer& doer_;
  std::optional<Producer<std::string>> out_;
  std::optional<Consumer<std::string>> in_;
  std::vector<Ref<Numbers>> refs_;
  std::deque<Pinned<Numbers>> kept_;
  std::deque<Owned<Numbers>> owned_;
};

}  // namespace godwit::node::soak
