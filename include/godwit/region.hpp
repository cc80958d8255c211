// Memory that nodes expose under a name, as a program sees it (docs/regions.md).
//
//   using Words = godwit::Region<std::uint64_t>;
//   auto list = Words::create(fleet, "list", {.elements = 1'000'000}).value();
//   list.put(7, 42).get();
//   godwit::Outcome<std::uint64_t> x = list.load(7);
//   auto old = list.fetch_add(7, 1).get();
//
// A region's elements are dealt out to nodes. Those of nodes of this host are mapped and read with
// plain loads; the others are reached by calls of godwit's own mobile functions, which check range
// and rights at the home. A shard whose node died is lost: everything that touches it ends as
// node_lost and names region and range, also where its memory is still mapped here.
//
// Order: operations on one element from one thread through one Region take effect in the order in
// which they were waited for. fence() waits for all that were begun. Elements of 1, 2, 4 or 8 bytes
// are read and written whole; larger ones may be torn by a writer at the same time, and so may
// ranges. fetch_add and compare_swap are atomic with each other on every path.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "godwit/detail/region_handle.hpp"
#include "godwit/fleet.hpp"
#include "godwit/future.hpp"
#include "godwit/outcome.hpp"
#include "godwit/sharding.hpp"
#include "godwit/types.hpp"

namespace godwit {

struct RegionOptions {
  std::uint64_t elements = 0;
  // How far grow() can take it; 0: elements. Room costs address space only until it is used.
  std::uint64_t capacity = 0;
  Sharding sharding = Sharding::blocks();
  // One shard each, in this order; empty: all nodes that are up, in order of their names.
  std::vector<NodeHandle> nodes{};
  // Keep the shards in files of the nodes' region folders (setting region_dir): they outlive their
  // nodes, and a region created again under the same name and shape finds its data there.
  bool in_files = false;
};

struct ShardDescription {
  std::uint32_t shard = 0;
  std::uint64_t node = 0;
  std::uint64_t elements = 0;
  bool lost = false;    // its node has ended or started anew since
  bool mapped = false;  // read here with plain loads
};

struct RegionDescription {
  std::uint64_t id = 0;
  std::string name;
  std::string type;  // of an element, docs/types.md
  std::uint64_t elements = 0;
  std::uint64_t capacity = 0;
  std::uint32_t element_size = 0;
  bool sealed = false;
  bool in_files = false;
  std::vector<ShardDescription> shards;
};

// How an element is reached.
enum class Reach : std::uint8_t {
  automatic,  // direct where the shard is mapped, a message otherwise
  message,    // always ask the home
};

// Points at one element; a small value that travels, and means the same everywhere in the fleet.
template <class T>
struct RemotePtr {
  std::uint64_t region = 0;
  std::uint64_t index = 0;
  friend bool operator==(const RemotePtr&, const RemotePtr&) = default;
  RemotePtr operator+(std::int64_t count) const noexcept {
    return {region, index + static_cast<std::uint64_t>(count)};
  }
};

namespace detail {

template <class T>
inline constexpr bool kIsWord =
    sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

// The element in the reply of RegionHandle::get() and the atomics.
template <class T>
Outcome<T> element_of(CallHandle call) {
  const Blob* const result = call.result_if_ok();
  if (result == nullptr) return tl::unexpected(region_failure(call));
  const std::byte* from = result->data();
  bool right = result->size() == sizeof(std::uint64_t);
  if constexpr (!kIsWord<T>) {
    std::span<const std::byte> bytes;
    DecodeError error;
    right = decode_result(*result, bytes, error) && bytes.size() == sizeof(T);
    from = bytes.data();
  }
  if (!right || !PlainCheck<T>::valid(from)) {
    return tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                  "the home sent something that is not an element"});
  }
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The elements in the reply to a RegionTransfer's only call.
template <class T>
Outcome<std::vector<T>> elements_of(CallHandle call) {
  const Blob* const result = call.result_if_ok();
  if (result == nullptr) return tl::unexpected(region_failure(call));
  std::vector<T> values;
  std::span<const T> found;
  DecodeError error;
  std::span<const std::byte> bytes;
  if (!decode_result(*result, bytes, error) || bytes.size() % sizeof(T) != 0) {
    return tl::unexpected(Failure{Ending::rejected, ErrorCode::bad_format, true,
                                  "the home sent something that is not elements"});
  }
  prepare_result(values, result->size());
  found = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  values.assign(found.begin(), found.end());
  return values;
}

inline Outcome<void> nothing_of(CallHandle call) {
  if (!call.ok()) return tl::unexpected(region_failure(call));
  return {};
}

// A future that is ready.
template <class R>
Future<R> known(Outcome<R> outcome) {
  return Future<R>::known(std::move(outcome));
}

// Waits for a transfer without a thread. `kept` is what it reads or writes.
template <class Kept>
Future<Kept> finish_later(RegionTransfer transfer, Kept kept) {
  Outcome<void> done = transfer.begun();
  while (done) {
    CallHandle call = transfer.next();
    if (!call) break;
    Outcome<CallHandle> ended = co_await Future<CallHandle>(std::move(call), &ended_call);
    done = transfer.take(*std::move(ended));
  }
  if (!done) co_return Outcome<Kept>(tl::unexpected(std::move(done).error()));
  co_return Outcome<Kept>(std::move(kept));
}

}  // namespace detail

