#include "fabric/sim/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fabric/sim/process.hpp"

namespace godwit::fabric::sim {

std::string_view to_string(What what) noexcept {
  switch (what) {
    case What::driver: return "driver";
    case What::task: return "task";
    case What::timer: return "timer";
    case What::loaded: return "loaded";
    case What::arrive: return "arrive";
    case What::up: return "up";
    case What::down: return "down";
    case What::message: return "message";
    case What::gather: return "gather";
    case What::sent: return "sent";
    case What::timeout: return "timeout";
    case What::turn: return "turn";
  }
  return "unknown";
}

Timeline::Timeline(std::uint64_t seed, const Options& options, Random& random)
    : options_(options), random_(random), seed_(seed), trace_hash_(mix64(seed)) {}

EventHandle Timeline::schedule(Event event) {
  if (event.target != nullptr && !event.target->alive()) return {};
  if (queue_.size() >= options_.max_waiting_events) {
    violation(fmt::format("{} events wait, more than max_waiting_events allows", queue_.size()));
  }
  event.at = std::max(event.at, now_);
  return queue_.push(std::move(event));
}

EventHandle Timeline::after(Duration delay, Event event) {
  event.at = now_ + delay;
  return schedule(std::move(event));
}

void Timeline::cancel(EventHandle handle) {
  // Moved out first: the task's destructor may schedule or cancel in turn.
  const Task cancelled = queue_.cancel(handle);
}

bool Timeline::step() {
  if (queue_.empty()) return false;
  const EventHandle handle = queue_.pop();
  now_ = std::max(now_, queue_.at(handle).at);
  stepping_ = true;
  Process* target = queue_.at(handle).target;
  if (target != nullptr && (now_ < target->pace().busy_until || !target->pace().held.empty())) {
    hold(handle, *target);
  } else {
    run(handle);
  }
  stepping_ = false;
  return true;
}

void Timeline::run(EventHandle handle) {
  Event event = std::move(queue_.at(handle));
  queue_.release(handle);
  if (!event.task) return;  // cancelled while a slow process kept it
  const ProcessId process = event.target == nullptr ? ProcessId{} : event.target->id();
  ++events_;
  trace_hash_ = mix64(trace_hash_ ^ static_cast<std::uint64_t>(now_.ns));
  trace_hash_ = mix64(trace_hash_ ^ (std::uint64_t{process.index} << 8U) ^
                      static_cast<std::uint64_t>(event.what));
  trace_hash_ = mix64(trace_hash_ ^ event.link.value ^ event.detail);
  if (options_.on_event) {
    options_.on_event({now_, event.what, process, event.link, event.detail});
  }
  if (event.target != nullptr) {
    event.target->pace().busy_until = now_ + event.target->pace().event_cost;
  }
  event.task();
}

void Timeline::hold(EventHandle handle, Process& process) {
  Process::Pace& pace = process.pace();
  pace.held.push_back(handle);
  if (pace.held.size() > 1) return;  // a turn is coming
  schedule({.at = pace.busy_until, .what = What::turn, .task = [this, &process] {
              take_turn(process);
            }});
}

void Timeline::take_turn(Process& process) {
  Process::Pace& pace = process.pace();
  if (pace.held.empty()) return;
  if (now_ >= pace.busy_until) {  // unless it was paused since
    const EventHandle handle = pace.held.front();
    pace.held.pop_front();
    run(handle);
  }
  if (pace.held.empty()) return;
  schedule({.at = pace.busy_until, .what = What::turn, .task = [this, &process] {
              take_turn(process);
            }});
}

void Timeline::advance_to(Time when) noexcept {
  now_ = std::max(now_, when);
}

void Timeline::purge(Process& process, std::vector<Task>& tasks) {
  queue_.purge(&process, tasks);
  // A held event's slot is free again only once its turn releases it; no turn comes any more.
  for (const EventHandle handle : process.pace().held) queue_.release(handle);
  process.pace().held.clear();
}

void Timeline::clear() {
  while (!queue_.empty()) {
    const EventHandle handle = queue_.pop();
    const Task task = std::move(queue_.at(handle).task);
    queue_.release(handle);
  }
}

Duration Timeline::draw(Delay delay) noexcept {
  const Duration spread = delay.most - delay.least;
  if (spread <= Duration{0}) return delay.least;
  return delay.least + Duration(static_cast<Duration::rep>(
                           random_.below(static_cast<std::uint64_t>(spread.count()) + 1)));
}

void Timeline::violation(std::string_view message) const {
  const std::string text = fmt::format("sim: seed {}, at {} ns: {}", seed_, now_.ns, message);
  if (options_.on_violation) {
    options_.on_violation(text);
    return;
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  std::abort();
}

}  // namespace godwit::fabric::sim
