// Calls of functions whose types are known only at run time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "code/bundle/bundle.hpp"
#include "code/types/type.hpp"
#include "exit.hpp"
#include "godwit/call_handle.hpp"
#include "godwit/fleet.hpp"

namespace godwit::cli {

// How one call ended.
struct Answer {
  std::string node;
  std::chrono::nanoseconds took{};
  std::string text;  // the result for people, empty if there is none
  std::string json;  // the result as JSON
  bool ok = false;
  Failure failure;  // unless ok
};

// A function with its arguments, to be called any number of times.
class UntypedCall {
 public:
  // Ends as unknown_function (naming those there are) or bad_arguments.
  [[nodiscard]] static tl::expected<UntypedCall, Failed> create(
      const code::Bundle& bundle, const std::string& function,
      const std::vector<std::string>& words);

  // Sends it. The handle must not outlive this object, whose arguments it borrows.
  [[nodiscard]] detail::CallHandle start(const NodeHandle& node, std::chrono::nanoseconds deadline);
  // Waits for the end; an interrupt cancels the call.
  [[nodiscard]] Answer finish(const NodeHandle& node, detail::CallHandle& call,
                              std::chrono::steady_clock::time_point started) const;

 private:
  UntypedCall(const code::Bundle& bundle, std::size_t index, code::Signature signature,
              Buffer blob);

  std::unique_ptr<detail::FunctionCode> code_;
  code::Signature signature_;
  Buffer blob_;
};

}  // namespace godwit::cli