// Cheap to copy; any thread. The fleet outlives it. It does not own the region, which lives until
// drop() or as long as its nodes.
//
// get(), put() and the others that return futures begin at once; what they are given is copied, or,
// where they take a span to write from, stays until they have ended. load() and store() wait in the
// calling thread, which is quicker. Failures name the region and the elements: node_lost (the shard
// is gone with its node), rejected with the reason invalid_argument (no such element), permission
// (the region is sealed), not_found (it was dropped), and those of any call.
template <class T>
class Region {
  static_assert(kPlain<T>, "godwit: the elements of a region are plain types (docs/types.md)");
  static_assert(!std::is_same_v<T, bool>, "godwit: use std::uint8_t for the elements of a region");

 public:
  using Indices = std::span<const std::uint64_t>;

  // Makes a region and its memory, zeroed, on all of its nodes; all of it or, on an error, nothing.
  // Errors: already_exists, invalid_argument, resource_exhausted (a node's region_budget_mb),
  // node_lost, and those of a call.
  [[nodiscard]] static Result<Region> create(Fleet& fleet, std::string_view name,
                                             const RegionOptions& options) {
    return made(detail::RegionHandle::create(fleet.regions(), name, kType, options));
  }
  // Errors: not_found (also for a moment after somebody else made it: the news travels),
  // type_mismatch.
  [[nodiscard]] static Result<Region> attach(Fleet& fleet, std::string_view name) {
    return made(detail::RegionHandle::attach(fleet.regions(), name, kType));
  }

  [[nodiscard]] RegionDescription describe() const { return handle_.describe(); }
  // Elements there are, as far as known here.
  [[nodiscard]] std::uint64_t size() const { return handle_.size(); }
  [[nodiscard]] RemotePtr<T> at(std::uint64_t index) const { return {handle_.id(), index}; }
  // The same region, reached in that way.
  [[nodiscard]] Region through(Reach reach) const { return Region(handle_.through(reach)); }

  // --- One element ---
  [[nodiscard]] Outcome<T> load(std::uint64_t index) const {
    T value{};
    Failure failure;
    switch (handle_.load(index, &value, failure)) {
      case detail::RegionHandle::Loaded::good: return value;
      case detail::RegionHandle::Loaded::failed: return tl::unexpected(std::move(failure));
      case detail::RegionHandle::Loaded::elsewhere: break;
    }
    return detail::element_of<T>(handle_.get_now(index));
  }
  Outcome<void> store(std::uint64_t index, const T& value) const { return put(index, value).get(); }
  [[nodiscard]] Future<T> get(std::uint64_t index) const {
    T value{};
    Failure failure;
    switch (handle_.load(index, &value, failure)) {
      case detail::RegionHandle::Loaded::good: return detail::known<T>(value);
      case detail::RegionHandle::Loaded::failed:
        return detail::known<T>(tl::unexpected(std::move(failure)));
      case detail::RegionHandle::Loaded::elsewhere: break;
    }
    return Future<T>(handle_.get(index), &detail::element_of<T>);
  }
  Future<void> put(std::uint64_t index, const T& value) const {
    if (auto fits = handle_.check("put", index, 1); !fits) return detail::known<void>(fits);
    return Future<void>(handle_.put(index, &value), &detail::nothing_of);
  }

  // --- Atomics: what was there before ---
  // Wraps around.
  Future<T> fetch_add(std::uint64_t index, T delta) const
    requires detail::Integer<T>
  {
    if (auto fits = handle_.check("fetch_add", index, 1); !fits) return failed(fits);
    return Future<T>(handle_.fetch_add(index, word_of(delta)), &detail::element_of<T>);
  }
  // Stores `desired` if the element's bytes equal those of `expected`.
  Future<T> compare_swap(std::uint64_t index, const T& expected, const T& desired) const
    requires detail::kIsWord<T>
  {
    if (auto fits = handle_.check("compare_swap", index, 1); !fits) return failed(fits);
    return Future<T>(handle_.compare_swap(index, word_of(expected), word_of(desired)),
                     &detail::element_of<T>);
  }

