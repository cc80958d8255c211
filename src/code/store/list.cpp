#include <algorithm>
#include <tuple>

#include "code/store/store.hpp"

namespace godwit::code {
namespace {

std::string_view to_string(Residence::State state) {
  switch (state) {
    case Residence::State::loading: return "loading";
    case Residence::State::ready: return "ready";
    case Residence::State::failed: return "failed";
  }
  return "unknown";
}

void describe_use(const LibraryUse& use, ResidenceInfo& info) {
  info.tier = code::to_string(use.tier);
  info.cached = use.cached;
  info.calls_inside = use.calls_inside;
  info.pinned = use.library->pinned().value_or("");
}

}  // namespace

std::size_t Store::retired_bytes() const {
  std::size_t bytes = 0;
  for (const auto& use : retired_) bytes += use->memory_bytes;
  return bytes;
}

std::vector<ResidenceInfo> Store::list() const {
  std::vector<ResidenceInfo> all;
  for (const auto& [id, residence] : residences_) {
    ResidenceInfo& info = all.emplace_back();
    info.bundle = id;
    info.name = residence->bundle.name();
    info.state = to_string(residence->state);
    info.memory_bytes = residence->memory_bytes;
    info.calls = residence->calls;
    info.error = residence->error.message;
    if (!residence->libraries.empty()) describe_use(*residence->libraries.back(), info);
  }
  for (const auto& use : retired_) {
    ResidenceInfo& info = all.emplace_back();
    info.bundle = use->bundle;
    info.name = use->name;
    info.state = "retired";
    info.memory_bytes = use->memory_bytes;
    describe_use(*use, info);
  }
  std::sort(all.begin(), all.end(), [](const ResidenceInfo& a, const ResidenceInfo& b) {
    return std::tie(a.name, a.bundle, a.state) < std::tie(b.name, b.bundle, b.state);
  });
  return all;
}

}  // namespace godwit::code
