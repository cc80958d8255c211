#include "trace/chrome_trace.hpp"

#include <fmt/format.h>

#include <iterator>

#include "trace/json.hpp"

namespace godwit::trace {
namespace {

double microseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

}  // namespace

std::string chrome_trace_events(const TracedProcess& process, std::span<const Event> events) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":)", process.pid);
  append_json_string(out, process.name);
  out += "}}";
  for (const Event& event : events) {
    out += ",\n{\"name\":";
    append_json_string(out, event.name);
    fmt::format_to(to, R"(,"pid":{},"tid":{},"ts":{:.3f},)", process.pid, event.track,
                   microseconds(event.start.ns));
    if (event.duration.count() > 0) {
      fmt::format_to(to, R"("ph":"X","dur":{:.3f},)", microseconds(event.duration.count()));
    } else {
      out += R"("ph":"i","s":"t",)";
    }
    fmt::format_to(to, R"("args":{{"value":{}}}}})", event.argument);
  }
  return out;
}

std::string chrome_trace_json(const TracedProcess& process, std::span<const Event> events) {
  return fmt::format("{{\"traceEvents\":[{}]}}\n", chrome_trace_events(process, events));
}

}  // namespace godwit::trace
