// Nodes that run as children of this process, and end with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "code/native/runtime_directory.hpp"
#include "godwit/error.hpp"

namespace godwit::node {

// A node watches its parent's process (parent_pid) and ends when it does, however that happens; so
// nothing is left behind but, after a kill -9, the directory, which the next one started removes.
class LocalNodes {
 public:
  struct Options {
    std::string executable;
    bool tcp = false;
    std::vector<std::string> node_arguments;
    std::chrono::milliseconds start_timeout{10'000};
  };

  // Starts n0, n1, … and waits until all serve. Errors as Fleet::local().
  [[nodiscard]] static Result<std::unique_ptr<LocalNodes>> start(std::size_t count,
                                                                 Options options);
  // Ends them: SIGTERM, then SIGKILL for those that do not go.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

  [[nodiscard]] std::vector<std::string> addresses() const;
  // -1 while it does not run.
  [[nodiscard]] pid_t pid(std::size_t index) const { return children_[index].pid; }
  [[nodiscard]] std::size_t size() const { return children_.size(); }
  // The index of the node with that name, or size().
  [[nodiscard]] std::size_t index_of(const std::string& name) const;

  Status kill(std::size_t index);     // SIGKILL
  Status restart(std::size_t index);  // kills it first if it runs; same name, id and address

 private:
  struct Child {
    std::string name;
    std::string id;
    std::string address;  // as it reported it
    pid_t pid = -1;
  };
  LocalNodes(code::RuntimeDirectory directory, Options options)
      : directory_(std::move(directory)), options_(std::move(options)) {}
  [[nodiscard]] Status spawn(std::size_t index);

  code::RuntimeDirectory directory_;
  Options options_;
  std::vector<Child> children_;
};

}  // namespace godwit::node
