// One request as the parts of ObjectService see it.
#pragma once

#include "ref/home/service.hpp"

namespace godwit::ref {

struct ObjectService::Request {
  const wire::ObjectRequest& head;
  const Asker& asker;
  Holder holder;
  Arena::Wait wait;
};

// The bytes are an item's tail, and a voucher follows if there is one.
void append_vouched(Bytes bytes, const Voucher& voucher, Answers& answers);

}  // namespace godwit::ref
