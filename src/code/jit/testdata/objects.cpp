// C++ at large: exceptions, virtual calls, containers, coroutines.
#include <coroutine>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "entry.hpp"

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual uint64_t corners() const = 0;
};
struct Triangle : Shape {
  uint64_t corners() const override { return 3; }
};
struct Square : Shape {
  uint64_t corners() const override { return 4; }
};

struct Numbers {
  struct promise_type {
    uint64_t current = 0;
    Numbers get_return_object() { return {Handle::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(uint64_t value) {
      current = value;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  using Handle = std::coroutine_handle<promise_type>;
  Handle handle;
};

Numbers squares(uint64_t count) {
  for (uint64_t i = 1; i <= count; ++i) co_yield i* i;
}

__attribute__((noinline)) void refuse(uint64_t value) {
  if (value > 10) throw std::out_of_range("value " + std::to_string(value) + " is above 10");
}

}  // namespace

ENTRY(check) {
  try {
    refuse(word(args, 0));
    return answer(reply, 0);
  } catch (const std::logic_error& error) {
    const std::string words = error.what();
    words.copy(static_cast<char*>(reply->data), words.size());
    reply->size = words.size();
    return GODWIT_APP_ERROR;
  }
}
ENTRY(escape) {
  throw std::runtime_error("escaped");
}
ENTRY(corners) {
  std::map<std::string, std::unique_ptr<Shape>> shapes;
  shapes["triangle"] = std::make_unique<Triangle>();
  shapes["square"] = std::make_unique<Square>();
  std::vector<uint64_t> counts;
  for (const auto& [name, shape] : shapes) counts.push_back(shape->corners() + name.size());
  return answer(reply, counts[0] * 100 + counts[1]);
}
ENTRY(sum_of_squares) {
  const Numbers numbers = squares(word(args, 0));
  uint64_t sum = 0;
  for (numbers.handle.resume(); !numbers.handle.done(); numbers.handle.resume()) {
    sum += numbers.handle.promise().current;
  }
  numbers.handle.destroy();
  return answer(reply, sum);
}
