# The libraries we stand on, each as one imported target.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(crypto REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(openssl REQUIRED IMPORTED_TARGET libssl libcrypto)  # TLS to Redis

find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATC flatc REQUIRED)

if(GODWIT_WITH_UCX)
  pkg_check_modules(ucx REQUIRED IMPORTED_TARGET ucx)
endif()

# godwit_flatbuffers(TARGET schema.fbs ...): generates NAME_generated.h from each NAME.fbs, as an
# interface library that others link for the include path.
function(godwit_flatbuffers target)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/wire)
  set(headers "")
  foreach(schema IN LISTS ARGN)
    get_filename_component(name ${schema} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${name}_generated.h
      COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums -o ${out} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      VERBATIM)
    list(APPEND headers ${out}/${name}_generated.h)
  endforeach()
  add_custom_target(${target}_files DEPENDS ${headers})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_files)
  target_include_directories(${target} SYSTEM INTERFACE
    ${CMAKE_CURRENT_BINARY_DIR}/generated ${FLATBUFFERS_INCLUDE_DIR})
endfunction()
