/* SPDX-License-Identifier: MIT */
/*
 * test_queue_socket.c - the socket beside a file of queues: clients that send
 * nonsense, that are slow, that vanish, and that are too many. The owner must
 * not care.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/address.h"
#include "store/socket.h"
#include "store/wire.h"

struct bed {
	char folder[64];
	char path[512];
	struct tkw_queues *file;
	struct tkw_queue *queue;
};

static void close_bed(struct bed *b)
{
	struct tkw_queues *file = b->file;

	b->file = NULL;
	assert_int_equal(tkw_queues_close(file), 0);
}

static void open_bed(struct bed *b)
{
	struct tkw_queues_config cfg = { .size = sizeof(cfg) };

	assert_int_equal(tkw_queues_open(&b->file, b->path, &cfg), 0);
	assert_int_equal(tkw_queue_open(&b->queue, b->file, "q"), 0);
}

static int set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	(void)snprintf(b->folder, sizeof(b->folder), "/tmp/tkw_socket_XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	(void)snprintf(b->path, sizeof(b->path), "%s/q.db", b->folder);
	open_bed(b);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *b = *state;

	close_bed(b);
	assert_int_equal(unlink(b->path), 0);
	assert_int_equal(rmdir(b->folder), 0); /* nothing else is left */
	free(b);
	return 0;
}

/* --- a client ------------------------------------------------------------ */

static int connect_fd(const struct bed *b, int fd)
{
	struct tkw__address a;
	int r;

	assert_int_equal(tkw__address_make(&a, b->path), 0);
	r = connect(fd, (const struct sockaddr *)&a.un, sizeof(a.un));
	tkw__address_free(&a);
	return r ? -errno : 0;
}

