// A group whose ranks are processes forked off this one, for tests and benchmarks.
//
// The parent must not have used CUDA: what it has begun does not work in its children.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "godwit/group.hpp"

namespace godwit::cuda {

// How a rank ended.
struct RankEnd {
  Status status;
  bool killed = false;
  std::chrono::steady_clock::time_point at;  // unless it was killed
};

// Runs `body` once for each rank, each in a process of its own, and waits for all.
[[nodiscard]] std::vector<RankEnd> run_forked(Rank ranks, const std::function<Status(Group&)>& body,
                                              Way way = Way::automatic);

}  // namespace godwit::cuda
