// Every standard container that travels.
#pragma once

#include "godwit/mobile/map.hpp"
#include "godwit/mobile/optional.hpp"
#include "godwit/mobile/string.hpp"
#include "godwit/mobile/vector.hpp"
