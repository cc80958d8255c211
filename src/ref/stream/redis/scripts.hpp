// What a Redis server runs for topics: scripts in its Lua, each one step that happens whole or not
// at all.
//
// A topic's keys, all in one slot of a cluster:
//   godwit:{TOPIC}             the stream; an entry is an item, with the fields k (key) and v
//   (bytes,
//                              or the text of a handle), and t (ms) where replay asks for a time.
//                              Its id is the offset, and 2 * size + (1 if v is a handle)
//   godwit:{TOPIC}:meta        a hash: id, type, max, end, kept, ended ...
//   godwit:{TOPIC}:producers   a hash: by producer its last batch, and when it was heard of
//   godwit:{TOPIC}:group:NAME  a hash: filter and counts; the rest is the stream's own group
//   godwit:{TOPIC}:items       bells: streams of one entry, for those who wait for items
//   godwit:{TOPIC}:room        or for room
// and godwit:topics, the set of all names.
//
// The first argument of all but open and status is the topic's id: one that was made anew, or lost
// with its server, is not taken for the old one. The first of an answer is a word: "ok", or what is
// wrong. Offsets stay below 2^53, since Lua's numbers do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::ref::stream {

enum class Script : std::uint8_t {
  open,    // new id, type, given, max, replay items, bytes, ms, groups awaited, producer, sole
  append,  // producer, sequence, image, kind; or for the image key and bytes, last
  beat,    // producer
  resign,  // producer
  close,   // code, why
  join,    // group, consumer, start, offset, prefix, has key, key, one in, lasting
  take,    // group, consumer, items, bytes, lease ms, cursor, items it holds
  acked,   // group, consumer, ranges, other ranges, what becomes of these: "", "anew", "back"
  seek,    // group, start, offset
  leave,   // group, consumer
  status,
  remove,
  remove_group,  // group
};

struct ScriptText {
  std::string text;
  std::string sha;  // by which the server knows it
};
[[nodiscard]] const ScriptText& script_text(Script script);

// For scripts.cpp.
[[nodiscard]] std::string_view common_lua() noexcept;
[[nodiscard]] std::string_view topic_lua(Script script) noexcept;  // empty: one of a group's
[[nodiscard]] std::string_view group_lua(Script script) noexcept;

}  // namespace godwit::ref::stream
