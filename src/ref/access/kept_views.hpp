// Views that this process may go on using: what the homes vouch for, and until when.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "ref/access/access.hpp"
#include "ref/access/reaches.hpp"
#include "ref/access/recent_views.hpp"
#include "ref/access/view_cache.hpp"
#include "wire/object.hpp"

namespace godwit::ref {

// What an answer is kept by: the home's words as they were before it was asked, since a ticket of
// one life of a home means nothing among the words of its next; and when that was, so that a lease
// is not thought longer than it is.
struct ObjectAccess::Vouching {
  std::shared_ptr<const HomeCurrency> currency;  // null: the home is not to vouch
  Clock::time_point asked_at;
  // As the home is told (ObjectItem::b).
  [[nodiscard]] std::uint64_t wanted() const noexcept { return currency != nullptr ? 1 : 0; }
};

// Any thread. Shared with the tasks it posts, which may outlive its owner.
class ObjectAccess::KeptViews : public std::enable_shared_from_this<KeptViews> {
 public:
  static constexpr Duration kSweepEvery = std::chrono::milliseconds(20);
  static constexpr std::chrono::seconds kPatience{1};

  explicit KeptViews(AccessHost& host) : host_(host) {}

  [[nodiscard]] std::shared_ptr<const View> find(const Handle& handle) {
    auto view = put_.find(handle);
    return view != nullptr ? view : views_.find(handle);
  }
  // What is shown of the handle's object by its home, and whose word that is; nothing if nothing
  // is.
  struct Shown {
    Reaches::Pointer reach;
    Whereabouts place;
  };
  [[nodiscard]] std::optional<Shown> shown(const Handle& handle);
  // That this is its segment, for who looks for the next one.
  void reached(const Shown& shown, SegmentMap::Mapped memory);
  // Of bytes that were copied from there. Kept the second time: most are read once, and keeping
  // takes half as long as copying.
  void keep_if_again(const std::shared_ptr<const View>& view, const Shown& shown);
  // Before a home is asked for something that it may vouch for. Its words are mapped when it is
  // asked a second time: once may be all there is.
  [[nodiscard]] Vouching vouching(NodeId home);
  void keep(const Handle& handle, const std::shared_ptr<const View>& view,
            const std::optional<wire::VoucherTerms>& voucher, const Vouching& asked);
  // Of what this process has just put.
  void keep_put(std::shared_ptr<const View> view, const wire::VoucherTerms& voucher,
                const Vouching& asked);
  // This process wants it no more.
  void drop(const Handle& handle) { views_.drop(handle); }
  void forget(NodeId home);
  void close();

 private:
  struct Home {
    std::uint64_t number = 0;  // of this entry: after forget() there may be another
    unsigned questions = 0;
    bool mapping = false;  // a thread is at it
    std::shared_ptr<const HomeCurrency> currency;
  };
  // Null: the home shows none, or not yet.
  [[nodiscard]] std::shared_ptr<const HomeCurrency> words_of(NodeId home);
  // None: there is nothing to keep it by.
  [[nodiscard]] std::optional<ViewCache::Voucher> begin_keeping(const wire::VoucherTerms& voucher,
                                                                const Vouching& asked);
  void arm();
  void sweep();

  AccessHost& host_;
  ViewCache views_;
  RecentViews put_;
  Reaches reaches_;
  std::array<std::atomic<std::uint64_t>, 1'024> copied_{};  // proofs of handles
  std::mutex mutex_;
  std::unordered_map<NodeId, Home> homes_;
  std::uint64_t entries_ = 0;  // so far
  bool armed_ = false;
  bool closed_ = false;
};

}  // namespace godwit::ref
