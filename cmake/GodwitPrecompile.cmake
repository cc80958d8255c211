# With GODWIT_PRECOMPILE the headers that most sources include are compiled once: a whole build takes a
# third less. Off by default, because compilers then find what a source forgot to include, and ccache
# keeps nothing. For GCC: it passes over a precompiled header that does not fit a target's options.
option(GODWIT_PRECOMPILE "Precompile what most sources include, for whole builds without ccache" OFF)
if(NOT GODWIT_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  function(godwit_precompile target)
  endfunction()
  return()
endif()

set(common_headers <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <cstring> <filesystem>
  <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled/layer.cpp CONTENT "")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/precompiled/test.cpp
  CONTENT "int main() { return 0; }\n")

# One for libraries and one for programs: they differ in how their code may be placed.
add_library(precompiled_layer STATIC ${CMAKE_BINARY_DIR}/generated/precompiled/layer.cpp)
target_link_libraries(precompiled_layer PRIVATE godwit_options fmt::fmt tl::expected)
target_precompile_headers(precompiled_layer PRIVATE ${common_headers})
if(GODWIT_BUILD_TESTS)
  find_package(GTest REQUIRED)
  add_executable(precompiled_test ${CMAKE_BINARY_DIR}/generated/precompiled/test.cpp)
  target_link_libraries(precompiled_test PRIVATE godwit_options fmt::fmt tl::expected GTest::gmock)
  target_precompile_headers(precompiled_test PRIVATE ${common_headers} <gmock/gmock.h>
    <gtest/gtest.h>)
endif()

# godwit_precompile(TARGET): lets a layer or a test use them.
function(godwit_precompile target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    target_precompile_headers(${target} REUSE_FROM precompiled_test)
  else()
    target_precompile_headers(${target} REUSE_FROM precompiled_layer)
  endif()
endfunction()
