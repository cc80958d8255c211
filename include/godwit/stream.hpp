// Streams: items from producers to groups of consumers, through a topic that a node is the home of.
//
//   auto out = godwit::Producer<Reading>::open(fleet.node(0), "readings").value();
//   if (const auto sent = out.send(reading, "sensor/7"); !sent) report(sent.error());
//   if (const auto closed = out.close(); !closed) ...        // no more will come
//
//   auto in = godwit::Consumer<Reading>::join(fleet.node(0), "readings", "archive").value();
//   while (auto item = in.next().value()) {                  // until the topic has ended
//     store(**item);
//     item->ack();
//   }
//
// Every group sees every item, in order of their offsets, from 0 on; the consumers of one group
// share them. An item is delivered until somebody has acked it: to another consumer if the first
// one dies, forgets it, or takes longer than its lease. So each is seen at least once, and once if
// nobody fails.
//
// An item is kept until every group has acked it, and its memory goes back then; a topic that is
// full makes its producers wait. Large items stay in the home's memory: consumers of its host read
// them there, and a producer of its host may write them there, too:
//   auto item = out.draft(1'000'000).value();                // of a Producer<double[]>
//   solve(*item);                                            // std::span<double>
//   if (const auto sent = out.send(item); !sent) ...
// For what is larger still, send a Handle.
//
// Where a Redis server is there anyway, it can keep the topics instead; the code is the same:
//   auto broker = godwit::Broker::connect("redis://127.0.0.1:6379").value();
//   auto out = godwit::Producer<Reading>::open(broker, "readings").value();
// docs/streams.md says what differs.
//
// Errors, of all that return Result: node_lost and unreachable (the home is gone), type_mismatch
// (the topic has items of another type), invalid_argument, deadline, and those named below.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/broker.hpp"
#include "godwit/detail/object_codec.hpp"
#include "godwit/detail/object_parts.hpp"
#include "godwit/detail/stream_door.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/stream_options.hpp"
#include "godwit/topic_status.hpp"

namespace godwit {

// An item, an array of plain elements, that its producer writes where it will lie
// (Producer::draft()). Move-only; one thread at a time may call its members, any number may write
// to the elements. The fleet outlives it. Given up, or its process dead, it leaves nothing; sent or
// moved from, it is empty.
template <class T>
class ItemDraft {
  static_assert(std::is_unbounded_array_v<T>);
  using Element = std::remove_extent_t<T>;

 public:
  // To write to, until it is sent. What is there at first is unspecified.
  [[nodiscard]] std::span<Element> operator*() const noexcept {
    const std::span<std::byte> bytes = core_.bytes();
    return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
  }
  // Whether it is memory of the topic's home already.
  [[nodiscard]] bool in_place() const noexcept { return core_.in_place(); }

  // For the library.
  explicit ItemDraft(detail::StreamDraft core) noexcept : core_(std::move(core)) {}
  [[nodiscard]] detail::StreamDraft& core() noexcept { return core_; }

 private:
  detail::StreamDraft core_;
};

// Sends values of one type: a plain one, anything msgpack knows, or T[] for arrays of plain
// elements. Move-only; any thread may send. Destroyed or assigned to, it sends what it has, waiting
// a second at most; but for values that combine() still collects, which flush() and close() send.
// Closed, it sends nothing more (shutting_down); moved from, everything of it returns
// invalid_argument.
template <class T>
class Producer {
  using Codec = detail::ObjectCodec<T>;
  struct Nothing {};
  using Value = std::conditional_t<Codec::kIsArray, Nothing, T>;

 public:
  // Makes the topic if there is none. Errors: already_exists (a sole producer beside another),
  // shutting_down (it was closed), resource_exhausted and overload (limits of the home).
  [[nodiscard]] static Result<Producer> open(const Broker& broker, std::string_view topic,
                                             const ProducerOptions& options = {}) {
    auto made = detail::StreamProducer::open(broker, topic, Codec::type_hash(), options);
    if (!made) return tl::unexpected(std::move(made).error());
    return Producer(*std::move(made));
  }

