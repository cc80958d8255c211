// What an operation's mechanism comes to, for a region as it is used here.
#pragma once

#include "godwit/explain.hpp"
#include "ops/attachment.hpp"

namespace godwit::ops {

// The work with amounts of 0 filled in, where the region tells.
[[nodiscard]] Work completed(const Attachment& region, Work work);

// `automatic` becomes what costs least; other mechanisms stay. The first operation on a region that
// has a choice measures (calibrate()) and waits for that; later ones find the figures, and take in
// what real gets have taught since once a second, which is arithmetic.
[[nodiscard]] Mechanism decide(const detail::RegionHandle& region, const Work& work,
                               Mechanism mechanism);

// How operations that look at elements here reach them: `direct` by loads, `get` by messages also
// where they are mapped, `automatic` by whichever is possible.
[[nodiscard]] inline Reach reach_for(Mechanism asked) noexcept {
  return asked == Mechanism::get ? Reach::message : Reach::automatic;
}

[[nodiscard]] Failure not_mapped(const Attachment& region, const char* verb);

}  // namespace godwit::ops
