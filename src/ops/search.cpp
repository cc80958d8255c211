#include "ops/search.hpp"

#include <fmt/format.h>

#include <utility>

#include "ops/many.hpp"

namespace godwit::ops {
namespace {

using Answer = Outcome<std::optional<Found>>;

Outcome<Search> search_of(detail::CallHandle call) {
  if (!call.ok()) return tl::unexpected(failure_of(call));
  return detail::outcome_of<Search>(std::move(call));
}

Answer failed(const Attachment& region, const SearchKind& kind, const std::string& why) {
  return tl::unexpected(
      Failure{Ending::rejected, ErrorCode::invalid_argument, true,
              fmt::format("{} in region '{}': {}", kind.verb, region.name(), why)});
}

// What end_of() calls the next element, if it is one.
bool leads_out(const Attachment& region, const Search& search) {
  return !region.reaches(search.at == UINT64_MAX ? UINT64_MAX : search.at + 1);
}

}  // namespace

std::optional<Answer> end_of(const Attachment& region, const SearchKind& kind, const Search& search,
                             std::uint64_t before) {
  switch (search.state) {
    case Search::kFound: return Answer(Found{search.at, search.value});
    case Search::kAbsent: return Answer(std::nullopt);
    case Search::kBroken:
      return failed(region, kind,
                    fmt::format("element {} does not hold what it should", search.at));
    default: break;
  }
  if (search.left == 0) {
    return failed(
        region, kind,
        fmt::format("it goes round in a circle, and came to element {} again", search.at));
  }
  if (leads_out(region, search)) {
    return failed(region, kind,
                  fmt::format("it leads to element {}, beyond its {} elements", search.at,
                              region.elements()));
  }
  if (search.left >= before) return failed(region, kind, "a node let it make no step");
  return std::nullopt;
}

Future<std::optional<Found>> search_one(detail::RegionHandle region, SearchKind kind,
                                        Search search) {
  const Attachment& there = region.attachment();
  if (auto fits = there.check(kind.verb, search.at, 1); !fits) {
    co_return Answer(tl::unexpected(std::move(fits).error()));
  }
  for (;;) {
    const std::uint64_t before = search.left;
    const Note note = there.note(kind.verb, search.at, 1, there.map().locate(search.at).shard);
    auto outcome =
        co_await Future<Search>(there.call(kind.one, note, there.id(), search), &search_of);
    if (!outcome) co_return Answer(tl::unexpected(outcome.error()));
    search = *outcome;
    if (auto end = end_of(there, kind, search, before)) co_return *std::move(end);
  }
}

std::vector<Answer> search_many(const Attachment& region, const SearchKind& kind,
                                std::vector<Search> searches) {
  std::vector<Answer> answers(searches.size(), Answer(std::nullopt));
  const auto arrive = [&](std::size_t i, std::uint64_t before) {
    auto end = end_of(region, kind, searches[i], before);
    if (end) answers[i] = *std::move(end);
    return !end;
  };
  const auto fail = [&](std::size_t i, const Failure& failure) {
    answers[i] = tl::unexpected(failure);
  };
  Batches<Search> batches(region, kind.many, kind.verb, searches);
  for (std::size_t i = 0; i < searches.size(); ++i) {
    if (auto fits = region.check(kind.verb, searches[i].at, 1); !fits) {
      answers[i] = tl::unexpected(std::move(fits).error());
    } else {
      batches.add(i);
    }
  }
  batches.run([](const Search& search) { return search.left; }, arrive, fail);
  return answers;
}

}  // namespace godwit::ops
