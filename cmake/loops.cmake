# SPDX-License-Identifier: MIT
# Looks for the libraries that the adapters are for. If NAME is found, there is a
# target tkw_loop_NAME. Examples and tests link it. The library itself needs none
# of them.

# tkw_find_loop(NAME HEADER LIBRARY)
function(tkw_find_loop name header library)
  # The same variables as in bench, so that CMake searches only once.
  find_path(TKW_lib${name}_INCLUDE ${header})
  find_library(TKW_lib${name}_LIBRARY ${library})
  mark_as_advanced(TKW_lib${name}_INCLUDE TKW_lib${name}_LIBRARY)
  if(NOT TKW_lib${name}_INCLUDE OR NOT TKW_lib${name}_LIBRARY)
    return()
  endif()
  add_library(tkw_loop_${name} INTERFACE)
  target_include_directories(tkw_loop_${name} SYSTEM INTERFACE
    ${TKW_lib${name}_INCLUDE})
  target_link_libraries(tkw_loop_${name} INTERFACE ${TKW_lib${name}_LIBRARY})
endfunction()

add_library(tkw_loop_epoll INTERFACE) # part of libc
tkw_find_loop(uv uv.h uv)
tkw_find_loop(event event2/event_struct.h event_core)
tkw_find_loop(ev ev.h ev)