  // --- Many elements ---
  [[nodiscard]] Outcome<std::vector<T>> load(std::uint64_t first, std::uint64_t count) const {
    if (auto fits = handle_.check("get", first, count); !fits) return failure_of(fits);
    std::vector<T> found(count);
    auto done = handle_.read(first, as_bytes_of(found)).finish();
    if (!done) return failure_of(done);
    return found;
  }
  Outcome<void> store(std::uint64_t first, std::span<const T> values) const {
    return handle_.write(first, std::as_bytes(values)).finish();
  }
  [[nodiscard]] Future<std::vector<T>> get(std::uint64_t first, std::uint64_t count) const {
    if (auto fits = handle_.check("get", first, count); !fits) {
      return detail::known<std::vector<T>>(failure_of(fits));
    }
    std::vector<T> found(count);
    auto transfer = handle_.read(first, as_bytes_of(found));
    if (auto call = transfer.only_call()) {
      return Future<std::vector<T>>(std::move(call), &detail::elements_of<T>);
    }
    return detail::finish_later(std::move(transfer), std::move(found));
  }
  Future<void> put(std::uint64_t first, std::span<const T> values) const {
    return finish_writing(handle_.write(first, std::as_bytes(values)));
  }

  // Elements anywhere: the i-th is that of indices[i].
  [[nodiscard]] Future<std::vector<T>> gather(Indices indices) const {
    std::vector<T> found(indices.size());
    auto transfer = handle_.read(indices, as_bytes_of(found));
    return detail::finish_later(std::move(transfer), std::move(found));
  }
  // An index that stands there twice gets one of its values.
  Future<void> scatter(Indices indices, std::span<const T> values) const {
    return finish_writing(handle_.write(indices, std::as_bytes(values)));
  }
  // Every stride-th element from `first` on.
  [[nodiscard]] Future<std::vector<T>> get_strided(std::uint64_t first, std::uint64_t count,
                                                   std::uint64_t stride) const {
    if (auto fits = handle_.check("get", first, count); !fits) {
      return detail::known<std::vector<T>>(failure_of(fits));
    }
    return gather(strided(first, count, stride));
  }
  Future<void> put_strided(std::uint64_t first, std::uint64_t stride,
                           std::span<const T> values) const {
    return scatter(strided(first, values.size(), stride), values);
  }

  // --- The region as a whole ---
  // More elements, zeroed, up to the capacity it was made with.
  Status grow(std::uint64_t elements) { return handle_.grow(elements); }
  // From then on it can only be read.
  Status seal() { return handle_.seal(); }
  // Ends the region and gives its memory back. Calls that use it end first.
  Status drop() { return handle_.drop(); }
  // Waits until everything that changes elements and was begun before through this object, or one
  // of its copies, by whatever thread, has ended.
  void fence() { handle_.fence(); }

  // For the library.
  [[nodiscard]] const detail::RegionHandle& handle() const noexcept { return handle_; }

 private:
  static constexpr detail::ElementType kType{type_name<T>.view(), sizeof(T)};

  explicit Region(detail::RegionHandle handle) : handle_(std::move(handle)) {}
  static Result<Region> made(Result<detail::RegionHandle> handle) {
    if (!handle) return tl::unexpected(std::move(handle).error());
    return Region(*std::move(handle));
  }
  static tl::unexpected<Failure> failure_of(Outcome<void>& outcome) {
    return tl::unexpected(std::move(outcome).error());
  }
  static Future<T> failed(Outcome<void>& outcome) { return detail::known<T>(failure_of(outcome)); }
  static std::span<std::byte> as_bytes_of(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
  }
  static std::uint64_t word_of(const T& value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
  static std::vector<std::uint64_t> strided(std::uint64_t first, std::uint64_t count,
                                            std::uint64_t stride) {
    std::vector<std::uint64_t> indices(count);
    std::uint64_t next = first;
    for (std::uint64_t& index : indices) {
      index = next;
      next = next > UINT64_MAX - stride ? UINT64_MAX : next + stride;  // beyond any region
    }
    return indices;
  }
  static Future<void> finish_writing(detail::RegionTransfer transfer) {
    if (auto call = transfer.only_call()) {
      return Future<void>(std::move(call), &detail::nothing_of);
    }
    return detail::finish_later(std::move(transfer), std::monostate{}).then([](auto outcome) {
      return outcome ? Outcome<void>() : Outcome<void>(tl::unexpected(outcome.error()));
    });
  }

  detail::RegionHandle handle_;
};

}  // namespace godwit
