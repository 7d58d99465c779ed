# SPDX-License-Identifier: MIT
# tkw_faulty_wheel(target): the calls that tests/tools/faulty_wheel.c replaces
# go through it, so that a test can see whether a program notices a wrong wheel.

function(tkw_faulty_wheel target)
  target_sources(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/tools/faulty_wheel.c)
  foreach(call add remove advance check)
    target_link_options(${target} PRIVATE LINKER:--wrap=tkw_wheel_${call})
  endforeach()
endfunction()
