// What this process has resolved lately, for whoever resolves it again.
//
// Nothing is given out that the home would not give: a view stays here only with a word of the home
// (Currency) that is looked at each time. So only objects of homes on this host are kept; those of
// less than kManyBytes for a moment after their last use, larger ones while somebody has them:
// their memory is wanted for the next. Those that are resolved again right after are kept as small
// ones.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"
#include "godwit/handle.hpp"
#include "ref/access/view.hpp"
#include "ref/home/currency.hpp"

namespace godwit::ref {

// Any thread; a call takes the lock of a share of the views for a moment.
class ViewCache {
 public:
  static constexpr std::size_t kMaxViews = 4'096;
  static constexpr std::size_t kManyBytes = std::size_t{256} << 10;

  struct Voucher {
    std::shared_ptr<const HomeCurrency> currency;
    std::uint64_t ticket = 0;
    // When its lease ends; the beginning of time: never.
    std::chrono::steady_clock::time_point until{};
    // At this moment.
    [[nodiscard]] bool holds() const noexcept;
  };

  // Null: the home has to be asked. The handle is compared as a whole: a changed one is another.
  [[nodiscard]] std::shared_ptr<const View> find(const Handle& handle);
  void add(const Handle& handle, const std::shared_ptr<const View>& view, Voucher voucher);
  void drop(const Handle& handle);
  void forget(NodeId home);
  // Lets go of what was not used since the last time. True: something is left.
  bool sweep();

 private:
  // So many that threads that resolve objects of their own seldom meet.
  static constexpr std::size_t kShares = 256;
  struct HandleHash {
    std::size_t operator()(const Handle& handle) const noexcept;
  };
  struct Entry {
    std::shared_ptr<const View> kept;  // of a small one
    std::weak_ptr<const View> view;
    Voucher voucher;
    bool used = true;
    bool again = false;  // it is a large one, and was asked for after everybody had let go of it
  };
  using Entries = std::unordered_map<Handle, Entry, HandleHash>;
  struct alignas(64) Share {
    std::mutex mutex;
    Entries entries;
  };
  [[nodiscard]] Share& share_of(const Handle& handle) noexcept;
  // True: something is left.
  template <class Goes>
  static bool let_go(Share& share, const Goes& goes);

  std::array<Share, kShares> shares_;
};

}  // namespace godwit::ref
