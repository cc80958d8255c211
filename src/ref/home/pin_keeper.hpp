// A pin on a version of an object of this process's own.
#pragma once

#include <cstdint>
#include <utility>

#include "ref/home/store.hpp"

namespace godwit::ref {

// Lets go of the pin when it ends, which the store outlives.
class PinKeeper {
 public:
  PinKeeper(ObjectStore& store, Holder holder, std::uint64_t pin) noexcept
      : store_(&store), holder_(holder), pin_(pin) {}
  PinKeeper(PinKeeper&& other) noexcept
      : store_(other.store_), holder_(other.holder_), pin_(std::exchange(other.pin_, 0)) {}
  PinKeeper& operator=(PinKeeper&&) = delete;
  ~PinKeeper() {
    if (pin_ != 0) store_->release(holder_, pin_);
  }

 private:
  ObjectStore* store_;
  Holder holder_;
  std::uint64_t pin_;
};

}  // namespace godwit::ref
