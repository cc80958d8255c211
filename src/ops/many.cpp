#include "ops/many.hpp"

#include <fmt/format.h>

#include <optional>

#include "godwit/ops/many.hpp"
#include "ops/mobile/chased.hpp"

namespace godwit::ops {
namespace {

using Reached = Outcome<std::uint64_t>;

constexpr const char* kVerb = "chase_many";

Reached failed(const Attachment& region, ErrorCode reason, const std::string& why) {
  return tl::unexpected(Failure{Ending::rejected, reason, true,
                                fmt::format("{} in region '{}': {}", kVerb, region.name(), why)});
}

// Whether a chase is over, and how.
std::optional<Reached> end_of(const Attachment& region, const Chased& chase) {
  if (chase.steps == 0) return Reached(chase.at);
  if (region.reaches(chase.at == UINT64_MAX ? UINT64_MAX : chase.at + 1)) return std::nullopt;
  return failed(
      region, ErrorCode::invalid_argument,
      fmt::format("the list leads to {}, beyond its {} elements", chase.at, region.elements()));
}

std::vector<Reached> one_by_one(const Region<std::uint64_t>& list, std::span<const Chase> chases,
                                Mechanism mechanism) {
  std::vector<Reached> ends;
  ends.reserve(chases.size());
  for (const Chase& each : chases) {
    ends.push_back(chase(list, each.at, each.steps, mechanism).get());
  }
  return ends;
}

std::vector<Reached> in_batches(const Attachment& region, std::span<const Chase> chases) {
  std::vector<Chased> walks;
  walks.reserve(chases.size());
  for (const Chase& each : chases) walks.push_back({each.at, each.steps});
  std::vector<Reached> ends(chases.size(), Reached(0));
  Batches<Chased> batches(region, Op::chase_many, kVerb, walks);
  for (std::size_t i = 0; i < walks.size(); ++i) {
    if (auto fits = region.check(kVerb, walks[i].at, 1); !fits) {
      ends[i] = tl::unexpected(std::move(fits).error());
    } else if (walks[i].steps == 0) {
      ends[i] = walks[i].at;
    } else {
      batches.add(i);
    }
  }
  const auto arrive = [&](std::size_t i, std::uint64_t before) {
    std::optional<Reached> end = end_of(region, walks[i]);
    if (!end && walks[i].steps >= before) {
      end = failed(region, ErrorCode::hop_limit, "a node let it make no step");
    }
    if (end) ends[i] = *std::move(end);
    return !end;
  };
  batches.run([](const Chased& walk) { return walk.steps; }, arrive,
              [&](std::size_t i, const Failure& failure) { ends[i] = tl::unexpected(failure); });
  return ends;
}

}  // namespace

std::vector<Reached> chase_many(const Region<std::uint64_t>& list, std::span<const Chase> chases,
                                Mechanism mechanism) {
  const Attachment& region = list.handle().attachment();
  if (mechanism == Mechanism::automatic) {
    const bool direct = region.is_all_mapped() && list.handle().reach() == Reach::automatic;
    mechanism = direct ? Mechanism::direct : Mechanism::code;
  }
  switch (mechanism) {
    case Mechanism::direct: return one_by_one(list, chases, mechanism);
    case Mechanism::get:
      return std::vector<Reached>(chases.size(), failed(region, ErrorCode::unsupported,
                                                        "a get for each step shares no messages"));
    default: return in_batches(region, chases);
  }
}

}  // namespace godwit::ops
