// How other threads hand work to the engine without allocating: the work carries its own link.
#pragma once

namespace godwit::call {

class Engine;

struct Posted {
  Posted* inbox_next = nullptr;
  void* owner = nullptr;  // what this is a part of
  // Called by the engine's owning thread.
  void (*deliver)(Engine& engine, Posted& posted) = nullptr;
};

}  // namespace godwit::call
