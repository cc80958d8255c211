#include "node/runtime.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "fabric/relay/transport.hpp"
#include "fabric/shm/transport.hpp"
#include "ops/functions.hpp"
#ifdef GODWIT_WITH_UCX
#include "fabric/ucx/transport.hpp"
#endif

namespace godwit::node {

Result<std::unique_ptr<Runtime>> Runtime::create(Options options, trace::Log& log) {
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(options), log));
  GODWIT_CHECK(runtime->assemble());
  return runtime;
}

Runtime::Runtime(Options options, trace::Log& log)
    : options_(std::move(options)),
      log_(log),
      overdue_ever_(counters_.counter("functions_overdue", "functions that outlived a deadline")),
      overdue_now_(counters_.gauge("functions_overdue_now", "those that still run")),
      view_(std::make_shared<std::vector<fleet::NodeRecord>>()) {}

Runtime::~Runtime() {
  stop();
}

Status Runtime::assemble() {
  GODWIT_TRY(reactor_, fabric::Reactor::create(options_.reactor));
  executor_ = std::make_unique<call::PoolExecutor>(options_.pool);
  if (options_.make_store) store_ = options_.make_store(*reactor_);
  call::Engine::Options engine = options_.engine;
  engine.self = options_.id;
  engine.epoch = options_.epoch;
  engine.name = options_.name;
  engine_ = std::make_unique<call::Engine>(
      *reactor_, static_cast<call::Dialer&>(*this), functions_, store_.get(), executor_.get(),
      static_cast<call::EngineObserver&>(*this), std::move(engine));
  engine_->set_builder(options_.builder);
  engine_->set_operations(&ops::operations);
  fleet::EmbeddedDirectory::Options directory;
  directory.self = {options_.id, options_.epoch};
  directory.gossip.seeds = options_.seeds;
  directory.gossip.random_seed = options_.id.value ^ options_.epoch.value;
  directory_ = std::make_unique<fleet::EmbeddedDirectory>(std::move(directory), *reactor_,
                                                          static_cast<fleet::Links&>(*this));
  make_regions();
  static_cast<void>(directory_->watch([this](const fleet::Change& change) {
    directory_changed();
    if (change.name != nullptr) on_region_news(*change.name);
  }));
  call::Caller::Options caller;
  caller.default_deadline = options_.default_deadline;
  caller.name_of = [this](NodeId node) { return name_of(node); };
  caller_ = std::make_unique<call::Caller>(*reactor_, *engine_, *executor_, std::move(caller));
  status_queries_ = std::make_unique<StatusQueries>(*engine_, *reactor_);
  make_objects();
  make_ranks();
  return {};
}

// Whoever takes calls has functions that can be ranks; all can open ranks elsewhere.
void Runtime::make_ranks() {
  rank_host_ = std::make_unique<forward::RankHost>(forward::RankHost::Options{
      .name = options_.name, .key = options_.key, .addresses_of = [this](NodeId id) {
        for (const fleet::NodeRecord& record : *nodes()) {
          if (record.id == id) return record.addresses;
        }
        return std::vector<std::string>{};
      }});
  engine_->set_ranks(rank_host_.get());
  caller_->set_ranks(rank_host_.get());
}

// --- Life ---------------------------------------------------------------------------------------

Status Runtime::start() {
  directory_changed();
  directory_->gossip().start();
  return reactor_->start();
}

Status Runtime::wait_until_joined(std::chrono::nanoseconds at_most) {
  std::unique_lock lock(view_mutex_);
  view_changed_.wait_for(lock, at_most, [this] { return joined_ || join_error_; });
  if (joined_) return {};
  if (join_error_) return tl::unexpected(*join_error_);
  return fail(ErrorCode::unreachable, "no answer from {} within {} ms",
              fmt::join(options_.seeds, ", "),
              std::chrono::duration_cast<std::chrono::milliseconds>(at_most).count());
}

