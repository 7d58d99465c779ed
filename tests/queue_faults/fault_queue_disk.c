/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_disk.c - writes and syncs that fail, one by one, and a disk that
 * is full for real. A call that fails has changed nothing, or is in doubt; what
 * follows is as queue.h says.
 */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "queue_fault_bed.h"
#include "skips.h"

enum {
	SEED = 17,
	MIN_SITES = 20
};

struct life {
	struct queue_fault_bed *b;
	struct crew_worker w;
	struct tkw_queues *f;
	uint64_t place;
	uint64_t hits; /* of the plan */
	uint64_t told; /* how many calls have failed */
};

/* Nothing fails any more. */
static void lift(struct life *l)
{
	l->hits += shim_vfs_hits();
	shim_vfs_plan(NULL);
}

static void begin_life(struct life *l, struct queue_fault_bed *b)
{
	queue_fault_start_again(b);
	l->b = b;
	l->hits = 0;
	l->w = (struct crew_worker){ .share = b->share,
				     .notes = &b->share->notes[0],
				     .random = SEED };
}

static int open_life(struct life *l)
{
	char why[256] = "";
	int err = crew_open(&l->f, &l->w.q, l->b->path, why, sizeof(why));

	/* A refusal comes with a sentence. */
	assert_true(!err || why[0]);
	return err;
}

static void fail_at(const struct life *l, const char *what)
{
	fail_msg("at %llu: %s", (unsigned long long)l->place, what);
}

/* The file as it is open must be right after each call. */
static void check_life(struct life *l)
{
	char why[256];

	truth_read(&l->b->truth, l->b->share);
	if (!truth_check(&l->b->truth, l->f, l->w.q, why, sizeof(why)))
		fail_at(l, why);
	if (l->b->share->broken[0])
		fail_at(l, l->b->share->broken);
	crew_share_reset(l->b->share);
}

static void end_life(struct life *l)
{
	assert_int_equal(tkw_queues_close(l->f), 0);
	lift(l);
	truth_read(&l->b->truth, l->b->share);
	queue_fault_verify_at(l->b, l->place);
}

static bool has_reason(const struct life *l)
{
	char text[256] = "";

	return tkw_queues_print_error(l->f, text, sizeof(text)) > 0 && text[0];
}

/* --- no room -------------------------------------------------------------- */

/* A step that finds no room changes nothing. When there is room, the step
 * works. */
static void full_step(struct life *l, int step)
{
	int n = queue_fault_step(&l->w, step);

	check_life(l);
	if (n >= 0)
		return;
	l->told++;
	if (n != -ENOSPC || !has_reason(l))
		fail_at(l, "another error than -ENOSPC, or no reason");
	lift(l);
	n = queue_fault_step(&l->w, step);
	if (n < 0)
		fail_at(l, "a call fails though there is room again");
	check_life(l);
}

static void sweep_full(struct queue_fault_bed *b, bool for_ever)
{
	struct shim_plan plan = { .call = SHIM_WRITE,
				  .act = SHIM_FAIL,
				  .for_ever = for_ever,
				  .code = SQLITE_FULL };
	struct life l = { 0 };

	do {
		l.place = ++plan.at;
		begin_life(&l, b);
		shim_vfs_plan(&plan);
		if (open_life(&l) != 0) {
			l.told++;
			lift(&l);
			assert_int_equal(open_life(&l), 0);
		}
		for (int i = 0; i < QUEUE_FAULT_STEPS; i++)
			full_step(&l, i);
		end_life(&l);
	} while (l.hits);
	print_message("no room at each of %llu writes, %llu calls failed\n",
		      (unsigned long long)plan.at - 1,
		      (unsigned long long)l.told);
	assert_true(plan.at > MIN_SITES && l.told > 0);
}

static void fault_queue_no_room_at_each_write(void **state)
{
	sweep_full(*state, false);
}

static void fault_queue_no_room_from_each_write_on(void **state)
{
	sweep_full(*state, true);
}

/* --- errors --------------------------------------------------------------- */

/* Plays until a call fails. From then on, each one does. */
static void play_until_dead(struct life *l)
{
	struct tkw_put put = { .payload = "x", .payload_len = 1 };
	int n = queue_fault_play(&l->w);

	if (n >= 0)
		return;
	l->told++;
	if (n != -EIO || !has_reason(l))
		fail_at(l, "another error than -EIO, or no reason");
	lift(l);
	if (tkw_queue_put(l->w.q, &put, 1, NULL) != -EIO ||
	    tkw_queue_pause(l->w.q) != -EIO)
		fail_at(l, "a call works after an error of the disk");
	if (tkw_queues_check(l->f))
		fail_at(l, tkw_queues_check(l->f));
}

