# SPDX-License-Identifier: MIT
# The libraries that the adapters are for: tkw_loop_NAME is a target where NAME
# is found. Examples and tests link it; the library itself needs none of them.

# tkw_find_loop(NAME HEADER LIBRARY)
function(tkw_find_loop name header library)
  # As in bench, so that each is looked for once.
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

add_library(tkw_loop_epoll INTERFACE) # is in libc
tkw_find_loop(uv uv.h uv)
tkw_find_loop(event event2/event_struct.h event_core)
tkw_find_loop(ev ev.h ev)
