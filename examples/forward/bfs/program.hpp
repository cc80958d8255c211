// What a rank does, on CPU threads and on a GPU.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bfs/graph.hpp"
#include "bfs/kernel.hpp"
#include "common/need.hpp"
#include "godwit/exchange_options.hpp"

namespace gallery::bfs {

// The levels of this rank's vertices.
template <class Place>
std::vector<std::uint32_t> find_levels_at(const Place& place, godwit::Group& group,
                                          const Options& options, const LocalGraph& graph) {
  auto begin = put(place, graph.begin);
  auto neighbours = put(place, graph.neighbours);
  auto levels = put(place, std::vector<std::uint32_t>(graph.begin.size() - 1, kUnreached));

  auto exchange = make_exchange<Visit>(place, group);
  launch(place, exchange, group.rank() == 0 ? 1 : 0, Begin{.root = root(options)});
  for (std::uint32_t level = 0;; ++level) {
    const godwit::Round round = need(exchange.advance());
    if (round.alive == 0) return levels.fetch();
    if (round.held_back > 0) {
      throw std::runtime_error("a level does not fit into the queues: raise queue_bytes");
    }
    process(place, exchange,
            Expand{.begin = begin.data(),
                   .neighbours = neighbours.data(),
                   .levels = levels.data(),
                   .level = level});
  }
}

}  // namespace gallery::bfs
