// What a rank does, on CPU threads and on a GPU.
#pragma once

#include <algorithm>

#include "common/ranks.hpp"
#include "render/render.hpp"
#include "render/shoot.hpp"

namespace gallery::render {

template <class Place>
Rendering render_at(const Place& place, godwit::Group& group, const Options& options) {
  const Split blocks = split_blocks(grid(), group.ranks());
  const Split pixels{.count = std::int64_t{options.width} * options.height(),
                     .ranks = group.ranks()};
  const std::int64_t mine = pixels.size(group.rank());

  // This rank's part of the scene, and the light of its pixels.
  const LocalScene local = make_scene(group.rank(), group.ranks());
  auto begin = put(place, local.begin);
  auto listed = put(place, local.listed);
  auto spheres = put(place, local.spheres);
  auto light = put(place, std::vector<std::uint64_t>(static_cast<std::size_t>(3 * mine)));

  auto exchange = make_exchange<Ray, Shadow, godwit::Reduced<Light>>(place, group);
  exchange.template reduce<Light>(
      AddLight{.sums = light.data(), .first_pixel = pixels.first(group.rank())});
  const Trace trace{.scene = {.first_cell = local.first_cell,
                              .cells = local.cells(),
                              .begin = begin.data(),
                              .listed = listed.data(),
                              .spheres = spheres.data()},
                    .blocks = blocks,
                    .pixels = pixels,
                    .show_owners = options.show_owners};
  Shoot shoot{.camera = Camera::looking(options.width, options.height()),
              .blocks = blocks,
              .pixels = pixels,
              .rank = group.rank(),
              .width = static_cast<std::uint32_t>(options.width)};

  // A few paths for each pixel at a time, which bounds the memory that rays take.
  const std::int64_t few = std::max(std::int64_t{1}, items_at_once<Place>(group) / pixels.count);
  std::uint64_t taken_up = 0;
  for (std::int64_t sample = 0; sample < options.samples; sample += few) {
    shoot.first_sample = static_cast<std::uint32_t>(sample);
    launch(place, exchange, mine * std::min(few, options.samples - sample), shoot);
    taken_up += need(exchange.run(trace)).processed;
  }

  Rendering result{
      .image = {}, .light = gather(group, light.fetch()), .taken_up = sum(group, taken_up)};
  if (group.rank() == 0) result.image = develop(result.light, options);
  return result;
}

}  // namespace gallery::render
