#include "lab_node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/fail.hpp"

namespace godwit::bench {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{20};

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "godwit-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

std::string godwit_program() {
  return (std::filesystem::path(own_program()).parent_path() / "godwit").string();
}

std::string node_address(const netlab::Lab& lab, std::uint32_t host) {
  return "tcp:" + lab.address(host) + ":7400";
}

Status make_key(const netlab::Lab& lab, const Folder& folder) {
  GODWIT_TRY(auto keys, lab.run(0, {godwit_program(), "key", "new", folder.file("key")}));
  GODWIT_TRY(const int made, keys.wait(kPatience));
  if (made != 0) return fail(ErrorCode::internal, "`godwit key new` ended with {}", made);
  return {};
}

Result<netlab::Process> start_node(const netlab::Lab& lab, const Folder& folder, std::uint32_t host,
                                   const std::vector<std::string>& more) {
  const std::string log = folder.file(fmt::format("node{}.log", host));
  const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  std::vector<std::string> command{godwit_program(), "node",
                                   "--name",         fmt::format("n{}", host),
                                   "--listen",       node_address(lab, host),
                                   "--key-file",     folder.file("key")};
  if (host > 1) command.insert(command.end(), {"--join", node_address(lab, 1)});
  command.insert(command.end(), more.begin(), more.end());
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

}  // namespace godwit::bench
