// The Jit: reads, prepares, compiles or finds in the cache, links.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "code/jit/host.hpp"
#include "code/jit/jit.hpp"
#include "code/jit/linker.hpp"
#include "code/jit/object_cache.hpp"

namespace godwit::code::jit {

class Engine final : public Jit {
 public:
  // A cache directory that cannot be used is a warning, not an error.
  [[nodiscard]] static Result<std::unique_ptr<Jit>> create(const JitOptions& options);

  [[nodiscard]] Result<std::unique_ptr<Library>> load(const LoadRequest& request) override;
  [[nodiscard]] Result<std::shared_ptr<const CompiledCode>> compile(
      const LoadRequest& request) override;
  [[nodiscard]] std::shared_ptr<const CompiledCode> find_compiled(
      const LoadRequest& request) override;
  [[nodiscard]] JitInfo info() const override;
  [[nodiscard]] Result<bool> stateful(Bytes bitcode) override;
  [[nodiscard]] Result<BuiltCode> build(const BuildRequest& request) override;
  Status warm_up() override;
  [[nodiscard]] std::vector<std::string> take_warnings() override;
  [[nodiscard]] JitCounters counters() const override;

 private:
  explicit Engine(std::unique_ptr<Host> host);

  [[nodiscard]] Result<ObjectBytes> object_of(const LoadRequest& request);
  [[nodiscard]] Result<ObjectBytes> compile_slice(const LoadRequest& request);
  [[nodiscard]] std::optional<ObjectBytes> find_object(const LoadRequest& request);
  void keep_object(const LoadRequest& request, const ObjectBytes& object);
  [[nodiscard]] ContentId cache_key(const LoadRequest& request) const;
  void warn(std::string text);

  std::unique_ptr<Host> host_;
  Linker linker_;
  std::unique_ptr<ObjectCache> cache_;  // null: none
  std::atomic<std::uint64_t> compiled_{0};
  std::atomic<std::uint64_t> cache_hits_{0};
  std::atomic<std::uint64_t> cache_rejected_{0};
  std::atomic<bool> cache_warned_{false};
  std::mutex mutex_;
  std::vector<std::string> warnings_;  // guarded by mutex_
};

}  // namespace godwit::code::jit
