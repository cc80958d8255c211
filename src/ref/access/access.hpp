// How a process uses the objects of any home: puts them, reads them, says what is to become of
// them.
//
// An object of this process's own is a pointer, one of another process of this host is mapped, any
// other is copied, in one message or in pieces. A reader pins what it reads at the home, and lets
// go of it when its view ends; those messages are collected. While this process holds anything of a
// home's it tells the home, every few seconds, that it is still there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "godwit/detail/object_door.hpp"
#include "godwit/error.hpp"
#include "godwit/handle.hpp"
#include "ref/access/pieces.hpp"
#include "ref/access/question.hpp"
#include "ref/access/segments.hpp"
#include "ref/access/view.hpp"
#include "ref/channel/channel_set.hpp"
#include "ref/home/store.hpp"

namespace godwit::ref {

// What a process gives to its ObjectAccess. Any thread.
class AccessHost {
 public:
  virtual ~AccessHost() = default;
  virtual call::Caller& caller() = 0;
  virtual Epoch epoch() = 0;
  virtual SegmentMap& segments() = 0;
  // Errors: those of SegmentExchange::map().
  virtual Result<SegmentMap::Mapped> map(const SegmentKey& key,
                                         std::chrono::nanoseconds at_most) = 0;
  // Errors: those of SegmentExchange::map_currency().
  virtual Result<std::shared_ptr<const HomeCurrency>> map_currency(
      NodeId home, std::chrono::nanoseconds at_most) = 0;
};

// Told of a large transfer's bytes so far, by the thread that asked for it.
using Progress = std::function<void(std::uint64_t bytes)>;

// Of a new object, as its maker wants it.
struct PutRequest {
  NodeId home;
  NewObject object{};
  std::span<const Bytes> parts{};      // one after another; lent until put() returns
  const Progress* progress = nullptr;  // the same
  std::string_view channel{};          // where its bytes go; empty: as the policies say
  std::span<const std::string> tags{};

  [[nodiscard]] std::uint64_t size() const noexcept;
};

class Draft;
class Transfers;

// Any thread. Ends after every view that came from it, and before its host.
class ObjectAccess {
 public:
  // Up to here bytes travel in the message itself, also between processes of one host.
  static constexpr std::size_t kSmall = std::size_t{16} << 10;
  // Of a large object, a message each; so many are under way at a time.
  static constexpr std::size_t kPieceBytes = Pieces::kBytes;
  static constexpr std::size_t kPiecesUnderWay = Pieces::kUnderWay;
  // How often Progress is told while memory is copied: rarely enough for the copying to be fast.
  static constexpr std::size_t kProgressBytes = std::size_t{32} << 20;

  // `own` is null in a process that is no home, `channels` in one that has none.
  ObjectAccess(AccessHost& host, ObjectStore* own, std::shared_ptr<ChannelSet> channels = {});
  ~ObjectAccess();
  // Tells homes of what was let go of; from here on nobody is told any more.
  void close();
  ObjectAccess(const ObjectAccess&) = delete;
  ObjectAccess& operator=(const ObjectAccess&) = delete;

  // Errors of all: those of the store (store.hpp), and node_lost, unreachable, deadline, overload.
  [[nodiscard]] Result<Handle> put(const PutRequest& request);
  // All of one home; handles and errors in the order of the requests.
  [[nodiscard]] std::vector<Result<Handle>> put_batch(NodeId home,
                                                      std::span<const PutRequest> requests);
  // Writes the bytes of the next version, or of a promise, at its home.
  // `borrow`: for writing, or 0.
  [[nodiscard]] Result<Handle> update(const Handle& handle, std::span<const Bytes> parts,
                                      std::uint64_t borrow = 0);
  [[nodiscard]] Result<Handle> fulfil(const Handle& handle, std::span<const Bytes> parts);
  [[nodiscard]] Status break_promise(const Handle& handle, ErrorCode code, std::string_view why);

