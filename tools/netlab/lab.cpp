#include "netlab/lab.hpp"

#include "base/fail.hpp"

namespace godwit::netlab {
namespace {

constexpr std::uint32_t kNetwork = (10U << 24U) | (77U << 16U);

Status check_options(const LabOptions& options) {
  if (options.hosts < 1 || options.hosts > kMaxHosts) {
    return fail(ErrorCode::invalid_argument, "a lab of {} hosts is not possible; ask for 1 to {}",
                options.hosts, kMaxHosts);
  }
  if (options.mtu_bytes < kMinMtuBytes || options.mtu_bytes > kMaxMtuBytes) {
    return fail(ErrorCode::invalid_argument, "an MTU of {} bytes is not possible; ask for {} to {}",
                options.mtu_bytes, kMinMtuBytes, kMaxMtuBytes);
  }
  return check(options.shape);
}

}  // namespace

Result<std::unique_ptr<Lab>> Lab::create(const LabOptions& options) {
  GODWIT_CHECK(check_options(options));
  std::vector<Host> hosts;
  std::vector<fabric::Fd> devices;
  for (std::uint32_t number = 0; number < options.hosts; ++number) {
    GODWIT_TRY(Host host,
               Host::create({.address = kNetwork + number + 1, .mtu_bytes = options.mtu_bytes}));
    devices.push_back(host.take_device());
    hosts.push_back(std::move(host));
  }
  GODWIT_TRY(auto the_switch, Switch::create(std::move(devices), {.shape = options.shape,
                                                                  .seed = options.seed,
                                                                  .mtu_bytes = options.mtu_bytes,
                                                                  .spin = options.spin}));
  return std::unique_ptr<Lab>(new Lab(std::move(hosts), std::move(the_switch)));
}

std::uint32_t Lab::host_count() const noexcept {
  return static_cast<std::uint32_t>(hosts_.size());
}

std::string Lab::address(std::uint32_t host) const {
  return fmt::format("10.77.0.{}", host + 1);
}

Status Lab::check_host(std::uint32_t host) const {
  if (host < hosts_.size()) return {};
  return fail(ErrorCode::invalid_argument, "there is no host {}: this lab has {}, from 0", host,
              hosts_.size());
}

Status Lab::check_direction(Direction direction) const {
  GODWIT_CHECK(check_host(direction.from));
  GODWIT_CHECK(check_host(direction.to));
  if (direction.from != direction.to) return {};
  return fail(ErrorCode::invalid_argument,
              "host {} reaches itself by its own loopback, which is not shaped", direction.from);
}

Status Lab::set_shape(Direction direction, const LinkShape& shape) {
  GODWIT_CHECK(check_direction(direction));
  GODWIT_CHECK(check(shape));
  switch_->set_shape(direction, shape);
  return {};
}

Status Lab::set_shape(const LinkShape& shape) {
  GODWIT_CHECK(check(shape));
  for (std::uint32_t from = 0; from < host_count(); ++from) {
    for (std::uint32_t to = 0; to < host_count(); ++to) switch_->set_shape({from, to}, shape);
  }
  return {};
}

Status Lab::set_cut(Direction direction, bool cut) {
  GODWIT_CHECK(check_direction(direction));
  switch_->set_cut(direction, cut);
  return {};
}

Status Lab::set_cut(Pair pair, bool cut) {
  GODWIT_CHECK(set_cut(Direction{.from = pair.a, .to = pair.b}, cut));
  return set_cut(Direction{.from = pair.b, .to = pair.a}, cut);
}

Result<LinkCounters> Lab::counters(Direction direction) const {
  GODWIT_CHECK(check_direction(direction));
  return switch_->counters(direction);
}

Result<Process> Lab::run(std::uint32_t host, const std::vector<std::string>& command,
                         const RunOptions& options) const {
  GODWIT_CHECK(check_host(host));
  return hosts_[host].run(command, options);
}

Result<Process> Lab::fork(std::uint32_t host, const std::function<int()>& body) const {
  GODWIT_CHECK(check_host(host));
  return hosts_[host].fork(body);
}

Result<pid_t> Lab::keeper_pid(std::uint32_t host) const {
  GODWIT_CHECK(check_host(host));
  return hosts_[host].keeper_pid();
}

}  // namespace godwit::netlab
