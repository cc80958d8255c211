// What a runtime does for objects: makes their parts, keeps their time, and tells them of the peers
// that come and go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "fabric/waiter.hpp"
#include "node/runtime.hpp"
#include "ref/home/elsewhere.hpp"
#include "ref/home/time_heap.hpp"

namespace godwit::node {
namespace {

class AccessHost final : public ref::AccessHost {
 public:
  explicit AccessHost(Runtime& runtime) : runtime_(runtime) {}

  call::Caller& caller() override { return runtime_.caller(); }
  Epoch epoch() override { return runtime_.epoch(); }
  ref::SegmentMap& segments() override { return runtime_.segment_map(); }
  Result<ref::SegmentMap::Mapped> map(const ref::SegmentKey& key,
                                      std::chrono::nanoseconds at_most) override {
    return exchange<ref::SegmentMap::Mapped>(
        [&](ref::SegmentExchange& segments, auto done) { segments.map(key, at_most, done); });
  }
  Result<std::shared_ptr<const ref::HomeCurrency>> map_currency(
      NodeId home, std::chrono::nanoseconds at_most) override {
    return exchange<std::shared_ptr<const ref::HomeCurrency>>(
        [&](ref::SegmentExchange& segments, auto done) {
          segments.map_currency(home, at_most, done);
        });
  }

 private:
  // The exchange keeps the time, so the wait ends.
  template <class Mapped, class Ask>
  Result<Mapped> exchange(const Ask& ask) {
    struct Answer {
      fabric::Waiter waiter;
      Result<Mapped> mapped;
    };
    Answer answer;
    runtime_.run_as_owner([&] {
      const auto done = [&answer](Result<Mapped> mapped) {
        answer.mapped = std::move(mapped);
        answer.waiter.complete();
      };
      if (ref::SegmentExchange* segments = runtime_.segments(); segments != nullptr) {
        ask(*segments, done);
      } else {
        done(fail(ErrorCode::shutting_down, "this process is shutting down"));
      }
    });
    runtime_.reactor().wait(answer.waiter, fabric::kNever);
    return std::move(answer.mapped);
  }

