// The untyped side of a region: what Region<T> is made of. Applications use that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "godwit/call_handle.hpp"
#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/outcome.hpp"

namespace godwit {
struct RegionOptions;
struct RegionDescription;
enum class Reach : std::uint8_t;
}  // namespace godwit
namespace godwit::ops {
class Attachment;
class RegionHost;
class Transfer;
}  // namespace godwit::ops

namespace godwit::detail {

struct ElementType {
  std::string_view name;  // docs/types.md
  std::uint32_t size = 0;
};

// Elements on their way to or from several shards. What is mapped here has been copied when it is
// made; the rest is under way. The memory it reads from or writes to stays until it is destroyed,
// which cancels what has not ended. One thread at a time.
class GODWIT_API RegionTransfer {
 public:
  explicit RegionTransfer(std::unique_ptr<ops::Transfer> state) noexcept;
  RegionTransfer(RegionTransfer&&) noexcept;
  ~RegionTransfer();

  // The next call to wait for; empty: all were taken.
  [[nodiscard]] CallHandle next();
  // Takes the reply of the call that next() returned last, which has ended.
  [[nodiscard]] Outcome<void> take(CallHandle call);
  // How it began: why it could not, or how the direct copies went.
  [[nodiscard]] Outcome<void> begun() const;
  // If there is one call and nothing else to wait for or to keep: that call; the transfer is then
  // over. Its reply to a read is the bytes of the elements, in order.
  [[nodiscard]] CallHandle only_call();
  // Waits for all that is left, in this thread.
  [[nodiscard]] Outcome<void> finish();

 private:
  std::unique_ptr<ops::Transfer> state_;
};

// Cheap to copy; any thread.
class GODWIT_API RegionHandle {
 public:
  [[nodiscard]] static Result<RegionHandle> create(ops::RegionHost& host, std::string_view name,
                                                   ElementType type, const RegionOptions& options);
  [[nodiscard]] static Result<RegionHandle> attach(ops::RegionHost& host, std::string_view name,
                                                   ElementType type);

  [[nodiscard]] std::uint64_t id() const noexcept;
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] RegionDescription describe() const;
  [[nodiscard]] RegionHandle through(Reach reach) const;
  [[nodiscard]] const ops::Attachment& attachment() const noexcept { return *attachment_; }
  [[nodiscard]] std::shared_ptr<const ops::Attachment> shared_attachment() const noexcept;
  [[nodiscard]] Reach reach() const noexcept { return reach_; }

  [[nodiscard]] Status grow(std::uint64_t elements);
  [[nodiscard]] Status seal();
  [[nodiscard]] Status drop();
  void fence();

  enum class Loaded : std::uint8_t { good, failed, elsewhere };
  // Copies an element that is mapped here. `elsewhere`: ask its home, and the index is in range.
  [[nodiscard]] Loaded load(std::uint64_t index, void* element, Failure& failure) const;
  // Whether those elements exist; the failure says `what` was to be done to them.
  [[nodiscard]] Outcome<void> check(const char* what, std::uint64_t first,
                                    std::uint64_t count) const;

  // Calls to the element's home; the index is in range. Of elements of 1, 2, 4 or 8 bytes the
  // result is a word, of others bytes.
  [[nodiscard]] CallHandle get(std::uint64_t index) const;
  // The same, waited for. Some of these tell the figures that mechanisms are chosen by.
  [[nodiscard]] CallHandle get_now(std::uint64_t index) const;
  [[nodiscard]] CallHandle put(std::uint64_t index, const void* element) const;
  [[nodiscard]] CallHandle fetch_add(std::uint64_t index, std::uint64_t delta) const;
  [[nodiscard]] CallHandle compare_swap(std::uint64_t index, std::uint64_t expected,
                                        std::uint64_t desired) const;

  // Checks everything first. The memory is the caller's until the transfer is over.
  [[nodiscard]] RegionTransfer read(std::uint64_t first, std::span<std::byte> to) const;
  [[nodiscard]] RegionTransfer read(std::span<const std::uint64_t> indices,
                                    std::span<std::byte> to) const;
  [[nodiscard]] RegionTransfer write(std::uint64_t first, std::span<const std::byte> from) const;
  [[nodiscard]] RegionTransfer write(std::span<const std::uint64_t> indices,
                                     std::span<const std::byte> from) const;

 private:
  explicit RegionHandle(std::shared_ptr<ops::Attachment> attachment) noexcept;

  std::shared_ptr<ops::Attachment> attachment_;
  Reach reach_{};
};

// The failure of a call that a handle made, with the region and the elements it was about.
[[nodiscard]] GODWIT_API Failure region_failure(CallHandle& call);

}  // namespace godwit::detail
