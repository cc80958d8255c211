// How a command finds its fleet.
#pragma once

#include <CLI/App.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "exit.hpp"
#include "godwit/fleet.hpp"

namespace godwit::cli {

struct ConnectOptions {
  std::string fleet = "default";  // one that `godwit up` started
  std::string address;            // or any node of any fleet
  std::string key_file;

  // This object outlives the parsing.
  void add_to(CLI::App& command);
};

// Joins as a client. Ends as unreachable if there is no such fleet or nobody answers.
[[nodiscard]] tl::expected<Fleet, Failed> connect(const ConnectOptions& options);

// The nodes that a user means: one by its name, id or index, or all that are up. Ends as
// unreachable if there is none such.
[[nodiscard]] tl::expected<std::vector<NodeHandle>, Failed> choose_nodes(const Fleet& fleet,
                                                                         const std::string& on);

// Waits until `count` nodes are known to be up. Error: unreachable.
[[nodiscard]] Status wait_for_nodes(const Fleet& fleet, std::size_t count,
                                    std::chrono::milliseconds limit);

}  // namespace godwit::cli
