# SPDX-License-Identifier: MIT
# The desk and its threads, on a store in memory.

find_package(cmocka QUIET)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "the unit tests need cmocka (Debian: libcmocka-dev)")
endif()
find_package(Threads REQUIRED)

set(store ${PROJECT_SOURCE_DIR}/src/store)
# Threads and processes are not in C11.
set_source_files_properties(desk_bed.c file_bed.c ram_store.c PROPERTIES
  COMPILE_DEFINITIONS _GNU_SOURCE)
foreach(build static narrow)
  add_library(desk_bed_${build} STATIC
    desk_bed.c
    file_bed.c
    ram_store.c
    ${store}/api.c
    ${store}/api_async.c
    ${store}/clerk.c
    ${store}/desk.c
    ${store}/desk_agenda.c
    ${store}/desk_decide.c
    ${store}/desk_replay.c
    ${store}/desk_snapshot.c
    ${store}/desk_takes.c
    ${store}/desk_turn.c
    ${store}/items.c
    ${store}/looks.c
    ${store}/keeper.c)
  tkw_flags(desk_bed_${build})
  target_include_directories(desk_bed_${build} PUBLIC
                             ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(desk_bed_${build} SYSTEM PUBLIC
                             ${CMOCKA_INCLUDE_DIR})
  target_link_libraries(desk_bed_${build} PUBLIC tickwheel_heart
                        tickwheel_${build} ${CMOCKA_LIBRARIES} Threads::Threads)
endforeach()

# desk_test(NAME [LINK-OPTION...]): NAME, and NAME_narrow on 16-slot rings.
function(desk_test name)
  foreach(build static narrow)
    set(target ${name})
    if(build STREQUAL narrow)
      set(target ${name}_narrow)
    endif()
    add_executable(${target} ${name}.c)
    tkw_flags(${target})
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_link_libraries(${target} PRIVATE desk_bed_${build})
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
