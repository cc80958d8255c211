// A view of bytes that were copied.
#pragma once

#include <memory>
#include <utility>

#include "base/bytes.hpp"
#include "ref/access/view.hpp"

namespace godwit::ref {

[[nodiscard]] inline std::shared_ptr<const View> view_of_copy(const Handle& handle,
                                                              std::uint64_t version, Buffer copy,
                                                              Path path = Path::channel) {
  struct Copied {
    Buffer copy;
    View view;
  };
  auto copied = std::make_shared<Copied>(Copied{std::move(copy), {handle, version, {}, path, {}}});
  copied->view.bytes = copied->copy.view();
  const View* const view = &copied->view;
  return {std::move(copied), view};
}

}  // namespace godwit::ref
