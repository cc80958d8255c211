# The GPU's part of forwarding, where there is a CUDA compiler. Nothing else in Godwit needs CUDA.
#   godwit_cuda_test(NAME forward_cuda SOURCES ... DEPENDS ...)   tests that skip themselves without a GPU
set(GODWIT_WITH_CUDA AUTO CACHE STRING "Build forwarding on GPUs: ON, OFF, or AUTO (if nvcc is there)")
set_property(CACHE GODWIT_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GODWIT_CUDA OFF)
if(NOT GODWIT_WITH_CUDA)
  return()
endif()
if(GODWIT_WITH_CUDA STREQUAL "AUTO")
  # Sanitizers see nothing of what runs on a GPU, and nvcc wants GCC for the rest.
  if(GODWIT_SANITIZE OR GODWIT_BUILD_FUZZERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  find_program(GODWIT_NVCC nvcc HINTS ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT GODWIT_NVCC)
    return()
  endif()
  set(CMAKE_CUDA_COMPILER ${GODWIT_NVCC})
endif()

set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)  # machine code for Hopper, and PTX that newer GPUs compile
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(GODWIT_CUDA ON)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -DNDEBUG -lineinfo")
if(CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(godwit_cuda_options INTERFACE)
# 2810: nvcc takes the reference that an assignment returns for a [[nodiscard]] value.
target_compile_options(godwit_cuda_options INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:
  --expt-relaxed-constexpr --Werror=all-warnings --diag-suppress=2810
  -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-maybe-uninitialized>)
target_link_libraries(godwit_cuda_options INTERFACE CUDA::cudart_static)

function(godwit_cuda_test)
  if(NOT GODWIT_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "" "NAME;TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${TEST_NAME}_test ${TEST_SOURCES})
  target_link_libraries(${TEST_NAME}_test PRIVATE ${TEST_DEPENDS} GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${TEST_NAME}_test
    TEST_PREFIX "${TEST_NAME}: "
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${TEST_TIMEOUT})
endfunction()
