// Mobile code: a node's part of the search. It travels to the nodes, which have nothing installed.
#include <godwit/mobile.hpp>
#include <godwit/mobile/rank.hpp>

#include <vector>

#include "forward/fleet/maze.hpp"

namespace maze {

// Goes on with every visit that is shorter than those before it, here or on the node that has the
// next cell; tells the program of each way out. Returns how many cells were reached here.
std::uint64_t explore(godwit::Here& here, godwit::RankOf<Visit> rank, Maze maze) {
  const std::uint32_t first = maze.first_row(rank.rank(), rank.ranks());
  const std::uint32_t rows = maze.first_row(rank.rank() + 1, rank.ranks()) - first;
  std::vector<std::uint32_t> shortest(std::size_t{rows} * maze.width, UINT32_MAX);
  std::uint64_t reached = 0;
  rank.run(here, [&](const Visit& visit, auto& out) {
    std::uint32_t& known = shortest[std::size_t{visit.y - first} * maze.width + visit.x];
    if (visit.steps >= known) return;
    if (known == UINT32_MAX) ++reached;
    known = visit.steps;
    if (maze.is_way_out(visit.x, visit.y)) out.emit(visit, out.client());
    each_neighbour(visit.x, visit.y, [&](std::uint32_t x, std::uint32_t y) {
      if (maze.is_open(x, y)) out.emit({x, y, visit.steps + 1}, maze.owner(y, out.ranks()));
    });
  });
  return reached;
}
GODWIT_EXPORT(explore);

}  // namespace maze
