#include "ref/channel/redis/redis_for_test.hpp"

#include <arpa/inet.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "base/fail.hpp"
#include "fabric/fd.hpp"
#include "ref/channel/redis/protocol.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace godwit::ref {
namespace {

constexpr std::chrono::seconds kPatience{20};

int free_port() {
  const fabric::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd.get(), generic, size) != 0 || ::getsockname(fd.get(), generic, &size) != 0) {
    throw std::runtime_error("no free port");
  }
  return ntohs(address.sin_port);
}

template <class Condition>
void wait_until(const Condition& condition, const std::string& what) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error(what);
    std::this_thread::yield();
  }
}

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) {  // NOLINT: a test's own command
    throw std::runtime_error("failed: " + command);
  }
}

}  // namespace

RedisForTest::RedisForTest() : RedisForTest(Options{}) {}

RedisForTest::RedisForTest(Options options) : options_(std::move(options)), port_(free_port()) {
  if (options_.tls) make_certificates();
  start();
}

RedisForTest::~RedisForTest() {
  kill();
}

void RedisForTest::make_certificates() const {
  const std::string in = "cd " + folder_.path().string() + " && openssl ";
  const std::string quiet = " >/dev/null 2>&1";
  std::ofstream(folder_ / "names") << "subjectAltName=IP:127.0.0.1,DNS:cache.example\n";
  const std::string key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  run(in + "req -x509" + key + " -days 2 -subj /CN=ca -keyout ca.key -out ca.crt" + quiet);
  run(in + "req" + key + " -subj /CN=redis -keyout s.key -out s.csr" + quiet);
  run(in + "x509 -req -in s.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names" +
      " -out s.crt" + quiet);
}

void RedisForTest::start() {
  const std::string port = std::to_string(port_);
  const auto in = [&](const char* name) { return (folder_ / name).string(); };
  std::vector<std::string> words{"redis-server", "--bind", "127.0.0.1", "--save", "",
                                 "--dir",        in("."),  "--logfile", in("log")};
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back("--" + name);
    words.push_back(value);
  };
  add("port", options_.tls ? "0" : port);
  if (options_.tls) {
    add("tls-port", port);
    add("tls-cert-file", in("s.crt"));
    add("tls-key-file", in("s.key"));
    add("tls-ca-cert-file", in("ca.crt"));
    add("tls-auth-clients", "no");
  }
  if (!options_.password.empty()) add("requirepass", options_.password);
  if (options_.lasting) {
    add("appendonly", "yes");
    add("appendfsync", "always");
  }
  if (options_.cluster) {
    add("cluster-enabled", "yes");
    add("cluster-config-file", in("nodes.conf"));
    add("cluster-port", std::to_string(free_port()));
    add("cluster-require-full-coverage", "no");
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (::posix_spawnp(&pid_, "redis-server", nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("redis-server cannot be started: install the package redis-server");
  }
  wait_until([&] { return ask({"PING"}) == "PONG"; }, "redis-server does not answer");
}

void RedisForTest::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

void RedisForTest::stop_answering() const {
  ::kill(pid_, SIGSTOP);
}

void RedisForTest::answer_again() const {
  ::kill(pid_, SIGCONT);
}

std::string RedisForTest::url(const std::string& more) const {
  const std::string login = options_.password.empty() ? "" : ":" + options_.password + "@";
  std::string text = (options_.tls ? "rediss://" : "redis://") + login + address() + "/0";
  std::string query = more;
  if (options_.tls) query += std::string(query.empty() ? "" : "&") + "ca=" + ca_file();
  return query.empty() ? text : text + "?" + query;
}

std::string RedisForTest::ask(const std::vector<std::string>& words) const {
  Stream::Options options{.time_out = std::chrono::seconds(5)};
  if (options_.tls) options.tls = TlsContext::create({.ca_file = ca_file()}).value();
  auto connection =
      RedisConnection::open(address(), options, {.user = {}, .password = options_.password});
  if (!connection) return "!" + connection.error().message;
  RedisCommand command{};
  for (const std::string& word : words) command.add(word);
  if (!(*connection)->send({&command, 1})) return "!lost";
  const auto reply = (*connection)->receive();
  if (!reply) return "!" + reply.error().message;
  return reply->kind == RedisReply::Kind::number ? std::to_string(reply->number) : reply->text;
}

std::size_t RedisForTest::keys() const {
  return std::stoul(ask({"DBSIZE"}));
}

// --- Clusters ---

RedisClusterForTest::RedisClusterForTest() {
  constexpr std::size_t kServers = 3;
  for (std::size_t i = 0; i < kServers; ++i) {
    servers_.push_back(std::make_unique<RedisForTest>(RedisForTest::Options{.cluster = true}));
    const std::size_t first = i * 16'384 / kServers;
    const std::size_t last = (i + 1) * 16'384 / kServers - 1;
    servers_[i]->ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  const std::string nodes = servers_[0]->ask({"CLUSTER", "NODES"});
  const std::size_t at = nodes.find('@');  // "id ip:port@cport ..."
  const std::string bus = nodes.substr(at + 1, nodes.find_first_of(" ,", at) - at - 1);
  const std::string port = servers_[0]->address().substr(servers_[0]->address().rfind(':') + 1);
  for (std::size_t i = 1; i < kServers; ++i) {
    servers_[i]->ask({"CLUSTER", "MEET", "127.0.0.1", port, bus});
  }
  wait_until(
      [&] {
        for (const auto& server : servers_) {
          const std::string info = server->ask({"CLUSTER", "INFO"});
          if (info.find("cluster_slots_ok:16384") == std::string::npos ||
              info.find("cluster_state:ok") == std::string::npos) {
            return false;
          }
        }
        return true;
      },
      "the cluster does not come together");
}

std::string RedisClusterForTest::url() const {
  return fmt::format("redis+cluster://{},{}", servers_[0]->address(), servers_[1]->address());
}

void RedisClusterForTest::give_slots_to(std::size_t first, std::size_t last, std::size_t server) {
  const std::string id = servers_[server]->ask({"CLUSTER", "MYID"});
  for (std::size_t slot = first; slot <= last; ++slot) {
    for (const auto& each : servers_) {
      each->ask({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
    }
  }
}

}  // namespace godwit::ref
