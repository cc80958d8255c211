// Calls that have objects in place of arguments: held back until those are here, and then told
// where they lie. Nothing is copied that this process can read where it is.
//
// Descriptors then lead out of the blob, as distances modulo 2^64 (mobile_abi.h), and the entry is
// told that the blob is as long as can be. So all that it would check of the other descriptors,
// which came over the wire, is checked here.
#include <cstring>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "code/types/type.hpp"
#include "godwit/codec.hpp"

namespace godwit::call {
namespace {

Descriptor descriptor_at(Bytes arguments, const code::Slot& slot) {
  Descriptor where;
  std::memcpy(&where, arguments.data() + slot.offset, sizeof where);
  return where;
}

bool fits(Bytes arguments, const Descriptor& where, std::uint64_t element_size) {
  if (where.count == 0) return where.offset == 0;
  return where.offset % kBlobAlign == 0 && where.offset <= arguments.size() &&
         where.count <= (arguments.size() - where.offset) / element_size;
}

const wire::ObjectExtension* object_for(const IncomingCall& call, std::size_t parameter) {
  for (const wire::ObjectExtension& object : call.objects) {
    if (object.parameter == parameter) return &object;
  }
  return nullptr;
}

// Errors: as what is wrong with the arguments.
Status check_arguments(const IncomingCall& call, const code::Signature& signature,
                       const code::HeadLayout& head) {
  if (call.arguments.size() < head.size) {
    return fail(ErrorCode::invalid_argument, "the blob is shorter than its head");
  }
  for (const wire::ObjectExtension& object : call.objects) {
    if (object.parameter >= signature.parameters.size()) {
      return fail(ErrorCode::invalid_argument, "an object stands for argument {} of {}",
                  object.parameter + 1, signature.parameters.size());
    }
    if (object_for(call, object.parameter) != &object) {
      return fail(ErrorCode::invalid_argument, "two objects stand for argument {}",
                  object.parameter + 1);
    }
  }
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    const code::Type& type = signature.parameters[i];
    if (const wire::ObjectExtension* object = object_for(call, i); object != nullptr) {
      const std::string wanted = code::object_type_for(type);
      if (wanted.empty() || object->handle.type != code::type_hash(wanted)) {
        return fail(ErrorCode::type_mismatch,
                    "object {} cannot stand for argument {}, a {}: it is of another type",
                    object->handle.object.short_hex(), i + 1, type.text());
      }
      continue;
    }
    if (type.plain) continue;
    const std::uint64_t element_size = type.is_raw() ? type.raw_element_size() : 1;
    if (!fits(call.arguments, descriptor_at(call.arguments, head.slots[i]), element_size)) {
      return fail(ErrorCode::invalid_argument, "argument {}: a segment reaches beyond the blob",
                  i + 1);
    }
  }
  return {};
}

// Writes where the objects lie into the blob's head.
Status place_objects(IncomingCall& call, const code::Signature& signature,
                     const code::HeadLayout& head) {
  const auto start = reinterpret_cast<std::uintptr_t>(call.arguments.data());
  const std::size_t skipped = call.body.size() - call.arguments.size();
  for (std::size_t i = 0; i < call.objects.size(); ++i) {
    const std::uint32_t parameter = call.objects[i].parameter;
    const Bytes bytes = call.found[i].bytes;
    const std::uint64_t element_size = signature.parameters[parameter].raw_element_size();
    if (bytes.size() % element_size != 0) {
      return fail(ErrorCode::bad_format, "argument {}: object {} ends inside an element",
                  parameter + 1, call.objects[i].handle.object.short_hex());
    }
    Descriptor where;
    if (!bytes.empty()) {
      where.offset = reinterpret_cast<std::uintptr_t>(bytes.data()) - start;
      where.count = bytes.size() / element_size;
    }
    std::memcpy(call.body.mutable_view().data() + skipped + head.slots[parameter].offset, &where,
                sizeof where);
  }
  return {};
}

Error about_argument(const wire::ObjectExtension& object, const Error& why) {
  return {why.code, fmt::format("argument {}: {}", object.parameter + 1, why.message)};
}

}  // namespace

