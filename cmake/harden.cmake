# SPDX-License-Identifier: MIT
# tkw_harden(target) sets the flags that make memory errors harder to exploit, if
# the compiler supports them. docs/internals/hardening.md says why these, and what
# they cost. The gate harden.sh checks the result.

# Sanitizers and the like have their own checks, and some conflict with these
# flags.
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
# clang accepts some flags, but warns that they have no effect here.
set(CMAKE_REQUIRED_FLAGS -Werror)
# cf-protection is for x86. branch-protection is the same for arm64.
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
    # A static library is for programs, so -fPIE is enough. With -fPIC, calls
    # between our own functions would be indirect.
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
endfunction()