static void sweep_errors(struct queue_fault_bed *b, enum shim_call call,
			 int code)
{
	struct shim_plan plan = { .call = call,
				  .act = SHIM_FAIL,
				  .code = code };
	struct life l = { 0 };

	do {
		l.place = ++plan.at;
		begin_life(&l, b);
		shim_vfs_plan(&plan);
		if (open_life(&l) != 0) {
			lift(&l);
			assert_int_equal(l.hits, 1);
			assert_int_equal(open_life(&l), 0);
		}
		play_until_dead(&l);
		end_life(&l);
	} while (l.hits);
	print_message("errors at each of %llu, %llu calls failed\n",
		      (unsigned long long)plan.at - 1,
		      (unsigned long long)l.told);
	assert_true(plan.at > MIN_SITES && l.told > 0);
}

static void fault_queue_error_at_each_write(void **state)
{
	sweep_errors(*state, SHIM_WRITE, SQLITE_IOERR_WRITE);
}

static void fault_queue_error_at_each_sync(void **state)
{
	sweep_errors(*state, SHIM_SYNC, SQLITE_IOERR_FSYNC);
}

/* --- a disk that is full for real ----------------------------------------- */

static uint64_t put_until_full(struct tkw_queue *q)
{
	static const char payload[1000] = "work";
	struct tkw_put put = { .payload = payload,
			       .payload_len = sizeof(payload) };
	uint64_t puts = 0;
	int err;

	while ((err = tkw_queue_put(q, &put, 1, NULL)) == 0)
		puts++;
	MUST(err == -ENOSPC);
	MUST(tkw_queue_put(q, &put, 1, NULL) == -ENOSPC);
	return puts;
}

/* Takes and acks on the reserve. Returns how many were acked before it was
 * used up. */
static uint64_t ack_all(struct tkw_queue *q)
{
	struct tkw_take how = { .max_items = 16 };
	struct tkw_claim claims[16];
	struct tkw_items *items;
	uint64_t acked = 0;
	int n;

	while ((n = tkw_queue_take(q, &how, &items)) > 0) {
		for (int i = 0; i < n; i++)
			claims[i] = items->item[i].claim;
		tkw_items_free(items);
		n = tkw_queue_ack(q, claims, (size_t)n, NULL);
		if (n < 0)
			break;
		acked += (uint64_t)n;
	}
	MUST(n >= 0 || n == -ENOSPC);
	return acked;
}

static void must_be_lawful(struct tkw_queue *q, uint64_t puts, uint64_t acks)
{
	struct tkw_queue_stats s;

	MUST(tkw_queue_get_stats(q, &s) == 0);
	MUST(s.all_puts == puts && s.all_acks == acks);
	MUST(s.waiting + s.ready + s.taken + s.dead == puts - acks);
}

/* While the queue makes room in the file, puts are still refused. */
static void put_when_there_is_room(struct tkw_queue *q)
{
	struct tkw_put put = { .payload = "x", .payload_len = 1 };
	int err;

	while ((err = tkw_queue_put(q, &put, 1, NULL)) == -ENOSPC)
		(void)usleep(1000);
	MUST(err == 0);
}

static int make_ballast(const char *path, int mib)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	MUST(fd >= 0 && posix_fallocate(fd, 0, (off_t)mib << 20) == 0);
	return fd;
}

/* For a child. */
struct disk_case {
	struct queue_fault_bed *b;
	int64_t reserve;
};

/* In a process and a mount of its own. With a reserve of some MiB, all items
 * can be acked. */
