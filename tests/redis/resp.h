/* SPDX-License-Identifier: MIT */
/*
 * resp.h - a client of a Redis server for tests.
 *
 * It speaks RESP2 or RESP3, and reads strictly: a reply that is not well formed
 * fails the test. A reply becomes a line of text, as reply_text.h says. In
 * RESP2 a map is an array, so a text that a test expects may have the map of
 * RESP3: it is then compared as an array.
 *
 * hiredis is no good for this: the one of Debian 12 does not know RESP3, and
 * it hides which kind of null or string a server has sent.
 *
 * A command is a line of words; see words.h. A call waits for its reply, for
 * some minutes at most.
 */
#ifndef TKW_TESTS_RESP_H
#define TKW_TESTS_RESP_H

#include <stdbool.h>
#include <stdint.h>

#include "reply_text.h"
#include "words.h"

struct resp;

/* Connects. version is 2 or 3. Fails the test if it cannot. */
struct resp *resp_open(int port, int version);
/* Returns NULL if it cannot. */
struct resp *resp_try_open(int port, int version);
/* NULL is allowed. */
void resp_close(struct resp *c);

/* Sends a command and does not wait. */
void resp_send(struct resp *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void resp_send_words(struct resp *c, const struct words *w);
/* Waits for the next reply. The text is valid until the next one. */
const char *resp_read(struct resp *c);
/* The same, but returns NULL if the server has closed the connection. */
const char *resp_try_read(struct resp *c);
/* True if the server has sent something that was not read yet. */
bool resp_has_reply(struct resp *c);

/* Sends a command and waits for its reply. */
const char *resp_ask(struct resp *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, but returns NULL if the server has closed the connection. */
const char *resp_try_ask(struct resp *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sends a command, and returns its reply as a number, which it must be. */
int64_t resp_number(struct resp *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the last reply as the server has sent it. */
const char *resp_raw(const struct resp *c);

/* Returns a field of INFO; "" if there is none. Valid until the next reply. */
const char *resp_info(struct resp *c, const char *section, const char *field);
/* The same as a number. */
int64_t resp_info_number(struct resp *c, const char *section,
			 const char *field);
/* Where the value of a field begins, in a reply that has a map. Fails the test
 * if there is no such field. */
const char *resp_value(const char *reply, const char *field);
/* Returns a field of TKW.INFO of a queue, which must be a number. */
int64_t resp_fact(struct resp *c, const char *queue, const char *field);

/* The place in a test that a failure names. */
struct resp_place {
	const char *file;
	int line;
};

/* Compares a reply with what is wanted. If `want` ends with "...", the reply
 * must only begin like it. */
void resp_compare(struct resp *c, struct resp_place at, const char *want,
		  const char *got);

#define RESP_HERE ((struct resp_place){ __FILE__, __LINE__ })
/* Sends a command and checks its reply: EXPECT(c, "1", "DEL %s", key). */
#define EXPECT(c, want, ...)                                                   \
	resp_compare(c, RESP_HERE, want, resp_ask(c, __VA_ARGS__))
/* Waits for the next reply and checks it. */
#define EXPECT_NEXT(c, want) resp_compare(c, RESP_HERE, want, resp_read(c))

/* --- waiting -------------------------------------------------------------- */

/* All zero before the first step. */
struct patience {
	int64_t until_ms;
};

/* Waits a little. Fails the test after some minutes. */
void patience_step(struct patience *p, struct resp_place at, const char *what);

/* Waits until a condition holds. */
#define WAIT_UNTIL(condition)                                                  \
	for (struct patience p_ = { 0 }; !(condition);)                        \
	patience_step(&p_, RESP_HERE, #condition)

/* The monotonic clock, in ms. */
int64_t patience_now_ms(void);

#endif /* TKW_TESTS_RESP_H */
