// Reading many objects at once.
#include <map>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "call/caller.hpp"
#include "ref/access/access.hpp"
#include "ref/access/copied_view.hpp"

namespace godwit::ref {
namespace {

using wire::ObjectAnswer;
using wire::ObjectOp;

using ViewResult = Result<std::shared_ptr<const View>>;

// One that a channel has, pinned at its home.
struct Far {
  Handle handle;
  ObjectAnswer found;
  std::size_t index = 0;  // of its view
};

// Asks the store for all of them together; what that does not bring is tried alone.
std::vector<Buffer> get_together(NamedChannel& channel, const std::vector<Far>& some) {
  std::vector<Buffer> copies;
  std::vector<std::string> keys;
  std::vector<Channel::GetItem> items;
  for (const Far& far : some) {
    copies.push_back(Buffer::allocate(far.found.size));
    keys.push_back(channel_key(NodeId{far.handle.home}, far.handle.object, far.found.version));
  }
  for (std::size_t i = 0; i < some.size(); ++i) {
    items.push_back({keys[i], 0, copies[i].mutable_view()});
  }
  const std::vector<Status> got = channel.channel().get_batch(items);
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (i >= got.size() || !got[i]) copies[i].reset();
  }
  return copies;
}

}  // namespace

// What is not at hand: one message for all objects of a home, and then few questions to the
// channels that have some.
std::vector<ViewResult> ObjectAccess::resolve_batch(std::span<const Handle> handles) {
  constexpr std::size_t kPerMessage = 1000;
  std::vector<ViewResult> views(handles.size());
  std::vector<Handle> wanted;
  std::vector<std::size_t> places;  // of their views
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (auto view = at_hand(handles[i], {})) {
      views[i] = std::move(view);
      continue;
    }
    wanted.push_back(handles[i]);
    places.push_back(i);
  }
  std::vector<Fetch> later;
  std::map<std::string, std::vector<Far>, std::less<>> by_channel;
  for (const HomeGroup& group : by_home(wanted, kPerMessage)) {
    auto all = ask_all(asking(),
                       {.home = group.home,
                        .op = ObjectOp::locate,
                        .items = group.items,
                        .argument = kSmall,
                        .flags = question_flags()},
                       Ask::slowly);
    std::shared_ptr<const detail::CallHandle> reply;
    if (all) reply = std::make_shared<const detail::CallHandle>(std::move(all->call));
    for (std::size_t i = 0; i < group.which.size(); ++i) {
      const Handle& handle = wanted[group.which[i]];
      const std::size_t place = places[group.which[i]];
      ViewResult& view = views[place];
      const auto answer = answer_to(all, i);
      const std::uint32_t flags = answer ? answer->fixed.flags : 0;
      if (!answer) {
        view = tl::unexpected(while_resolving(handle, answer.error()));
      } else if ((flags & ObjectAnswer::kInTail) != 0) {
        view = std::make_shared<const View>(
            View{handle, answer->fixed.version, answer->tail, Path::message, reply});
      } else if ((flags & ObjectAnswer::kElsewhere) != 0 && answer->fixed.segment == 0) {
        by_channel[std::string(text_of(answer->tail))].push_back({handle, answer->fixed, place});
      } else {
        view = view_of(handle, {}, *answer, {.later = &later, .index = place});
      }
    }
  }
  for (const auto& [name, some] : by_channel) {
    std::string why;
    NamedChannel* const channel = readable(name, some.front().found.size, why);
    std::vector<Buffer> copies(some.size());
    if (channel != nullptr) copies = get_together(*channel, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      const auto& [handle, found, index] = some[i];
      if (copies[i].data() == nullptr) {
        views[index] = view_elsewhere(handle, found, name, {.later = &later, .index = index});
        continue;
      }
      hold(NodeId{handle.home});
      release(NodeId{handle.home}, found.value, found.size);
      views[index] = view_of_copy(handle, found.version, std::move(copies[i]));
    }
  }
  fetch_all(later, views, Pieces::kNever);
  return views;
}

}  // namespace godwit::ref
