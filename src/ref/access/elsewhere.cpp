// Objects whose bytes are in channels, from the side of those who write and read them. Which way
// bytes go is decided anew each time, from what was measured; what fails is tried another way.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"
#include "ref/access/access.hpp"
#include "ref/access/copied_view.hpp"
#include "ref/access/home_pieces.hpp"
#include "ref/access/measured_paths.hpp"
#include "ref/access/put_item.hpp"
#include "ref/access/room.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectItem;
using wire::ObjectOp;

constexpr std::string_view kMemory = "memory";

// What reserve_elsewhere answers with beside the ticket.
struct Destination {
  ObjectId object;
  std::uint64_t version;
  std::string_view channel;
};

Result<Destination> destination_in(const wire::ObjectAnswerView& answer) {
  Destination where{.object = {}, .version = answer.fixed.version, .channel = {}};
  if (answer.tail.size() <= sizeof where.object.bytes) {
    return fail(ErrorCode::protocol_violation, "the home does not say which object is to be put");
  }
  std::memcpy(where.object.bytes.data(), answer.tail.data(), sizeof where.object.bytes);
  where.channel = text_of(answer.tail.subspan(sizeof where.object.bytes));
  return where;
}

}  // namespace

std::uint8_t ObjectAccess::question_flags() const noexcept {
  return channels_ != nullptr ? wire::ObjectRequest::kHasChannels : std::uint8_t{0};
}

// --- Putting ---

Result<Handle> ObjectAccess::put_by_policy(const PutRequest& request) {
  if (request.channel == kMemory) return put_in_memory(request);
  if (!request.channel.empty()) {
    if (channels_ == nullptr) {
      return fail(ErrorCode::not_found,
                  "this process has no channels, and none called '{}': add it to its settings "
                  "(channel) or to ClientOptions::channels",
                  request.channel);
    }
    GODWIT_TRY(NamedChannel * channel, channels_->named(request.channel));
    return put_elsewhere(*channel, request);
  }
  if (request.object.persist) return put_in_memory(request);  // in a file of its home's
  const std::uint64_t size = request.size();
  const double memory_us = paths_->put().estimate_us(size);
  Result<Handle> made;
  for (NamedChannel* channel : channels_->for_put(size, request.tags, request.home, memory_us)) {
    if (channel != nullptr) {
      made = put_elsewhere(*channel, request);
    } else {
      const auto begin = MeasuredPaths::Clock::now();
      made = put_in_memory(request);
      if (made) paths_->add_put(size, begin);
    }
    // Without a home there is nowhere else to go; without a channel there is.
    if (made || (channel == nullptr && is_home_gone(made.error().code))) return made;
  }
  return made;
}

bool ObjectAccess::goes_elsewhere(const PutRequest& request) const {
  if (!request.channel.empty()) return request.channel != kMemory;
  if (channels_ == nullptr || request.object.persist) return false;
  const std::uint64_t size = request.size();
  const double memory_us = paths_->put().estimate_us(size);
  return channels_->for_put(size, request.tags, request.home, memory_us).front() != nullptr;
}

Result<Handle> ObjectAccess::put_elsewhere(NamedChannel& channel, const PutRequest& request) {
  const std::uint64_t size = request.size();
  const Bytes name = bytes_of(channel.name());
  ObjectItem item;
  item.b = name.size();
  item.c = size;
  const auto reserved =
      ask_one(asking(), request.home, ObjectOp::reserve_elsewhere, item, {&name, 1});
  if (!reserved) {
    if (reserved.error().code == ErrorCode::unsupported) channel.refused_by(request.home);
    return tl::unexpected(reserved.error());
  }
  Room room(*this, request.home, reserved->answer.fixed.value);
  GODWIT_TRY(const Destination where, destination_in(reserved->answer));
  GODWIT_CHECK(channel.put(channel_key(request.home, where.object, where.version), request.parts));
  item = item_of(request.object, size);
  item.a = room.ticket;
  // The home looks into the channel, too.
  GODWIT_TRY(const AnsweredItem made,
             ask_one(asking(), request.home, ObjectOp::commit, item, {}, 0, Ask::slowly));
  room.ticket = 0;
  if (ends_with_maker(request.object)) hold(request.home);
  if (request.progress != nullptr) (*request.progress)(size);
  return wire::handle_in(made.answer);
}

