// What a program says of a new object, as homes understand it.
#pragma once

#include "godwit/detail/object_door.hpp"
#include "ref/home/store.hpp"

namespace godwit::ref {

static_assert(static_cast<int>(godwit::Lifetime::Kind::process) ==
              static_cast<int>(LifetimeKind::holder));
static_assert(static_cast<int>(godwit::Lifetime::Kind::readers) ==
              static_cast<int>(LifetimeKind::readers));

[[nodiscard]] inline NewObject new_object(const detail::NewObjectTerms& terms) noexcept {
  const godwit::Lifetime& lifetime = terms.options.lifetime;
  return {.type = terms.type,
          .lifetime = {static_cast<LifetimeKind>(lifetime.kind()), lifetime.reader_count(),
                       lifetime.time()},
          .owned = terms.owned,
          .persist = terms.options.persist};
}

}  // namespace godwit::ref
