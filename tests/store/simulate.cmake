# SPDX-License-Identifier: MIT
# The crash simulation: the desk of the queues on a simulated disk.

include(${CMAKE_CURRENT_LIST_DIR}/../queue/queue_driver.cmake)

set(dir ${CMAKE_CURRENT_LIST_DIR})
set(store ${PROJECT_SOURCE_DIR}/src/store)
add_executable(simulate_queue
  ${dir}/simulate_queue.c
  ${dir}/sim_calls.c
  ${dir}/sim_disk.c
  ${dir}/sim_life.c
  ${dir}/sim_plan.c
  ${dir}/sim_store.c
  ${dir}/sim_tally.c
  ${dir}/sim_truth.c
  ${dir}/sim_verify.c
  ${store}/desk.c
  ${store}/desk_agenda.c
  ${store}/desk_decide.c
  ${store}/desk_replay.c
  ${store}/desk_snapshot.c
  ${store}/desk_takes.c
  ${store}/desk_turn.c
  ${store}/items.c)
tkw_flags(simulate_queue)
target_include_directories(simulate_queue PRIVATE ${dir})
target_link_libraries(simulate_queue PRIVATE
  queue_model tickwheel_heart tickwheel_static)

# How many crashes: TKW_QUEUE_CRASHES in the environment, else 20,000.
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
