// Functions of a bundle, as typed handles.
//
//   auto norm = bundle.function<double(std::span<const double>)>("norm").value();
//   norm.on(node)(samples).get();
//   norm.on(node).within(std::chrono::seconds(1))(samples).get();
//   note.on(node).one_way("done");
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "godwit/call_handle.hpp"
#include "godwit/codec.hpp"
#include "godwit/fleet.hpp"
#include "godwit/future.hpp"

namespace godwit {

template <class Signature>
class BoundFunction;
template <class Signature>
class Function;

// A function at a node. Cheap to copy; any thread. Arguments are borrowed until the call has ended:
// what a span or a string view points at must stay and not change (the library copies small data,
// but do not count on it). Arguments that own their memory may be temporaries only if the call is
// waited for in the same expression.
template <class R, class... Args>
class BoundFunction<R(Args...)> {
 public:
  Future<R> operator()(Passed<Args>... args) const {
    // Whoever holds the future keeps the arguments anyway.
    constexpr std::size_t kWorthBorrowing = 1024;
    return Future<R>(send(kWorthBorrowing, args...));
  }
  // Sends the call and forgets it: it runs, but nobody hears how it ended.
  void one_way(Passed<Args>... args) const { send(kBorrowBytes, args...).detach(); }
  // The same function with another deadline than the fleet's default, counted from each call.
  [[nodiscard]] BoundFunction within(std::chrono::nanoseconds time_left) const {
    BoundFunction copy = *this;
    copy.time_left_ = time_left;
    return copy;
  }

 private:
  friend class Function<R(Args...)>;
  BoundFunction(NodeHandle node, call::FunctionRef& function)
      : node_(std::move(node)), function_(&function), time_left_(node_.default_deadline()) {}

  detail::CallHandle send(std::size_t borrow_bytes,
                          const std::remove_cvref_t<Passed<Args>>&... args) const {
    detail::CallHandle call = detail::CallHandle::prepare(node_.caller());
    if (!call) return call;
    if constexpr (kAllPlain<std::remove_cvref_t<Passed<Args>>...>) {
      constexpr std::size_t kSize = BlobHead<std::remove_cvref_t<Passed<Args>>...>::kSize;
      if constexpr (kSize <= detail::CallHandle::kSmallBytes) {
        write_plain_blob(call.small().data(), args...);
        call.start(node_.id(), *function_, kSize, time_left_);
        return call;
      }
    }
    constexpr std::size_t kMaxParts = 2 * sizeof...(Args) + 1;
    std::array<detail::Blob, kMaxParts> parts;
    BlobWriter writer(call.small(), parts, borrow_bytes);
    write_blob(writer, args...);
    if (!writer.fits()) {
      writer = BlobWriter(call.large(writer.copied()), parts, borrow_bytes);
      write_blob(writer, args...);
    }
    call.start(node_.id(), *function_, std::span(parts).first(writer.part_count()), time_left_);
    return call;
  }

  NodeHandle node_;
  call::FunctionRef* function_;
  std::chrono::nanoseconds time_left_;
};

// A function of a bundle, its signature checked. Cheap to copy; any thread.
template <class R, class... Args>
class Function<R(Args...)> {
 public:
  [[nodiscard]] BoundFunction<R(Args...)> on(const NodeHandle& node) const {
    return {node, code_->known_to(node.caller())};
  }

  // For the library.
  explicit Function(std::shared_ptr<detail::FunctionCode> code) : code_(std::move(code)) {}
  [[nodiscard]] detail::FunctionCode& code() const noexcept { return *code_; }

 private:
  std::shared_ptr<detail::FunctionCode> code_;
};

}  // namespace godwit
