/* SPDX-License-Identifier: MIT */
/* redis_bed.c - see redis_bed.h. */
#include "redis_bed.h"

static struct server the_server;
static struct redis_bed the_bed;

int redis_bed_begin_all(void **state)
{
	(void)state;
	server_begin(&the_server, SERVER_TEST_MODULE, "");
	return 0;
}

int redis_bed_end_all(void **state)
{
	(void)state;
	return server_end(&the_server) ? 0 : -1;
}

static int begin(void **state, int version)
{
	struct redis_bed *b = &the_bed;

	*b = (struct redis_bed){ .server = &the_server,
				 .version = version,
				 .now_ms = SERVER_START_MS };
	b->c = server_connect(&the_server, version);
	EXPECT(b->c, "OK", "FLUSHALL");
	redis_bed_pass(b, 0);
	/* The server may not have noticed yet that the clients of the last test
	 * are gone. */
	WAIT_UNTIL(redis_bed_count_waiting(b) == 0);
	*state = b;
	return 0;
}

int redis_bed_begin_2(void **state)
{
	return begin(state, 2);
}

int redis_bed_begin_3(void **state)
{
	return begin(state, 3);
}

int redis_bed_end(void **state)
{
	struct redis_bed *b = *state;

	for (int i = 0; i < BED_CLIENTS; i++)
		redis_bed_drop(b, i);
	resp_close(b->c);
	b->c = NULL;
	return 0;
}

struct resp *redis_bed_client(struct redis_bed *b, int number)
{
	assert_true(number < BED_CLIENTS);
	if (!b->more[number])
		b->more[number] = server_connect(b->server, b->version);
	return b->more[number];
}

void redis_bed_drop(struct redis_bed *b, int number)
{
	resp_close(b->more[number]);
	b->more[number] = NULL;
}

int64_t redis_bed_count_waiting(struct redis_bed *b)
{
	return resp_info_number(b->c, "clients", "blocked_clients");
}

struct resp *redis_bed_wait(struct redis_bed *b, int number, const char *line)
{
	struct resp *c = redis_bed_client(b, number);
	int64_t before = redis_bed_count_waiting(b);

	resp_send(c, "%s", line);
	WAIT_UNTIL(redis_bed_count_waiting(b) == before + 1);
	return c;
}

void redis_bed_pass(struct redis_bed *b, int64_t ms)
{
	b->now_ms += ms;
	EXPECT(b->c, "OK", "TKW.CLOCK %" PRId64, b->now_ms * 1000);
}

const char *redis_bed_digest(struct resp *c, const char *queue)
{
	static char digest[64];

	snprintf(digest, sizeof(digest), "%s",
		 resp_ask(c, "TKW.DIGEST %s", queue));
	return digest;
}
