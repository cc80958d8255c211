#include "forward/cuda/setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/cuda_error.hpp"
#include "forward/cuda/tickets.hpp"

namespace godwit::cuda {
namespace {

using forward::Deadline;

// An error, or none, in a message.
struct Verdict {
  std::uint32_t code = 0;
  char text[600] = {};

  static Verdict of(const Error& error) {
    Verdict verdict{.code = static_cast<std::uint32_t>(error.code)};
    error.message.copy(verdict.text, sizeof verdict.text - 1);
    return verdict;
  }
  [[nodiscard]] Status status() const {
    if (code == 0) return {};
    return tl::unexpected(
        Error{static_cast<ErrorCode>(code), std::string(text, ::strnlen(text, sizeof text))});
  }
};

struct KindCard {
  std::uint64_t name = 0;  // hashed
  std::uint32_t size = 0;
  std::uint32_t form = 0;
  bool operator==(const KindCard&) const = default;
};

// What a rank tells rank 0.
struct Hello {
  static constexpr std::uint16_t kTag = 0;
  Verdict verdict{};
  std::uint64_t host = 0;
  pid_t process = 0;
  std::array<char, 16> gpu{};
  std::uint64_t queue_bytes = 0;
  std::uint64_t spill_bytes = 0;
  bool deterministic = false;
  std::uint32_t kinds = 0;
  std::array<KindCard, detail::kMaxKinds> cards{};
};

// What rank 0 answers.
struct Welcome {
  static constexpr std::uint16_t kTag = 1;
  Verdict verdict{};
  PoolSize size{};
  Invitation invitation{};
  std::uint64_t ticket = 0;  // for the team, if it is in the same process
  Rank leader = 0;           // who joins for this rank's process
  std::uint32_t locals = 0;
  std::array<Rank, detail::kMaxRanks> local{};
};

// What the leader of a process hands to its other ranks.
struct Handover {
  static constexpr std::uint16_t kTag = 2;
  Verdict verdict{};
  std::uint64_t ticket = 0;
};

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The same for processes that can see each other's memory: one kernel, one process namespace.
std::uint64_t host_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> names{};
  if (::readlink("/proc/self/ns/pid", names.data(), names.size() - 1) > 0) boot += names.data();
  return hash_of(boot);
}

Hello introduce(std::span<const ItemType> types, const Options& options) {
  Hello hello{.host = host_name(),
              .process = ::getpid(),
              .queue_bytes = options.queue_bytes,
              .spill_bytes = options.spill_bytes,
              .deterministic = options.deterministic,
              .kinds = static_cast<std::uint32_t>(types.size())};
  for (std::size_t i = 0; i < types.size(); ++i) {
    hello.cards[i] = {.name = hash_of(types[i].name),
                      .size = types[i].size,
                      .form = static_cast<std::uint32_t>(types[i].form)};
  }
  cudaDeviceProp gpu{};
  Status found = check_cuda(cudaSetDevice(options.device), "using the GPU");
  if (found) found = check_cuda(cudaGetDeviceProperties(&gpu, options.device), "asking the GPU");
  if (!found) {
    hello.verdict = Verdict::of(found.error());
  } else {
    std::memcpy(hello.gpu.data(), gpu.uuid.bytes, hello.gpu.size());
  }
  return hello;
}

Status compare(const Hello& mine, const Hello& theirs, Rank rank) {
  GODWIT_CHECK(theirs.verdict.status());
  if (theirs.host != mine.host) {
    return fail(
        ErrorCode::unsupported,
        "rank {} is on another host, or in another container, than rank 0: a cuda::Exchange "
        "is for ranks that share a GPU",
        rank);
  }
  if (theirs.gpu != mine.gpu) {
    return fail(
        ErrorCode::unsupported,
        "rank {} uses another GPU than rank 0: a cuda::Exchange is for ranks that share one", rank);
  }
  if (theirs.kinds != mine.kinds || theirs.cards != mine.cards) {
    return fail(ErrorCode::type_mismatch,
                "rank {} makes the exchange with other item types than rank 0 does", rank);
  }
  if (theirs.deterministic != mine.deterministic) {
    return fail(ErrorCode::type_mismatch,
                "rank {} and rank 0 differ in whether the exchange is deterministic", rank);
  }
  return {};
}

Terms agree(const std::vector<Hello>& hellos, const Options& options) {
  Terms terms{.device = options.device, .patience = options.patience};
  std::uint64_t queue_bytes = 0;
  std::uint64_t spill_bytes = 0;
  for (const Hello& hello : hellos) {
    queue_bytes += hello.queue_bytes;
    spill_bytes += hello.spill_bytes;
  }
  if (options.deterministic) {
    queue_bytes /= 2;
    spill_bytes = 0;
  }
  const std::uint64_t chunks = std::max<std::uint64_t>(queue_bytes / detail::kChunkBytes, 1);
  terms.size = {.ranks = static_cast<std::uint32_t>(hellos.size()),
                .kinds = hellos.front().kinds,
                .device_chunks = static_cast<std::uint32_t>(chunks),
                .host_chunks = static_cast<std::uint32_t>(spill_bytes / detail::kChunkBytes)};
  if (options.deterministic) {
    for (std::uint32_t kind = 0; kind < terms.size.kinds; ++kind) {
      terms.size.keys_per_chunk = std::max(
          terms.size.keys_per_chunk, detail::items_per_chunk(hellos.front().cards[kind].size));
    }
  }
  return terms;
}

Terms with_kinds(Terms terms, std::span<const ItemType> types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    terms.kinds.bytes[i] = types[i].size;
    terms.kinds.per_chunk[i] = detail::items_per_chunk(types[i].size);
    terms.kinds.reduced[i] = types[i].form == godwit::detail::ItemForm::reduced;
  }
  return terms;
}

