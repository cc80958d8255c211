// What the files of the verbs of godwit_here_v1 share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "call/context.hpp"
#include "godwit/error.hpp"
#include "godwit/mobile_abi.h"

namespace godwit::call {

inline CallContext& context_of(const godwit_here_v1* here) {
  return *static_cast<CallContext*>(here->context);
}

// What a verb returns that failed; last_error() of this thread says the text.
std::int32_t failed(ErrorCode code, std::string text);
std::int32_t failed(const Error& error);

// The function that mobile code means, if this node knows its bundle (here_functions.cpp). Errors:
// unknown_code, unknown_function, resource_exhausted.
[[nodiscard]] Result<FunctionRef*> resolve(CallContext& context, const godwit_function_ref& wanted);

namespace verbs {

// here_functions.cpp
std::int32_t check_function(const godwit_here_v1* here, const godwit_function_ref* function,
                            const char* signature, std::size_t signature_size);
void own_code(const godwit_here_v1* here, std::uint8_t bundle[32]);

// here_objects.cpp
std::int32_t answer_about_objects(const godwit_here_v1* here, const void* request,
                                  std::size_t size);
std::int32_t resolve_object(const godwit_here_v1* here, const void* handle, const char* type,
                            std::size_t type_size, godwit_bytes* bytes);
std::int32_t put_object(const godwit_here_v1* here, const godwit_put_v1* request, void* handle);
std::int32_t settle_object(const godwit_here_v1* here, const void* handle,
                           const godwit_settle_v1* request, void* settled);

// here_ranks.cpp
std::int32_t run_rank(const godwit_here_v1* here, godwit_rank_v1* rank);

// here_regions.cpp
std::int32_t find_region(const godwit_here_v1* here, const char* name, std::size_t size,
                         std::uint64_t* id);
std::int32_t region(const godwit_here_v1* here, std::uint64_t id, const char* type,
                    std::size_t type_size, std::uint32_t rights, godwit_region_v1* view);
std::int32_t apply_region(const godwit_here_v1* here, const void* descriptor, std::size_t size);

}  // namespace verbs
}  // namespace godwit::call
