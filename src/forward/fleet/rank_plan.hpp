// What a rank of a node is to do, as it is told on the wire (godwit::RankOrder) and as the exchange
// wants it.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.hpp"
#include "godwit/error.hpp"
#include "godwit/exchange_options.hpp"
#include "godwit/meet.hpp"
#include "godwit/mobile/rank.hpp"

namespace godwit::forward {

struct RankPlan {
  std::array<std::uint64_t, 2> exchange{};
  MeetOptions meet;  // without the key
  ExchangeOptions options;
  Pace pace = Pace::free;
};

// Errors: invalid_argument, bad_address (too long).
[[nodiscard]] Result<RankOrder> write_order(const RankPlan& plan);
// Trusts nothing. Errors: invalid_argument.
[[nodiscard]] Result<RankPlan> read_order(Bytes order);

}  // namespace godwit::forward
