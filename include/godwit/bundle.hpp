// Mobile code in a file, ready to be sent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/function.hpp"
#include "godwit/mobile/std.hpp"
#include "godwit/types.hpp"

namespace godwit {

struct FunctionDescription {
  std::string name;
  std::string signature;  // docs/types.md
  bool is_inline = false;
  bool idempotent = false;
};

// A bundle (`.gdw`), as `godwit cc` writes it. Immutable and cheap to copy; any thread.
class GODWIT_API Bundle {
 public:
  // Reads and verifies a file. Errors: not_found, io, bad_format, corrupt_code.
  [[nodiscard]] static Result<Bundle> open(const std::string& path);
  // The same, from a file's bytes. Copies them.
  [[nodiscard]] static Result<Bundle> parse(std::span<const std::byte> file);

  // Content identity, as 64 hexadecimal digits.
  [[nodiscard]] std::string id() const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<FunctionDescription> functions() const;

  // A handle on one function. Errors: unknown_function (naming those there are), type_mismatch
  // (naming both signatures).
  template <class Signature>
  [[nodiscard]] Result<Function<Signature>> function(std::string_view name) const {
    return find(name, signature_of<Signature>).map([](auto code) {
      return Function<Signature>(std::move(code));
    });
  }

  // For the library.
  explicit Bundle(std::shared_ptr<const code::Bundle> code) : code_(std::move(code)) {}
  [[nodiscard]] const code::Bundle& code() const { return *code_; }

 private:
  [[nodiscard]] Result<std::shared_ptr<detail::FunctionCode>> find(
      std::string_view name, std::string_view signature) const;

  std::shared_ptr<const code::Bundle> code_;
};

}  // namespace godwit
