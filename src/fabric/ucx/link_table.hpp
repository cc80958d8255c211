// The links of a transport, found by id and by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fabric/ucx/link.hpp"

namespace godwit::fabric::ucx {

class LinkTable {
 public:
  explicit LinkTable(std::size_t max_links) : max_links_(max_links) {}

  // Null when max_links are there already.
  [[nodiscard]] Link* add();
  void remove(Link& link);
  // One array access; null for an id whose link is gone.
  [[nodiscard]] Link* find(LinkId id) const noexcept;

  // Messages with this token belong to the link from now on. False: the token is taken.
  [[nodiscard]] bool set_token(Link& link, std::uint64_t token);
  void clear_token(Link& link);
  // Null for a token that is not a live link's. The last link found is found again without a
  // search.
  [[nodiscard]] Link* find_token(std::uint64_t token) noexcept {
    if (last_found_ != nullptr && last_found_->token == token) return last_found_;
    return search_token(token);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] != nullptr) visit(*slots_[slot]);
    }
  }

 private:
  [[nodiscard]] Link* search_token(std::uint64_t token) noexcept;

  const std::size_t max_links_;
  std::vector<std::unique_ptr<Link>> slots_;
  std::vector<std::uint16_t> free_slots_;
  std::unordered_map<std::uint64_t, Link*> by_token_;
  Link* last_found_ = nullptr;
  std::uint64_t next_serial_ = 1;
  std::size_t size_ = 0;
};

}  // namespace godwit::fabric::ucx
