// One process of a fleet: reactor, transports, engine and directory, put together. A node and a
// client differ only in whether they serve.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "call/caller.hpp"
#include "call/engine.hpp"
#include "call/pool_executor.hpp"
#include "code/store/store.hpp"
#include "fabric/reactor.hpp"
#include "fleet/embedded_directory.hpp"
#include "forward/fleet/rank_host.hpp"
#include "node/link_news.hpp"
#include "node/objects_on_disk.hpp"
#include "node/overrun_log.hpp"
#include "node/status_queries.hpp"
#include "ref/access/access.hpp"
#include "ref/access/segments.hpp"
#include "ref/home/service.hpp"
#include "ref/home/store.hpp"
#include "ref/stream/service.hpp"
#include "region/service.hpp"
#include "region/store.hpp"
#include "region/table.hpp"
#include "trace/counters.hpp"
#include "trace/log.hpp"
#include "trust/fleet_key.hpp"

namespace godwit::fabric::relay {
class RelayTransport;
}
namespace godwit::fabric::shm {
class ShmTransport;
}
namespace godwit::fabric::ucx {
class UcxTransport;
}

namespace godwit::node {

// Threads: create(), start() and stop() by one thread; the rest as stated.
class Runtime final : private call::Dialer, private call::EngineObserver, private fleet::Links {
 public:
  struct Options {
    NodeId id;
    Epoch epoch;
    std::string name;
    std::vector<std::string> seeds;
    std::optional<trust::FleetKey> key;
    fabric::Reactor::Options reactor;
    call::Engine::Options engine;  // self, epoch and name are filled in
    call::PoolExecutor::Options pool;
    std::chrono::nanoseconds default_deadline = std::chrono::seconds(60);
    std::size_t inbound_budget_bytes = std::size_t{8} << 30;
    std::size_t tcp_connections = 4;  // of a link with much to send, if the peer wants as many
    // What serving takes; null in a client. Owned by the caller, who outlives the runtime.
    std::function<std::unique_ptr<code::Store>(Scheduler&)> make_store;
    call::Builder* builder = nullptr;
    // Set: this process keeps shards of regions.
    std::optional<region::ShardStore::Options> shards;
    // Set: this process is a home of objects.
    std::optional<ref::Arena::Options> objects;
    // Set: some of them are in files.
    std::optional<ObjectsOnDisk> objects_on_disk;
    // Where objects' bytes may be beside that. Null: nowhere.
    std::shared_ptr<ref::ChannelSet> channels;
    fleet::Target target;
    fleet::Capacities capacities;
  };

  [[nodiscard]] static Result<std::unique_ptr<Runtime>> create(Options options, trace::Log& log);
  ~Runtime() override;

  // Listens at these addresses (as bound: see addresses()), then makes itself known.
  [[nodiscard]] Status listen(const std::vector<std::string>& addresses);
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  // Starts the progress thread and joins the fleet of the seeds.
  [[nodiscard]] Status start();
  // Waits until the fleet's table has arrived from a seed. Errors: what the seeds said.
  [[nodiscard]] Status wait_until_joined(std::chrono::nanoseconds at_most);
  // Says good-bye, ends every call, closes every link.
  void stop();

  [[nodiscard]] call::Caller& caller() { return *caller_; }
  [[nodiscard]] call::Engine& engine() { return *engine_; }
  [[nodiscard]] fabric::Reactor& reactor() { return *reactor_; }
  [[nodiscard]] code::Store* store() { return store_.get(); }
  // The owning thread's.
  [[nodiscard]] fleet::EmbeddedDirectory& directory() { return *directory_; }
  [[nodiscard]] region::RegionService& region_service() { return *region_service_; }
  [[nodiscard]] ref::SegmentExchange* segments() { return segments_.get(); }  // null: stopping
  // Any thread.
  [[nodiscard]] region::RegionTable& regions() { return *regions_; }
  [[nodiscard]] ref::ObjectAccess& objects() { return *object_access_; }
  // Null: no home.
  [[nodiscard]] ref::ObjectStore* object_store() { return object_store_.get(); }
  [[nodiscard]] ref::SegmentMap& segment_map() { return segment_map_; }
  [[nodiscard]] Epoch epoch() const { return options_.epoch; }

  // Any thread: runs `f` as the reactor's owner and waits for it.
  void run_as_owner(const std::function<void()>& f);
  // Any thread: the directory's nodes as they were at the last change.
  [[nodiscard]] fleet::NodeList nodes() const;
  // Any thread: waits until `holds` is true of them.
  bool wait_for_nodes(const std::function<bool(const fleet::NodeList&)>& holds,
                      std::chrono::nanoseconds at_most);
  // Any thread: asks all of them at once for their status and waits (StatusQueries::ask). The
  // answers are in the order of the nodes.
  [[nodiscard]] std::vector<Result<std::string>> status_of(const std::vector<NodeId>& nodes,
                                                           std::chrono::nanoseconds at_most);
  // Any thread.
  [[nodiscard]] const trace::CounterSet& counters() const { return counters_; }