// True: they are here, and the arguments say where. False: they are being fetched, or the call has
// been refused. Its cost, a few microseconds, is that of reading the signature.
bool Engine::has_objects(IncomingCall& call, const code::FunctionSlot& slot) {
  const auto refuse = [&](const Error& why) {
    answer(call, {Ending::rejected, false, why.code}, bytes_of(why.message), {});
    return false;
  };
  if (objects_ == nullptr) {
    return refuse({ErrorCode::unsupported, "this node is the home of no objects"});
  }
  const auto signature =
      code::parse_signature(slot.residence->bundle.functions()[slot.function].signature);
  if (!signature) return refuse(signature.error());
  const code::HeadLayout head = code::head_layout(signature->parameters);
  if (const Status good = check_arguments(call, *signature, head); !good) {
    return refuse(good.error());
  }
  if (!promises_settled(call, slot)) return false;
  bool all = true;
  call.found.resize(call.objects.size());
  for (std::size_t i = 0; i < call.objects.size(); ++i) {
    if (call.found[i].keeps != nullptr) continue;
    auto found = objects_->find_at_once(call.objects[i].handle);
    if (!found) return refuse(about_argument(call.objects[i], found.error()));
    if (*found) {
      call.found[i] = **std::move(found);
    } else {
      all = false;
    }
  }
  if (!all) {
    find_elsewhere(call, slot);
    return false;
  }
  if (const Status placed = place_objects(call, *signature, head); !placed) {
    return refuse(placed.error());
  }
  call.awaits_objects = false;
  return true;
}

// One after another: all have to come. False: the call waits, without a worker, or has been
// refused.
bool Engine::promises_settled(IncomingCall& call, const code::FunctionSlot& slot) {
  while (call.settled < call.objects.size()) {
    const wire::ObjectExtension& object = call.objects[call.settled];
    ++call.settled;
    if (object.handle.size != Handle::kSizeUnknown) continue;
    const std::uint64_t waiter = next_waiter();
    const auto settled =
        objects_->is_settled(object.handle, call.deadline - scheduler_.now(), waiter);
    if (!settled) {
      const Error why = about_argument(object, settled.error());
      answer(call, {Ending::rejected, false, why.code}, bytes_of(why.message), {});
      return false;
    }
    if (*settled) continue;
    call.bundle_id = slot.residence->bundle.id();  // the slot may be gone by then
    call.function = slot.function;
    wait_for(call, waiter, store_->token_of(slot));
    return false;
  }
  return true;
}

// By a worker, which waits for their homes.
void Engine::find_elsewhere(IncomingCall& call, const code::FunctionSlot& slot) {
  call.state = IncomingCall::State::resolving;
  call.bundle = slot.residence->bundle;
  call.bundle_id = call.bundle.id();  // the slot may be gone by then
  call.function = slot.function;
  call.context.prepare(*this, call.bundle, call.deadline, {}, true, &call.cancelled, call.travel);
  call.run = &Engine::find_on_executor;
  call.finished.deliver = &Engine::deliver_found;
  call.finished.owner = &call;
  if (executor_->submit(call)) return;
  answer(call, {Ending::rejected, false, ErrorCode::overload},
         bytes_of("this node's queue of calls is full"), {});
}

void Engine::find_on_executor(Executor::Job& job) {
  auto& call = static_cast<IncomingCall&>(job);
  Engine& engine = *call.context.engine;
  if (!engine.executor_->begin_blocking()) {
    call.not_found = Error{ErrorCode::overload, "too many calls wait on this node already"};
    return engine.post(call.finished);
  }
  std::vector<Objects::Search> searches;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < call.objects.size(); ++i) {
    if (call.found[i].keeps != nullptr) continue;
    searches.push_back({.handle = call.objects[i].handle});
    which.push_back(i);
  }
  if (!call.cancelled.load(std::memory_order_relaxed)) {
    engine.objects_->find_all(searches, call.deadline - engine.scheduler_.now());
    for (std::size_t i = 0; i < which.size(); ++i) {
      auto& found = searches[i].found;
      if (found) {
        call.found[which[i]] = *std::move(found);
      } else if (!call.not_found) {
        call.not_found = about_argument(call.objects[which[i]], found.error());
      }
    }
  }
  engine.executor_->end_blocking();
  engine.post(call.finished);
}

void Engine::deliver_found(Engine& engine, Posted& posted) {
  auto& call = *static_cast<IncomingCall*>(posted.owner);
  call.state = IncomingCall::State::parked;
  if (call.cancelled.load(std::memory_order_relaxed)) {
    return engine.answer(call, {Ending::cancelled, false, ErrorCode::cancelled},
                         bytes_of("cancelled while it waited for its arguments"), {});
  }
  if (call.not_found) {
    const Error why = *call.not_found;
    return engine.answer(call, {Ending::rejected, false, why.code}, bytes_of(why.message), {});
  }
  engine.park(call);
}

}  // namespace godwit::call
