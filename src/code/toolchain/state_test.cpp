// What the toolchain says about state, on code that a compiler really made: for both machines and
// both kinds of slice.
#include <gtest/gtest.h>

#include <string>

#include "code/toolchain/compile_for_test.hpp"

namespace godwit::code {
namespace {

struct Expected {
  bool mutable_globals = false;
  bool thread_locals = false;
  bool constructors = false;
  bool may_start_threads = false;
};

void expect_traits(const std::string& text, const Expected& expected) {
  const SourceTree tree;
  const auto bundle = compile({.sources = {tree.write("code.cpp", text)}});
  ASSERT_TRUE(bundle) << bundle.error().message;
  for (const SliceInfo& slice : bundle->slices()) {
    const std::string which = std::string(to_string(slice.kind)) + " " + slice.triple;
    EXPECT_EQ(slice.traits.mutable_globals, expected.mutable_globals) << which;
    EXPECT_EQ(slice.traits.thread_locals, expected.thread_locals) << which;
    EXPECT_EQ(slice.traits.constructors, expected.constructors) << which;
    EXPECT_EQ(slice.traits.may_start_threads, expected.may_start_threads) << which;
  }
}

TEST(State, ConstantsVtablesAndExceptionsAreNone) {
  expect_traits(R"(
#include <stdexcept>
#include <string>
#include <vector>
static const int kTable[] = {3, 1, 4, 1, 5};
static const char* const kNames[] = {"one", "two"};
struct Base { virtual ~Base() = default; virtual long f() const = 0; };
struct Derived : Base { long f() const override { return 7; } };
__attribute__((noinline)) static long work(const Base& b, int i) {
  std::vector<std::string> words(static_cast<unsigned>(i) + 1, kNames[i & 1]);
  try {
    if (words.size() > 3) throw std::runtime_error(words[0]);
    if (words.size() > 2) throw 5;
  } catch (const std::exception& e) {
    return e.what()[0];
  } catch (int x) {
    return x;
  }
  return b.f() + kTable[i % 5];
}
)" + entry_text("f",
                "return work(Derived(), static_cast<int>(reinterpret_cast<long>(&kTable) & 3));"),
                {});
}

TEST(State, AVariableIsMutable) {
  for (const char* variable : {"static long n = 0;", "static long n = 5;", "long n;"}) {
    expect_traits(variable + std::string("\n") + entry_text("f", "return ++n;"),
                  {.mutable_globals = true});
  }
}

TEST(State, AStaticOfAFunctionHasAGuardThatIsState) {
  expect_traits(R"(
#include <cstdlib>
static long once() {
  static const long value = std::rand();
  return value;
}
)" + entry_text("f", "return once();"),
                {.mutable_globals = true});
}

TEST(State, UnusedVariablesDoNotCount) {
  expect_traits("int unused_anywhere = 3;\n" + entry_text("f", "return 1;"), {});
}

TEST(State, AThreadLocalIsSeen) {
  expect_traits("static thread_local long counter = 5;\n" + entry_text("f", "return ++counter;"),
                {.thread_locals = true});
}

TEST(State, AConstructorIsSeen) {
  expect_traits(R"(
#include <cstdlib>
struct Thing { Thing() : value(std::rand()) {} ~Thing() { value = 0; } long value; };
static Thing thing;
)" + entry_text("f", "return thing.value;"),
                {.mutable_globals = true, .constructors = true});
}

TEST(State, AThreadIsSeen) {
  expect_traits(
      "#include <thread>\n" + entry_text("f", "std::thread t([] {}); t.join(); return 1;"),
      {.may_start_threads = true});
}

}  // namespace
}  // namespace godwit::code
