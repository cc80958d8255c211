#include <span>
#include <vector>

#include "calls.hpp"
#include "godwit/draft.hpp"
#include "ref/ways.hpp"

namespace godwit::bench::ways {
namespace {

// So many objects are there at a time; they are evicted together, and not timed.
std::size_t kept_at_once(std::uint64_t size) {
  constexpr std::uint64_t kMostBytes = 64'000'000;
  constexpr std::uint64_t kMost = 256;
  // Of large ones several, too: the first after a pause is slow.
  const std::uint64_t least = size <= 100'000'000 ? 4 : 1;
  return std::max(least, std::min(kMost, kMostBytes / size));
}

// The far side polls no more on the core that this process shares with it, and the node is awake.
Status have_the_core(Setup& setup) {
  if (setup.options().spin_us == 0) return {};
  Order rest = setup.order(Order::Do::peak_memory);
  rest.waiting = Waiting::sleep;
  GODWIT_TRY(const std::uint64_t rests, setup.far().ask(rest));
  static_cast<void>(rests);
  let_pollers_sleep();
  GODWIT_TRY(const Array any, setup.node().put(setup.words(1'000)));
  GODWIT_CHECK(keep_asking(any));
  return any.evict();
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

// Puts objects and has the far side resolve them, a batch at a time. `part` of the two times of
// each, in ns, is what counts.
template <class Part>
Result<Sample> time_handing_over(Setup& setup, std::uint64_t size, const Enough& enough,
                                 const Part& part) {
  const std::size_t most = kept_at_once(size);
  floors::RoundTrips times(enough.rounds);
  std::uint64_t spent_ns = 0;
  const std::uint64_t begin_ns = floors::now_ns();
  while (!enough.is_met(times.size(), floors::now_ns() - begin_ns)) {
    std::vector<Array> refs;
    std::vector<std::uint64_t> put_ns;
    for (std::size_t i = 0; i < most; ++i) {
      GODWIT_TRY(const std::uint64_t took_ns, time_of([&]() -> Status {
                   GODWIT_TRY(Array ref, setup.node().put(setup.words(size)));
                   refs.push_back(std::move(ref));
                   return {};
                 }));
      put_ns.push_back(took_ns);
    }
    GODWIT_TRY(const std::uint64_t all_ns, resolve_far(setup, Order::Do::resolve_each, refs));
    static_cast<void>(all_ns);
    const std::span<const Handed> handed = setup.handed(most);
    for (std::size_t i = 0; i < most; ++i) {
      if (handed[i].first != setup.words(size)[0]) {
        return fail(ErrorCode::internal, "the far side read something else");
      }
      const std::uint64_t time_ns = part(put_ns[i], handed[i].time_ns);
      times.add(time_ns);
      spent_ns += time_ns;
    }
    GODWIT_CHECK(evict(refs));
  }
  return times.summarise(spent_ns);
}

}  // namespace

Status evict(const std::vector<Array>& refs) {
  if (refs.empty()) return {};
  std::vector<Handle> handles;
  for (const Array& ref : refs) handles.push_back(ref.handle());
  for (const Status& gone : refs.front().door().evict_all(handles)) GODWIT_CHECK(gone);
  return {};
}

Result<std::uint64_t> resolve_far(Setup& setup, Order::Do what, std::span<const Array> refs) {
  const std::span<Handed> handed = setup.handed(refs.size());
  for (std::size_t i = 0; i < refs.size(); ++i) handed[i] = {.handle = refs[i].handle()};
  GODWIT_TRY(const Array other, setup.node().put(setup.words(1'000)));
  // This process shares a core with the far side, and would poll there for a while.
  if (setup.options().spin_us > 0) let_pollers_sleep();
  Order order = setup.order(what);
  order.waiting = Waiting::sleep;  // for the next, while this process puts
  order.rounds = static_cast<std::uint32_t>(refs.size());
  order.handle = other.handle();
  GODWIT_CHECK(setup.far().send(order));
  GODWIT_TRY(const std::uint64_t time_ns, setup.far().receive(Waiting::sleep));
  GODWIT_CHECK(other.evict());
  GODWIT_CHECK(have_the_core(setup));
  return Result<std::uint64_t>(time_ns);
}

Result<Sample> put(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
  const NodeHandle node = setup.node();
  return time_puts(size, enough, [&](std::vector<Array>& refs) {
    return time_of([&]() -> Status {
      GODWIT_TRY(Array ref, node.put(setup.words(size)));
      refs.push_back(std::move(ref));
      return {};
    });
  });
}

Result<Sample> draft_and_publish(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
  return time_puts(size, enough, [&](std::vector<Array>& refs) -> Result<std::uint64_t> {
    const std::uint64_t begin_ns = floors::now_ns();
    GODWIT_TRY(auto draft, Draft<std::uint64_t[]>::make(setup.node(), size / 8));
    const std::uint64_t made_ns = floors::now_ns();
    (*draft)[0] = setup.words(size)[0];
    const std::uint64_t written_ns = floors::now_ns();
    GODWIT_TRY(Array ref, draft.publish());
    refs.push_back(std::move(ref));
    return Result<std::uint64_t>(floors::now_ns() - written_ns + (made_ns - begin_ns));
  });
}

Result<Sample> resolve(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
  return time_handing_over(setup, size, enough,
                           [](std::uint64_t, std::uint64_t resolve_ns) { return resolve_ns; });
}

Result<Sample> put_and_resolve(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
  return time_handing_over(setup, size, enough, [](std::uint64_t put_ns, std::uint64_t resolve_ns) {
    return put_ns + resolve_ns;
  });
}

Result<Sample> resolve_again(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
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

Result<Sample> put_and_resolve_here(Setup& setup, std::uint64_t size, const Enough& enough) {
  GODWIT_CHECK(have_the_core(setup));
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
