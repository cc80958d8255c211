#include "chase/distance.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/fail.hpp"
#include "chase/course.hpp"
#include "netlab/lab.hpp"

namespace godwit::bench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::uint32_t kNodes = 4;
constexpr std::uint64_t kElements = std::uint64_t{1} << 18U;
constexpr seconds kPatience{20};
constexpr std::chrono::minutes kClientLimit{2};
constexpr Enough kEnough{.time_ns = 1'000'000'000, .chases = 2'000};
constexpr Point kFarPoints[] = {{.depth = 8, .in_flight = 1},
                                {.depth = 64, .in_flight = 1},
                                {.depth = 64, .in_flight = 64},
                                {.depth = 64, .in_flight = 1024}};
constexpr Column kFarColumns[] = {Column::get, Column::pipelined, Column::godwit, Column::many};

// A folder that goes away.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "godwit-chase-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }
  [[nodiscard]] bool exists() const { return !path_.empty(); }

 private:
  std::filesystem::path path_;
};

std::string own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}
std::string godwit_program() {
  return (std::filesystem::path(own_program()).parent_path() / "godwit").string();
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string node_address(const netlab::Lab& lab, std::uint32_t host) {
  return "tcp:" + lab.address(host) + ":7400";
}

// Waits until it serves.
Result<netlab::Process> start_node(const netlab::Lab& lab, const Folder& folder,
                                   std::uint32_t host) {
  const std::string log = folder.file(fmt::format("node{}.log", host).c_str());
  const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  std::vector<std::string> command{godwit_program(), "node",
                                   "--name",         fmt::format("n{}", host),
                                   "--listen",       node_address(lab, host),
                                   "--key-file",     folder.file("key")};
  if (host > 1) command.insert(command.end(), {"--join", node_address(lab, 1)});
  auto process = lab.run(host, command,
                         {.environment = {"GODWIT_RUNTIME_DIR=" + folder.file("run"),
                                          "XDG_CACHE_HOME=" + folder.file("cache")},
                          .output_fd = out});
  ::close(out);
  const auto until = steady_clock::now() + kPatience;
  while (process && !text_of(log).starts_with("ready")) {
    if (steady_clock::now() > until) {
      return fail(ErrorCode::deadline, "the node of host {} did not come up: {}", host,
                  text_of(log));
    }
    ::poll(nullptr, 0, 5);
  }
  return process;
}

Result<std::vector<FarLine>> read_lines(const std::string& file, const std::string& delay) {
  std::vector<FarLine> lines;
  for (const Point& point : kFarPoints) lines.push_back({delay, {.point = point}});
  std::ifstream in(file);
  std::size_t point = 0;
  std::size_t column = 0;
  double rate_per_s = 0;
  while (in >> point >> column >> rate_per_s) {
    if (point >= lines.size() || column >= kColumns) break;
    lines[point].line.samples[column] = floors::Sample{.rate_per_s = rate_per_s};
  }
  if (!in.eof()) return fail(ErrorCode::bad_format, "the client's figures cannot be read");
  return lines;
}

Status wait_for_nodes(const Fleet& fleet) {
  const auto until = steady_clock::now() + kPatience;
  while (fleet.nodes().size() < kNodes) {
    if (steady_clock::now() > until) return fail(ErrorCode::deadline, "the nodes did not meet");
    ::poll(nullptr, 0, 5);
  }
  return {};
}

Status measure_far(const std::string& address, const std::string& key_file, std::FILE* out) {
  GODWIT_TRY(const floors::ChaseList list, floors::ChaseList::create(kElements));
  GODWIT_TRY(Fleet fleet, Fleet::join(address, {.key_file = key_file}));
  GODWIT_CHECK(wait_for_nodes(fleet));
  GODWIT_TRY(const auto course, Course::create(std::move(fleet), list.next()));
  for (std::size_t i = 0; i < std::size(kFarPoints); ++i) {
    const Point& point = kFarPoints[i];
    for (const Column column : kFarColumns) {
      const bool for_several = column == Column::pipelined || column == Column::many;
      if (for_several && point.in_flight == 1) continue;
      GODWIT_TRY(const floors::Sample sample, course->measure(column, point, kEnough));
      fmt::print(out, "{} {} {}\n", i, static_cast<int>(column), sample.rate_per_s);
    }
  }
  return {};
}

}  // namespace

int run_far_client(const std::string& address, const std::string& key_file,
                   const std::string& result_file) {
  std::FILE* out = std::fopen(result_file.c_str(), "we");
  if (out == nullptr) return EXIT_FAILURE;
  const Status done = measure_far(address, key_file, out);
  const bool closed = std::fclose(out) == 0;
  if (!done) fmt::print(stderr, "bench_chase: {}\n", done.error().message);
  return done && closed ? EXIT_SUCCESS : EXIT_FAILURE;
}

Result<std::vector<FarLine>> measure_at_distance(std::chrono::microseconds delay) {
  const Folder folder;
  if (!folder.exists()) return fail(ErrorCode::io, "cannot make a folder: {}", errno_text(errno));
  GODWIT_TRY(const auto lab, netlab::Lab::create({.hosts = kNodes + 1, .shape = {.delay = delay}}));
  GODWIT_TRY(auto keys, lab->run(0, {godwit_program(), "key", "new", folder.file("key")}));
  GODWIT_TRY(const int made, keys.wait(kPatience));
  if (made != 0) return fail(ErrorCode::internal, "`godwit key new` ended with {}", made);
  std::vector<netlab::Process> nodes;
  for (std::uint32_t host = 1; host <= kNodes; ++host) {
    GODWIT_TRY(auto node, start_node(*lab, folder, host));
    nodes.push_back(std::move(node));
  }
  GODWIT_TRY(auto client, lab->run(0, {own_program(), kFarCommand, node_address(*lab, 1),
                                       folder.file("key"), folder.file("figures")}));
  GODWIT_TRY(const int ended, client.wait(kClientLimit));
  if (ended != 0) return fail(ErrorCode::internal, "the client at a distance ended with {}", ended);
  const std::string name = delay.count() >= 1000
                               ? fmt::format("{:g} ms", static_cast<double>(delay.count()) / 1e3)
                               : fmt::format("{} us", delay.count());
  return read_lines(folder.file("figures"), name);
}

}  // namespace godwit::bench
