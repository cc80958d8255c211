# header_check: every public header compiles alone, with nothing but include/ and what it may depend
# on in reach, as C++ and, if its name ends in .h, as C.
if(NOT GODWIT_BUILD_TESTS)
  return()
endif()
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_SOURCE_DIR}/include/godwit/*.hpp ${PROJECT_SOURCE_DIR}/include/godwit/*.h)
list(FILTER headers EXCLUDE REGEX "/detail/")  # nobody includes those alone
set(units "")
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER ${header} name)
  set(suffixes cpp)
  if(header MATCHES "\\.h$")
    list(APPEND suffixes c)
  endif()
  foreach(suffix IN LISTS suffixes)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/generated/header_check/${name}.${suffix})
    # Twice: a header without a guard shows.
    file(CONFIGURE OUTPUT ${unit} CONTENT
      "#include \"${header}\"\n#include \"${header}\"\nint header_check_${name}_${suffix};\n")
    list(APPEND units ${unit})
  endforeach()
endforeach()
add_library(header_check OBJECT ${units})
set_target_properties(header_check PROPERTIES UNITY_BUILD OFF)  # alone is the point
target_include_directories(header_check PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(header_check PRIVATE tl::expected)
target_compile_options(header_check PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:godwit_options,INTERFACE_COMPILE_OPTIONS>>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Werror>
  -O0 -g0)  # nobody runs it
