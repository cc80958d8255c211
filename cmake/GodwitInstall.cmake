# What is installed: one shared library made of every layer, the public headers, the executable, the
# JIT plug-in, and what find_package(godwit) and pkg-config need.
include(CMakePackageConfigHelpers)
include(GodwitHeaderCheck)

get_property(layers GLOBAL PROPERTY GODWIT_LAYERS)

# The layers' objects themselves, all of them: of an archive the linker takes only what something asks
# for, and nothing here does. Linking the archives as well brings in what the layers stand on.
list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(godwit_shared SHARED ${objects})
add_library(godwit::godwit ALIAS godwit_shared)
set_target_properties(godwit_shared PROPERTIES
  OUTPUT_NAME godwit
  EXPORT_NAME godwit
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_libraries(godwit_shared PRIVATE ${layers})
target_link_libraries(godwit_shared PUBLIC tl::expected)
target_compile_features(godwit_shared PUBLIC cxx_std_20)
target_include_directories(godwit_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(NOT GODWIT_SANITIZE)
  # A symbol nobody defines should fail here, not at a user's link. (Sanitizers leave theirs open.)
  target_link_options(godwit_shared PRIVATE -Wl,--no-undefined)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/godwit)
install(TARGETS godwit_shared EXPORT godwit_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/godwit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET godwit)
  set_target_properties(godwit PROPERTIES EXPORT_NAME cli)
  install(TARGETS godwit EXPORT godwit_targets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET godwit_jit)
  # Loaded by name at run time, never linked.
  install(TARGETS godwit_jit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/godwit NAMELINK_SKIP)
endif()

if(TARGET godwit_forward_cuda)
  # As a file: what it is made of here is in the library above for whoever installs it.
  install(FILES $<TARGET_FILE:godwit_forward_cuda> DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

install(EXPORT godwit_targets NAMESPACE godwit:: FILE godwit-targets.cmake
  DESTINATION ${package_dir})
configure_package_config_file(
  cmake/godwit-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit-config-version.cmake
  cmake/GodwitBundle.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH GODWIT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/godwit.pc.in ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/godwit.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
