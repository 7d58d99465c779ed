/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_snapshot.c - a process is killed while a file is made smaller:
 * live items are copied, and old rows are removed.
 *
 * This happens when the rows of items that have ended take 4 MiB. So the file
 * has been made large before, by another queue in it.
 *
 * TKW_QUEUE_STRIDE in the environment says which writes are tried: each n-th.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "queue_fault_bed.h"

enum {
	SEED = 23,
	STRIDE = 1,
	BIG_ITEMS = 10,
	ALL_BIG = 2 * BIG_ITEMS, /* of both lives */
	BIG = 256 << 10,
	LIVE_ITEMS = 600, /* in the other queue, to be copied */
	MIN_SITES = 10
};

/* --- the other queue ------------------------------------------------------ */

static int put_live(struct tkw_queue *q)
{
	struct tkw_put put = { .payload = "wait",
			       .payload_len = 4,
			       .delay_ms = CREW_LONG_MS };
	static struct tkw_put puts[LIVE_ITEMS];

	for (int i = 0; i < LIVE_ITEMS; i++)
		puts[i] = put;
	return tkw_queue_put(q, puts, LIVE_ITEMS, NULL);
}

/* Puts and takes large items. They are left to be acked. */
static int put_big(struct tkw_queue *q, struct tkw_claim *claims)
{
	static const uint8_t payload[BIG] = { 1 };
	struct tkw_put put = { .payload = payload, .payload_len = BIG };
	struct tkw_take how = { .max_items = 1, .lease_ms = CREW_LONG_MS };
	struct tkw_items *items;

	for (int i = 0; i < BIG_ITEMS; i++) {
		if (tkw_queue_put(q, &put, 1, NULL) != 0 ||
		    tkw_queue_take(q, &how, &items) != 1)
			return -1;
		claims[i] = items->item[0].claim;
		tkw_items_free(items);
	}
	return 0;
}

static int ack_big(struct tkw_queue *q, const struct tkw_claim *claims)
{
	return tkw_queue_ack(q, claims, BIG_ITEMS, NULL) == BIG_ITEMS ? 0 : -1;
}

/* --- the process that is killed ------------------------------------------- */

/* What it acks first. They were taken when the file was made. */
static struct tkw_claim claims[BIG_ITEMS];

static void run_child(struct queue_fault_bed *b, const struct shim_plan *plan)
{
	struct crew_worker w = { .share = b->share,
				 .notes = &b->share->notes[0],
				 .random = SEED };
	struct tkw_queues *f;
	struct tkw_queue *big;
	char why[100];

	shim_vfs_install();
	shim_vfs_watch(crew_watch, b->share);
	if (crew_open(&f, &w.q, b->path, why, sizeof(why)) != 0 ||
	    tkw_queue_open(&big, f, "big") != 0)
		_exit(1);
	shim_vfs_plan(plan);
	if (ack_big(big, claims) != 0 || queue_fault_play(&w) < 0)
		_exit(2);
	_exit(tkw_queues_close(f) == 0 ? 0 : 3);
}

/* --- the file ------------------------------------------------------------- */

/* A file that is large enough as soon as the last claims are acked. */
static void make_large(struct queue_fault_bed *b)
{
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];

	assert_int_equal(crew_open(&f, &q, b->path, why, sizeof(why)), 0);
	assert_int_equal(tkw_queue_open(&q, f, "big"), 0);
	assert_int_equal(put_live(q), 0);
	assert_int_equal(put_big(q, claims), 0);
	assert_int_equal(ack_big(q, claims), 0);
	assert_int_equal(put_big(q, claims), 0);
	assert_int_equal(tkw_queues_close(f), 0);
}

struct bytes {
	uint8_t *at;
	size_t len;
};

static struct bytes load(const struct queue_fault_bed *b)
{
	int fd = open(b->path, O_RDONLY | O_CLOEXEC);
	struct bytes out;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	out.len = (size_t)st.st_size;
	out.at = malloc(out.len);
	assert_non_null(out.at);
	assert_int_equal(read(fd, out.at, out.len), out.len);
	close(fd);
	return out;
}

static void restore(struct queue_fault_bed *b, const struct bytes *from)
{
	int fd;

	queue_fault_start_again(b);
	fd = open(b->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, from->at, from->len), from->len);
	close(fd);
}

/* The other queue has all that it had. */
static void check_big(struct queue_fault_bed *b, uint64_t at)
{
	struct tkw_queue_stats s;
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];

	assert_int_equal(crew_open(&f, &q, b->path, why, sizeof(why)), 0);
	assert_int_equal(tkw_queue_open(&q, f, "big"), 0);
	assert_int_equal(tkw_queue_get_stats(q, &s), 0);
	if (s.waiting != LIVE_ITEMS || s.ready != 0 ||
	    s.all_puts != LIVE_ITEMS + ALL_BIG ||
	    s.all_acks + s.taken != ALL_BIG ||
	    (s.taken != 0 && s.taken != BIG_ITEMS))
		fail_msg("write %llu: %llu waiting, %llu taken, %llu acked",
			 (unsigned long long)at, (unsigned long long)s.waiting,
			 (unsigned long long)s.taken,
			 (unsigned long long)s.all_acks);
	assert_int_equal(tkw_queues_close(f), 0);
}

/* The first row that counts; 0 if there was no snapshot. */
static int64_t first_row(const struct queue_fault_bed *b)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t first = 0;

	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT first FROM base", -1,
					    &stmt, NULL),
			 SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		first = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return first;
}

/* --- the sweep ------------------------------------------------------------ */

static void sweep(struct queue_fault_bed *b, enum shim_call call,
		  enum queue_fault_cut cut, uint64_t stride)
{
	struct shim_plan plan = { .call = call, .act = SHIM_KILL, .at = 1 };
	struct bytes large;
	uint64_t shrunk = 0;
	uint64_t sites = 0;
	bool killed = true;

	make_large(b);
	large = load(b);
	for (; killed; plan.at += stride) {
		restore(b, &large);
		killed = queue_fault_run(b, run_child, &plan);
		queue_fault_cut_power(b, cut, plan.at);
		truth_read(&b->truth, b->share);
		queue_fault_verify_at(b, plan.at);
		check_big(b, plan.at);
		shrunk += first_row(b) > 0;
		sites++;
	}
	print_message("killed at %llu places, in %llu files old rows were "
		      "dropped\n",
		      (unsigned long long)sites - 1,
		      (unsigned long long)shrunk);
	assert_true(sites > MIN_SITES);
	/* Some were killed before the snapshot was whole, and some later. */
	assert_true(shrunk > 0 && shrunk < sites);
	free(large.at);
}

static void fault_queue_killed_in_a_snapshot(void **state)
{
	sweep(*state, SHIM_WRITE, QUEUE_FAULT_NO_CUT,
	      queue_fault_number("TKW_QUEUE_STRIDE", STRIDE));
}

static void fault_queue_power_cut_in_a_snapshot(void **state)
{
	sweep(*state, SHIM_SYNC, QUEUE_FAULT_CUT_ALL, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_killed_in_a_snapshot),
		QUEUE_FAULT(fault_queue_power_cut_in_a_snapshot),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
