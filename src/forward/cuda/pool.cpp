#include "forward/cuda/pool.hpp"

#include <numeric>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

using detail::ChunkId;
using detail::FreeChunks;
using detail::Queue;
using detail::Refusals;

namespace {

// Where the parts of the control block begin.
struct Offsets {
  explicit Offsets(const PoolSize& size) {
    const std::size_t queues = std::size_t{2} * size.kinds * size.ranks;
    const std::size_t chunks = std::size_t{size.device_chunks} + size.host_chunks;
    free = queues * sizeof(Queue);
    refusals = free + 2 * sizeof(FreeChunks);
    free_ids = refusals + sizeof(Refusals);
    tables = free_ids + chunks * sizeof(ChunkId);
    keys = (tables + queues * chunks * sizeof(ChunkId) + 7) / 8 * 8;
    bytes = keys + chunks * size.keys_per_chunk * sizeof(detail::Count);
  }
  std::size_t free, refusals, free_ids, tables, keys, bytes;
};

}  // namespace

Result<std::unique_ptr<Pool>> Pool::create(const PoolSize& size, std::byte* host_chunks) {
  std::unique_ptr<Pool> pool(new Pool(true));
  GODWIT_CHECK(check_cuda(cudaMalloc(&pool->control_, Offsets(size).bytes),
                          "taking memory for an exchange's queues"));
  GODWIT_CHECK(check_cuda(cudaMalloc(&pool->chunks_, size.device_bytes()),
                          "taking memory for an exchange's items"));
  pool->lay_out(size, host_chunks);
  GODWIT_CHECK(pool->fill(size));
  return pool;
}

Result<std::unique_ptr<Pool>> Pool::open(const PoolSize& size, const PoolHandles& handles,
                                         std::byte* host_chunks) {
  std::unique_ptr<Pool> pool(new Pool(false));
  GODWIT_CHECK(check_cuda(
      cudaIpcOpenMemHandle(&pool->control_, handles.control, cudaIpcMemLazyEnablePeerAccess),
      "opening another process' queues"));
  GODWIT_CHECK(check_cuda(
      cudaIpcOpenMemHandle(&pool->chunks_, handles.chunks, cudaIpcMemLazyEnablePeerAccess),
      "opening another process' items"));
  pool->lay_out(size, host_chunks);
  return pool;
}

Pool::~Pool() {
  for (void* const memory : {control_, chunks_}) {
    if (memory == nullptr) continue;
    if (owned_) {
      cudaFree(memory);
    } else {
      cudaIpcCloseMemHandle(memory);
    }
  }
}

Result<PoolHandles> Pool::handles() const {
  PoolHandles handles;
  GODWIT_CHECK(check_cuda(cudaIpcGetMemHandle(&handles.control, control_),
                          "sharing an exchange's queues with other processes"));
  GODWIT_CHECK(check_cuda(cudaIpcGetMemHandle(&handles.chunks, chunks_),
                          "sharing an exchange's items with other processes"));
  return handles;
}

void Pool::lay_out(const PoolSize& size, std::byte* host_chunks) {
  const Offsets offsets(size);
  auto* const base = static_cast<std::byte*>(control_);
  queues_.queues = reinterpret_cast<Queue*>(base);
  queues_.free = reinterpret_cast<FreeChunks*>(base + offsets.free);
  queues_.refusals = reinterpret_cast<Refusals*>(base + offsets.refusals);
  queues_.free_ids = reinterpret_cast<ChunkId*>(base + offsets.free_ids);
  queues_.tables = reinterpret_cast<ChunkId*>(base + offsets.tables);
  queues_.device_chunks = static_cast<std::byte*>(chunks_);
  queues_.host_chunks = host_chunks;
  queues_.device_count = size.device_chunks;
  queues_.host_count = size.host_chunks;
  queues_.table_length = size.device_chunks + size.host_chunks;
  queues_.ranks = size.ranks;
  queues_.kinds = size.kinds;
  queues_.keys_per_chunk = size.keys_per_chunk;
  if (size.keys_per_chunk > 0) {
    queues_.keys = reinterpret_cast<detail::Count*>(base + offsets.keys);
  }
}

// All chunks are free, all queues empty.
Status Pool::fill(const PoolSize& size) {
  const Offsets offsets(size);
  std::vector<ChunkId> ids(queues_.table_length);
  std::iota(ids.begin(), ids.end(), ChunkId{0});
  const FreeChunks free[2] = {{.taken = 0, .given = size.device_chunks},
                              {.taken = 0, .given = size.host_chunks}};
  constexpr const char* kWhat = "preparing an exchange's queues";
  GODWIT_CHECK(check_cuda(cudaMemset(control_, 0, offsets.tables), kWhat));
  GODWIT_CHECK(check_cuda(cudaMemset(queues_.tables, 0xff, offsets.bytes - offsets.tables), kWhat));
  GODWIT_CHECK(check_cuda(cudaMemcpy(queues_.free_ids, ids.data(), ids.size() * sizeof(ChunkId),
                                     cudaMemcpyHostToDevice),
                          kWhat));
  GODWIT_CHECK(
      check_cuda(cudaMemcpy(queues_.free, free, sizeof free, cudaMemcpyHostToDevice), kWhat));
  return check_cuda(cudaDeviceSynchronize(), kWhat);
}

}  // namespace godwit::cuda
