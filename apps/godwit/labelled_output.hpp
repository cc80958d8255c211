// Passes the output of several processes on, line by line, each with the name of its process.
#pragma once

#include <string>
#include <vector>

#include "fabric/fd.hpp"
#include "godwit/error.hpp"

namespace godwit::cli {

class LabelledOutput {
 public:
  // What is written to the returned descriptor comes out at `to`, labelled.
  [[nodiscard]] Result<fabric::Fd> add(std::string label, int to);
  // Descriptors to wait for; all that have ended are forgotten.
  [[nodiscard]] std::vector<int> open() const;
  // Passes on what is there. A line without an end comes out when its process has ended.
  void read(int descriptor);
  // All that is left, without waiting for more.
  void finish();

 private:
  struct Stream {
    fabric::Fd from;
    int to = -1;
    std::string label;
    std::string line;  // begun
  };
  static void pass_on(Stream& stream, std::string_view text);
  // False: there is nothing now, or the end has come.
  static bool read_some(Stream& stream);

  std::vector<Stream> streams_;
};

}  // namespace godwit::cli
