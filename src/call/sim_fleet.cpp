#include "call/sim_fleet.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fail.hpp"

namespace godwit::call::sim {
namespace {

// Entries are plain functions, so what they record goes through the fleet that runs just now; the
// simulation has one thread.
SimFleet* current_fleet = nullptr;

Arguments read(const void* args, std::size_t size) {
  Arguments read;
  if (size == sizeof read) std::memcpy(&read, args, sizeof read);
  return read;
}

std::int32_t succeed(const Arguments& args, godwit_reply* reply) {
  ++current_fleet->executions()[{args.key, args.hops}];
  const std::uint64_t answer = right_answer(args.key);
  std::memcpy(reply->data, &answer, sizeof answer);
  reply->size = sizeof answer;
  return GODWIT_OK;
}

std::int32_t run_echo(const godwit_here_v1*, const void* args, std::size_t size,
                      godwit_reply* reply) {
  if (const auto hook = std::exchange(current_fleet->while_running, nullptr)) hook();
  return succeed(read(args, size), reply);
}

std::int32_t run_travel(const godwit_here_v1* here, const void* args, std::size_t size,
                        godwit_reply* reply) {
  Arguments at = read(args, size);
  if (at.hops == 0) return succeed(at, reply);
  ++current_fleet->executions()[{at.key, at.hops}];
  --at.hops;
  const std::size_t nodes = current_fleet->shape().nodes;
  const NodeId next = current_fleet->node((at.key + at.hops * 7) % nodes);
  const godwit_function_ref function{nullptr, "travel", 6};
  const godwit_bytes part{&at, sizeof at};
  return here->continue_at(here, next.value, &function, &part, 1) == 0 ? GODWIT_CONTINUE
                                                                       : GODWIT_APP_ERROR;
}

std::int32_t run_throws(const godwit_here_v1*, const void* args, std::size_t size,
                        godwit_reply* reply) {
  const Arguments at = read(args, size);
  ++current_fleet->executions()[{at.key, at.hops}];
  const std::string text = "boom " + std::to_string(at.key);
  std::memcpy(reply->data, text.data(), text.size());
  reply->size = text.size();
  return GODWIT_APP_ERROR;
}

std::int32_t run_ask(const godwit_here_v1* here, const void* args, std::size_t size,
                     godwit_reply*) {
  const Arguments at = read(args, size);
  ++current_fleet->executions()[{at.key, at.hops}];
  const std::int32_t said = here->answer_about_objects(here, args, size);
  if (said == GODWIT_NOT_YET) return GODWIT_AGAIN;
  return said == 0 ? GODWIT_ANSWERED : GODWIT_FAILED_WITH + said;
}

struct Export {
  const char* name;
  godwit_entry entry;
  std::uint32_t flags;
};
constexpr Export kExports[kSimFunctions + 1] = {
    {"echo", &run_echo, GODWIT_EXPORT_INLINE},
    {"work", &run_echo, 0},
    {"idempotent_work", &run_echo, GODWIT_EXPORT_IDEMPOTENT},
    {"travel", &run_travel, 0},
    {"throws", &run_throws, 0},
    {"ask", &run_ask, GODWIT_EXPORT_INLINE},
};

class SimLibrary final : public code::Library {
 public:
  godwit_entry entry(std::string_view symbol) const override {
    for (const Export& known : kExports) {
      if (symbol == known.name) return known.entry;
    }
    return nullptr;
  }
  std::size_t memory_bytes() const override { return 4096; }
};

class SimLoader final : public code::Loader {
 public:
  Result<std::unique_ptr<code::Library>> load(const code::LoadRequest&) override {
    return std::make_unique<SimLibrary>();
  }
};

code::Bundle make_bundle(std::size_t index) {
  code::BundleBuilder builder("sim" + std::to_string(index));
  for (const Export& known : kExports) {
    builder.function({known.name, "(u64, u64) -> u64", known.name, known.flags});
  }
  code::SliceInfo slice;
  slice.kind = code::SliceKind::native;
  slice.machine = code::host_machine();
  slice.triple = code::triple_of(slice.machine);
  slice.producer = "sim";
  // Larger than any small message, so that code travels as borrowed parts too.
  Buffer bytes = Buffer::allocate(60'000);
  std::memset(bytes.data(), static_cast<int>(index), bytes.size());
  builder.slice(std::move(slice), std::move(bytes));
  return std::move(builder).build().value();
}

}  // namespace

bool SimExecutor::submit(Job& job) {
  if (hold_) {
    held_.push_back(&job);
    return true;
  }
  const Duration delay(random_.below(2'000'000));
  scheduler_.post_at(scheduler_.now() + delay, [&job] { job.run(job); });
  return true;
}

void SimExecutor::run_held() {
  for (Job* job : std::exchange(held_, {})) job->run(*job);
}

SimProcess::SimProcess(SimFleet& owner, ProcessId self, bool serves)
    : fleet(owner), id(self), booted_at(owner.world_.now()), functions(owner.shape_.kept) {
  World& world = fleet.world_;
  Scheduler& scheduler = world.scheduler(self);
  if (serves) {
    loader = std::make_unique<SimLoader>();
    code::Store::Options options;
    options.memory_budget_bytes = fleet.shape_.code_budget_bytes;
    store = std::make_unique<code::Store>(scheduler, code::Store::Loaders{loader.get(), nullptr},
                                          options);
    executor = std::make_unique<SimExecutor>(scheduler, world.seed() + self.index);
  }
  Engine::Options options;
  options.self = world.node_id(self);
  options.epoch = world.epoch(self);
  options.name = "p" + std::to_string(self.index);
  options.credits = fleet.shape_.credits;
  options.max_hops = fleet.shape_.max_hops;
  options.idle_link = fleet.shape_.idle_link;
  engine = std::make_unique<Engine>(scheduler, *this, functions, store.get(), executor.get(), *this,
                                    options);
  port = &engine->add_port("sim");
  transport = world.transport(self, *port, wire::encode(engine->hello()));
  port->bind(*transport);
  if (serves) transport->listen(world.address(self)).value();
  fleet.up_[self.index] = this;
}

Result<Dialer::Dialled> SimProcess::dial(NodeId node, unsigned attempt) {
  if (attempt > 0) return fail(ErrorCode::not_found, "it has one address");
  if (!knows(node)) return fail(ErrorCode::not_found, "not heard of");
  for (const ProcessId process : fleet.nodes_) {
    if (fleet.world_.node_id(process) != node) continue;
    GODWIT_TRY(const LinkId link, transport->connect(fleet.world_.address(process)));
    return Dialled{port, link};
  }
  return fail(ErrorCode::not_found, "no such node");
}

bool SimProcess::knows(NodeId node) const {
  const Time now = fleet.world_.now();
  if (const auto told = news.find(node); told != news.end()) return now >= told->second;
  const auto is_it = [&](ProcessId process) { return fleet.world_.node_id(process) == node; };
  if (std::ranges::none_of(fleet.nodes_, is_it)) return false;
  const auto delay = static_cast<std::uint64_t>(fleet.shape_.news_delay.count());
  if (delay == 0) return true;
  const std::uint64_t chance = mix64(fleet.world_.seed() ^ mix64(node.value + id.index));
  return now >= booted_at + Duration(chance % delay);
}

FunctionRef* SimProcess::function(std::size_t bundle, SimFunction function) {
  const code::Bundle& known = fleet.bundles_[bundle];
  if (fleet.shape_.hold_bundles) return functions.intern(known, function);
  const bool reopened = fleet.world_.random().chance(fleet.shape_.reopen_chance);
  if (reopened || opened.insert(bundle).second) {
    return functions.intern(code::Bundle::parse(known.to_bytes().value()).value(), function);
  }
  return functions.intern(known.id(), function, known.functions()[function].is_idempotent());
}

void SimProcess::on_other(NodeId, const wire::Header& header, Bytes body) {
  if (header.kind == wire::Kind::status) statuses.emplace_back(header.id, text_of(body));
}

SimFleet::SimFleet(std::uint64_t seed, fabric::sim::Options options, Shape shape)
    : shape_(shape), world_(seed, std::move(options)) {
  current_fleet = this;
  for (std::size_t i = 0; i < shape_.bundles; ++i) bundles_.push_back(make_bundle(i));
  const auto boot = [this](bool serves) {
    return [this, serves](World&, ProcessId self) -> std::shared_ptr<void> {
      return std::shared_ptr<SimProcess>(new SimProcess(*this, self, serves),
                                         [this](SimProcess* p) {
                                           if (up_[p->id.index] == p) up_.erase(p->id.index);
                                           forget_calls_of(p->id);
                                           delete p;
                                         });
    };
  };
  for (std::size_t i = 0; i < shape_.nodes; ++i) nodes_.push_back(world_.add_process(boot(true)));
  for (std::size_t i = 0; i < shape_.clients; ++i) {
    clients_.push_back(world_.add_process(boot(false)));
  }
}

SimFleet::~SimFleet() = default;

SimProcess* SimFleet::at(ProcessId process) {
  const auto it = up_.find(process.index);
  return it == up_.end() || !world_.is_up(process) ? nullptr : it->second;
}

Record& SimFleet::call(ProcessId from, NodeId to, std::size_t bundle, SimFunction function,
                       std::uint64_t hops, Duration deadline) {
  SimProcess& process = *at(from);
  records_.push_back(std::make_unique<Record>());
  Record& record = *records_.back();
  record.key = records_.size();
  record.from = from;
  record.function = function;
  record.hops = hops;
  OutgoingCall& call = *process.engine->pool().acquire();
  call.node = to;
  call.function = process.function(bundle, function);
  call.deadline = process.engine->scheduler().now() + deadline;
  const Arguments arguments{record.key, hops};
  std::memcpy(call.inline_bytes.data(), &arguments, sizeof arguments);
  call.parts[0] = {call.inline_bytes.data(), sizeof arguments};
  call.part_count = 1;
  call.user = &record;
  call.on_end = &SimFleet::record_end;
  under_way_[record.key] = &call;
  process.engine->start(call);
  OutgoingPool::release(call);
  return record;
}

void SimFleet::record_end(OutgoingCall& call) {
  auto& record = *static_cast<Record*>(call.user);
  ++record.ended;
  ++current_fleet->over_;
  current_fleet->under_way_.erase(record.key);
  record.outcome = call.outcome;
  if (call.outcome.ending == Ending::ok && call.result.size() == sizeof record.answer) {
    std::memcpy(&record.answer, call.result.data(), sizeof record.answer);
  } else {
    record.text = text_of(call.result);
  }
}

OutgoingCall* SimFleet::outgoing(const Record& record) {
  const auto it = under_way_.find(record.key);
  return it == under_way_.end() ? nullptr : it->second;
}

void SimFleet::forget_calls_of(ProcessId process) {
  for (auto it = under_way_.begin(); it != under_way_.end();) {
    Record& record = *records_[it->first - 1];
    if (record.from != process) {
      ++it;
      continue;
    }
    record.caller_died = true;
    ++over_;
    it = under_way_.erase(it);
  }
}

bool SimFleet::all_ended() const {
  return over_ >= records_.size();
}

}  // namespace godwit::call::sim
