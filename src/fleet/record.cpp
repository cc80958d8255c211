#include "fleet/record.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "fleet/limits.hpp"

namespace godwit::fleet {

namespace {

// Names and addresses are printed, compared and typed by people: no spaces, no control characters.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7F'; });
}

}  // namespace

std::string_view to_string(NodeState state) noexcept {
  switch (state) {
    case NodeState::up: return "up";
    case NodeState::leaving: return "leaving";
    case NodeState::lost: return "lost";
  }
  return "unknown";
}

std::string_view to_string(NodeRole role) noexcept {
  switch (role) {
    case NodeRole::node: return "node";
    case NodeRole::client: return "client";
  }
  return "unknown";
}

Status validate(const NodeRecord& record) {
  if (!record.id || !record.epoch) {
    return fail(ErrorCode::invalid_argument, "a node record needs an id and an epoch");
  }
  if (record.name.empty() || record.name.size() > kMaxNodeNameBytes || !is_word(record.name)) {
    return fail(ErrorCode::invalid_argument,
                "node {}: its name must be 1 to {} printable ASCII characters without spaces",
                to_hex(record.id.value), kMaxNodeNameBytes);
  }
  if (record.addresses.size() > kMaxAddresses) {
    return fail(ErrorCode::invalid_argument, "node {}: {} addresses, but at most {} are allowed",
                record.name, record.addresses.size(), kMaxAddresses);
  }
  for (const std::string& address : record.addresses) {
    if (address.empty() || address.size() > kMaxAddressBytes || !is_printable(address)) {
      return fail(ErrorCode::invalid_argument,
                  "node {}: an address must be 1 to {} printable ASCII characters", record.name,
                  kMaxAddressBytes);
    }
  }
  for (const std::string* field : {&record.target.arch, &record.target.cpu, &record.target.os}) {
    if (field->size() > kMaxTargetFieldBytes || !is_printable(*field)) {
      return fail(ErrorCode::invalid_argument,
                  "node {}: target fields must be at most {} printable ASCII characters",
                  record.name, kMaxTargetFieldBytes);
    }
  }
  if (record.state > NodeState::lost || record.role > NodeRole::client) {
    return fail(ErrorCode::invalid_argument, "node {}: unknown state or role", record.name);
  }
  return {};
}

}  // namespace godwit::fleet
