# With GODWIT_PRECOMPILE the headers that most sources include are compiled once: a whole build takes a
# third less. `./dev` asks for it; for others it is off, because compilers then find what a source forgot
# to include (clang's presets keep us honest), and because ccache needs to be told (see ./dev). For GCC: it
# passes over a precompiled header that does not fit a target's options.
option(GODWIT_PRECOMPILE "Precompile what most sources include" OFF)
if(NOT GODWIT_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  function(godwit_precompile)
  endfunction()
  return()
endif()

set(common_headers <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <cstring> <filesystem>
  <functional> <map> <memory> <mutex> <optional> <span> <string> <string_view> <thread>
  <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)

set(precompiled_libraries fmt::fmt tl::expected)

# precompile(NAME LIBRARY|PROGRAM HEADERS... LINK...): libraries and programs differ in how their code may be
# placed, so each kind has its own.
function(precompile name kind)
  cmake_parse_arguments(PARSE_ARGV 2 THIS "" "" "HEADERS;LINK")
  set(source ${CMAKE_BINARY_DIR}/generated/precompiled/${name}.cpp)
  if(kind STREQUAL "LIBRARY")
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(precompiled_${name} STATIC ${source})
  else()
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
    add_executable(precompiled_${name} ${source})
  endif()
  target_link_libraries(precompiled_${name} PRIVATE godwit_options ${precompiled_libraries} ${THIS_LINK})
  target_compile_options(precompiled_${name} PRIVATE -fpch-preprocess)
  target_precompile_headers(precompiled_${name} PRIVATE ${common_headers} ${THIS_HEADERS})
endfunction()

precompile(layer LIBRARY)
precompile(commands_library LIBRARY HEADERS <CLI/CLI.hpp> LINK CLI11::CLI11)
precompile(commands PROGRAM HEADERS <CLI/CLI.hpp> LINK CLI11::CLI11)
if(GODWIT_BUILD_TESTS)
  precompile(test PROGRAM HEADERS <gmock/gmock.h> <gtest/gtest.h> LINK GTest::gmock)
  target_compile_options(precompiled_test PRIVATE ${GODWIT_TEST_OPTIONS})
  set_target_properties(precompiled_test PROPERTIES GODWIT_IS_TEST ON)
endif()

# godwit_precompile(TARGET layer|test|commands): lets it use them. `commands` are targets most of whose
# sources read command lines.
function(godwit_precompile target which)
  get_target_property(type ${target} TYPE)
  if(which STREQUAL "commands" AND NOT type STREQUAL "EXECUTABLE")
    set(which commands_library)
  endif()
  # GCC refuses a header that was compiled with definitions the target lacks, and these libraries define some.
  target_link_libraries(${target} PRIVATE ${precompiled_libraries})
  target_compile_options(${target} PRIVATE -fpch-preprocess)  # for ccache
  target_precompile_headers(${target} REUSE_FROM precompiled_${which})
endfunction()
