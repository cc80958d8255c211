#include <atomic>
#include <fstream>
#include <thread>

#include "base/fail.hpp"
#include "ref/suites.hpp"
#include "ref/wire.hpp"

namespace godwit::bench {
namespace {

constexpr std::uint64_t kBytes = 100'000'000;

// From here on VmHWM is the peak since.
void forget_peak(int pid) {
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << "5";
}

// Watches this process and the node while `act` runs. Pages that both have mapped count once, in
// the node; the rest of the peak is found by looking every now and then.
template <class Act>
Result<Row> watch(const Setup& setup, std::string name, const Act& act) {
  const int self = ::getpid();
  const int node = setup.node_pid();
  forget_peak(self);
  forget_peak(node);
  const auto now = [&] {
    const MemoryUse ours = memory_of(self);
    const MemoryUse theirs = memory_of(node);
    return ours.own_bytes + theirs.own_bytes + theirs.shared_bytes;
  };
  const std::uint64_t client_before = memory_of(self).peak_bytes;
  const std::uint64_t node_before = memory_of(node).peak_bytes;
  const std::uint64_t before = now();
  std::atomic<bool> over{false};
  std::uint64_t peak = before;
  std::thread looking([&] {
    while (!over) {
      peak = std::max(peak, now());
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  const Status done = act();
  over = true;
  looking.join();
  GODWIT_CHECK(done);
  peak = std::max(peak, now());
  const auto per_byte = [](std::uint64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(kBytes);
  };
  Row row{.name = std::move(name)};
  row.more = {per_byte(memory_of(self).peak_bytes - client_before),
              per_byte(memory_of(node).peak_bytes - node_before), per_byte(peak - before)};
  return row;
}

Status measure_memory(const Scope& scope, LocalTransport transport, Table& table) {
  GODWIT_TRY(const auto setup, Setup::start(scope, {.transport = transport,
                                                    .spin_us = kDefaultSpinUs,
                                                    .largest_bytes = kBytes}));
  const std::string way = transport == LocalTransport::shm ? "shm" : "tcp";
  std::optional<Array> made;
  GODWIT_TRY(Row put, watch(*setup, way + ", put of 100 MB", [&]() -> Status {
               GODWIT_TRY(made, setup->node().put(setup->words(kBytes)));
               return {};
             }));
  table.rows.push_back(std::move(put));
  GODWIT_TRY(
      Row get, watch(*setup, way + ", resolve and read 100 MB", [&]() -> Status {
        GODWIT_TRY(const auto object, made->resolve());
        if (sum_of(object.bytes().data(), kBytes) != sum_of(setup->bytes(kBytes).data(), kBytes)) {
          return fail(ErrorCode::internal, "the object has changed");
        }
        return {};
      }));
  table.rows.push_back(std::move(get));
  return made->evict();
}

}  // namespace

Result<Table> run_ref_memory(const Scope& scope) {
  Table table{.suite = "memory",
              .title = "Peak of additional memory, in bytes for each byte of an object of 100 MB",
              .more_columns = {"client VmHWM", "node VmHWM", "in all"}};
  GODWIT_CHECK(measure_memory(scope, LocalTransport::shm, table));
  GODWIT_CHECK(measure_memory(scope, LocalTransport::tcp, table));
  table.notes.emplace_back(
      "VmHWM counts pages that both have mapped in each of them; \"in all\" counts them once.");
  return table;
}

}  // namespace godwit::bench