static int new_fd(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

static int connect_raw(const struct bed *b)
{
	int fd = new_fd();

	assert_int_equal(connect_fd(b, fd), 0);
	return fd;
}

/* Sends what the owner takes; it may have closed the connection. */
static void send_bytes(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

static int receive_bytes(int fd, void *bytes, size_t len)
{
	return recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len ? 0 : -1;
}

/* Reads an answer, and gives its result; INT64_MIN: the connection is closed.
 */
static int64_t read_result(int fd)
{
	uint8_t head[TKW__WIRE_HEAD];
	struct tkw__wire_in in;
	uint8_t *frame;
	int64_t result;
	size_t len;

	if (receive_bytes(fd, head, sizeof(head)))
		return INT64_MIN;
	len = tkw__wire_length(head);
	frame = malloc(len + 1);
	assert_non_null(frame);
	if (receive_bytes(fd, frame, len)) {
		free(frame);
		return INT64_MIN;
	}
	in = (struct tkw__wire_in){ frame, len, false };
	result = tkw__wire_get_i64(&in);
	assert_false(in.bad);
	free(frame);
	return result;
}

static void begin(struct tkw__wire_out *o, enum tkw__wire_call call)
{
	tkw__wire_begin(o);
	tkw__wire_put_u8(o, (uint8_t)call);
	tkw__wire_put_name(o, call == TKW__WIRE_HELLO ? "" : "q");
}

static void send_frame(int fd, struct tkw__wire_out *o)
{
	assert_true(tkw__wire_end(o));
	send_bytes(fd, o->bytes, o->len);
	tkw__wire_free(o);
}

static void send_hello(int fd, uint32_t version)
{
	struct tkw__wire_out o = { NULL, 0, 0, false };

	begin(&o, TKW__WIRE_HELLO);
	tkw__wire_put_u32(&o, version);
	send_frame(fd, &o);
}

static int connect_greeted(const struct bed *b)
{
	int fd = connect_raw(b);

	send_hello(fd, TKW__WIRE_VERSION);
	assert_int_equal(read_result(fd), 0);
	return fd;
}

static void begin_put(struct tkw__wire_out *o, const void *payload, size_t len)
{
	begin(o, TKW__WIRE_PUT);
	tkw__wire_put_u32(o, 1);
	tkw__wire_put_text(o, payload, len);
	tkw__wire_put_i64(o, 0);
	tkw__wire_put_i64(o, 0);
	tkw__wire_put_option(o, "k", 1);
	tkw__wire_put_u8(o, TKW_KEY_REPLACE);
	tkw__wire_put_u32(o, 0);
	tkw__wire_put_u32(o, 0);
	tkw__wire_put_u32(o, 0);
}

static void send_take(int fd, uint32_t max, int64_t wait_ms)
{
	struct tkw__wire_out o = { NULL, 0, 0, false };

	begin(&o, TKW__WIRE_TAKE);
	tkw__wire_put_u32(&o, max);
	tkw__wire_put_i64(&o, 3600000);
	tkw__wire_put_i64(&o, wait_ms);
	send_frame(fd, &o);
}

/* A good client is served, whatever the others do. */
static void check_served(const struct bed *b)
{
	struct tkw__wire_out o = { NULL, 0, 0, false };
	int fd = connect_greeted(b);

	begin_put(&o, "good", 4);
	send_frame(fd, &o);
	assert_int_equal(read_result(fd), 0);
	(void)close(fd);
	assert_null(tkw_queues_check(b->file));
}

static struct tkw_queue_stats get_stats(const struct bed *b)
{
	struct tkw_queue_stats st;

	assert_int_equal(tkw_queue_get_stats(b->queue, &st), 0);
	return st;
}

static void nap(void)
{
	const struct timespec t = { .tv_nsec = 1000000 };

	(void)nanosleep(&t, NULL);
}

/* Puts items with a large payload. */
static void put_many(const struct bed *b, size_t count, size_t bytes)
{
	struct tkw_put put = { .payload_len = bytes };
	void *payload = calloc(1, bytes);

	assert_non_null(payload);
	put.payload = payload;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(tkw_queue_put(b->queue, &put, 1, NULL), 0);
	free(payload);
}

/* --- the dead ------------------------------------------------------------ */

static int64_t ask_for_all(int fd, enum tkw__wire_call call)
{
	struct tkw__wire_out o = { NULL, 0, 0, false };

	begin(&o, call);
	send_frame(fd, &o);
	return read_result(fd);
}

/* All dead items are more than one piece. */
static void test_socket_revives_and_purges_all(void **state)
{
	enum {
		MANY = 2500
	};
	const struct bed *b = *state;
	static struct tkw_put puts[MANY];
	static struct tkw_claim claims[MANY];
	struct tkw_take how = { .max_items = MANY, .lease_ms = 3600000 };
	struct tkw_items *items;
	int fd = connect_greeted(b);

	for (int i = 0; i < MANY; i++)
		puts[i].max_attempts = 1;
	assert_int_equal(tkw_queue_put(b->queue, puts, MANY, NULL), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(tkw_queue_take(b->queue, &how, &items), MANY);
		for (int i = 0; i < MANY; i++)
			claims[i] = items->item[i].claim;
		tkw_items_free(items);
		assert_int_equal(
			tkw_queue_nack(b->queue, claims, MANY, NULL, NULL),
			MANY);
		if (round == 0)
			assert_int_equal(ask_for_all(fd, TKW__WIRE_REVIVE_ALL),
					 MANY);
	}
	assert_int_equal(ask_for_all(fd, TKW__WIRE_PURGE_ALL), MANY);
	assert_int_equal(ask_for_all(fd, TKW__WIRE_PURGE_ALL), 0);
	(void)close(fd);
}

/* --- nonsense ------------------------------------------------------------ */

/* The owner answers with the error and closes the connection. */
static void expect_refused(int fd, int64_t error)
{
	char byte;

	assert_int_equal(read_result(fd), error);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	(void)close(fd);
}

/* Sends a frame of these bytes after a hello. */
static void expect_nonsense(const struct bed *b, const void *bytes, size_t len)
{
	int fd = connect_greeted(b);
	uint8_t head[TKW__WIRE_HEAD] = { (uint8_t)len, (uint8_t)(len >> 8), 0,
					 0 };

	send_bytes(fd, head, sizeof(head));
	send_bytes(fd, bytes, len);
	expect_refused(fd, -EPROTO);
}

#define NONSENSE(b, bytes) expect_nonsense((b), (bytes), sizeof(bytes) - 1)

static void test_socket_refuses_nonsense(void **state)
{
	const struct bed *b = *state;

	NONSENSE(b, "");
	NONSENSE(b, "\0");
	NONSENSE(b, "\0\0");
	NONSENSE(b, "\377\0");
	NONSENSE(b, "\5");
	NONSENSE(b, "\5\377q");
	NONSENSE(b, "\2\2q\0");                      /* a 0 in a name */
	NONSENSE(b, "\2\0x");                        /* more than a next has */
	NONSENSE(b, "\3\1q\2");                      /* make is 0 or 1 */
	NONSENSE(b, "\4\1q\377\377\377\377");        /* many puts, but none */
	NONSENSE(b, "\6\1q\0\20\0\0");               /* 4096 claims, but none */
	NONSENSE(b, "\13\1q\0\0\0\0\0\0\0\0\2");     /* has a key: 2 */
	NONSENSE(b, "\13\1q\0\0\0\0\0\0\0\0\1\377"); /* a key that is cut off */
	NONSENSE(b, "\14\1q");
	NONSENSE(b, "\21\1q\0");
	check_served(b);
}

static void test_socket_wants_a_hello_first(void **state)
{
	const struct bed *b = *state;
	int fd = connect_raw(b);

	send_take(fd, 1, 0);
	expect_refused(fd, -EPROTO);
	fd = connect_raw(b);
	send_hello(fd, TKW__WIRE_VERSION + 1);
	expect_refused(fd, -EPROTONOSUPPORT);
	check_served(b);
}

static void test_socket_refuses_a_request_that_is_too_long(void **state)
{
	const struct bed *b = *state;
	static const uint8_t head[] = { 0, 0, 0, 0x80 };
	int fd = connect_greeted(b);

	send_bytes(fd, head, sizeof(head));
	expect_refused(fd, -EMSGSIZE);
	check_served(b);
}

static void test_socket_refuses_each_beginning_of_a_put(void **state)
{
	const struct bed *b = *state;
	struct tkw__wire_out o = { NULL, 0, 0, false };

	begin_put(&o, "payload", 7);
	assert_true(tkw__wire_end(&o));
	for (size_t len = 0; len < o.len - TKW__WIRE_HEAD; len++)
		expect_nonsense(b, o.bytes + TKW__WIRE_HEAD, len);
	tkw__wire_free(&o);
	assert_int_equal(get_stats(b).all_puts, 0);
	check_served(b);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Random frames, most of which begin like a real one. What they do to the queue
 * is legal, but whatever it is, the queue stays sound. */
static void test_socket_survives_random_frames(void **state)
{
	const struct bed *b = *state;
	uint64_t seed = 0x17;

	for (int i = 0; i < 3000; i++) {
		int fd = connect_greeted(b);
		uint8_t frame[TKW__WIRE_HEAD + 64] = { 0 };
		size_t len = next_random(&seed) % 64;

		for (size_t k = 0; k < len; k++)
			frame[TKW__WIRE_HEAD + k] =
				next_random(&seed) % 3
					? 0
					: (uint8_t)next_random(&seed);
		frame[0] = (uint8_t)len;
		frame[4] = (uint8_t)(next_random(&seed) % 22);
		if (next_random(&seed) % 8) {
			frame[5] = 1;
			frame[6] = 'q';
		}
		send_bytes(fd, frame, TKW__WIRE_HEAD + len);
		/* It may be a take that waits. */
		(void)shutdown(fd, SHUT_WR);
		(void)read_result(fd);
		(void)close(fd);
	}
	(void)tkw_queue_resume(b->queue);
	(void)tkw_queue_limit(b->queue, &(struct tkw_queue_limits){ 0, 0, 0 });
	check_served(b);
}

/* --- slow, dead and many ------------------------------------------------- */

static void test_socket_does_not_wait_for_half_a_request(void **state)
{
	const struct bed *b = *state;
	struct tkw__wire_out o = { NULL, 0, 0, false };
	int fd = connect_greeted(b);

	begin_put(&o, "payload", 7);
	assert_true(tkw__wire_end(&o));
	for (size_t i = 0; i < o.len; i++) {
		check_served(b);
		send_bytes(fd, o.bytes + i, 1);
	}
	tkw__wire_free(&o);
	assert_int_equal(read_result(fd), 0);
	(void)close(fd);
}

static void
test_socket_does_not_wait_for_a_client_that_does_not_read(void **state)
{
	const struct bed *b = *state;
	struct tkw__wire_out o = { NULL, 0, 0, false };
	int fd = connect_greeted(b);

	put_many(b, 64, 64 << 10);
	begin(&o, TKW__WIRE_LIST);
	tkw__wire_put_u8(&o, TKW_ITEM_STATES);
	tkw__wire_put_u32(&o, 256);
	tkw__wire_put_u64(&o, 0);
	send_frame(fd, &o);
	check_served(b);
	check_served(b);
	assert_true(read_result(fd) > 0); /* it is all there, later */
	(void)close(fd);
}

static void test_socket_gives_back_what_nobody_has_read(void **state)
{
	const struct bed *b = *state;
	int fd = connect_greeted(b);
	struct tkw_item_name name = { .id = { 0 } };
	uint64_t cursor = 0;
	struct tkw_items *items;

	put_many(b, 64, 64 << 10);
	send_take(fd, 64, 0);
	while (get_stats(b).all_takes == 0)
		nap();
	(void)close(fd);
	while (get_stats(b).ready != 64)
		nap();
	assert_int_equal(get_stats(b).all_nacks, 64);
	do {
		assert_true(tkw_queue_list(b->queue, TKW_ITEM_READY, 1, &cursor,
					   &items) >= 0);
	} while (!items);
	name.id = items->item[0].claim.id;
	assert_string_equal(items->item[0].reason, "client gone");
	tkw_items_free(items);
	assert_int_equal(tkw_queue_get(b->queue, &name, &items), 0);
	assert_int_equal(items->item[0].attempts, 1);
	tkw_items_free(items);
	check_served(b);
}

static void
test_socket_gives_up_the_take_of_a_client_that_has_gone(void **state)
{
	const struct bed *b = *state;
	struct tkw_put put = { .payload = "x", .payload_len = 1 };

	for (int i = 0; i < 100; i++) {
		int fd = connect_greeted(b);

		send_take(fd, 1, INT64_MAX);
		while (i % 2 == 0 && get_stats(b).waiting_takes == 0)
			nap();
		(void)close(fd);
	}
	while (get_stats(b).waiting_takes > 0)
		nap();
	/* No take is left that could get this one. */
	check_served(b);
	while (get_stats(b).waiting_takes > 0)
		nap();
	assert_int_equal(tkw_queue_put(b->queue, &put, 1, NULL), 0);
	assert_int_equal(get_stats(b).ready, 2);
}

static void test_socket_refuses_too_many_clients(void **state)
{
	const struct bed *b = *state;
	int fd[TKW__SOCKET_CLIENTS], one_more;

	for (int i = 0; i < TKW__SOCKET_CLIENTS; i++)
		fd[i] = connect_greeted(b);
	one_more = connect_raw(b);
	expect_refused(one_more, -EUSERS);
	for (int i = 0; i < TKW__SOCKET_CLIENTS; i++)
		(void)close(fd[i]);
	/* The owner may not have seen yet that they are closed. */
	for (;;) {
		int64_t r;

		one_more = connect_raw(b);
		send_hello(one_more, TKW__WIRE_VERSION);
		r = read_result(one_more);
		(void)close(one_more);
		if (r == 0)
			break;
		assert_int_equal(r, -EUSERS);
		nap();
	}
	check_served(b);
}

static void test_socket_refuses_when_no_descriptor_is_free(void **state)
{
	const struct bed *b = *state;
	struct rlimit old, few;
	int fd = new_fd();
	int used[64], count = 0;
	char byte;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (count < 64 && (used[count] = dup(STDIN_FILENO)) >= 0)
		count++;
	assert_int_equal(connect_fd(b, fd), 0);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	while (count > 0)
		(void)close(used[--count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	(void)close(fd);
	check_served(b);
}

/* --- who, where and when ------------------------------------------------- */

static void test_socket_is_for_its_user_only(void **state)
{
	const struct bed *b = *state;
	char name[600];
	struct stat st;
	pid_t pid;
	int status;

	(void)snprintf(name, sizeof(name), "%s%s", b->path, TKW__WIRE_SUFFIX);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	if (geteuid() != 0)
		return;
	/* Let another user connect in spite of the mode. */
	assert_int_equal(chmod(name, 0666), 0);
	assert_int_equal(chmod(b->folder, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (setuid(65534) || connect_fd(b, fd))
			_exit(2);
		_exit(read_result(fd) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check_served(b);
}

static void test_socket_close_tells_all_clients(void **state)
{
	struct bed *b = *state;
	int idle = connect_greeted(b);
	int waits = connect_greeted(b);
	int half = connect_greeted(b);

	send_take(waits, 1, INT64_MAX);
	send_bytes(half, "\100", 1);
	while (get_stats(b).waiting_takes == 0)
		nap();
	close_bed(b);
	expect_refused(idle, -ESHUTDOWN);
	expect_refused(waits, -ESHUTDOWN);
	expect_refused(half, -ESHUTDOWN);
	open_bed(b);
	check_served(b);
}

static void test_socket_replaces_one_that_was_left(void **state)
{
	struct bed *b = *state;
	struct tkw__address a;
	int fd = new_fd();

	close_bed(b);
	assert_int_equal(tkw__address_make(&a, b->path), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a.un, sizeof(a.un)),
			 0);
	(void)close(fd);
	open_bed(b);
	check_served(b);
}

static void test_socket_works_with_a_long_path(void **state)
{
	struct bed *b = *state;
	struct bed far = *b;
	char folder[400];

	(void)snprintf(folder, sizeof(folder), "%s/%0200d", b->folder, 0);
	assert_int_equal(mkdir(folder, 0700), 0);
	(void)snprintf(far.path, sizeof(far.path), "%s/q.db", folder);
	open_bed(&far);
	check_served(&far);
	close_bed(&far);
	assert_int_equal(unlink(far.path), 0);
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_socket_revives_and_purges_all),
		TEST(test_socket_refuses_nonsense),
		TEST(test_socket_wants_a_hello_first),
		TEST(test_socket_refuses_a_request_that_is_too_long),
		TEST(test_socket_refuses_each_beginning_of_a_put),
		TEST(test_socket_survives_random_frames),
		TEST(test_socket_does_not_wait_for_half_a_request),
		TEST(test_socket_does_not_wait_for_a_client_that_does_not_read),
		TEST(test_socket_gives_back_what_nobody_has_read),
		TEST(test_socket_gives_up_the_take_of_a_client_that_has_gone),
		TEST(test_socket_refuses_too_many_clients),
		TEST(test_socket_refuses_when_no_descriptor_is_free),
		TEST(test_socket_is_for_its_user_only),
		TEST(test_socket_close_tells_all_clients),
		TEST(test_socket_replaces_one_that_was_left),
		TEST(test_socket_works_with_a_long_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
