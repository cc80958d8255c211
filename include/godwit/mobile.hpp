// What C++ mobile code includes.
//
//   #include <godwit/mobile.hpp>
//
//   double norm(godwit::Here&, std::span<const double> x) { ... }
//   GODWIT_EXPORT(norm);
//
// `godwit cc` builds it. Parameters and results are the types of docs/types.md; for std::string,
// std::vector, the maps and std::optional include <godwit/mobile/std.hpp> too: a bundle carries the
// code of what it uses, so the light types are the default. Works with -fno-exceptions, where
// failures are asked for by Pending::outcome() in place of get().
#pragma once

#include "godwit/codec.hpp"
#include "godwit/mobile/call.hpp"
#include "godwit/mobile/export.hpp"
#include "godwit/mobile/here.hpp"
#include "godwit/mobile/ref.hpp"
#include "godwit/mobile/region.hpp"
#include "godwit/mobile_abi.h"
#include "godwit/sharding.hpp"
#include "godwit/struct.hpp"
#include "godwit/types.hpp"
