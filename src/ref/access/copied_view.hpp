// A view of bytes that came from a channel.
#pragma once

#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "ref/access/view.hpp"

namespace godwit::ref {

[[nodiscard]] inline std::shared_ptr<const View> view_of_copy(const Handle& handle,
                                                              std::uint64_t version, Buffer copy) {
  auto owner = std::make_shared<const Buffer>(std::move(copy));
  const Bytes bytes = owner->view();
  return std::make_shared<const View>(
      View{handle, version, bytes, Path::channel, std::move(owner)});
}

}  // namespace godwit::ref
