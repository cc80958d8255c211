// C++ at large: exceptions, virtual calls, containers.
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