  // The key is for filters, and at most 4 KiB. Errors: too_large (the key; the item, for the topic
  // or for its encoding: it is not sent, and the stream goes on without it); shutting_down (the
  // topic was closed) or what it ended with; overload (what was sent before could not be delivered,
  // and this one is not taken). After any other (deadline: the topic was full for options.patience)
  // one of more than options.batch_bytes was not confirmed; a smaller one is taken, and goes with
  // what is sent next: do not send that again.
  template <class V>
  [[nodiscard]] Status send(const V& value, std::string_view key = {}) {
    if constexpr (!Codec::kIsArray) {
      if (only_if_ && !only_if_(value)) return {};
      if (combine_) {
        collected_.push_back(value);
        return collected_.size() < combine_items_ ? Status{} : send_combined(key);
      }
    }
    return send_value(value, key);
  }
  // An item of so many elements, for the caller to fill and send(): beyond options.batch_bytes and
  // 16 KiB, and where the home's memory can be mapped, that is memory of the home, and sending it
  // costs one message. Otherwise it is memory of this process. Errors: too_large (the key; the
  // item, also for the topic's max_bytes), resource_exhausted (the home's object_budget_mb),
  // node_lost, unreachable.
  template <class C = Codec>
    requires(C::kIsArray)
  [[nodiscard]] Result<ItemDraft<T>> draft(std::uint64_t elements,
                                           std::string_view key = {}) const {
    constexpr std::uint64_t kSize = sizeof(typename C::Element);
    if (const Status fits = detail::check_elements(kSize, {elements}); !fits) {
      return tl::unexpected(fits.error());
    }
    auto made = core_.draft(elements * kSize, key);
    if (!made) return tl::unexpected(std::move(made).error());
    return ItemDraft<T>(*std::move(made));
  }
  // Of this producer. Errors: as of any other send(). If the draft is empty after one, it was
  // taken, and goes with what is sent next. If not, it may be sent again: unless it was too_large
  // or the producer is closed. One that is in place is delivered once, whatever was lost: not_found
  // says that the home had it after all, or that it was started anew. Nothing is to be written to
  // it between the two.
  template <class C = Codec>
    requires(C::kIsArray)
  [[nodiscard]] Status send(ItemDraft<T>& item) {
    return core_.send(item.core());
  }
  template <class C = Codec>
    requires(C::kIsArray)
  Status send(ItemDraft<T>&& item) = delete;  // it is the caller's still, if that fails
  // Returns when the home has everything.
  [[nodiscard]] Status flush() {
    if (const Status sent = send_combined({}); !sent) return sent;
    return core_.flush();
  }
  // Nobody sends any more: consumers are told after the last item.
  [[nodiscard]] Status close() {
    if (const Status sent = send_combined({}); !sent) return sent;
    return core_.close();
  }
  // The same with an error.
  [[nodiscard]] Status abort(ErrorCode code, std::string_view why) {
    return core_.abort(code, why);
  }

  // From here on, only what this accepts is sent. By one thread, as everything below.
  void only_if(std::function<bool(const Value&)> accepts)
    requires(!Codec::kIsArray)
  {
    only_if_ = std::move(accepts);
  }
  // From here on, each so many values become one item; what is left over does with flush(). One
  // thread sends then. If the item is refused as too_large, the values are gone with it.
  void combine(std::size_t items, std::function<Value(std::span<const Value>)> into_one)
    requires(!Codec::kIsArray)
  {
    combine_items_ = items == 0 ? 1 : items;
    combine_ = std::move(into_one);
  }

 private:
  explicit Producer(detail::StreamProducer core) : core_(std::move(core)) {}
  template <class V>
  Status send_value(const V& value, std::string_view key) {
    return detail::with_encoded<T>(
        value, [&](detail::ObjectParts parts) { return core_.send(parts, key); });
  }
  Status send_combined(std::string_view key) {
    if constexpr (!Codec::kIsArray) {
      if (collected_.empty()) return {};
      const Value one = combine_(collected_);
      collected_.clear();
      return send_value(one, key);
    }
    return {};
  }

  detail::StreamProducer core_;
  std::function<bool(const Value&)> only_if_;
  std::function<Value(std::span<const Value>)> combine_;
  std::size_t combine_items_ = 1;
  std::vector<Value> collected_;
};

// An item, as a consumer has it. Cheap to copy; any thread. The value stays until the last copy is
// gone, acked or not. One that was moved from can be assigned to, and nothing else.
template <class T>
class Received {
  using Codec = detail::ObjectCodec<T>;

 public:
  [[nodiscard]] decltype(auto) operator*() const noexcept { return Codec::get(value_); }
  [[nodiscard]] auto operator->() const noexcept { return Codec::arrow(value_); }
  [[nodiscard]] std::string_view key() const noexcept { return item_.key; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return item_.offset; }
  // This one and those before: more than 1 says that somebody has seen it already.
  [[nodiscard]] std::uint32_t deliveries() const noexcept { return item_.deliveries; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return item_.bytes; }
  // It is done with: no consumer of this group gets it again. Costs nothing for most: the home is
  // told of many at a time.
  void ack() const { delivery_.ack(index_); }

