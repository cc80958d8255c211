// A node's side of objects: what peers ask for is done to the node's store, and what functions and
// arguments refer to is found for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "call/objects.hpp"
#include "ref/home/copies.hpp"
#include "ref/home/piece_checksums.hpp"
#include "ref/home/store.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

class Answers;
class ObjectAccess;

// What is asked about topics, which live beside the objects (ref/stream). Any thread.
class StreamAnswers {
 public:
  virtual ~StreamAnswers() = default;
  // As call::Objects::answer(), for a wire::StreamRequest.
  [[nodiscard]] virtual Result<bool> answer(const call::Objects::Asker& asker, Bytes request,
                                            call::ReplyBuffer& reply) = 0;
  virtual void stop_waiting(std::uint64_t waiter) = 0;
  virtual void renew(Holder holder) = 0;
  virtual void leave(Holder holder) = 0;
};

// What a locate or wait may answer with: where the bytes are, if the asker can get at them.
[[nodiscard]] inline ObjectStore::From from_of(const wire::ObjectRequest& head) noexcept {
  return (head.flags & wire::ObjectRequest::kHasChannels) != 0 ? ObjectStore::From::anywhere
                                                               : ObjectStore::From::memory;
}

// Any thread. The store outlives it.
class ObjectService final : public call::Objects {
 public:
  // What a locate may carry in its answer, however much is asked for; more is pinned instead.
  static constexpr std::size_t kMaxInAnswer = std::size_t{1} << 20;
  // Of a locate or read that is answered on the polling thread.
  static constexpr std::size_t kMaxAtOnce = std::size_t{64} << 10;
  // Of everything in an answer about several objects.
  static constexpr std::size_t kMaxTogether = std::size_t{32} << 20;
  static constexpr std::size_t kMaxListed = 4096;

  struct Options {
    Holder self;                   // this process, as a holder of its own objects
    std::function<void()> on_use;  // after each request, by any thread: times may have changed
    std::function<void(std::uint64_t waiter)> wake;  // Engine::run_again()
  };
  ObjectService(ObjectStore& store, Options options)
      : store_(store), options_(std::move(options)) {}
  ~ObjectService() override;

  // What that waiter waits for has happened: the stores' on_ready. Any thread.
  void ready(std::uint64_t waiter) const;

  // How objects of other homes are reached. Before anything runs.
  void reach_others_by(ObjectAccess& access) { access_ = &access; }
  // Who answers about topics; outlives it. Before anything runs.
  void answer_streams_by(StreamAnswers& streams) { streams_ = &streams; }
  // From here on find_all() refuses; returns when nobody is inside, or waits for another home's
  // promise. What those wait for has been ended.
  void close();

  Result<bool> answer(const Asker& asker, Bytes request, call::ReplyBuffer& reply) override;
  void stop_waiting(std::uint64_t waiter) override;
  Result<std::optional<Found>> find_at_once(const Handle& handle) override;
  void find_all(std::span<Search> searches, Duration at_most) override;
  Result<bool> is_settled(const Handle& handle, Duration at_most, std::uint64_t waiter) override;
  Result<Handle> put(const ObjectToPut& object) override;
  bool is_home_of(const Handle& handle) const override { return is_own(handle); }
  Result<Handle> settle(const Settling& what) override;

 private:
  struct Request;
  void release_all(const Request& request, Bytes pins);
  [[nodiscard]] Result<bool> wait(const Request& request, std::span<const wire::ObjectItem> items,
                                  Answers& answers);
  [[nodiscard]] Status do_items(const Request& request, const wire::ObjectRequestView& view,
                                Answers& answers);
  [[nodiscard]] Status do_item(const Request& request, const wire::ObjectItem& item, Bytes data,
                               Answers& answers);
  [[nodiscard]] Status do_put(const Request& request, const wire::ObjectItem& item, Bytes data,
                              Answers& answers);
  [[nodiscard]] Status do_settle(const Request& request, const wire::ObjectItem& item, Bytes data,
                                 Answers& answers);
  // While it lives, ready() on this thread puts waiters there; null: it tells them at once.
  class TellsReady {
   public:
    explicit TellsReady(std::vector<std::uint64_t>* ready) noexcept;
    TellsReady(const TellsReady&) = delete;
    TellsReady& operator=(const TellsReady&) = delete;
    ~TellsReady();

