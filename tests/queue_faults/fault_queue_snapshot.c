/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_snapshot.c - a process is killed while a file is made smaller:
 * live items are copied, and old rows are removed.
 *
 * This happens when the rows of items that have ended take 4 MiB: while the
 * queue works, in pieces; or when the file is closed, all at once. So another
 * queue makes the file large before.
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
	LIVE_ITEMS = 600,   /* they wait, and are copied */
	SHORT_ITEMS = 3000, /* more rows than are deleted at once */
	BIG = 256 << 10,
	HELD_ITEMS = 17,  /* of BIG bytes: more than 4 MiB */
	ENDED_ITEMS = 15, /* of BIG bytes: less */
	SMALLER = 64 << 10,
	MORE_ITEMS = 4, /* of SMALLER bytes; with twice as many, more again */
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

/* Puts and takes items in one call each. */
static int put_and_take(struct tkw_queue *q, size_t len, int count,
			struct tkw_claim *claims)
{
	static const uint8_t payload[BIG] = { 1 };
	static struct tkw_put puts[SHORT_ITEMS];
	struct tkw_take how = { .max_items = (uint32_t)count,
				.lease_ms = CREW_LONG_MS };
	struct tkw_items *got;

	for (int i = 0; i < count; i++)
		puts[i] = (struct tkw_put){ .payload = payload,
					    .payload_len = len };
	if (tkw_queue_put(q, puts, (size_t)count, NULL) != 0 ||
	    tkw_queue_take(q, &how, &got) != count)
		return -1;
	for (int i = 0; i < count; i++)
		claims[i] = got->item[i].claim;
	tkw_items_free(got);
	return 0;
}

static int ack(struct tkw_queue *q, const struct tkw_claim *claims, int count)
{
	return tkw_queue_ack(q, claims, (size_t)count, NULL) == count ? 0 : -1;
}

/* Puts, takes and acks items one by one. */
static int churn(struct tkw_queue *q, size_t len, int count)
{
	struct tkw_claim claim;
	int err = 0;

	while (!err && count-- > 0)
		err = put_and_take(q, len, 1, &claim) || ack(q, &claim, 1);
	return err;
}

/* --- what a process does that is killed ----------------------------------- */

/* The file is made by make(). Then a process is started. It calls before(), and
 * from then on it may be killed. It calls then(), uses the queue and closes the
 * file. */
struct play {
	int (*make)(struct tkw_queue *q);
	int (*before)(struct tkw_queue *q);
	int (*then)(struct tkw_queue *q);
};

/* Old rows are removed while the queue works. */
static int end_big(struct tkw_queue *q)
{
	return churn(q, BIG, ENDED_ITEMS);
}

static int write_more(struct tkw_queue *q)
{
	return churn(q, SMALLER, MORE_ITEMS);
}

static const struct play at_work = { end_big, write_more, write_more };

/* Old rows are removed at the close: until then, the large items count. */
static struct tkw_claim held[HELD_ITEMS];

static int hold_big(struct tkw_queue *q)
{
	static struct tkw_claim claims[SHORT_ITEMS];

	return put_and_take(q, BIG, HELD_ITEMS, held) ||
	       put_and_take(q, 1, SHORT_ITEMS, claims) ||
	       ack(q, claims, SHORT_ITEMS);
}

static int nothing(struct tkw_queue *q)
{
	(void)q;
	return 0;
}

static int ack_big(struct tkw_queue *q)
{
	return ack(q, held, HELD_ITEMS);
}

static const struct play at_close = { hold_big, nothing, ack_big };

static const struct play *playing;

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
	    tkw_queue_open(&big, f, "big") != 0 || playing->before(big) != 0)
		_exit(1);
	shim_vfs_plan(plan);
	if (playing->then(big) != 0 || queue_fault_play(&w) < 0)
		_exit(2);
	_exit(tkw_queues_close(f) == 0 ? 0 : 3);
}

/* --- the file ------------------------------------------------------------- */

static void make_large(struct queue_fault_bed *b)
{
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];

	assert_int_equal(crew_open(&f, &q, b->path, why, sizeof(why)), 0);
	assert_int_equal(tkw_queue_open(&q, f, "big"), 0);
	assert_int_equal(put_live(q), 0);
	assert_int_equal(playing->make(q), 0);
	assert_int_equal(tkw_queues_close(f), 0);
}

struct bytes {
	uint8_t *at;
	size_t len;
};