Result<ObjectAccess::Room> ObjectAccess::write_next(const Handle& handle,
                                                    std::span<const Bytes> parts) {
  const NodeId home{handle.home};
  ObjectItem item{.handle = handle, .a = 1};
  for (const Bytes part : parts) item.c += part.size();
  const auto order = channels_->for_put(item.c, {}, home, paths_->put().estimate_us(item.c));
  const Bytes name = order.front() != nullptr ? bytes_of(order.front()->name()) : Bytes();
  item.b = name.size();
  const auto reserved = ask_one(asking(), home, ObjectOp::reserve_elsewhere, item, {&name, 1});
  if (!reserved && reserved.error().code != ErrorCode::unsupported) {
    return tl::unexpected(reserved.error());
  }
  if (!reserved) return write_parts(home, parts);
  const ObjectAnswer& at = reserved->answer.fixed;
  Room room(*this, home, at.value);
  if ((at.flags & ObjectAnswer::kElsewhere) == 0) return fill(std::move(room), at, parts, nullptr);
  GODWIT_TRY(const Destination where, destination_in(reserved->answer));
  NamedChannel* const channel = channels_->find(where.channel);
  const bool written =
      channel != nullptr &&
      channel->put(channel_key(home, where.object, where.version), parts).has_value();
  if (written) return room;
  return write_parts(home, parts);
}

// --- Getting ---

NamedChannel* ObjectAccess::readable(std::string_view name, std::uint64_t size, std::string& why) {
  NamedChannel* const channel = channels_ != nullptr ? channels_->find(name) : nullptr;
  if (channel == nullptr) {
    why = fmt::format("this process has no channel called {}", name);
    return nullptr;
  }
  why = channels_->unreadable(*channel);
  if (!why.empty()) return nullptr;
  const MeasuredCost by_home = paths_->by_home();
  const MeasuredCost here = channel->cost(NamedChannel::Way::get);
  const double here_us = here.estimate_us(size);
  const bool known = by_home.count() != 0 && here.count() != 0;
  if (known && by_home.estimate_us(size) < here_us) {
    why = fmt::format("by way of the home it took less: {:.0f} us, not {:.0f}",
                      by_home.estimate_us(size), here_us);
    return nullptr;
  }
  return channel;
}

Result<Buffer> ObjectAccess::get_from(NamedChannel& channel, const Handle& handle,
                                      std::uint64_t version, const ByteRange& range) {
  const auto size = static_cast<std::size_t>(range.end - range.first);
  Buffer bytes = Buffer::allocate(size);
  if (bytes.data() == nullptr && size > 0) {
    return fail(ErrorCode::out_of_memory, "no memory for {} bytes of object {}", size,
                handle.object.short_hex());
  }
  GODWIT_CHECK(channel.get(channel_key(NodeId{handle.home}, handle.object, version), range.first,
                           bytes.mutable_view()));
  return bytes;
}

Result<ObjectAnswer> ObjectAccess::bring_to_home(const Handle& handle, const ObjectAnswer& found,
                                                 std::string_view channel, const std::string& why) {
  const ObjectItem item{.handle = handle, .a = found.value};
  const auto fetched =
      ask_one(asking(), NodeId{handle.home}, ObjectOp::fetch, item, {}, 0, Ask::slowly);
  if (fetched) return fetched->answer.fixed;
  return fail(fetched.error().code,
              "object {} of node {} is in channel {}, and cannot be had: here, since {}; by way of "
              "its home, since {}; see whether the channel's store is up and reached from both",
              handle.object.short_hex(), to_hex(handle.home), channel, why,
              fetched.error().message);
}

