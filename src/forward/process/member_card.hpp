// What a process says of itself when the ranks of a group meet.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "godwit/error.hpp"
#include "godwit/kernel.hpp"

namespace godwit::forward {

struct MemberCard {
  Rank rank = 0;
  Rank ranks = 0;    // of the group, as it was told
  NodeId node;       // by which its links are recognised
  std::string host;  // the same for all processes of one running system
  std::string shm;   // the address where it takes links of its host; empty: nowhere
  std::string tcp;   // of any host; empty: nowhere
};

// One line of text, without its end.
[[nodiscard]] std::string to_line(const MemberCard& card);
// Errors: protocol_violation.
[[nodiscard]] Result<MemberCard> parse_card(std::string_view line);

// The running system this process is part of.
[[nodiscard]] std::string this_host();

}  // namespace godwit::forward
