/* SPDX-License-Identifier: MIT */
/* fault_before_main.h - what the C and the C++ part of fault 33 share. */
#ifndef TKW_TESTS_FAULT_BEFORE_MAIN_H
#define TKW_TESTS_FAULT_BEFORE_MAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the static object prints at its end. Without C++ it is empty. */
#ifdef FAULT_STATIC_INIT
#define STATIC_INIT_SAYS "static "
#else
#define STATIC_INIT_SAYS ""
#endif

/* The first error or 0, and how often the timeouts of the object have fired. */
int static_init_result(void);
unsigned long static_init_fired(void);

#ifdef __cplusplus
}
#endif

#endif /* TKW_TESTS_FAULT_BEFORE_MAIN_H */
