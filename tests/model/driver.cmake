# SPDX-License-Identifier: MIT
# model_driver is the oracle, and the code that drives a wheel beside it. The
# model test and the fuzzer link it together with a build of the library.
include_guard(GLOBAL)

set(dir ${CMAKE_CURRENT_LIST_DIR})
add_library(model_driver STATIC
  ${dir}/calls.c
  ${dir}/choice.c
  ${dir}/driver.c
  ${dir}/oracle.c
  ${dir}/tally.c
  ${dir}/ticks.c
  ${dir}/verify.c)
tkw_flags(model_driver)
target_include_directories(model_driver
  PUBLIC ${dir} ${PROJECT_SOURCE_DIR}/include)
