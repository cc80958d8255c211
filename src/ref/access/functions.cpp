#include "ref/access/functions.hpp"

#include <cassert>
#include <memory>

#include "code/bundle/bundle.hpp"
#include "code/bundle/embedded.hpp"

namespace godwit::ref {
namespace {

// Part of this program, as constant as its code; parsed at first use.
struct Library {
  std::unique_ptr<detail::FunctionCode> at_once;
  std::unique_ptr<detail::FunctionCode> slowly;

  Library() {
    const auto bundle = code::Bundle::parse(Buffer::copy_of(embedded::ref_bundle()));
    assert(bundle && "the ref bundle of this build is broken");
    const auto find = [&](const char* name) {
      const auto index = bundle->find(name);
      assert(index && "the ref bundle lacks a function");
      return std::make_unique<detail::FunctionCode>(*bundle, static_cast<std::uint32_t>(*index));
    };
    at_once = find("ask");
    slowly = find("ask_slowly");
  }
};

}  // namespace

call::FunctionRef& function(Ask how, call::Caller& caller) {
  static const Library all;
  return (how == Ask::at_once ? all.at_once : all.slowly)->known_to(caller);
}

}  // namespace godwit::ref
