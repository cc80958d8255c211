#include "ref/channel/choice.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace godwit::ref {

MeasuredCost MeasuredCost::as_of(Clock::time_point now) const noexcept {
  MeasuredCost known = *this;
  if (small_ != 0 && now - small_at_ > kGoodFor) {
    known.cost_.fixed_us = guess_.fixed_us;
    known.small_ = 0;
  }
  if (large_ != 0 && now - large_at_ > kGoodFor) {
    known.cost_.us_per_mb = guess_.us_per_mb;
    known.large_ = 0;
  }
  return known.count() != 0 || count() == 0 ? known : MeasuredCost(guess_);
}

void MeasuredCost::add(std::uint64_t bytes, double us, Clock::time_point now) noexcept {
  *this = as_of(now);
  (bytes < kLargeBytes ? small_at_ : large_at_) = now;
  last_bytes_ = bytes;
  last_us_ = us;
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const auto follow = [](double& value, double newest, std::uint64_t before) {
    value = before == 0 ? newest : value + kWeight * (newest - value);
  };
  if (bytes < kLargeBytes) {
    follow(cost_.fixed_us, std::max(0.0, us - cost_.us_per_mb * megabytes), small_++);
    return;
  }
  // A guess that was too high would make large ones free.
  if (small_ == 0) cost_.fixed_us = std::min(cost_.fixed_us, us / 2);
  follow(cost_.us_per_mb, std::max(0.0, us - cost_.fixed_us) / megabytes, large_++);
}

bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last one, and what it stood for so far
  std::size_t from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool fits_host(const ChannelPolicy& policy, std::string_view host) noexcept {
  return policy.hosts.empty() ||
         std::any_of(policy.hosts.begin(), policy.hosts.end(),
                     [&](const std::string& pattern) { return matches(pattern, host); });
}

std::string misfit(const ChannelPolicy& policy, const PutFacts& facts) {
  if (facts.size < policy.min_size) {
    return fmt::format("{} bytes are below its min_size of {}", facts.size, policy.min_size);
  }
  if (facts.size > policy.max_size) {
    return fmt::format("{} bytes are beyond its max_size of {}", facts.size, policy.max_size);
  }
  if (!fits_host(policy, facts.host)) {
    return fmt::format("host {} is none of {}", facts.host, fmt::join(policy.hosts, "|"));
  }
  for (const std::string& tag : policy.tags) {
    if (std::find(facts.tags.begin(), facts.tags.end(), tag) == facts.tags.end()) {
      return fmt::format("the object lacks its tag '{}'", tag);
    }
  }
  return {};
}

std::vector<std::size_t> order_for_put(std::span<const PutCandidate> candidates,
                                       const PutFacts& facts) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const PutCandidate& candidate = candidates[i];
    if (candidate.policy == nullptr ||
        (candidate.healthy && misfit(*candidate.policy, facts).empty()))
      order.push_back(i);
  }
  const auto priority = [&](std::size_t i) {
    return candidates[i].policy == nullptr ? 0 : candidates[i].policy->priority;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    return candidates[a].expected_us < candidates[b].expected_us;
  });
  return order;
}

}  // namespace godwit::ref
