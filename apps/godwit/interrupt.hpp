// Ctrl-C as something to ask about, so that what is under way can be told to stop.
#pragma once

namespace godwit::cli {

// From now on the first SIGINT or SIGTERM only makes interrupted() true; a second one ends the
// process as usual.
void catch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace godwit::cli