// Rank 0's part.
class Host {
 public:
  Host(Mail& mail, Rank ranks, std::span<const ItemType> types, const Options& options)
      : mail_(mail), types_(types), options_(options), hellos_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] Result<std::shared_ptr<Team>> receive(const Hello& mine, Deadline deadline) {
    auto team = gather(mine, deadline);
    if (team) {
      Status sent = invite(**team);
      if (!sent) team = tl::unexpected(std::move(sent).error());
    }
    if (!team) {
      const Welcome sorry{.verdict = Verdict::of(team.error())};
      for (Rank rank = 1; rank < ranks(); ++rank) mail_.send(rank, sorry);
    }
    return team;
  }

 private:
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(hellos_.size()); }

  Result<std::shared_ptr<Team>> gather(const Hello& mine, Deadline deadline) {
    GODWIT_CHECK(mine.verdict.status());
    hellos_[0] = mine;
    processes_[mine.process].push_back(0);
    for (Rank i = 1; i < ranks(); ++i) {
      GODWIT_TRY(const auto letter, mail_.receive<Hello>(deadline));
      GODWIT_CHECK(compare(mine, letter.message, letter.from));
      hellos_[static_cast<std::size_t>(letter.from)] = letter.message;
      processes_[letter.message.process].push_back(letter.from);
    }
    terms_ = with_kinds(agree(hellos_, options_), types_);
    std::vector<pid_t> others;
    for (auto& [process, members] : processes_) {
      std::sort(members.begin(), members.end());
      if (process != mine.process) others.push_back(process);
    }
    return Team::own(terms_, processes_[mine.process], others);
  }

  Status invite(Team& team) {
    Welcome welcome{.size = terms_.size};
    if (processes_.size() > 1) {
      GODWIT_TRY(welcome.invitation, team.invite());
    }
    for (const auto& [process, members] : processes_) {
      welcome.leader = members.front();
      welcome.locals = static_cast<std::uint32_t>(members.size());
      std::copy(members.begin(), members.end(), welcome.local.begin());
      for (const Rank rank : members) {
        if (rank == 0) continue;
        const bool near = members.front() == 0;
        welcome.ticket = near ? leave_team(team.shared_from_this()) : 0;
        mail_.send(rank, welcome);
      }
    }
    return {};
  }

  Mail& mail_;
  std::span<const ItemType> types_;
  const Options& options_;
  std::vector<Hello> hellos_;
  std::map<pid_t, std::vector<Rank>> processes_;
  Terms terms_;
};

// The part of all others.
Result<std::shared_ptr<Team>> be_guest(Mail& mail, Rank rank, const Hello& hello,
                                       std::span<const ItemType> types, const Options& options,
                                       Deadline deadline) {
  mail.send(0, hello);
  GODWIT_CHECK(hello.verdict.status());
  GODWIT_TRY(const auto letter, mail.receive<Welcome>(deadline));
  const Welcome& welcome = letter.message;
  GODWIT_CHECK(welcome.verdict.status());
  if (welcome.ticket != 0) return take_team(welcome.ticket);
  if (welcome.leader != rank) {
    GODWIT_TRY(const auto handed, mail.receive<Handover>(deadline));
    GODWIT_CHECK(handed.message.verdict.status());
    return take_team(handed.message.ticket);
  }
  const Terms terms = with_kinds(
      {.size = welcome.size, .device = options.device, .patience = options.patience}, types);
  const std::span local(welcome.local.data(),
                        std::min<std::size_t>(welcome.locals, welcome.local.size()));
  if (local.empty() || local.front() != rank) {
    return fail(ErrorCode::protocol_violation, "rank 0 invited rank {} as somebody else", rank);
  }
  auto team = Team::join(terms, local, welcome.invitation);
  for (const Rank other : local.subspan(1)) {
    Handover handover;
    if (team) {
      handover.ticket = leave_team(*team);
    } else {
      handover.verdict = Verdict::of(team.error());
    }
    mail.send(other, handover);
  }
  return team;
}

}  // namespace

std::span<const ItemType> mail_types() noexcept {
  // In the order of their tags.
  static constexpr std::array types{
      ItemType{.name = "cuda hello", .size = sizeof(Hello)},
      ItemType{.name = "cuda welcome", .size = sizeof(Welcome)},
      ItemType{.name = "cuda handover", .size = sizeof(Handover)},
  };
  return types;
}

Result<std::shared_ptr<Team>> set_up(Mail& mail, const Group& group,
                                     std::span<const ItemType> types, const Options& options) {
  if (group.ranks() > static_cast<Rank>(detail::kMaxRanks)) {
    return fail(ErrorCode::unsupported, "a cuda::Exchange has at most {} ranks on a GPU, not {}",
                detail::kMaxRanks, group.ranks());
  }
  const Deadline deadline = std::chrono::steady_clock::now() + options.patience;
  const Hello hello = introduce(types, options);
  if (group.rank() != 0) {
    return be_guest(mail, group.rank(), hello, types, options, deadline);
  }
  return Host(mail, group.ranks(), types, options).receive(hello, deadline);
}

}  // namespace godwit::cuda
