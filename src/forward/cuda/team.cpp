#include "forward/cuda/team.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"

namespace godwit::cuda {

using detail::Crew;
using detail::kMaxFunctorBytes;
using std::chrono::steady_clock;

namespace {

// A rank's place for its functor, and behind all of these the numbers of the ranks.
constexpr std::size_t kCrewPlace = kMaxFunctorBytes;
// How long the owner's memory outlives its own use of it for processes that still use theirs.
constexpr std::chrono::seconds kFarewell{2};

}  // namespace

Team::Team(const Terms& terms, std::span<const Rank> local)
    : terms_(terms), members_(local.size()), meeting_(static_cast<std::uint32_t>(local.size())) {
  for (std::size_t i = 0; i < local.size(); ++i) {
    members_[i].rank = local[i];
    members_[i].folds.resize(terms.size.kinds);
  }
}

Result<std::shared_ptr<Team>> Team::own(const Terms& terms, std::span<const Rank> local,
                                        std::span<const pid_t> others) {
  std::shared_ptr<Team> team(new Team(terms, local));
  const std::size_t spill = terms.size.host_chunks * detail::kChunkBytes;
  GODWIT_TRY(team->board_, Board::create(spill));
  GODWIT_TRY(team->pool_, Pool::create(terms.size, team->board_->device_chunks()));
  team->owner_ = true;
  if (terms.size.keys_per_chunk > 0) {
    GODWIT_TRY(team->sorter_, Sorter::create(team->pool_->queues()));
  }
  team->processes_ = static_cast<std::uint32_t>(others.size() + 1);
  for (const pid_t other : others) GODWIT_CHECK(team->board_->watch(other));
  GODWIT_CHECK(team->start());
  return team;
}

Result<std::shared_ptr<Team>> Team::join(const Terms& terms, std::span<const Rank> local,
                                         const Invitation& invitation) {
  std::shared_ptr<Team> team(new Team(terms, local));
  const std::size_t spill = terms.size.host_chunks * detail::kChunkBytes;
  const std::string board(invitation.board, ::strnlen(invitation.board, sizeof invitation.board));
  GODWIT_TRY(team->board_, Board::attach(board, spill));
  auto pool = Pool::open(terms.size, invitation.handles, team->board_->device_chunks());
  if (!pool) {
    team->board_->fail_all(pool.error());
    return tl::unexpected(pool.error());
  }
  team->pool_ = std::move(*pool);
  team->board_->page().attached.fetch_add(1);
  team->processes_ = invitation.processes;
  GODWIT_CHECK(team->board_->watch(invitation.owner));
  GODWIT_CHECK(team->start());
  return team;
}

Status Team::start() {
  queues_ = pool_->queues();
  constexpr const char* kWhat = "preparing the ranks of an exchange";
  GODWIT_CHECK(check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), kWhat));
  board_->set_stream(stream_);
  if (terms_.has_outside()) {
    std::vector<Rank> local;
    for (const Member& member : members_) local.push_back(member.rank);
    GODWIT_TRY(outside_, Outside::create(terms_, local, {pool_, board_}, owner_));
  }
  std::vector<std::uint32_t> ranks;
  for (Member& member : members_) {
    ranks.push_back(static_cast<std::uint32_t>(member.rank));
    GODWIT_CHECK(
        check_cuda(cudaStreamCreateWithFlags(&member.stream, cudaStreamNonBlocking), kWhat));
    GODWIT_CHECK(check_cuda(cudaEventCreateWithFlags(&member.idle, cudaEventDisableTiming), kWhat));
  }
  const std::size_t places = members_.size() * kCrewPlace;
  const std::size_t numbers = ranks.size() * sizeof ranks[0];
  void* memory = nullptr;
  GODWIT_CHECK(check_cuda(cudaMalloc(&memory, places + numbers), kWhat));
  crew_memory_ = static_cast<std::byte*>(memory);
  return check_cuda(
      cudaMemcpy(crew_memory_ + places, ranks.data(), numbers, cudaMemcpyHostToDevice), kWhat);
}

Team::~Team() {
  cudaSetDevice(terms_.device);  // whoever is the last to go
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  for (const Member& member : members_) {
    if (member.stream != nullptr) cudaStreamSynchronize(member.stream);
    if (member.idle != nullptr) cudaEventDestroy(member.idle);
    if (member.stream != nullptr) cudaStreamDestroy(member.stream);
  }
  // Their kernels may still write into what is ours.
  if (owner_ && board_ != nullptr) board_->await_farewells(steady_clock::now() + kFarewell);
  if (crew_memory_ != nullptr) cudaFree(crew_memory_);
  outside_.reset();
  if (!owner_ && pool_ != nullptr) {
    pool_.reset();
    board_->page().attached.fetch_sub(1);
  }
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<Invitation> Team::invite() const {
  Invitation invitation{};
  GODWIT_TRY(invitation.handles, pool_->handles());
  const std::string path = board_->path();
  std::memcpy(invitation.board, path.data(), std::min(path.size(), sizeof invitation.board - 1));
  invitation.owner = ::getpid();
  invitation.processes = processes_;
  return invitation;
}

Member& Team::member(Rank rank) {
  return *std::find_if(members_.begin(), members_.end(),
                       [&](const Member& member) { return member.rank == rank; });
}

std::size_t Team::index_of(const Member& member) const noexcept {
  return static_cast<std::size_t>(&member - members_.data());
}

std::uint64_t Team::items(std::uint32_t kind, Rank rank) const noexcept {
  return items_[kind * terms_.size.ranks + static_cast<std::uint32_t>(rank)];
}

ExchangeStatus Team::status(const Member& member) const noexcept {
  return {.rounds = ended_ - 1,
          .arrived = member.arrived,
          .queue_bytes = chunks_kept_[0] * detail::kChunkBytes,
          .queue_high_bytes = chunks_high_[0] * detail::kChunkBytes,
          .spill_bytes = chunks_kept_[1] * detail::kChunkBytes,
          .spill_high_bytes = chunks_high_[1] * detail::kChunkBytes};
}

Result<Crew> Team::crew(Member& member, std::span<const std::byte> functor, cudaStream_t stream) {
  const std::size_t index = index_of(member);
  std::byte* const place = crew_memory_ + index * kCrewPlace;
  const bool there = std::equal(functor.begin(), functor.end(), member.sent_functor.begin(),
                                member.sent_functor.end());
  if (!there) {
    member.sent_functor.assign(functor.begin(), functor.end());
    GODWIT_CHECK(check_cuda(cudaMemcpyAsync(place, member.sent_functor.data(), functor.size(),
                                            cudaMemcpyHostToDevice, stream),
                            "sending a functor to the GPU"));
  }
  const auto* const numbers =
      reinterpret_cast<const std::uint32_t*>(crew_memory_ + members_.size() * kCrewPlace);
  return Crew{.functors = place,
              .ranks = numbers + index,
              .count = 1,
              .functor_stride = static_cast<std::uint32_t>(kCrewPlace)};
}

void Team::admit(Member& member, forward::Outpost& outpost) {
  member.trace = &outpost.trace();
  if (outside_ != nullptr) outside_->admit(member.rank, outpost);
}

void Team::leave(const Member& member) noexcept {
  const Error error{
      ErrorCode::node_lost,
      fmt::format("rank {} left the exchange: all ranks go through the same rounds", member.rank)};
  meeting_.break_up(error);
  if (processes_ > 1) board_->fail_all(error);
  if (outside_ != nullptr) outside_->dismiss(member.rank);
}

}  // namespace godwit::cuda
