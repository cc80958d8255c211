// One call of a function at every node, along a tree.
//
//   auto remember = bundle.function<void(std::string_view)>("remember").value();
//   auto told = godwit::ops::multicast(fleet, remember, "a value").get();      // Outcome<void>
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "godwit/codec.hpp"
#include "godwit/export.hpp"
#include "godwit/fleet.hpp"
#include "godwit/function.hpp"
#include "godwit/future.hpp"

namespace godwit::detail {
[[nodiscard]] GODWIT_API Future<void> multicast_call(std::vector<NodeHandle> nodes,
                                                     FunctionCode& function,
                                                     std::vector<std::byte> arguments);
}  // namespace godwit::detail

namespace godwit::ops {

// Calls the function at each of the nodes: the program sends the arguments once, to the first, and
// each passes them on to four others at most. Done when it has ended everywhere; what it returns is
// dropped. If it did not end well somewhere the multicast fails and names those nodes: first those
// of which it is not known whether it ran, which are a node that was lost and the nodes below it;
// then it is node_lost. At all others it ended well. No nodes: invalid_argument.
template <class R, class... Params>
Future<void> multicast(std::vector<NodeHandle> nodes, const Function<R(Params...)>& function,
                       std::type_identity_t<Passed<Params>>... args) {
  BlobWriter writer({}, {});
  write_blob(writer, static_cast<const std::remove_cvref_t<Passed<Params>>&>(args)...);
  std::vector<std::byte> arguments(writer.size());
  writer = BlobWriter(arguments, {});
  write_blob(writer, static_cast<const std::remove_cvref_t<Passed<Params>>&>(args)...);
  return detail::multicast_call(std::move(nodes), function.code(), std::move(arguments));
}
// At every node that is up.
template <class R, class... Params>
Future<void> multicast(const Fleet& fleet, const Function<R(Params...)>& function,
                       std::type_identity_t<Passed<Params>>... args) {
  return multicast(fleet.nodes(), function, args...);
}

}  // namespace godwit::ops
