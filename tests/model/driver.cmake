# SPDX-License-Identifier: MIT
# model_oracle is the oracle, and what makes choices and counts them. model_driver
# drives a wheel beside it. The model test and the fuzzer link model_driver
# together with a build of the library.
include_guard(GLOBAL)

set(dir ${CMAKE_CURRENT_LIST_DIR})
add_library(model_oracle STATIC
  ${dir}/choice.c
  ${dir}/oracle.c
  ${dir}/tally.c
  ${dir}/ticks.c)
tkw_flags(model_oracle)
target_include_directories(model_oracle PUBLIC ${dir})

add_library(model_driver STATIC
  ${dir}/calls.c
  ${dir}/driver.c
  ${dir}/verify.c)
tkw_flags(model_driver)
target_include_directories(model_driver PUBLIC ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(model_driver PUBLIC model_oracle)
