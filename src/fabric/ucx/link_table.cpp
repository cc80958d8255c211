#include "fabric/ucx/link_table.hpp"

#include "fabric/link_id.hpp"

namespace godwit::fabric::ucx {

Link* LinkTable::add() {
  if (size_ >= max_links_) return nullptr;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint16_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint16_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot] = std::make_unique<Link>();
  slots_[slot]->id = make_link_id(Address::Scheme::tcp, next_serial_++, slot);
  ++size_;
  return slots_[slot].get();
}

void LinkTable::remove(Link& link) {
  clear_token(link);
  const std::uint16_t slot = slot_of(link.id);
  slots_[slot].reset();
  free_slots_.push_back(slot);
  --size_;
}

Link* LinkTable::find(LinkId id) const noexcept {
  const std::uint16_t slot = slot_of(id);
  if (slot >= slots_.size() || slots_[slot] == nullptr || slots_[slot]->id != id) return nullptr;
  return slots_[slot].get();
}

bool LinkTable::set_token(Link& link, std::uint64_t token) {
  if (token == 0 || !by_token_.emplace(token, &link).second) return false;
  link.token = token;
  return true;
}

void LinkTable::clear_token(Link& link) {
  if (link.token == 0) return;
  by_token_.erase(link.token);
  if (last_found_ == &link) last_found_ = nullptr;
  link.token = 0;
}

Link* LinkTable::search_token(std::uint64_t token) noexcept {
  const auto found = by_token_.find(token);
  if (found == by_token_.end()) return nullptr;
  last_found_ = found->second;
  return last_found_;
}

}  // namespace godwit::fabric::ucx
