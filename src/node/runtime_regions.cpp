// What a runtime does for regions: makes their parts and brings them the fleet's news.
#include <utility>

#include "node/runtime.hpp"

namespace godwit::node {

void Runtime::make_regions() {
  if (options_.shards) {
    region::ShardStore::Options options = *options_.shards;
    // Only the owner may offload, and memory is let go of by whoever had it last.
    options.dispose = [reactor = reactor_.get()](Task task) {
      reactor->post([reactor, task = std::move(task)]() mutable {
        reactor->offload(std::move(task), [] {});
      });
    };
    shards_ = std::make_unique<region::ShardStore>(std::move(options));
  }
  regions_ = std::make_unique<region::RegionTable>(
      region::RegionTable::Self{options_.id, options_.epoch, options_.name}, shards_.get());
  engine_->set_regions(regions_.get());
  region_service_ = std::make_unique<region::RegionService>(*engine_, *reactor_, *regions_);
}

// A node may have to make memory, which takes its time; a client only remembers. What comes while
// another piece of news is being followed waits, the last of each name: order matters.
void Runtime::on_region_news(const fleet::NameEntry& name) {
  if (!name.key.starts_with(wire::kRegionKeyPrefix)) return;
  if (shards_ == nullptr) return hear(name);
  region_news_[name.key] = name;
  if (!std::exchange(hearing_, true)) hear_next();
}

void Runtime::hear_next() {
  const auto next = region_news_.begin();
  hearing_ = next != region_news_.end();
  if (!hearing_) return;
  reactor_->offload([this, name = std::move(next->second)] { hear(name); },
                    [this] { hear_next(); });
  region_news_.erase(next);
}

void Runtime::hear(const fleet::NameEntry& name) {
  const std::string region = name.key.substr(wire::kRegionKeyPrefix.size());
  const Status heard = name.erased ? regions_->hear_erased(region) : regions_->hear(name.value);
  if (!heard) {
    log_.warn("what the fleet says of region '{}' cannot be followed: {}", region,
              heard.error().message);
  }
}

}  // namespace godwit::node
