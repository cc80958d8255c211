#include "forward/cuda/setup.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/fail.hpp"
#include "forward/cuda/roster.hpp"
#include "forward/cuda/tickets.hpp"

namespace godwit::cuda {
namespace {

// What the first rank of a team answers the others.
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

// What a rank knows when the roll has been called.
struct Parts {
  Mail& mail;
  Rank rank = 0;
  const Roster& roster;
  std::span<const ItemType> types;
  const Options& options;
  std::array<bool, detail::kMaxRanks> readable{};

  [[nodiscard]] const Hello& hello(Rank of) const { return *roster[static_cast<std::size_t>(of)]; }
  // The ranks of this one's team, itself among them.
  [[nodiscard]] std::vector<Rank> team() const {
    std::vector<Rank> ranks;
    for (Rank other = 0; other < static_cast<Rank>(roster.size()); ++other) {
      const auto& one = roster[static_cast<std::size_t>(other)];
      if (one && one->shares_memory_with(hello(rank))) ranks.push_back(other);
    }
    return ranks;
  }
};

// All but the size of the memory.
Terms common_terms(const Parts& parts) {
  Terms terms{.readable = parts.readable,
              .device = parts.options.device,
              .patience = parts.options.patience};
  for (const Rank rank : parts.team()) {
    terms.inside[static_cast<std::size_t>(rank)] = true;
    ++terms.members;
  }
  for (std::size_t i = 0; i < parts.types.size(); ++i) {
    const ItemType& type = parts.types[i];
    terms.kinds.bytes[i] = type.size;
    terms.kinds.per_chunk[i] = detail::items_per_chunk(type.size);
    terms.kinds.reduced[i] = type.form == godwit::detail::ItemForm::reduced;
  }
  return terms;
}

Terms terms_of_team(const Parts& parts) {
  Terms terms = common_terms(parts);
  const bool deterministic = parts.options.deterministic;
  std::uint64_t queue_bytes = 0;
  std::uint64_t spill_bytes = 0;
  for (const Rank rank : parts.team()) {
    queue_bytes += parts.hello(rank).queue_bytes;
    spill_bytes += parts.hello(rank).spill_bytes;
  }
  if (deterministic) {
    queue_bytes /= 2;
    spill_bytes = 0;
  }
  const std::uint64_t chunks = std::max<std::uint64_t>(queue_bytes / detail::kChunkBytes, 1);
  terms.size = {.ranks = static_cast<std::uint32_t>(parts.roster.size()),
                .kinds = static_cast<std::uint32_t>(parts.types.size()),
                .device_chunks = static_cast<std::uint32_t>(chunks),
                .host_chunks = static_cast<std::uint32_t>(spill_bytes / detail::kChunkBytes)};
  for (std::uint32_t kind = 0; kind < terms.size.kinds && deterministic; ++kind) {
    terms.size.keys_per_chunk = std::max(terms.size.keys_per_chunk, terms.kinds.per_chunk[kind]);
  }
  return terms;
}

// The part of a team's first rank.
class Host {
 public:
  explicit Host(const Parts& parts) : parts_(parts), ranks_(parts.team()) {
    for (const Rank rank : ranks_) processes_[parts.hello(rank).process].push_back(rank);
  }

  [[nodiscard]] Result<std::shared_ptr<Team>> receive() {
    auto team = found();
    if (team) {
      Status sent = invite(**team);
      if (!sent) team = tl::unexpected(std::move(sent).error());
    }
    if (!team) {
      const Welcome sorry{.verdict = Verdict::of(team.error())};
      for (const Rank rank : ranks_) {
        if (rank != parts_.rank) parts_.mail.send(rank, sorry);
      }
    }
    return team;
  }

 private:
  [[nodiscard]] pid_t mine() const { return parts_.hello(parts_.rank).process; }

  Result<std::shared_ptr<Team>> found() {
    terms_ = terms_of_team(parts_);
    std::vector<pid_t> others;
    for (const auto& [process, members] : processes_) {
      if (process != mine()) others.push_back(process);
    }
    return Team::own(terms_, processes_[mine()], others);
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
        if (rank == parts_.rank) continue;
        welcome.ticket = process == mine() ? leave_team(team.shared_from_this()) : 0;
        parts_.mail.send(rank, welcome);
      }
    }
    return {};
  }

  const Parts& parts_;
  std::vector<Rank> ranks_;
  std::map<pid_t, std::vector<Rank>> processes_;  // ranks in order
  Terms terms_;
};

// The part of all others.
Result<std::shared_ptr<Team>> be_guest(const Parts& parts) {
  GODWIT_TRY(const auto letter, parts.mail.receive<Welcome>());
  const Welcome& welcome = letter.message;
  GODWIT_CHECK(welcome.verdict.status());
  if (welcome.ticket != 0) return take_team(welcome.ticket);
  if (welcome.leader != parts.rank) {
    GODWIT_TRY(const auto handed, parts.mail.receive<Handover>());
    GODWIT_CHECK(handed.message.verdict.status());
    return take_team(handed.message.ticket);
  }
  const std::span local(welcome.local.data(),
                        std::min<std::size_t>(welcome.locals, welcome.local.size()));
  if (local.empty() || local.front() != parts.rank) {
    return fail(ErrorCode::protocol_violation, "rank {} invited rank {} as somebody else",
                letter.from, parts.rank);
  }
  Terms terms = common_terms(parts);
  terms.size = welcome.size;
  auto team = Team::join(terms, local, welcome.invitation);
  for (const Rank other : local.subspan(1)) {
    Handover handover;
    if (team) {
      handover.ticket = leave_team(*team);
    } else {
      handover.verdict = Verdict::of(team.error());
    }
    parts.mail.send(other, handover);
  }
  return team;
}

}  // namespace

Result<std::shared_ptr<Team>> set_up(forward::Outpost& outpost, const Group& group,
                                     std::span<const ItemType> types, const Options& options) {
  Mail mail(outpost);
  Hello hello = introduce(options);
  if (group.ranks() > static_cast<Rank>(detail::kMaxRanks)) {
    hello.verdict = Verdict::of(
        {ErrorCode::unsupported, fmt::format("an exchange with ranks on GPUs has at most {} ranks, "
                                             "not {}",
                                             detail::kMaxRanks, group.ranks())});
  }
  GODWIT_TRY(const Roster roster, call_the_roll(mail, outpost, group.rank(), group.ranks(), hello));
  Parts parts{mail, group.rank(), roster, types, options};
  const std::vector<Rank> team = parts.team();
  if (options.deterministic && static_cast<Rank>(team.size()) < group.ranks()) {
    return fail(ErrorCode::unsupported,
                "a deterministic exchange is for ranks that share one GPU, or are all on CPUs: of "
                "{} ranks {} share the GPU of rank {}",
                group.ranks(), team.size(), group.rank());
  }
  parts.readable = reach_peers(roster, hello);
  return team.front() == group.rank() ? Host(parts).receive() : be_guest(parts);
}

}  // namespace godwit::cuda