static void fill_disk(void *disk_case)
{
	const struct disk_case *c = disk_case;
	struct queue_fault_bed *b = c->b;
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .reserve_bytes = c->reserve };
	struct tkw_queues *f;
	struct tkw_queue *q;
	uint64_t puts;
	uint64_t acks;
	int ballast;

	child_mount_disk(b->dir, "size=24m");
	ballast = make_ballast(queue_fault_path(b, ".ballast"), 4);
	MUST(tkw_queues_open(&f, b->path, &cfg) == 0);
	MUST(tkw_queue_open(&q, f, "q") == 0);
	puts = put_until_full(q);
	acks = ack_all(q);
	fprintf(stderr, "full after %llu puts, %llu acks on the reserve\n",
		(unsigned long long)puts, (unsigned long long)acks);
	MUST(puts > 1000 && (c->reserve || acks == puts));
	MUST(tkw_queues_check(f) == NULL);
	must_be_lawful(q, puts, acks);
	MUST(ftruncate(ballast, 0) == 0);
	put_when_there_is_room(q);
	acks += ack_all(q);
	MUST(tkw_queues_close(f) == 0);
	MUST(tkw_queues_open(&f, b->path, &cfg) == 0);
	MUST(tkw_queue_open(&q, f, "q") == 0);
	MUST(tkw_queues_check(f) == NULL);
	must_be_lawful(q, puts + 1, acks);
	MUST(tkw_queues_close(f) == 0);
}

/* There is no room for the reserve at first. Puts wait for it. */
static void open_on_full_disk(void *bed)
{
	struct queue_fault_bed *b = bed;
	struct tkw_queues_config cfg = { .size = sizeof(cfg) };
	struct tkw_put put = { .payload = "x", .payload_len = 1 };
	char why[256] = "";
	struct tkw_queues *f;
	struct tkw_queue *q;
	struct stat st;
	uint64_t puts;
	int ballast;

	child_mount_disk(b->dir, "size=24m");
	MUST(tkw_queues_open(&f, b->path, &cfg) == 0);
	MUST(tkw_queue_open(&q, f, "q") == 0);
	MUST(tkw_queues_close(f) == 0);
	ballast = make_ballast(queue_fault_path(b, ".ballast"), 22);
	MUST(tkw_queues_open(&f, b->path, &cfg) == 0);
	MUST(tkw_queue_open(&q, f, "q") == 0);
	MUST(tkw_queue_put(q, &put, 1, NULL) == -ENOSPC);
	MUST(tkw_queues_print_error(f, why, sizeof(why)) > 0 && why[0]);
	MUST(ftruncate(ballast, 4 << 20) == 0);
	MUST(tkw_queue_put(q, &put, 1, NULL) == 0);
	MUST(tkw_queues_print_error(f, why, sizeof(why)) == 0);
	MUST(stat(queue_fault_path(b, "-reserve"), &st) == 0 &&
	     st.st_blocks * 512 >= 4 << 20);
	puts = 1 + put_until_full(q);
	MUST(ack_all(q) == puts);
	MUST(tkw_queues_close(f) == 0);
}

static void fill_disk_with(struct queue_fault_bed *b, int64_t reserve)
{
	struct disk_case c = { b, reserve };

	child_run(fill_disk, &c);
}

static void fault_queue_acks_on_a_full_disk(void **state)
{
	fill_disk_with(*state, 0);
}

/* When the reserve is used up, acks fail too, until there is room. */
static void fault_queue_full_disk_with_a_small_reserve(void **state)
{
	fill_disk_with(*state, 16 << 10);
}

static void fault_queue_full_disk_without_a_reserve(void **state)
{
	fill_disk_with(*state, -1);
}

static void fault_queue_opened_on_a_full_disk(void **state)
{
	child_run(open_on_full_disk, *state);
}

static int shim_begin(void **state)
{
	shim_vfs_install();
	return queue_fault_begin(state);
}

static int shim_end(void **state)
{
	int err = queue_fault_end(state);

	shim_vfs_remove();
	return err;
}

#define WITH_SHIM(test)                                                        \
	cmocka_unit_test_setup_teardown(test, shim_begin, shim_end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_SHIM(fault_queue_no_room_at_each_write),
		WITH_SHIM(fault_queue_no_room_from_each_write_on),
		WITH_SHIM(fault_queue_error_at_each_write),
		WITH_SHIM(fault_queue_error_at_each_sync),
		QUEUE_FAULT(fault_queue_acks_on_a_full_disk),
		QUEUE_FAULT(fault_queue_full_disk_with_a_small_reserve),
		QUEUE_FAULT(fault_queue_full_disk_without_a_reserve),
		QUEUE_FAULT(fault_queue_opened_on_a_full_disk),
	};

	queue_fault_choose(argc, argv);
	return status_with_skips(cmocka_run_group_tests(tests, NULL, NULL));
}