  // Memory for so many bytes of an object of that home, for the caller to write to (draft.hpp), and
  // what it may become. What fails leaves the draft as it is; what does not, without memory.
  // Errors: also resource_exhausted (of this process), protocol_violation.
  [[nodiscard]] Result<Draft> begin_draft(NodeId home, std::uint64_t size);
  [[nodiscard]] Result<Handle> publish(Draft& draft, const NewObject& object,
                                       std::string_view channel, std::span<const std::string> tags);
  // As update() or fulfil(): an item of that operation, without a ticket.
  [[nodiscard]] Result<Handle> publish_next(wire::ObjectOp op, const wire::ObjectItem& which,
                                            Draft& draft);

  // `at_most` of zero: the caller's default for each question, and without an end as long as pieces
  // of a large object arrive.
  [[nodiscard]] Result<std::shared_ptr<const View>> resolve(const Handle& handle,
                                                            std::chrono::nanoseconds at_most = {});
  // The same in two steps, between which nobody waits: the question, and what its answer leads to
  // once it is there (or, where the home has to be asked again, waits after all). An empty call: it
  // is this process's own, and is there.
  [[nodiscard]] detail::CallHandle begin_resolve(const Handle& handle,
                                                 std::chrono::nanoseconds at_most = {});
  [[nodiscard]] Result<std::shared_ptr<const View>> finish_resolve(const Handle& handle,
                                                                   detail::CallHandle call);
  [[nodiscard]] std::vector<Result<std::shared_ptr<const View>>> resolve_batch(
      std::span<const Handle> handles);
  // A few of other homes: all homes are asked before one is waited for, and what has to be copied
  // is copied at the same time.
  [[nodiscard]] std::vector<Result<std::shared_ptr<const View>>> resolve_together(
      std::span<const Handle> handles, std::chrono::nanoseconds at_most);
  // Waits until a promised object is there, or for `newer_than` other than 0 until there is a newer
  // version than that, and resolves it.
  [[nodiscard]] Result<std::shared_ptr<const View>> await(const Handle& handle,
                                                          std::uint64_t newer_than,
                                                          std::chrono::nanoseconds at_most);
  // The same in two steps, as begin_resolve() and finish_resolve(); an empty call: overload.
  // `at_most` of the second: for what is left to do then.
  [[nodiscard]] detail::CallHandle begin_wait(const Handle& handle, std::uint64_t newer_than,
                                              std::chrono::nanoseconds at_most);
  [[nodiscard]] Result<std::shared_ptr<const View>> finish_wait(const Handle& handle,
                                                                std::uint64_t newer_than,
                                                                detail::CallHandle call,
                                                                std::chrono::nanoseconds at_most);
  // A copy of part of it.
  [[nodiscard]] Result<Buffer> read(const Handle& handle, const detail::ObjectSelection& selection);

  // Gives the range to `take` from front to back, in pieces of at most kPieceBytes. What cannot be
  // mapped is never in memory as a whole: kPiecesUnderWay pieces are. Counts as one reader. An
  // error of `take` ends it. Errors: those of resolve(); invalid_argument (beyond the object's
  // end).
  using Take = std::function<Status(Bytes piece)>;
  [[nodiscard]] Status copy_out(const Handle& handle, const ByteRange& range, const Take& take);

  // Anything that is done to one object, or to several of one home each.
  [[nodiscard]] Result<AnsweredItem> tell(wire::ObjectOp op, const wire::ObjectItem& item,
                                          std::span<const Bytes> tail = {});
  [[nodiscard]] std::vector<Result<std::uint64_t>> tell_all(wire::ObjectOp op,
                                                            std::span<const Handle> handles);
  // A handle of the newest version. What its home vouches for is that, and nobody is asked.
  [[nodiscard]] Result<Handle> newest(const Handle& handle);
  // What resolve() would do now. Errors: those of describing it.
  [[nodiscard]] Result<ResolveDecision> explain(const Handle& handle);
  [[nodiscard]] const ChannelSet* channels() const noexcept { return channels_.get(); }
  [[nodiscard]] Result<std::vector<wire::ObjectFacts>> list(NodeId home, std::uint64_t at_most);
  [[nodiscard]] Asking asking();

