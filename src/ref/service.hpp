// A node's side of the messages about objects: what peers ask for is done to the node's store.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "call/objects.hpp"
#include "ref/store.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

class Answers;

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

  // `on_use` is called after each request, by any thread: times may have changed.
  ObjectService(ObjectStore& store, std::function<void()> on_use)
      : store_(store), on_use_(std::move(on_use)) {}

  Result<bool> answer(const Asker& asker, Bytes request, call::ReplyBuffer& reply) override;
  void stop_waiting(std::uint64_t waiter) override { store_.stop_waiting(waiter); }

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
  [[nodiscard]] Status do_locate(const Request& request, const Handle& handle, Answers& answers);
  [[nodiscard]] Status do_read(const Request& request, const wire::ObjectItem& item,
                               Answers& answers);
  [[nodiscard]] Status do_ownership(const Request& request, const wire::ObjectItem& item,
                                    Answers& answers);
  [[nodiscard]] Status do_promise(const Request& request, const wire::ObjectItem& item, Bytes data,
                                  Answers& answers);
  void list(const Request& request, Answers& answers);

  ObjectStore& store_;
  const std::function<void()> on_use_;
};

}  // namespace godwit::ref