  Runtime& runtime_;
};

}  // namespace

void Runtime::make_objects() {
  if (options_.objects) {
    ref::ObjectStore::Options options{
        .home = options_.id, .arena = *options_.objects, .key = ref::HandleKey::random()};
    options.is_linked = [this](NodeId node) {
      return node == options_.id ||
             engine_->is_linked(node);  // functions hold objects of ours, too
    };
    options.on_ready = [this](std::uint64_t waiter) { object_service_->ready(waiter); };
    // Without it processes ask each time.
    if (auto currency = ref::Currency::create()) currency_ = *std::move(currency);
    options.currency = currency_;
    options.on_files_to_remove = [this] {
      reactor_->post(
          [this] { reactor_->offload([this] { object_store_->remove_files(); }, [] {}); });
    };
    options.on_warning = [this](const std::string& text) { log_.warn("{}", text); };
    std::vector<ref::ObjectRecord> found;
    if (auto& disk = options_.objects_on_disk) {
      options.key = disk->key;
      options.folder = std::move(disk->folder);
      found = std::move(disk->found);
    }
    if (options_.channels != nullptr && !options_.channels->empty()) {
      options.channels = std::make_shared<ref::HomeChannels>(options_.id, options_.channels);
    }
    object_store_ = std::make_unique<ref::ObjectStore>(*reactor_, std::move(options));
    object_store_->restore(std::move(found));
    objects_used();  // leases run on
    object_service_ = std::make_unique<ref::ObjectService>(
        *object_store_, ref::ObjectService::Options{
                            .self = {options_.id, options_.epoch},
                            .on_use = [this] { objects_used(); },
                            .wake = [this](std::uint64_t waiter) { engine_->run_again(waiter); }});
    make_topics();
    engine_->set_objects(object_service_.get());
  }
  segments_ = std::make_unique<ref::SegmentExchange>(
      *engine_, *reactor_, segment_map_,
      ref::SegmentExchange::Own{
          .arena = object_store_ != nullptr ? &object_store_->arena() : nullptr,
          .currency = currency_.get()});
  access_host_ = std::make_unique<AccessHost>(*this);
  object_access_ =
      std::make_unique<ref::ObjectAccess>(*access_host_, object_store_.get(), options_.channels);
  if (object_service_ != nullptr) object_service_->reach_others_by(*object_access_);
  caller_->set_objects(object_access_.get());
}

// Beside the objects, in the same memory.
void Runtime::make_topics() {
  ref::stream::StreamStore::Options options{.home = options_.id};
  options.is_linked = [this](NodeId node) {
    return node == options_.id || engine_->is_linked(node);
  };
  options.on_ready = [this](std::uint64_t waiter) { object_service_->ready(waiter); };
  stream_store_ = std::make_unique<ref::stream::StreamStore>(*reactor_, object_store_->arena(),
                                                             std::move(options));
  stream_service_ = std::make_unique<ref::stream::StreamService>(*stream_store_, *object_store_,
                                                                 [this] { objects_used(); });
  object_service_->answer_streams_by(*stream_service_);
}

// Any thread. What was put or shortened ends within this of its time.
void Runtime::objects_used() {
  constexpr Duration kSoon = std::chrono::milliseconds(20);
  if (objects_used_.load(std::memory_order_relaxed) || objects_used_.exchange(true)) return;
  reactor_->post([this] { sweep_objects_at(reactor_->now() + kSoon); });
}

void Runtime::sweep_objects_at(Time when) {
  reactor_->cancel(object_sweep_);
  object_sweep_ = reactor_->post_at(when, [this] { sweep_objects(); });
}

void Runtime::sweep_objects() {
  if (object_store_ == nullptr) return;
  objects_used_.store(false);
  const Time trim = trim_objects();
  const Time next = std::min({object_store_->sweep(), stream_store_->sweep(), trim});
  if (next.ns != INT64_MAX) sweep_objects_at(next);
}

// What freed objects leave beyond what is worth keeping goes back to the system, which takes long;
// but not at once: who puts the next large object soon would have to wait for fresh pages.
Time Runtime::trim_objects() {
  constexpr Duration kForTheNext = std::chrono::seconds(1);
  const std::size_t keep = options_.objects->keep_bytes;
  ref::Arena& arena = object_store_->arena();
  const ref::Arena::Use use = arena.use();
  if (use.held_bytes - use.used_bytes <= keep) {
    trim_at_ = {};
    return ref::kNever;
  }
  const Time now = reactor_->now();
  if (trim_at_.ns == 0) trim_at_ = now + kForTheNext;
  if (now < trim_at_) return trim_at_;
  if (!std::exchange(trimming_objects_, true)) {
    reactor_->offload([&arena, keep] { arena.trim(keep); }, [this] { trimming_objects_ = false; });
  }
  return ref::kNever;
}

void Runtime::forget_objects_of(NodeId node, const Error& why) {
  if (segments_ != nullptr) {
    segments_->grants().on_lost(
        node, {ErrorCode::node_lost,
               fmt::format("the link to {} broke: {}", name_of(node), why.message)});
  }
  segment_map_.forget_home(node);
  if (object_access_ != nullptr) object_access_->forget(node);
}

// Either may have something at the other.
void Runtime::on_holder_lost(NodeId node, const Error& why) {
  if (object_access_ != nullptr) object_access_->lost(node);
  if (object_store_ == nullptr) return;
  if (why.code == ErrorCode::unreachable) {
    object_store_->cut_off(node);
    stream_store_->cut_off(node);
  } else {
    object_store_->lost(node);
    stream_store_->lost(node);
  }
  objects_used();  // its time is another now than the next sweep knows
}

void Runtime::on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                             std::span<fabric::Fd> descriptors) {
  if (region_service_ != nullptr &&
      region_service_->grants().on_descriptors(from, header, body, descriptors)) {
    return;
  }
  if (segments_ != nullptr) segments_->grants().on_descriptors(from, header, body, descriptors);
}

}  // namespace godwit::node
