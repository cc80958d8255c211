#include "interleave.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace godwit::bench {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Sample median_of(std::span<const Sample> samples) {
  const auto median_field = [&](double Sample::* field) {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.*field);
    return median(std::move(values));
  };
  Sample result;
  result.p50_us = median_field(&Sample::p50_us);
  result.p99_us = median_field(&Sample::p99_us);
  result.p999_us = median_field(&Sample::p999_us);
  result.mean_us = median_field(&Sample::mean_us);
  result.rate_per_s = median_field(&Sample::rate_per_s);
  for (const Sample& sample : samples) result.rounds += sample.rounds;
  return result;
}

Result<std::vector<Sample>> interleave(std::span<const Measure> contenders, const Effort& effort) {
  std::vector<std::vector<Sample>> samples(contenders.size());
  const std::uint64_t until_ns =
      floors::now_ns() + static_cast<std::uint64_t>(effort.seconds * 1e9);
  for (std::size_t round = 0; round < effort.max_rounds; ++round) {
    if (round >= effort.min_rounds && floors::now_ns() >= until_ns) break;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      GODWIT_TRY(const Sample sample, contenders[i]());
      samples[i].push_back(sample);
    }
  }
  std::vector<Sample> medians;
  for (const auto& of_one : samples) medians.push_back(median_of(of_one));
  return medians;
}

}  // namespace godwit::bench
