#include "region/store.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "godwit/sharding.hpp"

namespace godwit::region {

ShardStore::ShardStore(Options options)
    : options_(std::move(options)), budget_(std::make_shared<Budget>(options_.budget_bytes)) {}

Result<std::shared_ptr<Shard>> ShardStore::create(const wire::RegionDescriptor& region,
                                                  std::uint32_t number, FileUse use) {
  const std::vector<std::uint32_t> placement = region.placement();
  const ShardMap map(region.map, placement.data());
  std::unique_ptr<Shard> shard(new Shard);
  shard->region_ = region.id;
  shard->name_ = region.name;
  shard->number_ = number;
  shard->element_size_ = region.element_size;
  shard->budget_ = budget_;
  if (region.in_files) {
    GODWIT_TRY(ShardFile file, ShardFile::open(options_.directory, region, number, use));
    shard->segment_ = std::move(file.segment);
    shard->file_ = std::move(file.path);
    shard->found_ = file.found;
    shard->data_offset_ = ShardFile::kDataOffset;
  } else {
    // A shard may have to hold nothing at all; a segment has at least one element's room.
    const std::uint64_t capacity_bytes =
        std::max<std::uint64_t>(map.shard_elements(number, region.map.capacity), 1) *
        region.element_size;
    GODWIT_TRY(shard->segment_,
               fabric::Segment::create(fmt::format("godwit-region-{}.{}", region.name, number),
                                       capacity_bytes));
  }
  shard->data_ = shard->segment_.data() + shard->data_offset_;
  const std::uint64_t kept = shard->segment_.used_bytes() > shard->data_offset_
                                 ? shard->segment_.used_bytes() - shard->data_offset_
                                 : 0;
  shard->elements_.store(kept / region.element_size);
  if (Status grown = shard->grow(map.shard_elements(number, region.elements)); !grown) {
    shard->undo();  // what was only just made for nothing does not stay behind
    return tl::unexpected(std::move(grown).error());
  }
  shard->set_state(region.state);
  if (!options_.dispose) return std::shared_ptr<Shard>(std::move(shard));
  return std::shared_ptr<Shard>(shard.release(), [dispose = options_.dispose](Shard* last) {
    dispose([owned = std::unique_ptr<Shard>(last)]() mutable { owned.reset(); });
  });
}

Result<fabric::Fd> ShardStore::share_life() {
  const std::lock_guard lock(life_mutex_);
  if (life_ == nullptr) {
    GODWIT_TRY(life_, fabric::LifeWord::create());
  }
  return life_->share();
}

}  // namespace godwit::region
