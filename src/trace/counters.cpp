#include "trace/counters.hpp"

namespace godwit::trace {
namespace {

Sample sample_of(const std::string& name, const std::string& help, const Counter& counter) {
  return {name, help, counter.value()};
}
Sample sample_of(const std::string& name, const std::string& help, const Gauge& gauge) {
  return {name, help, gauge.value()};
}
Sample sample_of(const std::string& name, const std::string& help, const Histogram& histogram) {
  return {name, help, histogram.snapshot()};
}

}  // namespace

template <class Object>
Object& CounterSet::find_or_add(std::string_view name, std::string_view help, Object& spare) {
  const std::lock_guard lock(mutex_);
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    if (entries_.size() >= kMaxNames) {
      names_dropped_.add();
      return spare;
    }
    found =
        entries_.emplace(std::string(name), Entry{std::string(help), std::make_unique<Object>()})
            .first;
  }
  if (const auto* object = std::get_if<std::unique_ptr<Object>>(&found->second.object)) {
    return **object;
  }
  names_dropped_.add();
  return spare;
}

Counter& CounterSet::counter(std::string_view name, std::string_view help) {
  return find_or_add(name, help, spare_counter_);
}

Gauge& CounterSet::gauge(std::string_view name, std::string_view help) {
  return find_or_add(name, help, spare_gauge_);
}

Histogram& CounterSet::histogram(std::string_view name, std::string_view help) {
  return find_or_add(name, help, spare_histogram_);
}

std::vector<Sample> CounterSet::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> samples;
  samples.reserve(entries_.size() + 1);
  for (const auto& named : entries_) {
    const Entry& entry = named.second;
    std::visit(
        [&](const auto& object) { samples.push_back(sample_of(named.first, entry.help, *object)); },
        entry.object);
  }
  if (names_dropped_.value() > 0) {
    samples.push_back({"counter_names_dropped", "Counters that found no room under their own name",
                       names_dropped_.value()});
  }
  return samples;
}

}  // namespace godwit::trace
