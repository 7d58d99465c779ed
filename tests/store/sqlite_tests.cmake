# SPDX-License-Identifier: MIT
# The store in a file, and the queues in it.

if(NOT TARGET tickwheel_queue_static)
  # `./dev ports` has no SQLite, and does not run this one.
  add_test(NAME queue_in_a_file
           COMMAND sh -c "echo 'skipped: no SQLite'; exit 77")
  set_tests_properties(queue_in_a_file PROPERTIES
    LABELS unit SKIP_RETURN_CODE 77)
  return()
endif()
find_package(cmocka QUIET)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "the unit tests need cmocka (Debian: libcmocka-dev)")
endif()

add_library(store_bed STATIC store_bed.c child.c shim_vfs.c skips.c)
tkw_flags(store_bed)
target_include_directories(store_bed PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
                           ${PROJECT_SOURCE_DIR}/src)
target_include_directories(store_bed SYSTEM PUBLIC ${CMOCKA_INCLUDE_DIR})
target_compile_definitions(store_bed PUBLIC _FILE_OFFSET_BITS=64)
target_link_libraries(store_bed PUBLIC tickwheel_queue_static SQLite::SQLite3
                      ${CMOCKA_LIBRARIES})

function(store_test name)
  add_executable(${name} ${name}.c)
  tkw_flags(${name})
  target_link_libraries(${name} PRIVATE store_bed)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

store_test(test_store_damage)
store_test(test_store_faults)
store_test(test_store_owner)
store_test(test_store_rows)
target_link_options(test_store_rows PRIVATE
  LINKER:--wrap=malloc,--wrap=realloc,--wrap=pthread_create)
store_test(test_store_watch)
store_test(test_queue_file)
