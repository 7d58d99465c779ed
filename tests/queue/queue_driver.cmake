# SPDX-License-Identifier: MIT
# queue_model: the queue's oracle and what drives a queue beside it. The model
# test and the fuzzer both link it, with the tickwheel of their choice.
include_guard(GLOBAL)

set(dir ${CMAKE_CURRENT_LIST_DIR})
add_library(queue_model STATIC
  ${dir}/../model/choice.c
  ${dir}/queue_calendar.c
  ${dir}/queue_calls.c
  ${dir}/queue_crash.c
  ${dir}/queue_driver.c
  ${dir}/queue_hear.c
  ${dir}/queue_oracle.c
  ${dir}/queue_oracle_plans.c
  ${dir}/queue_plan_calls.c
  ${dir}/queue_records.c
  ${dir}/queue_tally.c
  ${dir}/queue_verify.c)
tkw_flags(queue_model)
target_include_directories(queue_model PUBLIC ${dir} ${dir}/../model)
target_link_libraries(queue_model PUBLIC tickwheel_heart)
