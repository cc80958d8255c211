// Everything a program needs to call mobile code and to use regions.
#pragma once

#include "godwit/bundle.hpp"
#include "godwit/error.hpp"
#include "godwit/explain.hpp"
#include "godwit/fleet.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"
#include "godwit/ops.hpp"
#include "godwit/ops/log.hpp"
#include "godwit/ops/movement.hpp"
#include "godwit/ops/reduce.hpp"
#include "godwit/ops/update.hpp"
#include "godwit/ops/watch.hpp"
#include "godwit/outcome.hpp"
#include "godwit/region.hpp"
#include "godwit/struct.hpp"
#include "godwit/types.hpp"
