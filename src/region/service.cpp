#include "region/service.hpp"

#include <array>
#include <utility>
#include <vector>

#include "base/fail.hpp"

namespace godwit::region {
namespace {

constexpr std::size_t kGrantDescriptors = 2;  // the memory, the life page
constexpr std::size_t kMaxReasonBytes = 1024;

Error reason_of(const wire::Header& header, Bytes body) {
  const auto code = static_cast<ErrorCode>(header.aux);
  return {code == ErrorCode::none ? ErrorCode::protocol_violation : code,
          std::string(text_of(body.first(std::min(body.size(), kMaxReasonBytes))))};
}

}  // namespace

RegionService::~RegionService() {
  while (!questions_.empty()) {
    end(questions_.begin()->first, fail(ErrorCode::shutting_down, "this process is shutting down"));
  }
}

// --- Asking -------------------------------------------------------------------------------------

void RegionService::map(const ShardKey& wanted, Duration at_most, Done done) {
  if (questions_.size() >= kMaxQuestions) {
    return done(
        fail(ErrorCode::overload, "{} shards have been asked for already", questions_.size()));
  }
  if (wanted.home == engine_.options().self) {
    return done(fail(ErrorCode::unsupported, "shard {} of region {} is this process's own",
                     wanted.shard, to_hex(wanted.region)));
  }
  const std::uint64_t id = next_id_++;
  const TimerId timer = scheduler_.post_at(scheduler_.now() + at_most, [this, id, at_most] {
    end(id, fail(ErrorCode::deadline, "the shard's home did not answer within {} ms",
                 std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count()));
  });
  questions_.emplace(id, Question{wanted, timer, std::move(done)});
  engine_.send_or_dial(
      wanted.home,
      wire::Header{
          .kind = wire::Kind::ask_region, .aux = wanted.shard, .id = id, .subject = wanted.region},
      {});
}

bool RegionService::on_message(NodeId from, const wire::Header& header, Bytes body) {
  if (header.kind == wire::Kind::ask_region) {
    answer(from, header);
    return true;
  }
  if (header.kind != wire::Kind::region) return false;
  const auto question = questions_.find(header.id);
  if (question != questions_.end() && question->second.key.home == from) {
    end(header.id, tl::unexpected(reason_of(header, body)));
  }
  return true;
}

void RegionService::on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                                   std::span<fabric::Fd> descriptors) {
  if (header.kind != wire::Kind::region) return;
  const auto question = questions_.find(header.id);
  if (question == questions_.end() || question->second.key.home != from) return;  // late
  end(header.id, accept(question->second.key, body, descriptors));
}

Result<std::shared_ptr<const MappedShard>> RegionService::accept(
    const ShardKey& key, Bytes body, std::span<fabric::Fd> descriptors) {
  GODWIT_TRY(const wire::RegionGrant grant, wire::parse_region_grant(body));
  if (descriptors.size() != kGrantDescriptors) {
    return fail(ErrorCode::protocol_violation,
                "a grant of a shard came with {} descriptors, not {}", descriptors.size(),
                kGrantDescriptors);
  }
  return MappedShard::create(key, grant, descriptors[0], descriptors[1]);
}

void RegionService::on_lost(NodeId node, const Error& why) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, question] : questions_) {
    if (question.key.home == node) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) end(id, tl::unexpected(why));
}

void RegionService::end(std::uint64_t id, Result<std::shared_ptr<const MappedShard>> result) {
  const auto it = questions_.find(id);
  if (it == questions_.end()) return;
  Question question = std::move(it->second);
  questions_.erase(it);
  scheduler_.cancel(question.timer);
  question.done(std::move(result));
}

// --- Answering ----------------------------------------------------------------------------------

void RegionService::answer(NodeId asker, const wire::Header& question) {
  if (const Status granted = grant(asker, question); !granted) {
    engine_.send_or_dial(asker,
                         wire::Header{.kind = wire::Kind::region,
                                      .aux = static_cast<std::uint32_t>(granted.error().code),
                                      .id = question.id},
                         bytes_of(granted.error().message));
  }
}

Status RegionService::grant(NodeId asker, const wire::Header& question) {
  GODWIT_TRY(const KnownRegionPtr region, table_.region(question.subject));
  const std::string& name = region->descriptor.name;
  if (region->own != question.aux) {
    return fail(ErrorCode::not_found, "this node has no shard {} of region '{}'", question.aux,
                name);
  }
  if (!region->why_lost.empty()) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' is lost: {}", question.aux, name,
                region->why_lost);
  }
  if (region->shard == nullptr) {
    return fail(ErrorCode::node_lost, "shard {} of region '{}' was lost when its node ended",
                question.aux, name);
  }
  GODWIT_TRY(const Shard::Shared shared, region->shard->share());
  GODWIT_TRY(const fabric::Fd life, table_.store()->share_life());
  const std::array<int, kGrantDescriptors> descriptors{shared.memory.get(), life.get()};
  const Status sent =
      engine_.send_descriptors(asker, wire::Header{.kind = wire::Kind::region, .id = question.id},
                               bytes_of_value(shared.grant), descriptors);
  if (!sent && sent.error().code == ErrorCode::unreachable) {
    return fail(ErrorCode::unsupported, "region '{}' is mapped over shm links only: {}", name,
                sent.error().message);
  }
  return sent;
}

}  // namespace godwit::region
