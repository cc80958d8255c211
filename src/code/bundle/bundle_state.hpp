// What Bundle's copies share; seen by its own sources only.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "code/bundle/bundle.hpp"

namespace godwit::code {

struct Bundle::State {
  std::shared_ptr<const Buffer> manifest_bytes;
  // Shared by the states that with_slice() derives; by_name's keys point into it.
  std::shared_ptr<const Manifest> manifest;
  std::shared_ptr<const std::map<std::string_view, std::size_t>> by_name;
  ContentId id;
  std::vector<SliceInfo> slices;  // the manifest's, with the bytes that are held
  // What keeps those bytes alive: the whole file, or one buffer per slice.
  std::vector<std::shared_ptr<const Buffer>> owners;
};

}  // namespace godwit::code