/* A file that is not there has no bytes. */
static struct bytes load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes out = { NULL, 0 };
	struct stat st;

	if (fd < 0)
		return out;
	assert_int_equal(fstat(fd, &st), 0);
	out.len = (size_t)st.st_size;
	out.at = malloc(out.len + 1);
	assert_non_null(out.at);
	assert_int_equal(read(fd, out.at, out.len), out.len);
	close(fd);
	return out;
}

static void save(const char *path, const struct bytes *from)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

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
	if (s.waiting != LIVE_ITEMS ||
	    s.all_puts != s.all_acks + s.waiting + s.ready + s.taken ||
	    (s.ready + s.taken > 1 && s.taken != HELD_ITEMS) ||
	    s.all_acks < ENDED_ITEMS)
		fail_msg("write %llu: %llu waiting, %llu taken, %llu acked",
			 (unsigned long long)at, (unsigned long long)s.waiting,
			 (unsigned long long)s.taken,
			 (unsigned long long)s.all_acks);
	assert_int_equal(tkw_queues_close(f), 0);
}

static void copy(const struct queue_fault_bed *b, const char *from,
		 const char *to)
{
	struct bytes bytes = load(queue_fault_path(b, from));

	save(queue_fault_path(b, to), &bytes);
	free(bytes.at);
}

/* Returns a number of a copy of the file, as it is after a kill. */
static int64_t number(const struct queue_fault_bed *b, const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t n = 0;

	copy(b, "", "-copy");
	copy(b, "-wal", "-copy-wal");
	assert_int_equal(sqlite3_open(queue_fault_path(b, "-copy"), &db),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
			 SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	unlink(queue_fault_path(b, "-copy"));
	unlink(queue_fault_path(b, "-copy-wal"));
	return n;
}

/* --- the sweep ------------------------------------------------------------ */

static void sweep(struct queue_fault_bed *b, const struct play *play,
		  struct shim_plan plan, enum queue_fault_cut cut,
		  uint64_t stride)
{
	struct bytes large;
	uint64_t shrunk = 0;
	uint64_t sites = 0;
	bool killed = true;

	playing = play;
	make_large(b);
	large = load(b->path);
	for (; killed; plan.at += stride) {
		queue_fault_start_again(b);
		save(b->path, &large);
		killed = queue_fault_run(b, run_child, &plan);
		queue_fault_cut_power(b, cut, plan.at);
		shrunk += number(b, "SELECT first FROM base") > 0;
		truth_read(&b->truth, b->share);
		queue_fault_verify_at(b, plan.at);
		check_big(b, plan.at);
		sites++;
	}
	print_message("killed at %llu places, in %llu files old rows were "
		      "dropped\n",
		      (unsigned long long)sites - 1,
		      (unsigned long long)shrunk);
	assert_true(sites > MIN_SITES);
	/* Some were killed before old rows were dropped, and some later. */
	assert_true(shrunk > 1 && shrunk < sites);
	free(large.at);
}

static void sweep_writes(struct queue_fault_bed *b, const struct play *play)
{
	struct shim_plan plan = { .call = SHIM_WRITE,
				  .act = SHIM_KILL,
				  .at = 1 };

	sweep(b, play, plan, QUEUE_FAULT_NO_CUT,
	      queue_fault_number("TKW_QUEUE_STRIDE", STRIDE));
}

static void sweep_syncs(struct queue_fault_bed *b, const struct play *play)
{
	struct shim_plan plan = { .call = SHIM_SYNC,
				  .act = SHIM_KILL,
				  .at = 1 };

	sweep(b, play, plan, QUEUE_FAULT_CUT_ALL, 1);
}

static void fault_queue_killed_in_a_snapshot(void **state)
{
	sweep_writes(*state, &at_work);
}

static void fault_queue_power_cut_in_a_snapshot(void **state)
{
	sweep_syncs(*state, &at_work);
}

static void fault_queue_killed_when_a_close_drops_rows(void **state)
{
	sweep_writes(*state, &at_close);
}

static void fault_queue_power_cut_when_a_close_drops_rows(void **state)
{
	sweep_syncs(*state, &at_close);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_killed_in_a_snapshot),
		QUEUE_FAULT(fault_queue_power_cut_in_a_snapshot),
		QUEUE_FAULT(fault_queue_killed_when_a_close_drops_rows),
		QUEUE_FAULT(fault_queue_power_cut_when_a_close_drops_rows),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
