# Whether the compiler refuses what it should, and says why.
#
#   cmake -D SOURCE=... -D COMPILER=... -D "INCLUDE=..." -P refused_test.cmake
#
# Compiles SOURCE twice, without making anything of it: with GODWIT_GOOD, which must work, and
# without, where the line after each comment `// refused: MESSAGE` must be told of, with that message.
set(folders "")
foreach(folder IN LISTS INCLUDE)
  list(APPEND folders -I ${folder})
endforeach()
set(compile ${COMPILER} -std=c++20 -fsyntax-only -ftemplate-depth=200 ${folders} ${SOURCE})

execute_process(COMMAND ${compile} -DGODWIT_GOOD RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(failed)
  message(FATAL_ERROR "what should compile does not:\n${errors}")
endif()
execute_process(COMMAND ${compile} RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(NOT failed)
  message(FATAL_ERROR "all of it compiles")
endif()

get_filename_component(name ${SOURCE} NAME)
file(READ ${SOURCE} text)
string(REGEX MATCHALL "// refused: [^\n]*" cases "${text}")
if(NOT cases)
  message(FATAL_ERROR "${SOURCE} has nothing to refuse")
endif()
foreach(case IN LISTS cases)
  string(REPLACE "// refused: " "godwit: " message "${case}")
  string(FIND "${text}" "${case}" at)
  string(SUBSTRING "${text}" 0 ${at} before)
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines line)
  math(EXPR line "${line} + 2")
  # So that the next case with this message is found.
  string(LENGTH "${case}" length)
  string(REPEAT "-" ${length} filling)
  math(EXPR after "${at} + ${length}")
  string(SUBSTRING "${text}" ${after} -1 rest)
  set(text "${before}${filling}${rest}")

  string(FIND "${errors}" "${message}" told)
  string(FIND "${errors}" "${name}:${line}:" placed)
  if(told EQUAL -1 OR placed EQUAL -1)
    message(SEND_ERROR "line ${line} is not refused with \"${message}\":\n${errors}")
  endif()
endforeach()
