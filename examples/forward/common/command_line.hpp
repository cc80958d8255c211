// The command line of an example.
//
//   int size = 256;
//   gallery::CommandLine line("render", "A path tracer ...");
//   line.add("--size", size, "pixels along each edge", {1, 8192});
//   return line.run(argc, argv, [&] { ... });
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace gallery {

class CommandLine {
 public:
  struct Range {
    int low;
    int high;
  };

  CommandLine(const std::string& name, const std::string& about);
  ~CommandLine();

  void add(const std::string& option, int& value, const std::string& help, Range range);
  void add(const std::string& option, std::string& value, const std::string& help);
  void add(const std::string& flag, bool& value, const std::string& help);

  // Parses, runs `body`, prints what it throws; the exit status.
  int run(int argc, char** argv, const std::function<void()>& body);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace gallery
