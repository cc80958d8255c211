// What the home says to those whom it refuses something. Off the hot path; each message names the
// object, where it is, what is wrong and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/fail.hpp"
#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/home/object.hpp"

namespace godwit::ref {

using Refusal = tl::unexpected<Error>;

[[nodiscard]] Refusal refuse_elsewhere(const Handle& handle, NodeId here);
[[nodiscard]] Refusal refuse_right(const Handle& handle, Rights needed);
[[nodiscard]] Refusal refuse_gone(const Handle& handle);
[[nodiscard]] Refusal refuse_stale(const Handle& handle, std::uint64_t newest);
[[nodiscard]] Refusal refuse_pin(const Handle& handle, Holder holder);
[[nodiscard]] Refusal refuse_promised(const Handle& handle);
[[nodiscard]] Refusal refuse_borrowed(const Handle& handle, Object& object, std::string_view what);
[[nodiscard]] Refusal refuse_dropped(const Handle& handle);
// `what` only its owner may do.
[[nodiscard]] Refusal refuse_ended_borrow(const Handle& handle);
[[nodiscard]] Refusal refuse_not_owner(const Handle& handle, const Object& object, Holder holder,
                                       std::string_view what);
[[nodiscard]] Refusal refuse_owned(const Handle& handle, Holder owner);
[[nodiscard]] Refusal refuse_offer(const Handle& handle, Holder receiver);
[[nodiscard]] Refusal refuse_settled(const Handle& handle, const Object& object);
[[nodiscard]] Refusal refuse_lost_producer(const ObjectId& object, NodeId producer);
[[nodiscard]] Refusal refuse_late_promise(const ObjectId& object);
[[nodiscard]] Refusal refuse_another_object(NodeId home, std::size_t limit);
[[nodiscard]] Refusal refuse_more(const Handle& handle, std::string_view what, std::size_t limit);
[[nodiscard]] Refusal refuse_on_disk(const Handle& handle);
// What is asked for takes a disk's time.
[[nodiscard]] Refusal refuse_without_wait(const Handle& handle);
// Persistent, and to end with a process.
[[nodiscard]] Refusal refuse_both(const Handle& handle);
// An error if the object asked for cannot be, there or by a caller that may not wait.
[[nodiscard]] Status check_new(const NewObject& object, const ObjectStore::Options& home,
                               Arena::Wait wait);
[[nodiscard]] Status check_lifetime(const Lifetime& lifetime);

}  // namespace godwit::ref
