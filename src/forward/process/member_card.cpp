#include "forward/process/member_card.hpp"

#include <array>
#include <charconv>
#include <fstream>

#include "base/fail.hpp"
#include "godwit/group.hpp"

namespace godwit::forward {
namespace {

constexpr std::string_view kMark = "godwit-rank-1";
constexpr std::size_t kFields = 7;

bool read_rank(std::string_view text, Rank& rank) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string to_line(const MemberCard& card) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", kMark, card.rank, card.ranks,
                     to_hex(card.node.value), card.host, card.shm, card.tcp);
}

Result<MemberCard> parse_card(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    const std::size_t tab = line.find('\t');
    more = tab != std::string_view::npos;
    if (count < kFields) fields[count] = line.substr(0, tab);
    line.remove_prefix(more ? tab + 1 : 0);
  }
  MemberCard card;
  const auto node = from_hex(fields[3]);
  if (count != kFields || fields[0] != kMark || !read_rank(fields[1], card.rank) ||
      !read_rank(fields[2], card.ranks) || !node || *node == 0) {
    return fail(ErrorCode::protocol_violation,
                "what came to the meeting place of a group is no rank of one");
  }
  if (card.ranks < 1 || card.ranks > Group::kMaxRanks || card.rank < 0 || card.rank >= card.ranks) {
    return fail(ErrorCode::protocol_violation, "a process calls itself rank {} of {}", card.rank,
                card.ranks);
  }
  card.node = {*node};
  card.host = fields[4];
  card.shm = fields[5];
  card.tcp = fields[6];
  return card;
}

std::string this_host() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace godwit::forward
