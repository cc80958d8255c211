// One run of a script, and how to read its answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "ref/channel/redis/protocol.hpp"
#include "ref/stream/redis/scripts.hpp"

namespace godwit::ref::stream {

[[nodiscard]] inline std::string key_of_topic(std::string_view topic) {
  return "godwit:{" + std::string(topic) + "}";
}

class ScriptCall {
 public:
  ScriptCall(Script script, std::string_view topic) : script_(script), key_(key_of_topic(topic)) {}

  ScriptCall& add(std::string_view word) {
    words_.push_back({std::string(word), {}});
    return *this;
  }
  ScriptCall& add(std::uint64_t number) { return add(std::string_view(std::to_string(number))); }
  // One word; the parts are lent as long as this lives.
  ScriptCall& add_parts(std::span<const Bytes> parts) {
    words_.push_back({{}, parts});
    return *this;
  }

  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  // With the script's name alone, or, where the server does not know that, its text.
  [[nodiscard]] RedisCommand command(bool with_text) const {
    const ScriptText& text = script_text(script_);
    RedisCommand command{with_text ? "EVAL" : "EVALSHA", with_text ? text.text : text.sha, "1",
                         key_};
    for (const Word& word : words_) {
      if (word.parts.empty()) {
        command.add(word.text);
      } else {
        command.add_value({}, word.parts);
      }
    }
    return command;
  }

 private:
  struct Word {
    std::string text;
    std::span<const Bytes> parts;
  };
  Script script_;
  std::string key_;
  std::vector<Word> words_;
};

// Of a list; whatever is not there is empty, or 0.
class Answer {
 public:
  explicit Answer(const RedisReply& reply) noexcept : reply_(reply) {}
  [[nodiscard]] std::string_view word() const noexcept { return text(0); }
  [[nodiscard]] std::string_view text(std::size_t index) const noexcept { return at(index).text; }
  [[nodiscard]] std::uint64_t number(std::size_t index) const noexcept {
    const std::int64_t number = at(index).number;
    return number < 0 ? 0 : static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] const std::vector<RedisReply>& list(std::size_t index) const noexcept {
    return at(index).items;
  }

 private:
  [[nodiscard]] const RedisReply& at(std::size_t index) const noexcept {
    static const RedisReply kNothing;
    return index < reply_.items.size() ? reply_.items[index] : kNothing;
  }
  const RedisReply& reply_;
};

}  // namespace godwit::ref::stream