   private:
    std::vector<std::uint64_t>* outer_;
  };

  // --- settle.cpp ---
  // `op` is update or fulfil: what lies under the ticket, or these parts, become a version.
  [[nodiscard]] Result<Handle> publish(const ObjectStore::Writer& writer, wire::ObjectOp op,
                                       const Handle& handle, std::uint64_t ticket,
                                       Arena::Wait wait);
  [[nodiscard]] Result<Handle> settle_own(const ObjectStore::Writer& writer, wire::ObjectOp op,
                                          const Handle& handle, std::span<const Bytes> parts,
                                          Arena::Wait wait);
  [[nodiscard]] Result<Handle> settle_here(const Settling& what);
  [[nodiscard]] Result<Handle> settle_there(const Settling& what);
  [[nodiscard]] Status do_locate(const Request& request, const wire::ObjectItem& item,
                                 Answers& answers);
  // --- service_elsewhere.cpp ---
  [[nodiscard]] Status do_reserve_elsewhere(const Request& request, const wire::ObjectItem& item,
                                            Bytes name, Answers& answers);
  [[nodiscard]] Status do_fetch(const Request& request, const wire::ObjectItem& item,
                                Answers& answers);
  // True: the answer says which channel has it, and that is all there is to say.
  [[nodiscard]] bool tell_elsewhere(const Located& found, Answers& answers);
  // Errors: unsupported (this node has no channel of that name).
  [[nodiscard]] Result<std::uint16_t> channel_named(Bytes name) const;
  [[nodiscard]] Status do_read(const Request& request, const wire::ObjectItem& item,
                               Answers& answers);
  [[nodiscard]] Status do_ownership(const Request& request, const wire::ObjectItem& item,
                                    Answers& answers);
  [[nodiscard]] Status do_promise(const Request& request, const wire::ObjectItem& item, Bytes data,
                                  Answers& answers);
  void list(const Request& request, Answers& answers);
  [[nodiscard]] bool is_own(const Handle& handle) const noexcept;
  [[nodiscard]] Result<Found> locate(const Handle& handle, Arena::Wait wait);
  class PromiseWatch;
  struct Spread;
  [[nodiscard]] Status do_spread(const Request& request, const wire::ObjectRequestView& view,
                                 Answers& answers);
  [[nodiscard]] Status check_spread(const Handle& handle);
  [[nodiscard]] Result<Handle> copy_here(const Spread& spread, const Handle& source);
  void spread_below(const Spread& spread, std::span<const std::uint64_t> nodes,
                    std::vector<wire::SpreadFacts>& facts);
  [[nodiscard]] Result<std::optional<Found>> find_copy(const Handle& original, Arena::Wait wait);

  // False: closed. Otherwise leave() follows, or an Entered ends.
  [[nodiscard]] bool enter();
  void leave();
  class Entered {
   public:
    explicit Entered(ObjectService& service) noexcept : service_(service) {}
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    ~Entered() { service_.leave(); }

   private:
    ObjectService& service_;
  };

  [[nodiscard]] Result<bool> answer_now(const Asker& asker, Bytes request,
                                        call::ReplyBuffer& reply);

  ObjectStore& store_;
  const Options options_;
  ObjectAccess* access_ = nullptr;
  StreamAnswers* streams_ = nullptr;
  Copies copies_;
  PieceChecksums checksums_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;  // threads that wait for other homes
  std::unordered_map<std::uint64_t, std::shared_ptr<PromiseWatch>> watches_;  // by waiter
  bool closed_ = false;
};

}  // namespace godwit::ref
