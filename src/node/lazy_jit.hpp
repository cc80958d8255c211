// The JIT of a node, opened when it is first needed, and the code made with it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "call/builder.hpp"
#include "code/jit/jit.hpp"
#include "trace/log.hpp"

namespace godwit::node {

// Thread-safe. Opening takes some 15 ms and happens on the thread that needs it, which is a loading
// thread or a function's.
class LazyJit final : public code::Loader, public call::Builder {
 public:
  LazyJit(code::jit::JitOptions options, trace::Log& log)
      : options_(std::move(options)), log_(log) {}

  [[nodiscard]] Result<std::unique_ptr<code::Library>> load(
      const code::LoadRequest& request) override;
  [[nodiscard]] Result<std::shared_ptr<const code::CompiledCode>> compile(
      const code::LoadRequest& request) override;
  [[nodiscard]] std::shared_ptr<const code::CompiledCode> find_compiled(
      const code::LoadRequest& request) override;
  [[nodiscard]] bool is_open() const override { return is_open_.load(std::memory_order_acquire); }
  [[nodiscard]] Result<code::Bundle> build(Bytes ir, std::string_view function,
                                           std::string_view signature) override;
  // Opens it now and compiles something small, so that the first real compile is a warm one.
  [[nodiscard]] Status preload();

 private:
  [[nodiscard]] Result<code::jit::Jit*> open();

  const code::jit::JitOptions options_;
  trace::Log& log_;
  std::mutex mutex_;
  std::atomic<bool> is_open_{false};
  std::unique_ptr<code::jit::Jit> jit_;
  std::optional<Error> error_;
};

}  // namespace godwit::node
