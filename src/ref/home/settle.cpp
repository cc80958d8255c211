// Versions that others may wait for, as messages and functions bring them.
#include <utility>

#include "base/fail.hpp"
#include "godwit/mobile_abi.h"
#include "ref/access/access.hpp"
#include "ref/home/service.hpp"

namespace godwit::ref {

using wire::ObjectOp;

Result<Handle> ObjectService::publish(const ObjectStore::Writer& writer, ObjectOp op,
                                      const Handle& handle, std::uint64_t ticket,
                                      Arena::Wait wait) {
  return op == ObjectOp::update ? store_.update(writer, handle, ticket, wait)
                                : store_.fulfil(writer.holder, handle, ticket, wait);
}

Result<Handle> ObjectService::settle_own(const ObjectStore::Writer& writer, ObjectOp op,
                                         const Handle& handle, std::span<const Bytes> parts,
                                         Arena::Wait wait) {
  return op == ObjectOp::update ? store_.update(writer, handle, parts, wait)
                                : store_.fulfil(writer.holder, handle, parts, wait);
}

Result<Handle> ObjectService::settle_here(const Settling& what) {
  const Arena::Wait wait = what.may_wait ? Arena::Wait::yes : Arena::Wait::no;
  switch (what.how) {
    case GODWIT_FULFIL:
      return settle_own(options_.self, ObjectOp::fulfil, what.handle, what.parts, wait);
    case GODWIT_UPDATE:
      return settle_own(options_.self, ObjectOp::update, what.handle, what.parts, wait);
    default: GODWIT_CHECK(store_.break_promise(what.handle, what.broken)); return what.handle;
  }
}

Result<Handle> ObjectService::settle_there(const Settling& what) {
  if (!enter()) return fail(ErrorCode::shutting_down, "this process is shutting down");
  const Entered entered(*this);
  switch (what.how) {
    case GODWIT_FULFIL: return access_->fulfil(what.handle, what.parts);
    case GODWIT_UPDATE: return access_->update(what.handle, what.parts);
    default:
      GODWIT_CHECK(access_->break_promise(what.handle, what.broken.code, what.broken.message));
      return what.handle;
  }
}

Result<Handle> ObjectService::settle(const Settling& what) {
  if (!is_own(what.handle)) return settle_there(what);
  const TellsReady tells(what.ready);
  auto settled = settle_here(what);
  options_.on_use();
  return settled;
}

}  // namespace godwit::ref
