// How processes become the ranks of a Group.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "godwit/error.hpp"
#include "godwit/export.hpp"
#include "godwit/kernel.hpp"

namespace godwit {

// How chunks travel between processes.
enum class Way : std::uint8_t {
  automatic,  // shared memory between processes of one host, tcp to others
  shm,        // shared memory only: a rank on another host is an error
  tcp,        // tcp only, also between processes of one host
};

struct MeetOptions {
  Rank rank = 0;   // this process's
  Rank ranks = 1;  // all processes of the group say the same
  // Where they meet. "shm:///run/user/1000/job7": a path that nobody else uses, or an existing
  // folder, for processes of one host. "tcp://host:port": where rank 0 listens and the others go.
  std::string address{};
  // A file with the key that all processes prove they have (`godwit key new FILE`); needed where
  // the meeting place can be reached from other hosts.
  std::string key_file{};
  // The key itself, 64 hexadecimal digits, where the processes have agreed on one.
  std::string key{};
  // How long to wait for the others.
  std::chrono::milliseconds patience{60'000};
  Way way = Way::automatic;
};

// A place that nobody else uses, for who has a way to tell the processes of it: a launcher, MPI.
// What it needs is gone with it; keep it until all have met.
class GODWIT_API MeetingPlace {
 public:
  enum class For : std::uint8_t {
    one_host,
    hosts,  // that reach this one, where rank 0 is to be, by its name
  };
  // Errors: io, resource_exhausted.
  [[nodiscard]] static Result<MeetingPlace> create(For whom);
  MeetingPlace(MeetingPlace&& other) noexcept = default;
  MeetingPlace& operator=(MeetingPlace&&) = delete;
  ~MeetingPlace();

  // For MeetOptions; the key is secret, and needed between hosts.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  MeetingPlace(std::string folder, std::string address, std::string key) noexcept;

  struct Folder {
    void operator()(const std::string* path) const noexcept;
  };
  std::unique_ptr<std::string, Folder> folder_;
  std::string address_;
  std::string key_;
};

}  // namespace godwit
