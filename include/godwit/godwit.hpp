// Everything a program needs to call mobile code.
#pragma once

#include "godwit/bundle.hpp"
#include "godwit/error.hpp"
#include "godwit/fleet.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"
#include "godwit/outcome.hpp"
#include "godwit/struct.hpp"
#include "godwit/types.hpp"
