// The shortest way through a maze that is spread over the nodes of a fleet (docs/ranks.md).
//
//   maze explore.gdw [nodes] [address]     starts a fleet on this machine, or joins one
#include <godwit/fleet_exchange.hpp>
#include <godwit/godwit.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "forward/fleet/maze.hpp"

namespace {

using maze::Maze;
using maze::Visit;

struct Answer {
  std::uint32_t steps = UINT32_MAX;
  std::uint64_t reached = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// By one thread that has all of it.
Answer search(const Maze& maze) {
  std::vector<std::uint32_t> steps(std::size_t{maze.width} * maze.height, UINT32_MAX);
  const auto at = [&](std::uint32_t x, std::uint32_t y) -> std::uint32_t& {
    return steps[std::size_t{y} * maze.width + x];
  };
  std::deque<Visit> queue{{}};
  at(0, 0) = 0;
  Answer answer;
  for (; !queue.empty(); queue.pop_front()) {
    const Visit visit = queue.front();
    ++answer.reached;
    if (maze.is_way_out(visit.x, visit.y)) answer.steps = visit.steps;
    maze::each_neighbour(visit.x, visit.y, [&](std::uint32_t x, std::uint32_t y) {
      if (!maze.is_open(x, y) || at(x, y) != UINT32_MAX) return;
      at(x, y) = visit.steps + 1;
      queue.push_back({x, y, visit.steps + 1});
    });
  }
  return answer;
}

godwit::Result<Answer> search_on(const godwit::Fleet& fleet, const godwit::Bundle& code,
                                 const Maze& maze) {
  auto explore = code.function<std::uint64_t(godwit::RankOf<Visit>, Maze)>("explore");
  if (!explore) return tl::unexpected(explore.error());
  auto ranks = godwit::open_ranks(fleet.nodes(), *explore, {}, maze);
  if (!ranks) return tl::unexpected(ranks.error());
  ranks->emit({}, 0);
  Answer answer;
  auto report =
      ranks->run([&](const Visit& out) { answer.steps = std::min(answer.steps, out.steps); });
  if (!report) return tl::unexpected(report.error());
  for (std::size_t rank = 0; rank < report->results.size(); ++rank) {
    std::printf("  rank %zu reached %llu cells\n", rank,
                static_cast<unsigned long long>(report->results[rank]));
    answer.reached += report->results[rank];
  }
  return answer;
}

int complain(const godwit::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: %s explore.gdw [nodes] [address]\n", argv[0]);
    return 2;
  }
  const auto code = godwit::Bundle::open(argv[1]);
  if (!code) return complain(code.error());
  const std::size_t nodes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 3;
  const auto fleet = argc > 3 ? godwit::Fleet::join(argv[3]) : godwit::Fleet::local(nodes);
  if (!fleet) return complain(fleet.error());

  const Maze maze{.width = 400, .height = 300, .seed = 7};
  const auto found = search_on(*fleet, *code, maze);
  if (!found) return complain(found.error());
  const Answer expected = search(maze);
  std::printf("%u steps lead through the maze, of whose cells %llu can be reached\n", found->steps,
              static_cast<unsigned long long>(found->reached));
  if (*found == expected && expected.steps != UINT32_MAX) return 0;
  std::fprintf(stderr, "one thread finds %u steps and %llu cells\n", expected.steps,
               static_cast<unsigned long long>(expected.reached));
  return 1;
}
