// The aarch64 slice runs: under qemu, in a host that knows the mobile ABI alone, it gives the very
// replies that this machine's slice of the same bundle gives here.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "code/native/native_for_test.hpp"
#include "code/toolchain/process.hpp"
#include "code/types/text.hpp"

namespace godwit::code {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEmulator = "qemu-aarch64-static";
constexpr const char* kCompiler = "aarch64-linux-gnu-g++";
constexpr const char* kSystemRoot = "/usr/aarch64-linux-gnu";  // of the cross compiler's packages
constexpr auto kPatience = std::chrono::seconds(60);

// What this machine lacks for the test, or nothing.
std::optional<std::string> missing() {
  if (host_machine() != Machine::x86_64) return "this machine is not x86_64";
  if (!run_process({kEmulator, "--version"}, kPatience)) {
    return fmt::format("there is no {}; install qemu-user-static", kEmulator);
  }
  if (!run_process({kCompiler, "--version"}, kPatience) || !fs::exists(kSystemRoot)) {
    return fmt::format("there is no {}; install g++-aarch64-linux-gnu", kCompiler);
  }
  return std::nullopt;
}

struct Reply {
  int status = -1;
  std::string bytes;
  bool operator==(const Reply&) const = default;
};

void PrintTo(const Reply& reply, std::ostream* out) {
  *out << "status " << reply.status << ", \"" << reply.bytes << '"';
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Both native slices of testdata/travels.cpp, each with its way to be called.
class ForeignSlice : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto what = missing()) GTEST_SKIP() << "aarch64 code cannot run here: " << *what;
    const fs::path testdata(GODWIT_NATIVE_TESTDATA);
    auto request = native_request({testdata / "travels.cpp"});
    request.targets = {Machine::x86_64, Machine::aarch64};
    auto compiled = compile(request);
    ASSERT_TRUE(compiled) << compiled.error().message;
    bundle_ = *std::move(compiled);
    const Bytes foreign = slice_for(Machine::aarch64).bytes;
    tree_.write("slice.so", text_of(foreign));
    const auto built =
        run_process({kCompiler, "-std=c++20", "-O1", "-I", GODWIT_INCLUDE_DIRECTORY,
                     testdata / "slice_host.cpp", "-o", tree_.path() / "host", "-ldl"},
                    kPatience);
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_EQ(built->exit_code, 0) << built->errors;
    const SliceInfo& own = slice_for(Machine::x86_64);
    auto loaded = loader_.load({own.id, own.bytes, "travels", {}, Tier::native});
    ASSERT_TRUE(loaded) << loaded.error().message;
    library_ = *std::move(loaded);
  }

  const SliceInfo& slice_for(Machine machine) const {
    const auto& slices = bundle_.slices();
    return *std::find_if(slices.begin(), slices.end(),
                         [&](const SliceInfo& slice) { return slice.machine == machine; });
  }
  const FunctionInfo& function(const std::string& name) const {
    return bundle_.functions().at(bundle_.find(name).value());
  }

  Reply call_there(const std::string& name, Bytes arguments) {
    tree_.write("arguments", text_of(arguments));
    const auto ran =
        run_process({kEmulator, "-L", kSystemRoot, tree_.path() / "host", tree_.path() / "slice.so",
                     function(name).entry, tree_.path() / "arguments", tree_.path() / "reply"},
                    kPatience);
    if (!ran) {
      ADD_FAILURE() << ran.error().message;
      return {};
    }
    EXPECT_EQ(ran->errors, "");
    return {ran->exit_code, read_text(tree_.path() / "reply")};
  }

  Reply call_here(const std::string& name, Bytes arguments) {
    std::vector<char> room(std::size_t{1} << 20);
    godwit_reply reply{room.data(), room.size(), 0, nullptr};
    const int status =
        library_->entry(function(name).entry)(nullptr, arguments.data(), arguments.size(), &reply);
    return {status, std::string(room.data(), reply.size)};
  }

  // The answer as people read it, after both machines gave the same.
  std::string ask(const std::string& name, const std::vector<std::string>& words) {
    const auto signature = parse_signature(function(name).signature);
    EXPECT_TRUE(signature) << signature.error().message;
    const auto arguments = encode_text(*signature, words);
    EXPECT_TRUE(arguments) << arguments.error().message;
    const Reply there = call_there(name, arguments->view());
    EXPECT_EQ(there, call_here(name, arguments->view())) << name;
    if (there.status != GODWIT_OK) return there.bytes;
    const Bytes blob = bytes_of(there.bytes);
    return format_text(signature->result, blob).value_or("not a " + signature->result.text());
  }

  SourceTree tree_;
  Bundle bundle_;
  NativeLoader loader_{nullptr};
  std::unique_ptr<Library> library_;
};

TEST_F(ForeignSlice, OfAarch64GivesTheSameRepliesUnderQemu) {
  EXPECT_EQ(slice_for(Machine::aarch64).triple, "aarch64-linux-gnu");
  EXPECT_EQ(ask("add", {"40", "2"}), "42");
  EXPECT_EQ(ask("norm", {"[3, 4, 12, 84]"}), "85");
  EXPECT_EQ(ask("repeat", {"godwit ", "3"}), "godwit godwit godwit ");
  EXPECT_EQ(ask("repeat", {"x", "5000"}), std::string(5000, 'x')) << "beyond the reply's own room";
  EXPECT_EQ(ask("refuse", {"7"}), "7");
  EXPECT_EQ(ask("refuse", {"-7"}), "negative: -7");
  EXPECT_EQ(ask("language", {"1"}), "1128");

  const std::string cut(5, '\1');
  const Reply refused = call_there("add", bytes_of(cut));
  EXPECT_EQ(refused.status, GODWIT_BAD_ARGS);
  EXPECT_EQ(refused, call_here("add", bytes_of(cut)));

  const SliceInfo& foreign = slice_for(Machine::aarch64);
  const auto loaded = loader_.load({foreign.id, foreign.bytes, "travels", {}, Tier::native});
  ASSERT_FALSE(loaded) << "this machine's own loader must not take it";
  EXPECT_EQ(loaded.error().code, ErrorCode::no_slice);
}

}  // namespace
}  // namespace godwit::code
