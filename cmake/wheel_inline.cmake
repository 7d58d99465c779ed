# SPDX-License-Identifier: MIT
# Generates tickwheel/wheel_inline.h from the sources of the wheel. This happens
# while CMake runs, so that the header can be installed before anything is built.

find_program(TKW_AWK NAMES awk mawk gawk)
mark_as_advanced(TKW_AWK)
if(NOT TKW_AWK)
  message(FATAL_ERROR
    "no awk, which generates tickwheel/wheel_inline.h (Debian: mawk)")
endif()

set(tkw_generated ${PROJECT_BINARY_DIR}/include)
set(tkw_wheel_inline ${tkw_generated}/tickwheel/wheel_inline.h)
set(script ${PROJECT_SOURCE_DIR}/cmake/wheel_inline.awk)
set(parts
  cmake/wheel_inline_preface.h
  include/tickwheel/wheel.h
  src/base/bits.h
  src/base/bitset.h
  src/base/hint.h
  src/base/links.h
  src/base/config.h
  src/wheel/engine.h
  src/wheel/hierarchical.c
  src/wheel/hashed.c
  src/wheel/check.c
  src/wheel/wheel.c)
list(TRANSFORM parts PREPEND ${PROJECT_SOURCE_DIR}/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${script} ${parts})

file(MAKE_DIRECTORY ${tkw_generated}/tickwheel)
execute_process(COMMAND ${TKW_AWK} -f ${script} ${parts}
                OUTPUT_FILE ${PROJECT_BINARY_DIR}/wheel_inline.new
                COMMAND_ERROR_IS_FATAL ANY)
# If nothing has changed, what includes the header need not be built again.
file(COPY_FILE ${PROJECT_BINARY_DIR}/wheel_inline.new ${tkw_wheel_inline}
     ONLY_IF_DIFFERENT)
