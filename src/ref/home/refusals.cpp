#include "ref/home/refusals.hpp"

namespace godwit::ref {
namespace {

std::string subject(const Handle& handle) {
  return fmt::format("object {} version {} (home {})", handle.object.short_hex(), handle.version,
                     to_hex(handle.home));
}

std::string name(Holder holder) {
  return to_hex(holder.node.value);
}

}  // namespace

Refusal refuse_elsewhere(const Handle& handle, NodeId here) {
  return fail(ErrorCode::not_found, "{} is not at node {}: ask its home", subject(handle),
              to_hex(here.value));
}

Refusal refuse_right(const Handle& handle, Rights needed) {
  return fail(ErrorCode::permission,
              "the handle of {} allows {}, and this needs {}: ask who gave it to you for one that "
              "does",
              subject(handle), to_string(handle.rights), to_string(needed));
}

Refusal refuse_gone(const Handle& handle) {
  return fail(ErrorCode::not_found,
              "{} is not there any more: it was evicted, or its lifetime or its owner has ended; "
              "put it again, or give it a longer lifetime",
              subject(handle));
}

Refusal refuse_stale(const Handle& handle, std::uint64_t newest) {
  return fail(ErrorCode::stale, "{} is gone: the newest version is {}; use a handle of that",
              subject(handle), newest);
}

Refusal refuse_pin(const Handle& handle, Holder holder) {
  return fail(ErrorCode::not_found,
              "that pin of holder {} is none of {}: it was released before, or is of another "
              "version; locate it first",
              name(holder), subject(handle));
}

Refusal refuse_promised(const Handle& handle) {
  return fail(ErrorCode::would_block, "{} is promised and not there yet: wait for it",
              subject(handle));
}

Refusal refuse_borrowed(const Handle& handle, Object& object, std::string_view what) {
  const Borrow& first = object.borrows.front();
  return fail(ErrorCode::borrowed,
              "cannot {} {}: holder {} has borrowed it for {}, {} borrows in all; try again when "
              "they are given back",
              what, subject(handle), name(first.holder->holder),
              first.kind == ObjectStore::BorrowKind::write ? "writing" : "reading",
              object.borrows.size());
}

Refusal refuse_dropped(const Handle& handle) {
  return fail(ErrorCode::not_found,
              "{} was ended by its owner, and goes with its last borrow: put it again",
              subject(handle));
}

Refusal refuse_ended_borrow(const Handle& handle) {
  return fail(
      ErrorCode::not_found,
      "cannot update {}: the borrow for writing has ended, or was another's; borrow it again",
      subject(handle));
}

Refusal refuse_not_owner(const Handle& handle, const Object& object, Holder holder,
                         std::string_view what) {
  return fail(ErrorCode::permission, "holder {} cannot {} {}, whose owner is {}: let the owner do",
              name(holder), what, subject(handle),
              object.owner == nullptr ? "nobody" : name(object.owner->holder));
}

Refusal refuse_owned(const Handle& handle, Holder owner) {
  return fail(ErrorCode::permission,
              "{} is owned by holder {} already: have it offered by its owner, and accept",
              subject(handle), name(owner));
}

Refusal refuse_offer(const Handle& handle, Holder receiver) {
  return fail(ErrorCode::not_found,
              "holder {} cannot accept {}: the offer has lapsed, was taken, or was replaced by "
              "another; ask its owner for a new one",
              name(receiver), subject(handle));
}

Refusal refuse_settled(const Handle& handle, const Object& object) {
  if (object.presence == Presence::there) {
    return fail(ErrorCode::already_exists,
                "the promise of {} was fulfilled before: publish a new version instead",
                subject(handle));
  }
  return fail(ErrorCode::already_exists, "the promise of {} was {} before ({}): make a new one",
              subject(handle), object.broken->code == ErrorCode::cancelled ? "cancelled" : "broken",
              object.broken->message);
}

Refusal refuse_lost_producer(const ObjectId& object, NodeId producer) {
  return fail(ErrorCode::node_lost,
              "object {} will not come: holder {}, who had promised it or owned it, is gone; have "
              "it made again",
              object.short_hex(), to_hex(producer.value));
}

Refusal refuse_late_promise(const ObjectId& object) {
  return fail(ErrorCode::deadline,
              "object {} did not come in the time it was promised for: have it made again, or "
              "allow more time",
              object.short_hex());
}

Refusal refuse_another_object(NodeId home, std::size_t limit) {
  return fail(ErrorCode::resource_exhausted,
              "node {} has {} objects, which is its limit: evict some, or raise max_objects",
              to_hex(home.value), limit);
}

Refusal refuse_more(const Handle& handle, std::string_view what, std::size_t limit) {
  return fail(ErrorCode::overload,
              "{} has too many {}, or its shard of the home has: at most {}; "
              "let go of some first",
              subject(handle), what, limit);
}

Refusal refuse_on_disk(const Handle& handle) {
  return fail(ErrorCode::would_block, "{} is on disk: ask where it may take its time",
              subject(handle));
}

Refusal refuse_without_wait(const Handle& handle) {
  return fail(ErrorCode::would_block, "{} is in a file: ask where it may take its time",
              subject(handle));
}

Refusal refuse_both(const Handle& handle) {
  return fail(ErrorCode::invalid_argument,
              "{} outlives its home's process, and cannot end with another: use a lease",
              subject(handle));
}

Status check_lifetime(const Lifetime& lifetime) {
  if (lifetime.kind > LifetimeKind::readers) {
    return fail(ErrorCode::invalid_argument, "no lifetime is of kind {}",
                static_cast<unsigned>(lifetime.kind));
  }
  if (lifetime.kind == LifetimeKind::lease && lifetime.lease <= Duration{}) {
    return fail(ErrorCode::invalid_argument,
                "a lease of {} ns is over before it begins: make it longer, or evict the object",
                lifetime.lease.count());
  }
  if (lifetime.kind == LifetimeKind::readers && lifetime.readers == 0) {
    return fail(ErrorCode::invalid_argument,
                "a lifetime of no readers is over before it begins: say how many, or evict the "
                "object");
  }
  return {};
}

Status check_new(const NewObject& object, const ObjectStore::Options& home, Arena::Wait wait) {
  GODWIT_CHECK(check_lifetime(object.lifetime));
  if (!object.persist) return {};
  if (home.folder == nullptr) {
    return fail(ErrorCode::unsupported,
                "node {} keeps objects in memory only, since its setting `object_dir` is not set: "
                "set that, or put without `persist`",
                to_hex(home.home.value));
  }
  if (object.owned || object.lifetime.kind == LifetimeKind::holder) {
    return fail(ErrorCode::invalid_argument,
                "an object that ends with the process that puts it cannot outlive its home's: put "
                "it without `persist`, or unowned and with another lifetime");
  }
  if (wait == Arena::Wait::no) {
    return fail(ErrorCode::would_block, "a persistent object has to wait for a disk");
  }
  return {};
}

}  // namespace godwit::ref
