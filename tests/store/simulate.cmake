# SPDX-License-Identifier: MIT
# The crash simulation: the desk of the queues on a simulated disk.

include(${CMAKE_CURRENT_LIST_DIR}/../queue/queue_driver.cmake)

set(dir ${CMAKE_CURRENT_LIST_DIR})
add_executable(simulate_queue
  ${dir}/simulate_queue.c
  ${dir}/sim_calls.c
  ${dir}/sim_disk.c
  ${dir}/sim_hear.c
  ${dir}/sim_life.c
  ${dir}/sim_plan.c
  ${dir}/sim_planned.c
  ${dir}/sim_store.c
  ${dir}/sim_tally.c
  ${dir}/sim_truth.c
  ${dir}/sim_verify.c)
tkw_flags(simulate_queue)
target_include_directories(simulate_queue PRIVATE ${dir})
target_link_libraries(simulate_queue PRIVATE
  seeds queue_model tickwheel_desk tickwheel_home tickwheel_heart
  tickwheel_static)

# How many crashes: TKW_QUEUE_CRASHES in the environment, else TKW_MODEL_SEEDS,
# else 20,000.
add_test(NAME simulate_queue COMMAND simulate_queue)
set_tests_properties(simulate_queue PROPERTIES LABELS "model;report" TIMEOUT 3600)
# A fault at each moment of two lives.
add_test(NAME simulate_queue_sweep_1 COMMAND simulate_queue --sweep 1)
add_test(NAME simulate_queue_sweep_2 COMMAND simulate_queue --sweep 2)
set_tests_properties(simulate_queue_sweep_1 simulate_queue_sweep_2 PROPERTIES
  LABELS "unit;report" TIMEOUT 600)
add_test(NAME simulate_queue_bad_options
         COMMAND sh ${dir}/simulate_options.sh $<TARGET_FILE:simulate_queue>)
set_tests_properties(simulate_queue_bad_options PROPERTIES LABELS unit TIMEOUT 60)

find_package(cmocka QUIET)
if(NOT cmocka_FOUND)
  message(FATAL_ERROR "the unit tests need cmocka (Debian: libcmocka-dev)")
endif()
add_executable(test_sim_store
  ${dir}/test_sim_store.c ${dir}/sim_disk.c ${dir}/sim_store.c)
tkw_flags(test_sim_store)
target_include_directories(test_sim_store PRIVATE ${dir})
target_include_directories(test_sim_store SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
target_link_libraries(test_sim_store PRIVATE queue_model ${CMOCKA_LIBRARIES})
add_test(NAME test_sim_store COMMAND test_sim_store)
set_tests_properties(test_sim_store PROPERTIES LABELS unit TIMEOUT 60)