  // For the library.
  [[nodiscard]] static Result<Received> create(const detail::StreamDelivery& delivery,
                                               std::size_t index) {
    Received received;
    received.item_ = delivery.item(index);
    auto value = Codec::decode(received.item_.bytes);
    if (!value) {
      return detail::not_decoded("item " + std::to_string(received.item_.offset),
                                 std::move(value).error());
    }
    received.value_ = *std::move(value);
    received.delivery_ = delivery;
    received.index_ = index;
    return received;
  }

 private:
  Received() = default;
  detail::StreamDelivery delivery_;
  detail::StreamItem item_;
  typename Codec::Value value_{};
  std::size_t index_ = 0;
};

// Takes items for its group. Move-only; one thread at a time. Destroyed, what it has fetched and
// nobody has looked at goes to others at once. Moved from, everything of it returns
// invalid_argument.
template <class T>
class Consumer {
  using Codec = detail::ObjectCodec<T>;

 public:
  // Makes the topic and the group if there are none. Errors: not_found (an offset that is not kept
  // any more), invalid_argument (the group has another filter; an offset beyond the end), overload.
  [[nodiscard]] static Result<Consumer> join(const Broker& broker, std::string_view topic,
                                             std::string_view group,
                                             const ConsumerOptions& options = {}) {
    auto made = detail::StreamConsumer::join(broker, topic, group, Codec::type_hash(), options);
    if (!made) return tl::unexpected(std::move(made).error());
    return Consumer(*std::move(made));
  }

  static constexpr std::chrono::nanoseconds kAnHour = std::chrono::hours(1);

  // The next item; nothing once the topic has ended and all is acked but what this consumer has.
  // Errors: deadline (nothing came in time; ask again), what the topic ended with, bad_format (an
  // item that is no T: it is named, and acked, and the next call goes on behind it).
  [[nodiscard]] Result<std::optional<Received<T>>> next(
      std::chrono::nanoseconds at_most = kAnHour) {
    for (;;) {
      while (delivery_ && index_ < size_) {
        auto item = Received<T>::create(delivery_, index_++);
        if (!item) {
          delivery_.ack(index_ - 1);  // no consumer of this type could read it
          return tl::unexpected(std::move(item).error());
        }
        if (only_if_ && !only_if_(*item)) {
          item->ack();
          continue;
        }
        // The last of them is let go of, and its ack told of, with the caller's copy.
        if (index_ == size_) let_go();
        return std::optional<Received<T>>(*std::move(item));
      }
      let_go();
      auto more = core_.next(at_most);
      if (!more) return tl::unexpected(std::move(more).error());
      if (!*more) return std::optional<Received<T>>();
      delivery_ = **std::move(more);
      size_ = delivery_.size();
    }
  }
  // From here on, items that this refuses are acked and passed over.
  void only_if(std::function<bool(const Received<T>&)> accepts) { only_if_ = std::move(accepts); }
  // The group goes on from there, for all its consumers; what they have is theirs no more. Errors:
  // not_found (not kept any more), invalid_argument (beyond the end).
  [[nodiscard]] Status seek(StartAt to) {
    let_go();
    return core_.seek(to);
  }

 private:
  explicit Consumer(detail::StreamConsumer core) : core_(std::move(core)) {}
  void let_go() noexcept {
    delivery_ = {};
    size_ = 0;
    index_ = 0;
  }

  detail::StreamDelivery delivery_;
  detail::StreamConsumer core_;  // ends first: what is given back then is not fetched again
  std::size_t index_ = 0;
  std::size_t size_ = 0;
  std::function<bool(const Received<T>&)> only_if_;
};

// The topics of a broker; one of them with its groups. Errors: not_found.
[[nodiscard]] GODWIT_API Result<std::vector<TopicStatus>> list_topics(const Broker& broker,
                                                                      std::size_t at_most = 1000);
[[nodiscard]] GODWIT_API Result<TopicStatus> topic_status(const Broker& broker,
                                                          std::string_view topic);
// Forgets it and its items, whoever waits for them. Errors: not_found.
[[nodiscard]] GODWIT_API Status remove_topic(const Broker& broker, std::string_view topic);
// Ends a group, for all its consumers: nothing is kept for it any more. Errors: not_found.
[[nodiscard]] GODWIT_API Status remove_group(const Broker& broker, std::string_view topic,
                                             std::string_view group);

}  // namespace godwit
