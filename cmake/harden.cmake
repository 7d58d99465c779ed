# SPDX-License-Identifier: MIT
# tkw_harden(target): flags that make a mistake in memory harder to exploit, as
# far as the compiler has them. Why these, and what they cost:
# docs/internals/hardening.md. The gate harden.sh looks at what was built.

# Instruments have checks of their own, and some clash with these.
set(tkw_harden ${TKW_HARDEN})
if(TKW_SANITIZE OR TKW_COVERAGE OR TKW_BUILD_FUZZ)
  set(tkw_harden OFF)
endif()
if(NOT tkw_harden)
  function(tkw_harden target)
  endfunction()
  return()
endif()

include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(tkw_harden_compile -Wformat -Wformat-security)
# clang accepts some flags only to warn that they mean nothing here.
set(CMAKE_REQUIRED_FLAGS -Werror)
# The last one is for arm64 what the one before it is for x86.
foreach(flag stack-protector-strong stack-clash-protection cf-protection
        branch-protection=standard)
  set(option -f${flag})
  if(flag MATCHES "^branch")
    set(option -m${flag})
  endif()
  string(MAKE_C_IDENTIFIER "TKW_HAVE_${flag}" have)
  check_c_compiler_flag(${option} ${have})
  if(${have})
    list(APPEND tkw_harden_compile ${option})
  endif()
endforeach()

unset(CMAKE_REQUIRED_FLAGS)

set(tkw_harden_link "")
foreach(word relro now noexecstack)
  check_linker_flag(C LINKER:-z,${word} TKW_HAVE_Z_${word})
  if(TKW_HAVE_Z_${word})
    list(APPEND tkw_harden_link LINKER:-z,${word})
  endif()
endforeach()

function(tkw_harden target)
  set(fortify ${PROJECT_SOURCE_DIR}/cmake/fortify.h)
  target_compile_options(${target} PRIVATE
    ${tkw_harden_compile} "SHELL:-include \"${fortify}\"")
  target_link_options(${target} PRIVATE ${tkw_harden_link})
  get_target_property(kind ${target} TYPE)
  get_target_property(pic ${target} POSITION_INDEPENDENT_CODE)
  if(kind STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  elseif(NOT kind STREQUAL SHARED_LIBRARY AND NOT pic)
    # For programs: -fPIC would be for shared libraries too, but calls between
    # our own functions would take a detour.
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
endfunction()
