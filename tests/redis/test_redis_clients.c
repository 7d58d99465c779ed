/* SPDX-License-Identifier: MIT */
/*
 * test_redis_clients.c - clients that others have written: hiredis, redis-cli
 * and redis-py.
 *
 * hiredis is used if it was found when this was built, the others if they are
 * installed. A client that is missing skips its test.
 */
#include "redis_bed.h"

#include <sys/wait.h>
#include <unistd.h>

#include "skips.h"

#ifdef TKW_HAVE_HIREDIS
#include <hiredis/hiredis.h>
#endif

enum {
	SKIPPED = 77,
	NOT_FOUND = 127
};

/* Runs a shell command. Returns its status, and its output in a text. */
static int run(struct reply_text *out, const char *command)
{
	char some[256];
	int ends[2];
	int status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(NOT_FOUND);
	}
	close(ends[1]);
	reply_text_clear(out);
	reply_text_raw(out, "", 0); /* an empty text */
	while ((n = read(ends[0], some, sizeof(some))) > 0)
		reply_text_raw(out, some, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* --- hiredis -------------------------------------------------------------- */

#ifdef TKW_HAVE_HIREDIS
static void expect_integer(redisReply *r, long long want)
{
	assert_non_null(r);
	assert_int_equal(r->type, REDIS_REPLY_INTEGER);
	assert_int_equal(r->integer, want);
	freeReplyObject(r);
}

static void test_hiredis(void **state)
{
	struct redis_bed *b = *state;
	redisContext *c = redisConnect("127.0.0.1", b->server->port);
	const long long id = SERVER_START_US;
	redisReply *r;

	assert_non_null(c);
	assert_int_equal(c->err, 0);
	expect_integer(
		redisCommand(c, "TKW.PUT q 0 %b KEY k", "a\0b", (size_t)3), id);
	r = redisCommand(c, "TKW.TAKE q BLOCK 0");
	assert_non_null(r);
	assert_int_equal(r->type, REDIS_REPLY_ARRAY);
	assert_int_equal(r->elements, 1);
	assert_int_equal(r->element[0]->elements, 7);
	assert_int_equal(r->element[0]->element[0]->integer, id);
	assert_int_equal(r->element[0]->element[1]->len, 3);
	assert_memory_equal(r->element[0]->element[1]->str, "a\0b", 3);
	assert_string_equal(r->element[0]->element[5]->str, "k");
	freeReplyObject(r);
	r = redisCommand(c, "TKW.TAKE q");
	assert_non_null(r);
	assert_int_equal(r->type, REDIS_REPLY_NIL);
	freeReplyObject(r);
	r = redisCommand(c, "TKW.PUT q 0 a KEY k");
	assert_non_null(r);
	assert_int_equal(r->type, REDIS_REPLY_ERROR);
	assert_memory_equal(r->str, "TKWEXISTS ", 10);
	freeReplyObject(r);
	r = redisCommand(c, "TKW.ACK q %lld %lld", id, id);
	assert_non_null(r);
	assert_int_equal(r->elements, 1);
	assert_int_equal(r->element[0]->integer, 1);
	freeReplyObject(r);
	redisFree(c);
}
#else
static void test_hiredis(void **state)
{
	(void)state;
	skip_because("no hiredis");
}
#endif

/* --- redis-cli ------------------------------------------------------------ */

static void expect_cli(struct redis_bed *b, const char *want, const char *line)
{
	struct reply_text out = { 0 };
	char command[512];
	int status;

	snprintf(command, sizeof(command), "redis-cli -p %d %s",
		 b->server->port, line);
	status = run(&out, command);
	if (status == NOT_FOUND) {
		reply_text_free(&out);
		skip_because("no redis-cli");
	}
	assert_string_equal(out.at, want);
	reply_text_free(&out);
}

/* SPEC 11.30: as a person sees it, with RESP2 and with RESP3. */
static void test_redis_cli(void **state)
{
	struct redis_bed *b = *state;

	expect_cli(b, "1700000000000000\n", "TKW.PUT q 0 hello KEY k");
	expect_cli(b,
		   "1) 1) (integer) 1700000000000000\n"
		   "   2) \"hello\"\n"
		   "   3) (integer) 1700000000000000\n"
		   "   4) (integer) 1\n"
		   "   5) (integer) 1700000000000\n"
		   "   6) \"k\"\n"
		   "   7) (integer) 0\n",
		   "--no-raw TKW.TAKE q");
	expect_cli(b, "(nil)\n", "--no-raw TKW.TAKE q");
	expect_cli(b,
		   "1# \"waiting\" => (integer) 0\n"
		   "2# \"ready\" => (integer) 0\n"
		   "3# \"taken\" => (integer) 1\n"
		   "4# \"dead\" => (integer) 0\n",
		   "-3 --no-raw TKW.COUNT q");
	expect_cli(b, "1) (integer) 1\n",
		   "--no-raw TKW.ACK q 1700000000000000 1700000000000000");
	expect_cli(b, "OK\n", "TKW.PAUSE q");
}

/* --- Python --------------------------------------------------------------- */

static void test_python(void **state)
{
	struct redis_bed *b = *state;
	struct reply_text out = { 0 };
	char command[512];
	int status;

	EXPECT(b->c, "OK", "TKW.CLOCK REAL");
	/* Debian's package is for Debian's Python. */
	snprintf(command, sizeof(command), "/usr/bin/python3 %s %d",
		 TKW_CLIENT_PY, b->server->port);
	status = run(&out, command);
	if (status == NOT_FOUND || status == SKIPPED) {
		reply_text_free(&out);
		skip_because("no python3-redis");
	}
	print_message("%s", out.at);
	reply_text_free(&out);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_hiredis),
		REDIS_TEST(test_redis_cli),
		REDIS_TEST(test_python),
	};

	server_need(argc, argv);
	return status_with_skips(cmocka_run_group_tests(
		tests, redis_bed_begin_all, redis_bed_end_all));
}
