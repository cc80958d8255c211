// What a runtime tells operators: functions that outlive their deadlines, and its status.
#include <unistd.h>

#include <variant>

#include "base/fail.hpp"
#include "node/runtime.hpp"
#include "ref/home/elsewhere.hpp"
#include "trace/json.hpp"

namespace godwit::node {
namespace {

double in_s(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void write_objects(trace::Json& status, ref::ObjectStore& store) {
  const ref::ObjectStore::Stats stats = store.stats();
  const ref::Arena::Use use = store.arena().use();
  status.key("objects").open('{').field("count", stats.objects);
  status.field("used_bytes", use.used_bytes).field("held_bytes", use.held_bytes);
  status.field("budget_bytes", store.arena().budget_bytes()).field("segments", use.segments);
  status.field("pins", stats.pins).field("borrows", stats.borrows);
  status.field("reservations", stats.reservations).field("waiters", stats.waiters);
  status.field("holders", stats.holders).close('}');
}

void write_channels(trace::Json& status, const ref::ChannelSet& channels,
                    const ref::ObjectStore* store) {
  using Way = ref::NamedChannel::Way;
  status.key("channels").open('[');
  for (const auto& channel : channels.all()) {
    status.open('{').field("name", channel->name());
    status.field("where", channel->channel().describe()).field("healthy", channel->healthy());
    if (const std::string trouble = channel->trouble(); !trouble.empty()) {
      status.field("trouble", trouble);
    }
    for (const auto& [way, name] : {std::pair(Way::put, "put"), std::pair(Way::get, "get")}) {
      const ref::MeasuredCost cost = channel->cost(way);
      status.key(name).open('{').field("count", cost.count());
      status.field("fixed_us", cost.cost().fixed_us).field("us_per_mb", cost.cost().us_per_mb);
      status.close('}');
    }
    status.close('}');
  }
  status.close(']');
  if (store == nullptr || store->channels() == nullptr) return;
  const ref::HomeChannels::Stats stats = store->channels()->stats();
  status.key("channel_removals").open('{').field("pending", stats.pending);
  status.field("removed", stats.removed).field("failed", stats.failed);
  status.field("dropped", stats.dropped).close('}');
}

void count_objects(trace::Json& counters, const ref::ObjectStore& store) {
  const ref::ObjectStore::Stats stats = store.stats();
  counters.field("objects_put", stats.puts).field("objects_resolved", stats.resolves);
  counters.field("objects_evicted", stats.evictions).field("objects_expired", stats.expired);
  counters.field("object_holders_lost", stats.holders_lost);
}

}  // namespace

void Runtime::on_overdue(const call::OverdueFunction& function) {
  overdue_ever_.add();
  overdue_now_.add(1);
  log_.warn(
      "function {} of '{}', called by {}, has run for {:.1f} s and is {:.1f} s past its deadline: "
      "it keeps a worker until it returns",
      function.function, function.bundle, function.caller, in_s(function.running),
      in_s(function.overdue));
}

void Runtime::on_overdue_ended(const call::OverdueFunction& function) {
  overdue_now_.add(-1);
  log_.warn(
      "function {} of '{}', called by {}, returned after {:.1f} s, {:.1f} s past its deadline",
      function.function, function.bundle, function.caller, in_s(function.running),
      in_s(function.overdue));
}

void Runtime::on_status(trace::Json& status) {
  status.field("pid", ::getpid()).field("addresses", addresses_);
  status.field("machine", options_.target.arch).field("cpu", options_.target.cpu);
  status.field("has_jit", options_.target.has_jit);
  status.key("workers").open('{').field("limit", options_.pool.width);
  status.field("queued", executor_->queued()).field("blocked", executor_->blocked());
  status.field("blocked_limit", options_.pool.max_blocked).close('}');
  regions_->write_status(status);
  if (object_store_ != nullptr) write_objects(status, *object_store_);
  if (options_.channels != nullptr && !options_.channels->empty()) {
    write_channels(status, *options_.channels, object_store_.get());
  }
}

void Runtime::on_status_counters(trace::Json& counters) {
  if (object_store_ != nullptr) count_objects(counters, *object_store_);
  for (const trace::Sample& sample : counters_.snapshot()) {
    if (const auto* count = std::get_if<std::uint64_t>(&sample.value)) {
      counters.field(sample.name, *count);
    } else if (const auto* level = std::get_if<std::int64_t>(&sample.value)) {
      counters.field(sample.name, *level);
    }
  }
}

std::vector<Result<std::string>> Runtime::status_of(const std::vector<NodeId>& nodes,
                                                    std::chrono::nanoseconds at_most) {
  std::vector<Result<std::string>> answers(nodes.size());
  if (nodes.empty()) return answers;
  fabric::Waiter all_answered;
  std::size_t missing = nodes.size();
  run_as_owner([&] {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      status_queries_->ask(nodes[i], at_most, [&, i](Result<std::string> answer) {
        answers[i] = std::move(answer);
        if (--missing == 0) all_answered.complete();
      });
    }
  });
  // Each question has a timer, so this ends.
  reactor_->wait(all_answered, fabric::kNever);
  return answers;
}

}  // namespace godwit::node
