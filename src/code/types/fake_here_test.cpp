#include "code/types/fake_here_test.hpp"

#include <algorithm>
#include <cstring>

namespace godwit::code {
namespace {

struct Reply : godwit_reply {
  Buffer memory;
  std::size_t limit = 0;

  static void* grow(godwit_reply* base, std::size_t wanted) noexcept {
    auto* self = static_cast<Reply*>(base);
    if (wanted > self->limit) return nullptr;
    self->memory = Buffer::allocate(wanted);
    self->data = self->memory.data();
    self->capacity = wanted;
    return self->data;
  }
};

FakeHere& self_of(const godwit_here_v1* here) {
  return *static_cast<FakeHere*>(here->context);
}

Buffer joined(const godwit_bytes* parts, std::size_t count) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += parts[i].size;
  Buffer all = Buffer::allocate(size);
  size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(all.data() + size, parts[i].data, parts[i].size);
    size += parts[i].size;
  }
  return all;
}

}  // namespace

Ran FakeHere::run(godwit_entry entry, Bytes args, std::size_t reply_limit) {
  Reply reply{};
  reply.memory = Buffer::allocate(GODWIT_REPLY_CAPACITY);
  reply.data = reply.memory.data();
  reply.capacity = GODWIT_REPLY_CAPACITY;
  reply.reserve = &Reply::grow;
  reply.limit = reply_limit;
  Ran ran;
  ran.code = entry(&table_, args.data(), args.size(), &reply);
  ran.reply = std::move(reply.memory);
  ran.reply.truncate(reply.size);
  return ran;
}

FakeHere::FakeHere() {
  calls_.reserve(100);
  table_.size = sizeof table_;
  table_.context = this;
  table_.hops_left = 3;
  table_.self = [](const godwit_here_v1*) -> std::uint64_t { return 1; };
  table_.nodes = [](const godwit_here_v1*, std::uint64_t* ids, std::size_t capacity) {
    for (std::size_t i = 0; i < std::min<std::size_t>(3, capacity); ++i) ids[i] = i + 1;
    return std::size_t{3};
  };
  table_.log = [](const godwit_here_v1* here, std::int32_t, const char* text, std::size_t size) {
    self_of(here).logged.emplace_back(text, size);
  };
  table_.call = [](const godwit_here_v1* here, std::uint64_t, const godwit_function_ref* function,
                   const godwit_bytes* parts, std::size_t count, std::uint32_t,
                   std::uint64_t* handle) -> std::int32_t {
    FakeHere& self = self_of(here);
    std::string name(function->name, function->name_size);
    if (function->bundle != nullptr) name = "built:" + name;
    const auto entry = self.entries.find(name);
    if (entry == self.entries.end()) {
      self.last_error = "no function " + name;
      return 2;
    }
    const Buffer args = joined(parts, count);
    self.calls_.push_back(self.run(entry->second, args.view()));
    *handle = self.calls_.size();
    return 0;
  };
  table_.wait = [](const godwit_here_v1* here, std::uint64_t handle,
                   godwit_outcome* outcome) -> std::int32_t {
    const Ran& ran = self_of(here).calls_[handle - 1];
    outcome->ending = ran.code == GODWIT_OK ? GODWIT_ENDED_OK : GODWIT_ENDED_APP_ERROR;
    outcome->data = ran.reply.data();
    outcome->size = ran.reply.size();
    return 0;
  };
  table_.release = [](const godwit_here_v1* here, std::uint64_t) { ++self_of(here).released; };
  table_.continue_at = [](const godwit_here_v1* here, std::uint64_t node,
                          const godwit_function_ref* function, const godwit_bytes* parts,
                          std::size_t count) -> std::int32_t {
    FakeHere& self = self_of(here);
    if (here->hops_left == 0) {
      self.last_error = "no hops left";
      return 11;
    }
    self.hop_node = node;
    self.hop_function.assign(function->name, function->name_size);
    const Buffer args = joined(parts, count);
    self.hop_args.assign(args.view().begin(), args.view().end());
    return 0;
  };
  table_.build = [](const godwit_here_v1* here, const godwit_build_v1* request,
                    std::uint8_t* bundle) -> std::int32_t {
    if (std::string_view(request->function, request->function_size) != "twice") {
      self_of(here).last_error = "unexpected function";
      return 10;
    }
    std::memset(bundle, 7, 32);
    return 0;
  };
  table_.last_error = [](const godwit_here_v1* here) -> const char* {
    return self_of(here).last_error.c_str();
  };
}

}  // namespace godwit::code
