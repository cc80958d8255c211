// What the shared library shows to the programs that link it.
#pragma once

// Marks a function or class of a public header as part of libgodwit's interface. Everything else is
// compiled with hidden visibility. Templates and inline functions need no mark.
#define GODWIT_API __attribute__((visibility("default")))
