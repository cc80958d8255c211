#include <vector>

#include "ref/ways.hpp"

namespace godwit::bench::ways {
namespace {

// So many objects are there at a time; they are evicted together, and not timed.
std::size_t kept_at_once(std::uint64_t size) {
  constexpr std::uint64_t kMostBytes = 64'000'000;
  constexpr std::uint64_t kMost = 256;
  return std::max<std::uint64_t>(1, std::min(kMost, kMostBytes / size));
}

Status evict(const std::vector<Array>& refs) {
  if (refs.empty()) return {};
  std::vector<Handle> handles;
  for (const Array& ref : refs) handles.push_back(ref.handle());
  for (const Status& gone : refs.front().door().evict_all(handles)) GODWIT_CHECK(gone);
  return {};
}

// Runs `once` with a place for the object it makes.
template <class Once>
Result<Sample> time_puts(std::uint64_t size, const Enough& enough, const Once& once) {
  std::vector<Array> refs;
  const std::size_t most = kept_at_once(size);
  auto sample = time_parts(enough, [&]() -> Result<std::uint64_t> {
    if (refs.size() >= most) {
      GODWIT_CHECK(evict(refs));
      refs.clear();
    }
    return once(refs);
  });
  GODWIT_CHECK(evict(refs));
  return sample;
}

}  // namespace

Result<Sample> put(Setup& setup, std::uint64_t size, const Enough& enough) {
  const NodeHandle node = setup.node();
  return time_puts(size, enough, [&](std::vector<Array>& refs) {
    return time_of([&]() -> Status {
      GODWIT_TRY(Array ref, node.put(setup.words(size)));
      refs.push_back(std::move(ref));
      return {};
    });
  });
}

Result<Sample> resolve(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_TRY(const Array made, setup.node().put(setup.words(size)));
  auto sample = time_parts(enough, [&]() -> Result<std::uint64_t> {
    const std::uint64_t begin_ns = floors::now_ns();
    GODWIT_TRY(const Array ref, Array::from(setup.fleet(), made.handle()));
    GODWIT_TRY(const auto object, ref.resolve());
    const std::uint64_t first = (*object)[0];
    const std::uint64_t end_ns = floors::now_ns();
    if (first != setup.words(size)[0] || object->size() != setup.words(size).size()) {
      return fail(ErrorCode::internal, "the object has changed");
    }
    return Result<std::uint64_t>(end_ns - begin_ns);
  });
  GODWIT_CHECK(made.evict());
  return sample;
}

Result<Sample> put_and_resolve(Setup& setup, std::uint64_t size, const Enough& enough) {
  const NodeHandle node = setup.node();
  return time_puts(size, enough, [&](std::vector<Array>& refs) {
    return time_of([&]() -> Status {
      GODWIT_TRY(Array ref, node.put(setup.words(size)));
      GODWIT_TRY(const auto object, ref.resolve());
      if ((*object)[0] != 1) return fail(ErrorCode::internal, "the object has changed");
      refs.push_back(std::move(ref));
      return {};
    });
  });
}

Result<Sample> end_to_end(Setup& setup, std::uint64_t size, const Enough& enough) {
  const NodeHandle node = setup.node();
  const std::uint64_t expected = sum_of(setup.bytes(size).data(), size);
  return time_puts(size, enough, [&](std::vector<Array>& refs) {
    return time_of([&]() -> Status {
      GODWIT_TRY(Array ref, node.put(setup.words(size)));
      Order order = setup.order(Order::Do::read_object, size);
      order.handle = ref.handle();
      GODWIT_TRY(const std::uint64_t sum, setup.far().ask(order));
      if (sum != expected) return fail(ErrorCode::internal, "the far side read something else");
      refs.push_back(std::move(ref));
      return {};
    });
  });
}

}  // namespace godwit::bench::ways
