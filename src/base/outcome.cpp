#include "godwit/outcome.hpp"

namespace godwit {

std::string_view to_string(Ending ending) noexcept {
  switch (ending) {
    case Ending::ok: return "ok";
    case Ending::app_error: return "app_error";
    case Ending::cancelled: return "cancelled";
    case Ending::deadline: return "deadline";
    case Ending::evicted: return "evicted";
    case Ending::crashed: return "crashed";
    case Ending::node_lost: return "node_lost";
    case Ending::rejected: return "rejected";
  }
  return "unknown";
}

std::string to_string(const Failure& failure) {
  std::string text(to_string(failure.ending));
  if (failure.ending == Ending::rejected) {
    text += '(';
    text += to_string(failure.reason);
    text += ')';
  }
  if (!failure.message.empty()) {
    text += ": ";
    text += failure.message;
  }
  if (failure.ending != Ending::app_error) {
    text += failure.may_have_started ? " (it may have started)" : " (it did not start)";
  }
  return text;
}

}  // namespace godwit
