#include "storage/archive.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/fail.hpp"
#include "calls.hpp"

namespace godwit::bench {
namespace {

using storage::Record;
using storage::Summary;

constexpr std::uint64_t kRecordsPerStore = std::uint64_t{1} << 16U;
constexpr std::uint64_t kRecordsPerSelect = std::uint64_t{1} << 14U;  // 1 MiB, if all match
constexpr std::size_t kSelectsInFlight = 8;

void add_matching(std::span<const Record> records, std::uint32_t bound, Summary& summary) {
  for (const Record& record : records) {
    if (record.key <= bound) summary.add(record);
  }
}

Status fill(const Archive::Records& region, std::uint64_t records) {
  std::vector<Record> some;
  for (std::uint64_t first = 0; first < records; first += some.size()) {
    some.resize(std::min(kRecordsPerStore, records - first));
    for (std::uint64_t i = 0; i < some.size(); ++i) some[i] = Record::of(first + i);
    GODWIT_CHECK(check(region.store(first, some)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Archive>> Archive::create(Fleet& fleet, std::uint64_t records,
                                                 const PullOptions& pull) {
  GODWIT_TRY(const Bundle bundle, open_bundle("bench_storage.gdw"));
  GODWIT_TRY(auto summarise, bundle.function<Summary(ops::TreePart, std::uint32_t)>("summarise"));
  GODWIT_TRY(auto select,
             bundle.function<std::vector<Record>(std::uint64_t, std::uint64_t, std::uint64_t,
                                                 std::uint32_t)>("select"));
  GODWIT_TRY(Records region,
             Records::create(fleet, "archive", {.elements = records, .in_files = true}));
  std::unique_ptr<Archive> archive(
      new Archive(std::move(region), std::move(summarise), std::move(select), pull));
  GODWIT_CHECK(fill(archive->records_, records));
  return archive;
}

Archive::~Archive() {
  static_cast<void>(records_.drop());
}

Summary Archive::expected(std::uint32_t bound) const {
  Summary summary;
  for (std::uint64_t i = 0; i < records_.size(); ++i) {
    const Record record = Record::of(i);
    add_matching({&record, 1}, bound, summary);
  }
  return summary;
}

Result<Asked> Archive::ask(Way way, std::uint32_t bound) const {
  Asked asked;
  const std::uint64_t begin_ns = floors::now_ns();
  switch (way) {
    case Way::at_data: {
      const auto summary = ops::fold(records_, summarise_, bound).get();
      GODWIT_CHECK(check(summary));
      asked.summary = *summary;
      asked.bytes = sizeof(Summary);
      break;
    }
    case Way::select: GODWIT_CHECK(select(bound, asked)); break;
    case Way::pull: GODWIT_CHECK(pull(bound, asked)); break;
  }
  asked.seconds = static_cast<double>(floors::now_ns() - begin_ns) / 1e9;
  return asked;
}

// Parts of the shards are filtered while earlier answers are summed up.
Status Archive::select(std::uint32_t bound, Asked& asked) const {
  const auto shards = records_.describe().shards;
  const auto homes = detail::homes_of(records_.handle());
  std::deque<Future<std::vector<Record>>> answers;
  const auto take = [&]() -> Status {
    const auto answer = answers.front().get();
    answers.pop_front();
    GODWIT_CHECK(check(answer));
    add_matching(*answer, bound, asked.summary);
    asked.bytes += answer->size() * sizeof(Record);
    return {};
  };
  for (std::uint64_t first = 0; first < shards.front().elements; first += kRecordsPerSelect) {
    for (const ShardDescription& shard : shards) {
      if (answers.size() == kSelectsInFlight) GODWIT_CHECK(take());
      answers.push_back(
          select_.on(homes[shard.shard])(records_.handle().id(), first, kRecordsPerSelect, bound));
    }
  }
  while (!answers.empty()) GODWIT_CHECK(take());
  return {};
}

// Chunks are on their way while earlier ones are summed up.
Status Archive::pull(std::uint32_t bound, Asked& asked) const {
  const Records there = records_.through(Reach::message);
  const std::uint64_t records = there.size();
  const std::uint64_t per_chunk = std::max<std::uint64_t>(1, pull_.chunk_bytes / sizeof(Record));
  std::deque<Future<std::vector<Record>>> chunks;
  for (std::uint64_t next = 0; next < records || !chunks.empty();) {
    while (next < records && chunks.size() < pull_.in_flight) {
      const std::uint64_t count = std::min(per_chunk, records - next);
      chunks.push_back(there.get(next, count));
      next += count;
    }
    const auto chunk = chunks.front().get();
    chunks.pop_front();
    GODWIT_CHECK(check(chunk));
    add_matching(*chunk, bound, asked.summary);
    asked.bytes += chunk->size() * sizeof(Record);
  }
  return {};
}

}  // namespace godwit::bench
