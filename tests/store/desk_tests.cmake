# SPDX-License-Identifier: MIT
# The desk and its threads, on a store in memory.

find_package(cmocka QUIET)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "the unit tests need cmocka (Debian: libcmocka-dev)")
endif()
find_package(Threads REQUIRED)

add_library(desk_bed STATIC desk_bed.c file_bed.c ram_store.c)
tkw_flags(desk_bed)
# Threads and processes are not in C11.
target_compile_definitions(desk_bed PUBLIC _GNU_SOURCE)
target_include_directories(desk_bed PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(desk_bed SYSTEM PUBLIC ${CMOCKA_INCLUDE_DIR})
target_link_libraries(desk_bed PUBLIC tickwheel_desk tickwheel_heart
                      ${CMOCKA_LIBRARIES} Threads::Threads)

# desk_test(NAME [LINK-OPTION...]): NAME, and NAME_narrow on 16-slot rings.
function(desk_test name)
  add_library(${name}_once OBJECT ${name}.c)
  tkw_flags(${name}_once)
  target_link_libraries(${name}_once PRIVATE desk_bed)
  foreach(build ${tkw_builds})
    set(target ${name})
    if(build STREQUAL narrow)
      set(target ${name}_narrow)
    endif()
    add_executable(${target} $<TARGET_OBJECTS:${name}_once>)
    tkw_flags(${target})
    target_link_libraries(${target} PRIVATE desk_bed tickwheel_desk
                          tickwheel_heart tickwheel_${build})
    target_link_options(${target} PRIVATE ${ARGN})
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT 600)
  endforeach()
endfunction()

desk_test(test_desk)
desk_test(test_desk_memory
          LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
desk_test(test_keeper)
desk_test(test_queue_api)
