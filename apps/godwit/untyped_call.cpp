#include "untyped_call.hpp"

#include <array>

#include "base/fail.hpp"
#include "code/types/text.hpp"
#include "interrupt.hpp"

namespace godwit::cli {
namespace {

constexpr std::chrono::milliseconds kInterruptCheck{20};

std::string names_of(const code::Bundle& bundle) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> names;
  for (const code::FunctionInfo& function : bundle.functions()) {
    if (names.size() == kShown) return fmt::format("{}, ...", fmt::join(names, ", "));
    names.push_back(function.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Failure unreadable(const Error& error) {
  return {.ending = Ending::rejected,
          .reason = error.code,
          .may_have_started = true,
          .message = fmt::format("the result cannot be read: {}", error.message)};
}

}  // namespace

UntypedCall::UntypedCall(const code::Bundle& bundle, std::size_t index, code::Signature signature,
                         Buffer blob)
    : code_(std::make_unique<detail::FunctionCode>(bundle, static_cast<std::uint32_t>(index))),
      signature_(std::move(signature)),
      blob_(std::move(blob)) {}

tl::expected<UntypedCall, Failed> UntypedCall::create(const code::Bundle& bundle,
                                                      const std::string& function,
                                                      const std::vector<std::string>& words) {
  const auto index = bundle.find(function);
  if (!index) {
    return fail(ErrorCode::unknown_function, "the bundle '{}' has no function '{}'; it has {}",
                bundle.name(), function, names_of(bundle));
  }
  GODWIT_TRY(code::Signature signature,
             code::parse_signature(bundle.functions()[*index].signature));
  auto blob = code::encode_text(signature, words);
  if (!blob) {
    return fail(blob.error().code, "{}: {}", function, blob.error().message);
  }
  return UntypedCall(bundle, *index, std::move(signature), *std::move(blob));
}

detail::CallHandle UntypedCall::start(const NodeHandle& node, std::chrono::nanoseconds deadline) {
  detail::CallHandle call = detail::CallHandle::prepare(node.caller());
  if (!call) return call;
  const std::array<detail::Blob, 1> parts{blob_.view()};
  call.start(node.id(), code_->known_to(node.caller()), parts, deadline);
  return call;
}

Answer UntypedCall::finish(const NodeHandle& node, detail::CallHandle& call,
                           std::chrono::steady_clock::time_point started) const {
  Answer answer{.node = node.name(), .took = {}, .text = {}, .json = "null", .failure = {}};
  if (!call) {
    answer.failure = {.ending = Ending::rejected,
                      .reason = ErrorCode::overload,
                      .message = "this process has too many calls outstanding"};
    return answer;
  }
  bool cancelled = false;
  while (!call.wait(kInterruptCheck)) {
    if (interrupted() && !cancelled) {
      call.cancel();
      cancelled = true;
    }
  }
  answer.took = std::chrono::steady_clock::now() - started;
  answer.ok = call.ok();
  if (!answer.ok) {
    answer.failure = call.failure();
    return answer;
  }
  if (signature_.result.kind == code::TypeKind::unit) return answer;
  auto text = code::format_text(signature_.result, call.result());
  auto json = code::format_json(signature_.result, call.result());
  if (!text || !json) {
    answer.ok = false;
    answer.failure = unreadable(text ? json.error() : text.error());
    return answer;
  }
  answer.text = *std::move(text);
  answer.json = *std::move(json);
  return answer;
}

}  // namespace godwit::cli
