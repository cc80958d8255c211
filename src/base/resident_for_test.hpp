// For tests that show that memory stays flat.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace godwit {

// Memory that a process has in RAM, mapped files included; 0 if it does not run. The kernel may
// count a few hundred KiB late.
inline std::size_t resident_bytes(const std::string& process = "self") {
  std::size_t pages = 0;
  std::ifstream("/proc/" + process + "/statm") >> pages >> pages;  // the second word
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace godwit
