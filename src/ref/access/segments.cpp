#include "ref/access/segments.hpp"

#include <array>

#include "base/fail.hpp"
#include "wire/object.hpp"

namespace godwit::ref {
namespace {

constexpr std::uint32_t kToWrite = 1;

Result<SegmentMap::Mapped> accept(SegmentMap& map, const SegmentKey& key,
                                  const call::Grants::Granted& granted) {
  GODWIT_TRY(const wire::SegmentGrant grant, wire::parse_segment_grant(granted.body));
  if (granted.descriptors.size() != 1 || grant.segment != key.segment) {
    return fail(ErrorCode::protocol_violation,
                "a grant of segment {} came with {} descriptors, for segment {}", key.segment,
                granted.descriptors.size(), grant.segment);
  }
  return map.map(key, granted.descriptors[0], grant.size);
}

}  // namespace

SegmentExchange::SegmentExchange(call::Engine& engine, Scheduler& scheduler, SegmentMap& map,
                                 const Own& own)
    : engine_(engine),
      map_(map),
      own_(own),
      grants_(
          engine, scheduler, {wire::Kind::ask_segment, wire::Kind::segment},
          [this](NodeId asker, const wire::Header& question) { return grant(asker, question); }) {}

void SegmentExchange::map(const SegmentKey& wanted, Duration at_most, Done done) {
  const bool writes = wanted.access == fabric::Access::write;
  grants_.ask(
      wanted.home, wire::Header{.aux = writes ? kToWrite : 0, .subject = wanted.segment}, at_most,
      [this, wanted, done = std::move(done)](Result<call::Grants::Granted> granted) mutable {
        if (!granted) return done(tl::unexpected(std::move(granted).error()));
        done(accept(map_, wanted, *granted));
      });
}

void SegmentExchange::map_currency(NodeId home, Duration at_most, CurrencyDone done) {
  const auto open =
      [](const call::Grants::Granted& granted) -> Result<std::shared_ptr<const HomeCurrency>> {
    if (granted.descriptors.size() != 2) {
      return fail(ErrorCode::protocol_violation, "a home's words came with {} descriptors",
                  granted.descriptors.size());
    }
    GODWIT_TRY(HomeCurrency currency,
               HomeCurrency::open(granted.descriptors[0], granted.descriptors[1]));
    return std::make_shared<const HomeCurrency>(std::move(currency));
  };
  grants_.ask(home, wire::Header{.subject = wire::kCurrencySegment}, at_most,
              [open, done = std::move(done)](Result<call::Grants::Granted> granted) mutable {
                if (!granted) return done(tl::unexpected(std::move(granted).error()));
                done(open(*granted));
              });
}

Status SegmentExchange::grant(NodeId asker, const wire::Header& question) {
  if (own_.arena == nullptr) {
    return fail(ErrorCode::unsupported, "this process is the home of no objects");
  }
  // Also said of segments that there are not: whoever asks for one learns what can be had.
  if (!engine_.carries_descriptors_to(asker)) {
    return fail(ErrorCode::unsupported, "objects are mapped over shm links only");
  }
  if (question.subject == wire::kCurrencySegment) {
    if (own_.currency == nullptr) {
      return fail(ErrorCode::unsupported, "this home answers each time it is asked");
    }
    GODWIT_TRY(const Currency::Shared shared, own_.currency->share());
    return send(asker, question, Currency::kBytes,
                std::array{shared.words.get(), shared.life.get()});
  }
  const auto access = question.aux == kToWrite ? fabric::Access::write : fabric::Access::read;
  GODWIT_TRY(const Arena::Shared shared, own_.arena->share(question.subject, access));
  return send(asker, question, shared.size, std::array{shared.memory.get()});
}

Status SegmentExchange::send(NodeId asker, const wire::Header& question, std::uint64_t size,
                             std::span<const int> descriptors) {
  const wire::SegmentGrant grant{.segment = question.subject, .size = size};
  return engine_.send_descriptors(asker,
                                  wire::Header{.kind = wire::Kind::segment, .id = question.id},
                                  bytes_of_value(grant), descriptors);
}

}  // namespace godwit::ref
