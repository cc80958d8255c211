// Which function mobile code means, and whether it can be called. Runs on the function's threads.
#include <cstring>

#include "base/fail.hpp"
#include "call/engine.hpp"
#include "call/here_verbs.hpp"

namespace godwit::call {
namespace {

// The bundle that is meant; `found` keeps it if it is not the caller's own. Errors: unknown_code.
Result<const code::Bundle*> known_bundle(CallContext& context, const std::uint8_t* wanted,
                                         code::Bundle& found) {
  if (wanted == nullptr) return context.bundle;
  ContentId id;
  std::memcpy(id.digest.data(), wanted, ContentId::kSize);
  if (id == context.bundle->id()) return context.bundle;
  if (id == ContentId{}) {
    const Engine::Operations operations = context.engine->operations();
    if (operations == nullptr) {
      return fail(ErrorCode::unknown_code, "this process has no operations on regions");
    }
    context.engine->functions().add(operations());  // who is to run them may ask for the code
    return &operations();
  }
  found = context.engine->functions().bundle(id);
  if (found) return &found;
  return fail(ErrorCode::unknown_code,
              "bundle {} is not known here, or so many others since that it was forgotten: ask for "
              "its function again, or build it again",
              id.short_hex());
}

Result<std::size_t> find_function(const code::Bundle& bundle, const godwit_function_ref& wanted) {
  const std::string_view name(wanted.name, wanted.name_size);
  if (const auto index = bundle.find(name)) return *index;
  return fail(ErrorCode::unknown_function, "bundle '{}' exports no function '{}'", bundle.name(),
              name);
}

// Gets a bundle that is not known here.
Result<code::Bundle> fetch(CallContext& context, const std::uint8_t* wanted, const Error& missing) {
  if (missing.code != ErrorCode::unknown_code || wanted == nullptr) return tl::unexpected(missing);
  if (!context.may_block) {
    return fail(ErrorCode::would_block,
                "an inline function may not wait for another bundle's code to arrive: export it "
                "without inline_");
  }
  ContentId id;
  std::memcpy(id.digest.data(), wanted, ContentId::kSize);
  if (id == ContentId{}) return tl::unexpected(missing);
  auto bundle = context.engine->fetch(context, id);
  if (bundle) context.engine->functions().add(*bundle);
  return bundle;
}

}  // namespace

Result<FunctionRef*> resolve(CallContext& context, const godwit_function_ref& wanted) {
  code::Bundle found;
  GODWIT_TRY(const code::Bundle* bundle, known_bundle(context, wanted.bundle, found));
  GODWIT_TRY(const std::size_t index, find_function(*bundle, wanted));
  FunctionRef* function = context.engine->functions().intern(
      bundle->id(), static_cast<std::uint32_t>(index), bundle->functions()[index].is_idempotent());
  if (function == nullptr) {
    return fail(ErrorCode::resource_exhausted,
                "this node has called {} different functions of mobile code, its limit",
                FunctionTable::kMaxFunctions);
  }
  return function;
}

namespace verbs {

std::int32_t check_function(const godwit_here_v1* here, const godwit_function_ref* function,
                            const char* signature, std::size_t signature_size) {
  CallContext& context = context_of(here);
  code::Bundle found;
  auto bundle = known_bundle(context, function->bundle, found);
  if (!bundle) {
    auto fetched = fetch(context, function->bundle, bundle.error());
    if (!fetched) return failed(fetched.error());
    found = *std::move(fetched);
    bundle = &found;
  }
  const auto index = find_function(**bundle, *function);
  if (!index) return failed(index.error());
  const std::string_view wanted(signature, signature_size);
  const std::string& real = (*bundle)->functions()[*index].signature;
  if (real == wanted) return 0;
  return failed(ErrorCode::type_mismatch,
                fmt::format("function '{}' of bundle '{}' is {}, but was asked for as {}",
                            std::string_view(function->name, function->name_size),
                            (*bundle)->name(), real, wanted));
}

void own_code(const godwit_here_v1* here, std::uint8_t bundle[32]) {
  std::memcpy(bundle, context_of(here).bundle->id().digest.data(), ContentId::kSize);
}

}  // namespace verbs
}  // namespace godwit::call
