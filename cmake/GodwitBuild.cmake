# How every target of this project is compiled, and the two verbs that declare them:
#   godwit_layer(NAME base SOURCES ... DEPENDS ... )   one folder of src/, as the static library godwit_NAME
#   godwit_test(NAME base SOURCES ... DEPENDS ... )    the tests that sit beside it, as one executable

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
# Tests run once for every time they are compiled: half of -O2's compile time, and not -O0's speed.
set(GODWIT_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-Og>)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(godwit_options INTERFACE)
set(warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-qual -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees dangling and uninitialised memory in inlined library code that is not there.
  list(APPEND warnings
    -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-array-bounds)
else()
  # GCC 12's library sorts with what it calls deprecated itself, which clang holds against whoever sorts.
  list(APPEND warnings -Wno-deprecated-declarations)
endif()
# nvcc has warnings of its own: GodwitCuda.
target_compile_options(godwit_options INTERFACE $<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${warnings}>)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A class with members of an unnamed namespace's type is one only because its source is now included.
  target_compile_options(godwit_options INTERFACE -Wno-subobject-linkage)
endif()
if(GODWIT_SANITIZE)
  target_compile_options(godwit_options INTERFACE
    -fsanitize=${GODWIT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    -Og  # compiles as fast as -O0, and what comes out is faster
    -g1)  # lines are enough for a report, and compile a fifth faster than all there is
  target_link_options(godwit_options INTERFACE -fsanitize=${GODWIT_SANITIZE})
  if(GODWIT_SANITIZE MATCHES "undefined")
    # These three checks are half of a test's compile time. The layers keep them; in tests, the other
    # sanitizer tells of null.
    target_compile_options(godwit_options INTERFACE
      $<$<BOOL:$<TARGET_PROPERTY:GODWIT_IS_TEST>>:-fno-sanitize=null,vptr,object-size>)
  endif()
endif()
if(GODWIT_BUILD_FUZZERS)
  # Coverage feedback from the code under test, not only from the fuzzer's own file.
  target_compile_options(godwit_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(godwit_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(godwit_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)

include(GodwitBundle)  # godwit_add_bundle(), as users of the installed package have it

set_property(GLOBAL PROPERTY GODWIT_LAYERS "")

function(godwit_layer)
  cmake_parse_arguments(LAYER "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_library(godwit_${LAYER_NAME} STATIC ${LAYER_SOURCES})
  target_link_libraries(godwit_${LAYER_NAME} PUBLIC godwit_options ${LAYER_DEPENDS})
  godwit_precompile(godwit_${LAYER_NAME} layer)
  set_property(GLOBAL APPEND PROPERTY GODWIT_LAYERS godwit_${LAYER_NAME})
endfunction()

# Compiles mobile functions, with a tool of the build's own since `godwit` itself comes later, and sets
# NAME_bundle_source to a source that makes the bundle's file part of a library:
# godwit::embedded::NAME_bundle() (code/bundle/embedded.hpp).
function(godwit_embed_bundle name)
  cmake_parse_arguments(BUNDLE "" "" "SOURCES" ${ARGN})
  list(TRANSFORM BUNDLE_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/mobile/*.hpp
    ${PROJECT_SOURCE_DIR}/include/godwit/mobile/*.hpp ${PROJECT_SOURCE_DIR}/include/godwit/ops/*.hpp)
  set(bundle ${CMAKE_CURRENT_BINARY_DIR}/${name}.gdw)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_bundle.cpp)
  add_custom_command(
    OUTPUT ${bundle}
    COMMAND godwit_bundle_tool ${name} ${bundle} ${BUNDLE_SOURCES}
    DEPENDS ${BUNDLE_SOURCES} ${headers} ${PROJECT_SOURCE_DIR}/include/godwit/mobile_abi.h
      ${PROJECT_SOURCE_DIR}/include/godwit/codec.hpp
      ${PROJECT_SOURCE_DIR}/include/godwit/sharding.hpp godwit_bundle_tool
    COMMENT "Building the bundle ${name}"
    VERBATIM)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_bundle.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${bundle})
  set(${name}_bundle_source ${source} PARENT_SCOPE)
endfunction()

# `./dev test` also runs the tests of these layers under the sanitizers: the target core_tests builds
# them, and their cases carry the label "core". A test belongs to the layer its NAME starts with.
set(GODWIT_CORE_LAYERS base trace trust wire fabric code fleet call region ref forward)
# What never starts a thread is nothing for ThreadSanitizer: one_thread_tests and the label "one_thread"
# are for `./dev test --long`.
if(GODWIT_BUILD_TESTS AND NOT TARGET core_tests)
  add_custom_target(core_tests)
  add_custom_target(one_thread_tests)
  add_custom_target(fleet_tests)  # those with the label "fleet": whole fleets of processes
endif()

# Tells ThreadSanitizer, in every program of ours that it watches, what it cannot see of UCX.
function(godwit_sanitizer_defaults program)
  if(GODWIT_SANITIZE MATCHES "thread")
    set(defaults ${PROJECT_SOURCE_DIR}/src/base/tsan_defaults.cpp)
    target_sources(${program} PRIVATE ${defaults})
    # A program's own defaults replace these, which they cannot do from the same unit.
    set_source_files_properties(${defaults} TARGET_DIRECTORY ${program}
      PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# Properties of tests that start a fleet of processes: one such test at a time, beside others that do not,
# and the first of all, so that there are others left.
set(GODWIT_ONE_FLEET RESOURCE_LOCK one_fleet COST 10)

# TIMEOUT is per test case, in seconds. Tests whose name begins or ends with "Long", or whose suite's
# name ends so, run in `./dev test --long` only. PROPERTIES are passed on to every case. NO_SANITIZE
# keeps a core layer's test out of the sanitizer runs; CORE puts another one in; ONE_THREAD says that
# none is started.
function(godwit_test)
  if(NOT GODWIT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "CORE;NO_SANITIZE;ONE_THREAD" "NAME;TIMEOUT" "SOURCES;DEPENDS;PROPERTIES" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 60)
  endif()
  if(GODWIT_SANITIZE)
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")  # everything takes its time there
  endif()
  add_executable(${TEST_NAME}_test ${TEST_SOURCES})
  godwit_sanitizer_defaults(${TEST_NAME}_test)
  target_link_libraries(${TEST_NAME}_test PRIVATE ${TEST_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_options(${TEST_NAME}_test PRIVATE ${GODWIT_TEST_OPTIONS})
  set_target_properties(${TEST_NAME}_test PROPERTIES GODWIT_IS_TEST ON)
  godwit_precompile(${TEST_NAME}_test test)
  string(REGEX REPLACE "_.*" "" layer ${TEST_NAME})
  if(TEST_CORE OR (layer IN_LIST GODWIT_CORE_LAYERS AND NOT TEST_NO_SANITIZE))
    set(group core)
    if(TEST_ONE_THREAD AND GODWIT_SANITIZE MATCHES "thread")
      set(group one_thread)
    endif()
    add_dependencies(${group}_tests ${TEST_NAME}_test)
    list(APPEND TEST_PROPERTIES LABELS ${group})
  endif()
  if("fleet" IN_LIST TEST_PROPERTIES)
    add_dependencies(fleet_tests ${TEST_NAME}_test)
  endif()
  include(GoogleTest)
  gtest_discover_tests(${TEST_NAME}_test
    TEST_PREFIX "${TEST_NAME}: "
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${TEST_TIMEOUT} ${TEST_PROPERTIES})
endfunction()
