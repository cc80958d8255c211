// A bundle: mobile code for several targets, as it lies in a .gdw file or arrives over a link.
// docs/bundle.md specifies the bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "code/bundle/manifest.hpp"
#include "godwit/error.hpp"

namespace godwit::code {

// Immutable; copies share the bytes and are cheap. Thread-safe.
//
// A bundle knows all its slices and holds the bytes of some of them: all after open() and parse(),
// none after from_manifest(). Bytes it holds always have the hash the manifest names.
class Bundle {
 public:
  class Weak;

  // No bundle: only assignment, copying and the test for it are allowed.
  Bundle() noexcept = default;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  // Reads and verifies a file. Errors: not_found, io, and those of parse().
  [[nodiscard]] static Result<Bundle> open(const std::filesystem::path& path);
  // A whole file in memory. Errors: bad_format (not a bundle, cut short, a lying length or a
  // hostile name), corrupt_code (a slice's bytes do not have the hash the manifest names).
  [[nodiscard]] static Result<Bundle> parse(Buffer file);
  // A manifest alone. Copies the bytes. Whoever asked for a particular bundle compares id().
  // Errors: bad_format.
  [[nodiscard]] static Result<Bundle> from_manifest(Bytes manifest);

  // This bundle, also holding the slice with these bytes, which are copied. Error: corrupt_code if
  // the manifest lists no slice with their hash.
  [[nodiscard]] Result<Bundle> with_slice(Bytes slice) const;

  // Hash of the manifest's bytes.
  [[nodiscard]] const ContentId& id() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& producer() const noexcept;
  [[nodiscard]] const std::vector<FunctionInfo>& functions() const noexcept;
  // Their bytes are valid while a copy of this bundle lives; empty for slices not held.
  [[nodiscard]] const std::vector<SliceInfo>& slices() const noexcept;
  [[nodiscard]] const std::vector<std::string>& needs() const noexcept;
  // Index into functions() of the one with that name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view function) const;
  // Index into slices() of the one with that id.
  [[nodiscard]] std::optional<std::size_t> find_slice(const ContentId& id) const;
  [[nodiscard]] Bytes manifest_bytes() const noexcept;
  // Memory the copies of this bundle share: the manifest and the slices held.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  // The file's bytes. Error: invalid_argument if some slice's bytes are not held.
  [[nodiscard]] Result<Buffer> to_bytes() const;
  // Writes the file in one step: readers see the old content or the new, never a part. Errors: io,
  // permission, and those of to_bytes().
  [[nodiscard]] Status write(const std::filesystem::path& path) const;

 private:
  struct State;
  friend class BundleBuilder;
  explicit Bundle(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  [[nodiscard]] static Result<std::shared_ptr<State>> state_of(Buffer manifest);

  std::shared_ptr<const State> state_;
};

// Finds a bundle again while some copy of it lives, and keeps none of its memory itself.
class Bundle::Weak {
 public:
  explicit Weak(const Bundle& bundle) noexcept : state_(bundle.state_) {}
  // No bundle once the last copy is gone.
  [[nodiscard]] Bundle lock() const noexcept { return Bundle(state_.lock()); }
  [[nodiscard]] bool expired() const noexcept { return state_.expired(); }
  // Whether that is a copy of the same bundle, not merely an equal one.
  [[nodiscard]] bool is_of(const Bundle& bundle) const noexcept {
    return !state_.owner_before(bundle.state_) && !bundle.state_.owner_before(state_);
  }

 private:
  std::weak_ptr<const State> state_;
};

// Puts a bundle together. Slices are kept in the order they are added.
class BundleBuilder {
 public:
  explicit BundleBuilder(std::string name) { manifest_.name = std::move(name); }
  BundleBuilder(BundleBuilder&&) = default;
  BundleBuilder& operator=(BundleBuilder&&) = default;

  BundleBuilder& producer(std::string producer);
  BundleBuilder& function(FunctionInfo function);
  BundleBuilder& needs(std::vector<std::string> sonames);
  // `info` without id and size, which follow from the bytes.
  BundleBuilder& slice(SliceInfo info, Buffer bytes);

  // Errors: bad_format (limits, names, duplicates).
  [[nodiscard]] Result<Bundle> build() &&;

 private:
  Manifest manifest_;
  std::vector<Buffer> bytes_;
};

}  // namespace godwit::code