void Runtime::stop() {
  if (stopped_.exchange(true) || reactor_ == nullptr || engine_ == nullptr) return;
  if (object_access_ != nullptr) object_access_->close();
  run_as_owner([this] {
    if (!addresses_.empty()) directory_->leave();
    directory_->gossip().push_now();  // a client may have written names a moment ago
    status_queries_.reset();
    region_service_.reset();
    segments_.reset();
    engine_->shut_down();
  });
  if (object_service_ != nullptr) object_service_->close();
  // Links close after what was sent; a peer that does not take it within a moment is left.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
    std::size_t links = 0;
    run_as_owner([&] { links = engine_->links_up(); });
    if (links == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Calls that this ended may be followed by something, which is not lost with the queue.
  executor_->run_queued(&call::Caller::run_queued);
  reactor_->stop();
  executor_.reset();
  if (shm_ != nullptr) reactor_->remove(*shm_);
  shm_.reset();
  relay_.reset();
#ifdef GODWIT_WITH_UCX
  ucx_.reset();
#endif
  directory_.reset();
  engine_.reset();
  object_access_.reset();  // calls that were left had views of its
  object_service_.reset();
  stream_service_.reset();
  stream_store_.reset();
  object_store_.reset();
  regions_.reset();
  shards_.reset();
  store_.reset();
}

void Runtime::run_as_owner(const std::function<void()>& f) {
  if (reactor_->try_run_as_owner(f)) return;
  fabric::Waiter done;
  reactor_->post([&] {
    f();
    done.complete();
  });
  reactor_->wait(done, fabric::kNever);
}

// --- The fleet ----------------------------------------------------------------------------------

void Runtime::directory_changed() {
  const fleet::NodeList all = directory_->nodes();
  auto visible = std::make_shared<std::vector<call::VisibleNode>>();
  for (const fleet::NodeRecord& record : *all) {
    if (record.state == fleet::NodeState::up && record.role == fleet::NodeRole::node) {
      visible->push_back({record.id, record.name});
    }
  }
  engine_->set_nodes(std::move(visible));
  regions_->set_nodes(all);
  {
    const std::lock_guard lock(view_mutex_);
    view_ = all;
  }
  view_changed_.notify_all();
}

fleet::NodeList Runtime::nodes() const {
  const std::lock_guard lock(view_mutex_);
  return view_;
}

bool Runtime::wait_for_nodes(const std::function<bool(const fleet::NodeList&)>& holds,
                             std::chrono::nanoseconds at_most) {
  std::unique_lock lock(view_mutex_);
  return view_changed_.wait_for(lock, at_most, [&] { return holds(view_); });
}

std::string Runtime::name_of(NodeId node) const {
  const fleet::NodeList all = nodes();
  for (const fleet::NodeRecord& record : *all) {
    if (record.id == node) return record.name;
  }
  return to_hex(node.value);
}

void Runtime::on_peer_up(NodeId node, const wire::PeerHello& hello) {
  log_.debug("link to {} is up", hello.name);
  detours_.erase(node);
  if (relay_news_ == nullptr || !relay_news_->is_telling()) has_direct_.insert(node);
  directory_->gossip().peer_up(node);
}

// Gossip may answer by sending, so it hears of losses from a task of their own.
void Runtime::on_peer_down(NodeId node, const Error& why) {
  log_.debug("link to {} is down: {}", name_of(node), why.message);
  has_direct_.erase(node);
  if (status_queries_ != nullptr) {
    status_queries_->on_lost(
        node, {ErrorCode::node_lost, fmt::format("the link to it broke: {}", why.message)});
  }
  if (region_service_ != nullptr) {
    region_service_->grants().on_lost(
        node, {ErrorCode::node_lost,
               fmt::format("the link to {} broke: {}", name_of(node), why.message)});
  }
  forget_objects_of(node, why);
  if (why.code == ErrorCode::none) return;  // closed on purpose
  on_holder_lost(node, why);
  reactor_->post([this, node] { directory_->gossip().peer_lost(node); });
}

void Runtime::on_unreachable(NodeId node, const Error& why) {
  log_.debug("cannot reach {}: {}", name_of(node), why.message);
  detours_.erase(node);
  if (status_queries_ != nullptr) {
    status_queries_->on_lost(
        node, {ErrorCode::unreachable, fmt::format("it cannot be reached: {}", why.message)});
  }
  if (region_service_ != nullptr) {
    region_service_->grants().on_lost(
        node,
        {ErrorCode::unreachable, fmt::format("cannot reach {}: {}", name_of(node), why.message)});
  }
  forget_objects_of(node, why);
  reactor_->post([this, node] { directory_->gossip().peer_lost(node); });
}

void Runtime::on_other(NodeId from, const wire::Header& header, Bytes body) {
  if (header.kind == wire::Kind::status && status_queries_ != nullptr) {
    return status_queries_->on_answer(from, header, body);
  }
  if (region_service_ != nullptr && region_service_->grants().on_message(from, header, body))
    return;
  if (segments_ != nullptr && segments_->grants().on_message(from, header, body)) return;
  if (header.kind != wire::Kind::table) return;
  if (const Status taken = directory_->gossip().on_table(from, body); !taken) {
    log_.warn("{} sent a table that makes no sense: {}", name_of(from), taken.error().message);
  }
  if (!directory_->gossip().joined()) return;
  {
    const std::lock_guard lock(view_mutex_);
    if (std::exchange(joined_, true)) return;
  }
  view_changed_.notify_all();
}

void Runtime::on_overrun(const code::Bundle& bundle, std::uint32_t function, Duration took) {
  if (!overruns_.is_news(bundle.id(), function, took)) return;
  log_.warn(
      "inline function {} of '{}' kept the polling thread for {} us; export it without inline_, if "
      "the machine was not busy with something else",
      bundle.functions()[function].name, bundle.name(), took.count() / 1000);
}

void Runtime::on_warning(const std::string& text) {
  log_.warn("{}", text);
}

void Runtime::on_log(int level, const std::string& bundle, std::string_view text) {
  const auto clamped = static_cast<trace::Level>(std::clamp(level, 0, 3));
  log_.write(clamped, bundle, fmt::format("[{}] {}", bundle, text));
}

void Runtime::send_table(NodeId to, Bytes message) {
  engine_->send_or_dial(to, wire::Kind::table, message);
}

}  // namespace godwit::node