  // --- For what else lives in a home's memory ---
  // Whether this process can map that home's memory. Errors: node_lost, unreachable.
  [[nodiscard]] Result<bool> can_map(NodeId home);
  // Null: it cannot.
  [[nodiscard]] Result<SegmentMap::Mapped> segment(NodeId home, std::uint64_t number);
  // Room at the home with those bytes in it: its ticket, for somebody who uses it or abandons it.
  [[nodiscard]] Result<std::uint64_t> write_room(NodeId home, std::span<const Bytes> parts);
  void abandon_room(NodeId home, std::uint64_t ticket);

  // Before this process evicts them: the memory that views kept here still pin is free by then.
  void drop_views(std::span<const Handle> handles);
  // There is no link to it any more: what is known of it is not relied on.
  void forget(NodeId home);
  // The last link to it broke, on nobody's purpose: if this process has something there, it tells
  // the home as soon as it can be reached that it still lives.
  void lost(NodeId home);

  // This process has something at that home, or no longer: owned objects, borrows, promises.
  void hold(NodeId home);
  void let_go(NodeId home);
  // Lets go of a pin on so many bytes: at once if they are many, else soon.
  void release(NodeId home, std::uint64_t pin, std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool is_own(NodeId home);
  [[nodiscard]] Result<std::shared_ptr<const View>> own_view(const Handle& handle);
  // Whether the home need not be asked for it: this process has it, or is shown where it lies.
  [[nodiscard]] bool is_at_hand(const Handle& handle);
  // What takes no question; null: the home has to be asked. 0: the usual time.
  [[nodiscard]] std::shared_ptr<const View> at_hand(const Handle& handle,
                                                    std::chrono::nanoseconds at_most);
  // Of a small object whose home, on this host, shows where it lies. Its memory is mapped if it is
  // not yet, which may take `at_most`.
  [[nodiscard]] std::shared_ptr<const View> copy_shown(const Handle& handle,
                                                       std::chrono::nanoseconds at_most);
  struct Vouching;
  // `stays`: see Question.
  [[nodiscard]] detail::CallHandle ask_for(const Handle& handle, std::uint64_t vouched,
                                           std::chrono::nanoseconds at_most, bool stays = false);
  [[nodiscard]] detail::CallHandle ask_to_wait(const Handle& handle, std::uint64_t newer_than,
                                               std::chrono::nanoseconds at_most, Ask how,
                                               bool stays);
  // An object that is to be copied from its home, which has pinned it.
  struct Fetch {
    Handle handle;
    wire::ObjectAnswer found;
    std::size_t index = 0;  // of its view
  };
  // Until when a view is wanted. With `later` what has to be copied is noted there, as the index-th
  // view, and the result is null.
  struct Wish {
    Time until = Pieces::kNever;
    std::vector<Fetch>* later = nullptr;
    std::size_t index = 0;
  };
  [[nodiscard]] Time until(std::chrono::nanoseconds at_most);
  [[nodiscard]] Result<std::shared_ptr<const View>> answered(const Handle& handle,
                                                             detail::CallHandle call,
                                                             const Vouching& vouching,
                                                             const Wish& wish);
  class Holdings;
  class Mappings;
  class KeptViews;
  struct Room;
  struct MeasuredPaths;
  // Whether to send them in one message, to a home whose memory cannot be mapped.
  [[nodiscard]] bool fits_message(NodeId home, std::uint64_t size);
  [[nodiscard]] Result<Room> write_parts(NodeId home, std::span<const Bytes> parts,
                                         const Progress* progress = nullptr);
  // Into the room that the home's answer names.
  [[nodiscard]] Result<Room> fill(Room room, const wire::ObjectAnswer& at,
                                  std::span<const Bytes> parts, const Progress* progress);
  [[nodiscard]] Result<Handle> put_in_memory(const PutRequest& request);
  [[nodiscard]] Result<Handle> settle(wire::ObjectOp op, wire::ObjectItem item,
                                      std::span<const Bytes> parts);
  void keep_own(const Handle& handle, std::span<const Bytes> parts,
                const wire::VoucherTerms& voucher, const Vouching& asked);
  [[nodiscard]] Status write_pieces(const Room& room, std::span<const Bytes> parts,
                                    const Progress* progress);
  [[nodiscard]] Result<std::shared_ptr<const View>> view_of(const Handle& handle,
                                                            detail::CallHandle call,
                                                            const wire::ObjectAnswerView& answer,
                                                            const Wish& wish);
  // --- fetch.cpp: copies of what cannot be mapped ---
  [[nodiscard]] Result<std::shared_ptr<const View>> fetch(const Handle& handle,
                                                          const wire::ObjectAnswer& found,
                                                          const Wish& wish);
  void fetch_all(std::span<const Fetch> wanted,
                 std::span<Result<std::shared_ptr<const View>>> views, Time until);
  [[nodiscard]] Status read_pieces(PieceSource& source, const ByteRange& range, const Take& take);
  // Of what is in the home's memory.
  [[nodiscard]] Result<std::shared_ptr<const View>> view_in_memory(const Handle& handle,
                                                                   const wire::ObjectAnswer& found,
                                                                   std::string_view channel,
                                                                   const Wish& wish);

  // --- elsewhere.cpp: where channels have the bytes ---
  [[nodiscard]] std::uint8_t question_flags() const noexcept;
  [[nodiscard]] Result<Handle> put_elsewhere(NamedChannel& channel, const PutRequest& request);
  [[nodiscard]] Result<Handle> put_by_policy(const PutRequest& request);
  // Into a channel, as far as it can be told before.
  [[nodiscard]] bool goes_elsewhere(const PutRequest& request) const;
  // Room for the next version, filled; in a channel if the home says so.
  [[nodiscard]] Result<Room> write_next(const Handle& handle, std::span<const Bytes> parts);
  [[nodiscard]] Result<Buffer> get_from(NamedChannel& channel, const Handle& handle,
                                        std::uint64_t version, const ByteRange& range);
  // The channel, if it is to be read from here; null, and why not.
  [[nodiscard]] NamedChannel* readable(std::string_view name, std::uint64_t size, std::string& why);
  // `answer` says that a channel has it, and pins it. The channel's bytes, or the home's, which are
  // brought into its memory.
  [[nodiscard]] Result<std::shared_ptr<const View>> view_elsewhere(const Handle& handle,
                                                                   const wire::ObjectAnswer& found,
                                                                   std::string_view channel,
                                                                   const Wish& wish);
  [[nodiscard]] Result<wire::ObjectAnswer> bring_to_home(const Handle& handle,
                                                         const wire::ObjectAnswer& found,
                                                         std::string_view channel,
                                                         const std::string& why);
  [[nodiscard]] Status copy_elsewhere(const Handle& handle, const wire::ObjectAnswer& found,
                                      std::string_view channel, const ByteRange& range,
                                      const Take& take);
  [[nodiscard]] Result<Buffer> read_elsewhere(const Handle& handle, const wire::ObjectAnswer& found,
                                              std::string_view channel,
                                              const detail::ObjectSelection& selection);
  // The home does not answer: what a channel has under the handle. Null: none has it.
  [[nodiscard]] std::shared_ptr<const View> view_without_home(const Handle& handle,
                                                              const Error& why);

  AccessHost& host_;
  ObjectStore* own_;
  std::shared_ptr<Holdings> holdings_;
  std::unique_ptr<Mappings> mappings_;
  std::shared_ptr<KeptViews> kept_;
  std::unique_ptr<Transfers> transfers_;
  const std::shared_ptr<ChannelSet> channels_;
  std::unique_ptr<MeasuredPaths> paths_;  // with channels
};

}  // namespace godwit::ref
