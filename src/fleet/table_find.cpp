// How a person's word for a node becomes a record.
#include <algorithm>

#include "base/fail.hpp"
#include "fleet/table.hpp"

namespace godwit::fleet {

namespace {

constexpr std::size_t kLeastIdDigits = 4;
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kMaxCandidates = 8;

bool is_hex(std::string_view text) {
  return text.size() <= kIdDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// The record if there is just one, or just one that is not lost.
Result<NodeRecord> only_one(std::string_view text, const std::vector<const NodeRecord*>& found) {
  if (found.size() == 1) return *found.front();
  const NodeRecord* living = nullptr;
  std::size_t living_count = 0;
  std::string list;
  for (const NodeRecord* record : found) {
    if (record->state != NodeState::lost) {
      living = record;
      ++living_count;
    }
    list += fmt::format("{}{} ({}, {})", list.empty() ? "" : ", ", to_hex(record->id.value),
                        record->name, to_string(record->state));
  }
  if (living_count == 1) return *living;
  return fail(ErrorCode::invalid_argument, "'{}' fits several nodes: {}; use an id", text, list);
}

}  // namespace

Result<NodeRecord> Table::find(std::string_view text) const {
  if (const auto named = nodes_by_name_.find(text); named != nodes_by_name_.end()) {
    std::vector<const NodeRecord*> found;
    for (const NodeId id : named->second) found.push_back(&nodes_.at(id).record);
    return only_one(text, found);
  }
  if (text.size() >= kLeastIdDigits && is_hex(text)) return find_by_id_prefix(text);
  return fail(ErrorCode::not_found, "no node is called '{}'; {}", text, candidates(text));
}

Result<NodeRecord> Table::find_by_id_prefix(std::string_view digits) const {
  std::string first(digits);
  first.resize(kIdDigits, '0');
  const NodeId from{from_hex(first).value_or(0)};
  std::vector<const NodeRecord*> found;
  for (auto it = nodes_.lower_bound(from); it != nodes_.end(); ++it) {
    if (!to_hex(it->first.value).starts_with(digits) || found.size() > kMaxCandidates) break;
    found.push_back(&it->second.record);
  }
  if (!found.empty()) return only_one(digits, found);
  return fail(ErrorCode::not_found, "no node is called '{}' and no id starts with it; {}", digits,
              candidates(digits));
}

std::string Table::candidates(std::string_view text) const {
  if (nodes_.empty()) return "the fleet has no nodes yet";
  std::string similar;
  std::string some;
  std::size_t similar_count = 0;
  std::size_t some_count = 0;
  for (const auto& [name, ids] : nodes_by_name_) {
    const bool fits = name.find(text) != std::string::npos || text.find(name) != text.npos;
    if (fits && similar_count++ < kMaxCandidates) similar += (similar.empty() ? "" : ", ") + name;
    if (some_count++ < kMaxCandidates) some += (some.empty() ? "" : ", ") + name;
  }
  if (similar_count > 0) return fmt::format("did you mean {}?", similar);
  return fmt::format("there {} {}{}", nodes_by_name_.size() == 1 ? "is" : "are", some,
                     some_count > kMaxCandidates ? ", ..." : "");
}

}  // namespace godwit::fleet
