// The node's side of ServedNode.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/fail.hpp"
#include "calls.hpp"
#include "code/native/native_loader.hpp"
#include "floors/sample.hpp"
#include "node/lazy_jit.hpp"
#include "node/places.hpp"
#include "node/runtime.hpp"
#include "served_node.hpp"

extern "C" {
std::int32_t godwit_entry_echo(const godwit_here_v1*, const void*, std::size_t, godwit_reply*);
std::int32_t godwit_entry_echo_on_pool(const godwit_here_v1*, const void*, std::size_t,
                                       godwit_reply*);
std::int32_t godwit_entry_echo_bytes(const godwit_here_v1*, const void*, std::size_t,
                                     godwit_reply*);
}

namespace godwit::bench {
namespace {

class InstalledLibrary final : public code::Library {
 public:
  [[nodiscard]] godwit_entry entry(std::string_view symbol) const override {
    if (symbol == "godwit_entry_echo") return &godwit_entry_echo;
    if (symbol == "godwit_entry_echo_on_pool") return &godwit_entry_echo_on_pool;
    if (symbol == "godwit_entry_echo_bytes") return &godwit_entry_echo_bytes;
    return nullptr;
  }
  [[nodiscard]] std::size_t memory_bytes() const override { return 0; }
};

class InstalledLoader final : public code::Loader {
 public:
  [[nodiscard]] Result<std::unique_ptr<code::Library>> load(const code::LoadRequest&) override {
    return std::make_unique<InstalledLibrary>();
  }
};

class TimedLoader final : public code::Loader {
 public:
  TimedLoader(code::Loader& inner, LoadTimes& times) : inner_(inner), times_(times) {}
  [[nodiscard]] Result<std::unique_ptr<code::Library>> load(
      const code::LoadRequest& request) override {
    const std::uint64_t begin_ns = floors::now_ns();
    auto library = inner_.load(request);
    if (request.tier == code::Tier::fast) ++times_.fast;
    if (request.tier == code::Tier::optimised) {
      ++times_.optimised;
    } else {
      times_.begin_ns = begin_ns;
      times_.end_ns = floors::now_ns();
    }
    return library;
  }
  [[nodiscard]] Result<std::shared_ptr<const code::CompiledCode>> compile(
      const code::LoadRequest& request) override {
    return inner_.compile(request);
  }
  [[nodiscard]] std::shared_ptr<const code::CompiledCode> find_compiled(
      const code::LoadRequest& request) override {
    return inner_.find_compiled(request);
  }
  [[nodiscard]] bool is_open() const override { return inner_.is_open(); }

 private:
  code::Loader& inner_;
  LoadTimes& times_;
};

Status install(node::Runtime& runtime, const Bundle& bundle) {
  Status added;
  runtime.run_as_owner([&] { added = runtime.store()->add(bundle.code()); });
  GODWIT_CHECK(added);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < until) {
    bool ready = false;
    runtime.run_as_owner([&] {
      ready =
          runtime.store()->residence(bundle.code().id())->state == code::Residence::State::ready;
    });
    if (ready) return {};
    std::this_thread::yield();
  }
  return fail(ErrorCode::internal, "the installed functions did not become ready");
}

Status serve(Installed installed, std::int64_t spin_us, LocalTransport transport,
             LoadTimes& times) {
  trace::Log log = trace::Log::silent();
  GODWIT_TRY(auto made, node::make_runtime_directory());
  const auto directory = std::make_shared<const code::RuntimeDirectory>(std::move(made));
  code::NativeLoader native(directory);
  node::LazyJit jit({}, log);  // no disk cache: what is unseen stays unseen
  if (installed == Installed::compiler) GODWIT_CHECK(jit.preload());
  InstalledLoader here;
  code::Loader& native_or_here =
      installed == Installed::echo ? static_cast<code::Loader&>(here) : native;
  TimedLoader timed_native(native_or_here, times);
  TimedLoader timed_jit(jit, times);

  node::Runtime::Options options;
  options.id = random_node_id();
  options.epoch = Epoch{1};
  options.name = "bench";
  options.reactor.name = "bench";
  options.reactor.spin_us = spin_us;
  options.pool.width = std::max(1U, std::thread::hardware_concurrency());
  code::Store::Options store;
  store.target.has_jit = true;
  store.target.llvm_major = 19;
  options.make_store = [&, store](Scheduler& scheduler) {
    return std::make_unique<code::Store>(scheduler, code::Store::Loaders{&timed_native, &timed_jit},
                                         store);
  };
  GODWIT_TRY(const auto runtime, node::Runtime::create(std::move(options), log));
  GODWIT_CHECK(runtime->listen({transport == LocalTransport::tcp
                                    ? "tcp:127.0.0.1:0"
                                    : node::node_address(directory->path(), "bench")}));
  GODWIT_CHECK(runtime->start());
  if (installed == Installed::echo) {
    GODWIT_TRY(const Bundle bundle, open_bundle("bench_echo.gdw"));
    GODWIT_CHECK(install(*runtime, bundle));
  }
  fmt::print("{}\n", runtime->addresses().front());
  std::fflush(stdout);
  char ignored = 0;
  while (::read(STDIN_FILENO, &ignored, 1) > 0) {
  }
  return {};
}

}  // namespace

int serve_node(int argc, char** argv) {
  if (argc != 5) return EXIT_FAILURE;
  void* shared = ::mmap(nullptr, sizeof(LoadTimes), PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
  if (shared == MAP_FAILED) return EXIT_FAILURE;
  const Status served =
      serve(static_cast<Installed>(std::atoi(argv[2])), std::atoll(argv[3]),
            static_cast<LocalTransport>(std::atoi(argv[4])), *static_cast<LoadTimes*>(shared));
  if (served) return EXIT_SUCCESS;
  fmt::print(stderr, "godwit-bench: {}\n", served.error().message);
  return EXIT_FAILURE;
}

}  // namespace godwit::bench
