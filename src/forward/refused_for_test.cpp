// What does not compile, and what the compiler says to it. With GODWIT_GOOD only what does.
#include <string>

#include "godwit/exchange.hpp"

namespace {

struct Ray {
  float origin[3];
};
struct Hit {
  float t;
};
using Rays = godwit::Exchange<Ray, godwit::Reduced<Hit>>;

struct Good {
  template <class Out>
  void operator()(const Ray& ray, Out& out) const {
    out.emit(ray, 0);
    out.emit(Hit{}, 0);
  }
};

[[maybe_unused]] void good(godwit::Group& group) {
  Rays exchange = Rays::create(group).value();
  exchange.reduce<Hit>([](const Hit&) {});
  (void)exchange.run(Good{});
}

#ifndef GODWIT_GOOD

struct Named {
  std::string name;
};
struct Huge {
  char bytes[5000];
};
struct OnlyHits {
  template <class Out>
  void operator()(const Hit&, Out&) const {}
};
struct WithoutOut {
  void operator()(const Ray&) const {}
};

[[maybe_unused]] void bad(godwit::Group& group, Rays& exchange) {
  // refused: an item travels as memory: make it trivially copyable
  (void)godwit::Exchange<Named>::create(group);
  // refused: an item travels as memory: make it trivially copyable
  (void)godwit::Exchange<godwit::Tailed<Ray, std::string>>::create(group);
  // refused: a pointer means nothing on another rank
  (void)godwit::Exchange<Ray*>::create(group);
  // refused: items are at most 4 KiB
  (void)godwit::Exchange<Huge>::create(group);
  // refused: two item types of this Exchange are emitted as one C++ type
  (void)godwit::Exchange<Ray, godwit::Reduced<Ray>>::create(group);
  // refused: two item types of this Exchange are emitted as one C++ type
  (void)godwit::Exchange<Ray, Hit, godwit::Tailed<Ray, float>>::create(group);
  // refused: no such item type in this Exchange
  exchange.emit(Huge{}, 0);
  // refused: this item has no tail
  exchange.emit(Ray{}, std::span<const float>(), 0);
  // refused: the kernel takes no item of this type
  (void)exchange.run(OnlyHits{});
  // refused: the kernel takes no item of this type
  exchange.process(WithoutOut{});
  // refused: only items of a Reduced<T> are folded
  exchange.reduce<Ray>([](const Ray&) {});
  // refused: a fold is called as fold(const T& item)
  exchange.reduce<Hit>([](const Ray&) {});
  Named named;
  // refused: what is kept is written as memory: make it trivially copyable
  exchange.keep(named);
}

#endif

}  // namespace
