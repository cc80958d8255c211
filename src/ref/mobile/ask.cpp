// The functions by which a process asks an object's home: all they do is to hand the request to the
// node, which answers. So the protocol of objects needs nothing of its own for deadlines, credits
// and lost nodes: its messages are calls.
#include <godwit/mobile.hpp>

namespace godwit::ref {

using Answer = Next<std::span<const std::byte>>;

// Whatever is done at once, and waiting.
Answer ask(Here& here, std::span<const std::byte> request) {
  return here.answer_about_objects(request);
}
GODWIT_EXPORT(ask, inline_);

// What may take its time: making memory, disks, copying much.
Answer ask_slowly(Here& here, std::span<const std::byte> request) {
  return here.answer_about_objects(request);
}
GODWIT_EXPORT(ask_slowly);

}  // namespace godwit::ref
