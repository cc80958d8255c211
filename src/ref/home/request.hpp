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

}  // namespace godwit::ref
