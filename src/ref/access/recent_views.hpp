// The small objects that this process has put last, for whoever resolves one of them soon.
//
// Few places, which later ones take from earlier ones: most of what is put is resolved by somebody
// else, and must cost no memory that is cold. As in ViewCache nothing is given out that the home
// does not vouch for at that moment.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/ids.hpp"
#include "godwit/handle.hpp"
#include "ref/access/view_cache.hpp"

namespace godwit::ref {

// Any thread. find() of what is not here costs one load.
class RecentViews {
 public:
  static constexpr std::size_t kPlaces = 64;

  // Null: it is not here, or the home does not vouch for it any more.
  [[nodiscard]] std::shared_ptr<const View> find(const Handle& handle);
  void add(std::shared_ptr<const View> view, ViewCache::Voucher voucher);
  void forget(NodeId home);
  // Lets go of what was not used since the last time. True: something is left.
  bool sweep();

 private:
  struct alignas(64) Place {
    std::atomic<std::uint64_t> mac{0};  // of the view's handle, or of one that was here
    std::mutex mutex;                   // of what follows
    std::shared_ptr<const View> view;
    ViewCache::Voucher voucher;
    bool used = false;
  };
  [[nodiscard]] Place& place_of(const Handle& handle) noexcept {
    return places_[handle.mac % kPlaces];
  }
  template <class Goes>
  bool let_go(const Goes& goes);

  std::array<Place, kPlaces> places_;
};

}  // namespace godwit::ref
