// Doing something where a key is.
#pragma once

#include <utility>

#include "base/fail.hpp"
#include "ref/channel/redis/redis_channel.hpp"

namespace godwit::ref {

template <class Use>
auto RedisChannel::at(std::string_view key, const Use& use)
    -> decltype(use(std::declval<RedisConnection&>())) {
  auto address = servers_.address_of(key);
  bool asking = false;
  for (unsigned round = 1;; ++round) {
    if (!address) return tl::unexpected(in_context(address.error()));
    auto connection = servers_.take(*address);
    if (!connection) {
      if (!servers_.is_cluster() || round >= kMaxRounds) {
        return tl::unexpected(in_context(connection.error()));
      }
      servers_.look_again();
      auto next = servers_.address_of(key);
      if (next && *next == *address) return tl::unexpected(in_context(connection.error()));
      address = std::move(next);
      continue;
    }
    connection->open->set_asking(asking);
    auto result = use(*connection->open);
    connection->open->set_asking(false);
    const bool ended = connection->open->broken();
    const bool old = connection->used_before;
    const auto redirect = connection->open->take_redirect();
    servers_.give_back(*std::move(connection));
    if (result) return result;
    if (round >= kMaxRounds || !(redirect || (ended && old))) {
      return tl::unexpected(in_context(result.error()));
    }
    asking = redirect && redirect->only_now;
    if (redirect) address = redirect->address;
    if (!asking) servers_.look_again();
  }
}

}  // namespace godwit::ref