 private:
  Runtime(Options options, trace::Log& log);
  [[nodiscard]] Status assemble();
  // runtime_links.cpp
  [[nodiscard]] fabric::Hello hello() const;
  [[nodiscard]] Result<call::Port*> port_for(const fabric::Address& address);
  [[nodiscard]] Status make_shm();
  [[nodiscard]] Status make_ucx(const fabric::Address& network);
  [[nodiscard]] Status make_relay();
  [[nodiscard]] Result<Dialled> take_detour(NodeId node, const fabric::Address& relay);
  void start_detour_later(NodeId node, const fabric::Address& relay);
  void seek_direct(NodeId node);
  void make_regions();
  void on_region_news(const fleet::NameEntry& name);
  void hear_next();
  void hear(const fleet::NameEntry& name);
  // runtime_objects.cpp
  void make_objects();
  void make_topics();
  void objects_used();
  void sweep_objects();
  void sweep_objects_at(Time when);
  // When to look again; the end of time: not for this.
  Time trim_objects();
  void forget_objects_of(NodeId node, const Error& why);
  void on_holder_lost(NodeId node, const Error& why);

  void make_ranks();
  void directory_changed();
  [[nodiscard]] std::string name_of(NodeId node) const;

  // call::Dialer
  Result<Dialled> dial(NodeId node, unsigned attempt) override;
  bool knows(NodeId node) const override { return directory_->node(node).has_value(); }
  void seek(NodeId node) override { directory_->seek(node); }
  // call::EngineObserver
  void on_peer_up(NodeId node, const wire::PeerHello& hello) override;
  void on_peer_down(NodeId node, const Error& why) override;
  void on_unreachable(NodeId node, const Error& why) override;
  void on_stray_down(LinkId link, const Error& why) override;
  void on_other(NodeId from, const wire::Header& header, Bytes body) override;
  void on_descriptors(NodeId from, const wire::Header& header, Bytes body,
                      std::span<fabric::Fd> descriptors) override;
  void on_overrun(const code::Bundle& bundle, std::uint32_t function, Duration took) override;
  void on_overdue(const call::OverdueFunction& function) override;
  void on_overdue_ended(const call::OverdueFunction& function) override;
  void on_status(trace::Json& status) override;
  void on_status_counters(trace::Json& counters) override;
  void on_warning(const std::string& text) override;
  void on_log(int level, const std::string& bundle, std::string_view text) override;
  // fleet::Links
  void send_table(NodeId to, Bytes message) override;
  void reach(std::string_view address) override;

  Options options_;
  trace::Log& log_;
  trace::CounterSet counters_;
  trace::Counter& overdue_ever_;
  trace::Gauge& overdue_now_;
  std::vector<std::string> addresses_;
  call::FunctionTable functions_;
  std::unique_ptr<fabric::Reactor> reactor_;
  std::unique_ptr<code::Store> store_;
  std::unique_ptr<region::ShardStore> shards_;
  std::unique_ptr<region::RegionTable> regions_;
  std::unique_ptr<call::PoolExecutor> executor_;
  std::unique_ptr<call::Engine> engine_;
  std::unique_ptr<fleet::EmbeddedDirectory> directory_;
  std::unique_ptr<call::Caller> caller_;
  std::unique_ptr<forward::RankHost> rank_host_;
  std::unique_ptr<StatusQueries> status_queries_;
  OverrunLog overruns_;
  std::unique_ptr<region::RegionService> region_service_;
  std::shared_ptr<ref::Currency> currency_;
  std::unique_ptr<ref::ObjectStore> object_store_;
  std::unique_ptr<ref::stream::StreamStore> stream_store_;
  std::unique_ptr<ref::stream::StreamService> stream_service_;
  std::unique_ptr<ref::ObjectService> object_service_;
  ref::SegmentMap segment_map_{{}};
  std::unique_ptr<ref::SegmentExchange> segments_;
  std::atomic<bool> objects_used_{false};  // since the last sweep
  TimerId object_sweep_;
  bool trimming_objects_ = false;
  Time trim_at_{};  // while more is kept than is worth it; 0: it is not
  std::unique_ptr<ref::AccessHost> access_host_;
  std::unique_ptr<ref::ObjectAccess> object_access_;
  call::Port* shm_port_ = nullptr;
  call::Port* ucx_port_ = nullptr;
  call::Port* relay_port_ = nullptr;
  std::unique_ptr<fabric::shm::ShmTransport> shm_;
  std::unique_ptr<fabric::ucx::UcxTransport> ucx_;
  std::unique_ptr<LinkNews> relay_news_;
  std::unique_ptr<fabric::relay::RelayTransport> relay_;
  // Links through a relay that are being made, by the node they lead to.
  struct Detour {
    Dialled dialled;
    bool taken = false;  // the engine knows of it
  };
  std::unordered_map<NodeId, Detour> detours_;
  std::unordered_set<NodeId> has_direct_;  // peers with a link that goes through none
  std::unordered_map<std::string, fleet::NameEntry> region_news_;  // not followed yet, by key
  bool hearing_ = false;
  std::atomic<bool> stopped_ = false;  // set by whoever ends it, looked at by the owner

  mutable std::mutex view_mutex_;
  std::condition_variable view_changed_;
  fleet::NodeList view_;
  bool joined_ = false;
  std::optional<Error> join_error_;
};

}  // namespace godwit::node
