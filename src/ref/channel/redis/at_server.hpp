// Doing something where a key is.
#pragma once

#include <string_view>
#include <utility>

#include "base/fail.hpp"
#include "ref/channel/redis/servers.hpp"

namespace godwit::ref {

// Calls use(connection) for the server that has the key, again where it was the wrong one, or had
// ended an old connection: so what it does may be done twice.
template <class Use>
auto at_server(RedisServers& servers, std::string_view key, const Use& use)
    -> decltype(use(std::declval<RedisConnection&>())) {
  // Of one call: redirections, and connections that had ended.
  constexpr unsigned kMaxRounds = 4;
  auto address = servers.address_of(key);
  bool asking = false;
  for (unsigned round = 1;; ++round) {
    if (!address) return tl::unexpected(address.error());
    auto connection = servers.take(*address);
    if (!connection) {
      if (!servers.is_cluster() || round >= kMaxRounds) {
        return tl::unexpected(connection.error());
      }
      servers.look_again();
      auto next = servers.address_of(key);
      if (next && *next == *address) return tl::unexpected(connection.error());
      address = std::move(next);
      continue;
    }
    connection->open->set_asking(asking);
    auto result = use(*connection->open);
    connection->open->set_asking(false);
    const bool ended = connection->open->broken();
    const bool old = connection->used_before;
    const auto redirect = connection->open->take_redirect();
    servers.give_back(*std::move(connection));
    if (result) return result;
    if (round >= kMaxRounds || !(redirect || (ended && old))) return result;
    asking = redirect && redirect->only_now;
    if (redirect) address = redirect->address;
    if (!asking) servers.look_again();
  }
}

}  // namespace godwit::ref