Result<std::shared_ptr<const View>> ObjectAccess::view_elsewhere(const Handle& handle,
                                                                 const ObjectAnswer& found,
                                                                 std::string_view channel,
                                                                 const Wish& wish) {
  const NodeId home{handle.home};
  hold(home);  // it says that it lives, however long the channel takes
  std::string why;
  if (NamedChannel* const from = readable(channel, found.size, why)) {
    auto copy = get_from(*from, handle, found.version, {0, found.size});
    if (copy) {
      release(home, found.value, found.size);
      return view_of_copy(handle, found.version, *std::move(copy));
    }
    why = copy.error().message;
  }
  const auto begin = MeasuredPaths::Clock::now();
  const auto brought = bring_to_home(handle, found, channel, why);
  if (!brought) {
    release(home, found.value, found.size);
    return tl::unexpected(brought.error());
  }
  let_go(home);
  auto view = view_in_memory(handle, *brought, {}, wish);
  if (view && *view != nullptr && paths_ != nullptr) paths_->add_by_home(found.size, begin);
  return view;
}

Status ObjectAccess::copy_elsewhere(const Handle& handle, const ObjectAnswer& found,
                                    std::string_view channel, const ByteRange& range,
                                    const Take& take) {
  const NodeId home{handle.home};
  hold(home);
  std::string why;
  std::uint64_t at = range.first;
  const auto copy = [&]() -> Status {
    NamedChannel* const from = readable(channel, range.end - range.first, why);
    while (from != nullptr && at < range.end) {
      const std::uint64_t end = std::min<std::uint64_t>(range.end, at + kPieceBytes);
      const auto piece = get_from(*from, handle, found.version, {at, end});
      if (!piece) {
        why = piece.error().message;
        break;
      }
      GODWIT_CHECK(take(piece->view()));
      at = end;
    }
    return {};
  };
  Status done = copy();
  if (!done || at == range.end) {
    release(home, found.value, found.size);
    return done;
  }
  const auto brought = bring_to_home(handle, found, channel, why);
  if (!brought) {
    release(home, found.value, found.size);
    return tl::unexpected(brought.error());
  }
  let_go(home);
  HomePieces source(*this, handle, *brought);
  return read_pieces(source, {at, range.end}, take);
}

Result<Buffer> ObjectAccess::read_elsewhere(const Handle& handle, const ObjectAnswer& found,
                                            std::string_view channel,
                                            const detail::ObjectSelection& selection) {
  const NodeId home{handle.home};
  hold(home);
  const auto read = [&]() -> Result<Buffer> {
    std::string why;
    NamedChannel* const from = readable(channel, selection.bytes * selection.pieces, why);
    // Many pieces are many questions to the store; the home has to ask it once.
    if (from != nullptr && selection.pieces == 1 && selection.offset <= found.size &&
        selection.bytes <= found.size - selection.offset) {
      auto bytes = get_from(*from, handle, found.version,
                            {selection.offset, selection.offset + selection.bytes});
      if (bytes) return bytes;
      why = bytes.error().message;
    }
    GODWIT_TRY(const ObjectAnswer brought, bring_to_home(handle, found, channel, why));
    const ObjectItem item{.handle = handle,
                          .a = selection.offset,
                          .b = selection.bytes,
                          .c = selection.step,
                          .d = selection.pieces};
    GODWIT_TRY(const AnsweredItem answered,
               ask_one(asking(), home, ObjectOp::read, item, {}, brought.value, Ask::slowly));
    return Buffer::copy_of(answered.answer.tail);
  };
  Result<Buffer> done = read();
  release(home, found.value, found.size);
  return done;
}

// Without the home nobody knows whether the object has ended; its bytes have not, yet.
std::shared_ptr<const View> ObjectAccess::view_without_home(const Handle& handle,
                                                            const Error& why) {
  if (!is_home_gone(why.code) || !includes(handle.rights, Rights::read)) return nullptr;
  const std::string key = channel_key(NodeId{handle.home}, handle.object, handle.version);
  for (const auto& channel : channels_->all()) {
    if (!channels_->unreadable(*channel).empty()) continue;
    const auto size = channel->size(key);
    if (!size || (handle.size != Handle::kSizeUnknown && *size != handle.size)) continue;
    auto copy = get_from(*channel, handle, handle.version, {0, *size});
    if (copy) return view_of_copy(handle, handle.version, *std::move(copy));
  }
  return nullptr;
}

}  // namespace godwit::ref
