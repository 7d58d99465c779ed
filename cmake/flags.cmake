# SPDX-License-Identifier: MIT
# tkw_flags(target [NO_HARDEN]) sets the project's language, warnings, hardening
# and instrumentation. It is called for each target. Nothing is set globally, so
# that a project that adds this one as a sub-folder keeps its own flags.

if(TKW_BUILD_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "TKW_BUILD_FUZZ needs clang (CMAKE_C_COMPILER=clang)")
endif()

include(cmake/harden.cmake)

function(tkw_flags target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
  if(TKW_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(NOT "NO_HARDEN" IN_LIST ARGN)
    tkw_harden(${target})
  endif()

  set(instrument "")
  if(TKW_SANITIZE)
    # A finding must end the program. Otherwise the test could pass.
    list(APPEND instrument "-fsanitize=${TKW_SANITIZE}"
         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  endif()
  if(TKW_BUILD_FUZZ)
    # For all targets, because the fuzzer sees only instrumented code.
    list(APPEND instrument -fsanitize=fuzzer-no-link)
  endif()
  if(TKW_COVERAGE)
    # Several threads update the same counters.
    list(APPEND instrument --coverage -fprofile-update=atomic)
  endif()
  target_compile_options(${target} PRIVATE ${instrument})
  target_link_options(${target} PRIVATE ${instrument})
endfunction()
