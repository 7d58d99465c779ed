# SPDX-License-Identifier: MIT
# tkw_faulty_wheel(target) redirects calls of the wheel to
# tests/tools/faulty_wheel.c. A test uses it to see whether a program notices a
# wheel that is wrong.

function(tkw_faulty_wheel target)
  target_sources(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/tests/tools/faulty_wheel.c)
  foreach(call add remove advance check)
    target_link_options(${target} PRIVATE LINKER:--wrap=tkw_wheel_${call})
  endforeach()
endfunction()
