// What a program keeps beside its items, so that a checkpoint has both as of one moment.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include "godwit/kernel.hpp"

namespace godwit::detail {

struct Kept {
  using Write = std::function<void(std::span<const std::byte> bytes)>;
  // Calls `write` once, with all of it.
  std::function<void(const Write& write)> save;
  // Takes back what rank `was` saved. False: it is not of this size.
  std::function<bool(std::span<const std::byte> saved, Rank was)> load;
  // Nothing says how what several ranks kept becomes that of one, or one's that of several.
  bool needs_same_ranks = false;
};

// A struct, or the elements of an array, a span or a vector.
template <class State>
auto elements_of(State& state) noexcept {
  if constexpr (std::ranges::contiguous_range<State>) {
    return std::span(std::ranges::data(state), std::ranges::size(state));
  } else {
    return std::span(&state, 1);
  }
}

template <class State>
void save_state(const State& state, const Kept::Write& write) {
  const auto elements = elements_of(state);
  static_assert(std::is_trivially_copyable_v<typename decltype(elements)::value_type>,
                "godwit: what is kept is written as memory: make it trivially copyable, or say how "
                "it is saved and loaded: keep(save, load)");
  write(std::as_bytes(elements));
}

// Copies the rank's own, which may change the size of a vector, and merges those of others into it.
template <class State, class Merge>
bool load_state(State& state, std::span<const std::byte> saved, bool own, const Merge& merge) {
  using T = typename decltype(elements_of(state))::value_type;
  const std::size_t count = saved.size() / sizeof(T);
  if (saved.size() % sizeof(T) != 0) return false;
  if constexpr (requires { state.resize(count); }) {
    if (own) state.resize(count);
  }
  const auto elements = elements_of(state);
  if (elements.size() != count) return false;
  if (own) {
    if (count > 0) std::memcpy(static_cast<void*>(elements.data()), saved.data(), saved.size());
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    T theirs;
    std::memcpy(static_cast<void*>(&theirs), saved.data() + i * sizeof(T), sizeof(T));
    elements[i] = merge(elements[i], theirs);
  }
  return true;
}

// Whether several ranks' become one by a merge, or the ranks must be as many as they were.
enum class Merging : bool { no, yes };

// What keep(state, merge) keeps, on this rank.
template <class State, class Merge>
Kept kept_state(State& state, Merge merge, Merging merging, Rank rank) {
  return {.save = [&state](const auto& write) { save_state(state, write); },
          .load = [&state, merge = std::move(merge), rank](
                      const auto& saved,
                      Rank was) { return load_state(state, saved, was == rank, merge); },
          .needs_same_ranks = merging == Merging::no};
}
template <class State>
Kept kept_state(State& state, Rank rank) {
  return kept_state(state, [](const auto& mine, const auto&) { return mine; }, Merging::no, rank);
}

// What keep(save, load) keeps.
template <class Save, class Load>
Kept kept_by(Save save, Load load) {
  return {.save =
              [save = std::move(save)](const Kept::Write& write) mutable {
                const auto saved = save();
                write(std::as_bytes(std::span(saved)));
              },
          .load =
              [load = std::move(load)](std::span<const std::byte> saved, Rank was) mutable {
                load(saved, was);
                return true;
              }};
}

}  // namespace godwit::detail
