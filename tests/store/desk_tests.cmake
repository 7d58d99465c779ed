# SPDX-License-Identifier: MIT
# The desk and its threads, on a store in memory.

find_package(cmocka QUIET)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "the unit tests need cmocka (Debian: libcmocka-dev)")
endif()
find_package(Threads REQUIRED)

add_library(desk_bed STATIC desk_bed.c file_bed.c plan_bed.c ram_store.c)
tkw_flags(desk_bed)
# Threads and processes are not in C11.
target_compile_definitions(desk_bed PUBLIC _GNU_SOURCE)
target_include_directories(desk_bed PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(desk_bed SYSTEM PUBLIC ${CMOCKA_INCLUDE_DIR})
target_link_libraries(desk_bed PUBLIC tickwheel_desk tickwheel_home
                      tickwheel_heart ${CMOCKA_LIBRARIES} Threads::Threads)

set(desk desk_bed tickwheel_desk tickwheel_home tickwheel_heart)
twice_from_one_object(test_desk LINK ${desk})
twice_from_one_object(test_desk_memory LINK ${desk}
  OPTIONS LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
twice_from_one_object(test_keeper LINK ${desk})
twice_from_one_object(test_queue_api LINK ${desk})
twice_from_one_object(test_queue_plans LINK ${desk})
twice_from_one_object(test_queue_plan_times LINK ${desk})
