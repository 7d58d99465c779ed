# SPDX-License-Identifier: MIT
# tkw_flags(target [NO_HARDEN]): the project's language, warnings, hardening and
# instrumentation.
# Each target of the tree calls it; nothing is set globally, so that a project
# which adds this one as a sub-folder keeps its own flags.

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
    # A finding ends the program: a test that goes on would pass.
    list(APPEND instrument "-fsanitize=${TKW_SANITIZE}"
         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  endif()
  if(TKW_BUILD_FUZZ)
    # Not only the fuzz target: the fuzzer sees just what is instrumented.
    list(APPEND instrument -fsanitize=fuzzer-no-link)
  endif()
  if(TKW_COVERAGE)
    # Threads count together.
    list(APPEND instrument --coverage -fprofile-update=atomic)
  endif()
  target_compile_options(${target} PRIVATE ${instrument})
  target_link_options(${target} PRIVATE ${instrument})
endfunction()
