// Functions of a bundle, as typed handles.
//
//   auto norm = bundle.function<double(std::span<const double>)>("norm").value();
//   norm.on(node)(samples).get();
//   norm.on(node).within(std::chrono::seconds(1))(samples).get();
//   note.on(node).one_way("done");
//
// Objects (<godwit/ref.hpp>) are passed without their bytes: a function that takes a Ref<T> gets
// the handle, and one that takes a span, a vector or a string takes a Ref in its place. The target
// resolves it before the function begins.
//
//   auto x = fleet.node(2).put(samples).value();
//   norm.on(node)(x).get();
//   norm(x).get();                                  // at the home of the first Ref, here node 2
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "godwit/call_handle.hpp"
#include "godwit/codec.hpp"
#include "godwit/detail/ref_traits.hpp"
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
    return Future<R>(send(kWorthBorrowing, {}, args...));
  }
  // Sends the call and forgets it: it runs, but nobody hears how it ended.
  void one_way(Passed<Args>... args) const { send(kBorrowBytes, {}, args...).detach(); }

  // With a Ref in place of some span, vector or string. An object that cannot be had ends the call
  // as rejected, before the function begins, for the reason that resolving it here would give.
  template <class... Given>
    requires(sizeof...(Given) == sizeof...(Args) &&
             (detail::kStandsFor<std::remove_cvref_t<Args>, Given> || ...))
  Future<R> operator()(const Given&... given) const {
    return Future<R>(send_lent(kWorthBorrowing, given...));
  }
  template <class... Given>
    requires(sizeof...(Given) == sizeof...(Args) &&
             (detail::kStandsFor<std::remove_cvref_t<Args>, Given> || ...))
  void one_way(const Given&... given) const {
    send_lent(kBorrowBytes, given...).detach();
  }

  // The same function with another deadline than the fleet's default, counted from each call.
  [[nodiscard]] BoundFunction within(std::chrono::nanoseconds time_left) const {
    BoundFunction copy = *this;
    copy.time_left_ = time_left;
    return copy;
  }

 private:
  // Whoever holds a future keeps the arguments anyway.
  static constexpr std::size_t kWorthBorrowing = 1024;

  friend class Function<R(Args...)>;
  BoundFunction(NodeHandle node, call::FunctionRef& function)
      : node_(std::move(node)), function_(&function), time_left_(node_.default_deadline()) {}

  template <class... Given>
  detail::CallHandle send_lent(std::size_t borrow_bytes, const Given&... given) const {
    static_assert((0U + ... + unsigned{detail::kStandsFor<std::remove_cvref_t<Args>, Given>}) <=
                      detail::CallHandle::kMaxObjects,
                  "godwit: at most 16 Refs stand for arguments of one call");
    std::array<detail::LentObject, sizeof...(Given)> lent;
    std::size_t count = 0;
    std::uint32_t parameter = 0;
    const auto note = [&]<class Arg, class One>(std::type_identity<Arg>, const One& one) {
      if constexpr (detail::kStandsFor<std::remove_cvref_t<Arg>, One>) {
        lent[count++] = {parameter, &one.handle()};
      }
      ++parameter;
    };
    (note(std::type_identity<Args>{}, given), ...);
    return send(borrow_bytes, std::span(lent).first(count), detail::value_to_pass<Args>(given)...);
  }

  detail::CallHandle send(std::size_t borrow_bytes, std::span<const detail::LentObject> lent,
                          const detail::PassedValue<Args>&... args) const {
    using Head = BlobHead<detail::PassedValue<Args>...>;
    detail::CallHandle call = detail::CallHandle::prepare(node_.caller());
    if (!call) return call;
    if constexpr (kAllPlain<detail::PassedValue<Args>...>) {
      constexpr std::size_t kSize = Head::kSize;
      if constexpr (kSize <= detail::CallHandle::kSmallBytes) {
        write_plain_blob(call.small().data(), args...);
        call.start(node_.id(), *function_, kSize, time_left_);
        return call;
      }
    }
    constexpr std::size_t kMaxParts = 2 * sizeof...(Args) + 1;
    std::array<detail::Blob, kMaxParts> parts;
    std::span<std::byte> memory = call.small();
    BlobWriter writer(memory, parts, borrow_bytes);
    write_blob(writer, args...);
    if (!writer.fits()) {
      memory = call.large(writer.copied());
      writer = BlobWriter(memory, parts, borrow_bytes);
      write_blob(writer, args...);
    }
    for (const detail::LentObject& object : lent) {
      std::memcpy(memory.data() + Head::offset(object.parameter), &detail::kElsewhere,
                  sizeof detail::kElsewhere);
      call.lend_object(object.parameter, *object.handle);
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
  // At the home of the first Ref among the arguments; for another deadline, or without a Ref, say
  // on(): norm.on(x.node()).within(...)(x).
  template <class... Given>
    requires((detail::kIsRef<Given> || ...) &&
             std::is_invocable_v<const BoundFunction<R(Args...)>&, const Given&...>)
  Future<R> operator()(const Given&... given) const {
    return on(detail::node_of_first_ref(given...))(given...);
  }

  // For the library.
  explicit Function(std::shared_ptr<detail::FunctionCode> code) : code_(std::move(code)) {}
  [[nodiscard]] detail::FunctionCode& code() const noexcept { return *code_; }

 private:
  std::shared_ptr<detail::FunctionCode> code_;
};

}  // namespace godwit
