# godwit_add_bundle(NAME SOURCES a.cpp ... [OUTPUT name.gdw] [OPTIONS --needs z ...] [DEPENDS ...])
#
# Builds mobile code with `godwit cc` as part of the default build. OUTPUT, by default NAME.gdw, is
# relative to the current binary folder; the target NAME has it as its property GODWIT_BUNDLE. OPTIONS
# are passed to `godwit cc`; DEPENDS are further files, for instance headers, that a change of must
# rebuild the bundle.
function(godwit_add_bundle name)
  cmake_parse_arguments(PARSE_ARGV 1 BUNDLE "" "OUTPUT" "SOURCES;OPTIONS;DEPENDS")
  if(NOT BUNDLE_SOURCES)
    message(FATAL_ERROR "godwit_add_bundle(${name}): no SOURCES")
  endif()
  if(NOT BUNDLE_OUTPUT)
    set(BUNDLE_OUTPUT ${name}.gdw)
  endif()
  cmake_path(ABSOLUTE_PATH BUNDLE_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  # Inside Godwit's own build the executable is a target still to be built.
  set(tool godwit)
  if(TARGET godwit::cli)
    set(tool godwit::cli)
  endif()
  set(sources "")
  foreach(source IN LISTS BUNDLE_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${source})
  endforeach()
  add_custom_command(
    OUTPUT ${BUNDLE_OUTPUT}
    COMMAND $<TARGET_FILE:${tool}> cc ${sources} -o ${BUNDLE_OUTPUT} ${BUNDLE_OPTIONS}
    DEPENDS ${sources} ${BUNDLE_DEPENDS} ${tool}
    COMMENT "Building the bundle ${name}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${BUNDLE_OUTPUT})
  set_target_properties(${name} PROPERTIES GODWIT_BUNDLE ${BUNDLE_OUTPUT})
endfunction()
