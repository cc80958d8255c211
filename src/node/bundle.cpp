// The public Bundle: a code::Bundle with typed handles on its functions.
#include "godwit/bundle.hpp"

#include <utility>

#include "base/fail.hpp"
#include "code/bundle/bundle.hpp"

namespace godwit {

Result<Bundle> Bundle::open(const std::string& path) {
  GODWIT_TRY(code::Bundle code, code::Bundle::open(path));
  return Bundle(std::make_shared<const code::Bundle>(std::move(code)));
}

Result<Bundle> Bundle::parse(std::span<const std::byte> file) {
  GODWIT_TRY(code::Bundle code, code::Bundle::parse(Buffer::copy_of(file)));
  return Bundle(std::make_shared<const code::Bundle>(std::move(code)));
}

std::string Bundle::id() const {
  return code_->id().hex();
}

std::string Bundle::name() const {
  return code_->name();
}

std::vector<FunctionDescription> Bundle::functions() const {
  std::vector<FunctionDescription> all;
  for (const code::FunctionInfo& function : code_->functions()) {
    all.push_back(
        {function.name, function.signature, function.is_inline(), function.is_idempotent()});
  }
  return all;
}

Result<std::shared_ptr<detail::FunctionCode>> Bundle::find(std::string_view name,
                                                           std::string_view signature) const {
  const auto index = code_->find(name);
  if (!index) {
    std::string known;
    for (const code::FunctionInfo& function : code_->functions()) {
      known += (known.empty() ? "" : ", ") + function.name;
    }
    return fail(ErrorCode::unknown_function, "bundle '{}' has no function '{}'; it has: {}",
                code_->name(), name, known);
  }
  const code::FunctionInfo& function = code_->functions()[*index];
  if (function.signature != signature) {
    return fail(ErrorCode::type_mismatch,
                "function '{}' of bundle '{}' is {}, but was asked for as {}", name, code_->name(),
                function.signature, signature);
  }
  return std::make_shared<detail::FunctionCode>(*code_, static_cast<std::uint32_t>(*index));
}

}  // namespace godwit
