/* SPDX-License-Identifier: MIT */
/*
 * fault_queue_file.c - files that are damaged, cut short, of a newer version,
 * open elsewhere, or in a folder that cannot be written. Each is refused and
 * stays as it is, or it is intact. The end of a log may be cut: then the file
 * is as it was after one of the last calls.
 *
 * TKW_QUEUE_FLIPS in the environment says how many bytes are flipped.
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
	SEED = 5,
	FLIPS = 1000,
	LIVES = 4, /* before the one whose log is left */
	PAGE = 2048,
	LOG_HEADER = 32,
	FRAME = 24 + PAGE,
	NOBODY = 65534
};

struct bytes {
	uint8_t *at;
	size_t len;
};

/* A file with a log, and what was in it after each call of its last life. */
struct sample {
	struct bytes file;
	struct bytes log;
	uint64_t digest[QUEUE_FAULT_STEPS + 1];
};

/* --- what is in a file ---------------------------------------------------- */

static uint64_t mix(uint64_t sum, const void *from, size_t len)
{
	const uint8_t *at = from;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static uint64_t digest_item(const struct tkw_item *it)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	sum = mix(sum, &it->claim.id.bits, sizeof(it->claim.id.bits));
	sum = mix(sum, &it->claim.token, sizeof(it->claim.token));
	sum = mix(sum, &it->attempts, sizeof(it->attempts));
	sum = mix(sum, &it->max_attempts, sizeof(it->max_attempts));
	sum = mix(sum, &it->due_ms, sizeof(it->due_ms));
	sum = mix(sum, &it->expires_ms, sizeof(it->expires_ms));
	sum = mix(sum, it->payload, it->payload_len);
	sum = mix(sum, it->reason, strlen(it->reason));
	return mix(sum, it->key, it->key_len);
}

static uint64_t digest(struct tkw_queue *q)
{
	struct tkw_queue_stats s;
	struct tkw_items *items;
	uint64_t cursor = 0;
	uint64_t sum = 0;

	if (tkw_queue_get_stats(q, &s) != 0)
		return 0;
	do {
		int n = tkw_queue_list(q, TKW_ITEM_STATES, 512, &cursor,
				       &items);

		for (int i = 0; i < n; i++)
			sum += digest_item(&items->item[i]);
		if (n > 0)
			tkw_items_free(items);
	} while (cursor != 0);
	sum = mix(sum, &s.all_puts, sizeof(s.all_puts));
	sum = mix(sum, &s.all_takes, sizeof(s.all_takes));
	sum = mix(sum, &s.all_acks, sizeof(s.all_acks));
	sum = mix(sum, &s.all_nacks, sizeof(s.all_nacks));
	return mix(sum, &s.all_cancels, sizeof(s.all_cancels));
}

/* --- files ---------------------------------------------------------------- */

static struct bytes load(const struct queue_fault_bed *b, const char *suffix)
{
	int fd = open(queue_fault_path(b, suffix), O_RDONLY | O_CLOEXEC);
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

static void save(const struct queue_fault_bed *b, const char *suffix,
		 const struct bytes *from, size_t len)
{
	int fd = open(queue_fault_path(b, suffix),
		      O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, from->at, len), len);
	close(fd);
}

static bool is_same(const struct queue_fault_bed *b, const char *suffix,
		    const struct bytes *want, size_t len)
{
	struct bytes now = load(b, suffix);
	bool same = now.len == len &&
		    (len == 0 || memcmp(now.at, want->at, len) == 0);

	free(now.at);
	return same;
}

/* Makes the files anew; the cut ones have these lengths. */
static void restore(struct queue_fault_bed *b, const struct sample *s,
		    size_t file_len, size_t log_len)
{
	queue_fault_start_again(b);
	save(b, "", &s->file, file_len);
	if (log_len > 0)
		save(b, "-wal", &s->log, log_len);
}

/* Opens the file. Returns the error, or 0 and its digest. */
static int look(struct queue_fault_bed *b, uint64_t *sum)
{
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[256] = "";
	int err = crew_open(&f, &q, b->path, why, sizeof(why));

	if (err) {
		assert_true(why[0]);
		return err;
	}
	assert_null(tkw_queues_check(f));
	*sum = digest(q);
	assert_int_equal(tkw_queues_close(f), 0);
	return 0;
}

/* --- the sample ----------------------------------------------------------- */

static int play(struct crew_worker *w, uint64_t *digests)
{
	digests[0] = digest(w->q);
	for (int i = 0; i < QUEUE_FAULT_STEPS; i++) {
		int err = queue_fault_step(w, i);

		if (err < 0)
			return err;
		digests[i + 1] = digest(w->q);
	}
	return 0;
}

/* Some lives that end well, and one that is killed. The digests are left in the
 * notes of another worker. */
static void make_in_child(struct queue_fault_bed *b, uint64_t *digests)
{
	struct crew_worker w = { .share = b->share,
				 .notes = &b->share->notes[0],
				 .random = SEED };
	struct tkw_queues *f;
	char why[100];

	for (int i = 0; i <= LIVES; i++) {
		if (crew_open(&f, &w.q, b->path, why, sizeof(why)) != 0 ||
		    play(&w, digests) != 0)
			_exit(1);
		if (i < LIVES && tkw_queues_close(f) != 0)
			_exit(2);
	}
	kill(getpid(), SIGKILL);
}

static void make_sample(struct queue_fault_bed *b, struct sample *s)
{
	uint64_t *digests = (uint64_t *)b->share->notes[1].call;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		make_in_child(b, digests);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFSIGNALED(status));
	memcpy(s->digest, digests, sizeof(s->digest));
	s->file = load(b, "");
	s->log = load(b, "-wal");
	assert_true(s->file.len / PAGE > 4 && s->log.len / FRAME > 10);
}

static void free_sample(struct sample *s)
{
	free(s->file.at);
	free(s->log.at);
}

/* After which call the file was so. -1: never. */
static int step_of(const struct sample *s, uint64_t sum)
{
	for (int i = QUEUE_FAULT_STEPS; i >= 0; i--) {
		if (s->digest[i] == sum)
			return i;
	}
	return -1;
}

/* The last call that has changed something. */
static int last_change(const struct sample *s)
{
	int i = QUEUE_FAULT_STEPS;

	while (i > 0 && s->digest[i] == s->digest[i - 1])
		i--;
	return i;
}

/* --- damage --------------------------------------------------------------- */

/* Without its log a file is as it was before. With a part of it, it is as it
 * was after a call, and a longer part does not give less. */
static void fault_queue_log_cut_at_each_frame(void **state)
{
	struct queue_fault_bed *b = *state;
	struct sample s;
	size_t cuts = 0;
	int before = 0;

	make_sample(b, &s);
	for (size_t len = LOG_HEADER; len <= s.log.len; len += FRAME / 3) {
		uint64_t sum = 0;
		int step;

		restore(b, &s, s.file.len, len);
		assert_int_equal(look(b, &sum), 0);
		step = step_of(&s, sum);
		if (step < before && s.digest[before] != sum)
			fail_msg("cut at %zu: after call %d, before %d", len,
				 step, before);
		before = step;
		cuts++;
	}
	print_message("%zu cuts\n", cuts);
	assert_true(cuts > 20);
	free_sample(&s);
}

/* A file that was closed, and then lost its end. An empty file is a new one. */
static void fault_queue_file_cut_at_each_page(void **state)
{
	struct queue_fault_bed *b = *state;
	struct sample s;
	uint64_t sum = 0;
	struct bytes whole;

	make_sample(b, &s);
	assert_int_equal(look(b, &sum), 0);
	assert_int_equal(step_of(&s, sum), QUEUE_FAULT_STEPS);
	whole = load(b, "");
	for (size_t len = PAGE; len < whole.len; len += PAGE / 2) {
		int err;

		queue_fault_start_again(b);
		save(b, "", &whole, len);
		err = look(b, &sum);
		if (err != -EBADMSG && err != -EMEDIUMTYPE)
			fail_msg("cut at %zu of %zu: %d", len, whole.len, err);
		assert_true(is_same(b, "", &whole, len));
	}
	print_message("%zu pages\n", whole.len / PAGE);
	free(whole.at);
	free_sample(&s);
}

/* Flips a byte. Returns 1 if the file was refused, 2 if its last call was cut,
 * 0 if it was intact. */
static int flip_one(struct queue_fault_bed *b, const struct sample *s,
		    size_t at, uint8_t with)
{
	bool in_log = at >= s->file.len;
	uint8_t *byte = in_log ? &s->log.at[at - s->file.len] : &s->file.at[at];
	uint64_t sum = 0;
	int step;
	int err;

	*byte ^= with;
	restore(b, s, s->file.len, s->log.len);
	err = look(b, &sum);
	if (err && (!is_same(b, "", &s->file, s->file.len) ||
		    !is_same(b, "-wal", &s->log, s->log.len)))
		fail_msg("byte %zu: it was refused and changed", at);
	*byte ^= with;
	if (err) {
		if (err != -EBADMSG && err != -EMEDIUMTYPE)
			fail_msg("byte %zu: %d", at, err);
		return 1;
	}
	step = step_of(s, sum);
	if (step == QUEUE_FAULT_STEPS)
		return 0;
	if (!in_log || step < last_change(s) - 1)
		fail_msg("byte %zu of %zu+%zu: open, as after call %d", at,
			 s->file.len, s->log.len, step);
	return 2;
}

static void fault_queue_random_bytes_flipped(void **state)
{
	struct queue_fault_bed *b = *state;
	uint64_t flips = queue_fault_number("TKW_QUEUE_FLIPS", FLIPS);
	uint64_t random = queue_fault_seed();
	uint64_t count[3] = { 0 };
	struct sample s;

	make_sample(b, &s);
	for (uint64_t i = 0; i < flips; i++) {
		size_t at = crew_below(&random, s.file.len + s.log.len);
		uint8_t with = (uint8_t)(1 + crew_below(&random, 255));

		count[flip_one(b, &s, at, with)]++;
	}
	print_message("intact %llu, refused %llu, last call cut %llu\n",
		      (unsigned long long)count[0],
		      (unsigned long long)count[1],
		      (unsigned long long)count[2]);
	assert_true(count[0] > 0 && count[1] > 0);
	free_sample(&s);
}

/* --- other files ---------------------------------------------------------- */

static void run_sql(const struct queue_fault_bed *b, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(b->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_refusal(struct queue_fault_bed *b)
{
	struct bytes before = load(b, "");
	uint64_t sum;

	assert_int_equal(look(b, &sum), -EMEDIUMTYPE);
	assert_true(is_same(b, "", &before, before.len));
	free(before.at);
}

static void fault_queue_file_of_a_newer_version(void **state)
{
	struct queue_fault_bed *b = *state;
	uint64_t sum;

	assert_int_equal(look(b, &sum), 0);
	run_sql(b, "PRAGMA user_version = 99");
	expect_refusal(b);
	run_sql(b, "PRAGMA user_version = 1");
	assert_int_equal(look(b, &sum), 0);
}

static void fault_queue_file_of_another_program(void **state)
{
	struct queue_fault_bed *b = *state;
	const char *text = "This is a letter to a friend, and no queue at all.";
	struct bytes letter = { (uint8_t *)text, strlen(text) };

	run_sql(b, "CREATE TABLE t(a); INSERT INTO t VALUES(1)");
	expect_refusal(b);
	save(b, "", &letter, letter.len);
	expect_refusal(b);
}

/* --- two processes -------------------------------------------------------- */

static void own(struct queue_fault_bed *b)
{
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[100];

	if (crew_open(&f, &q, b->path, why, sizeof(why)) != 0)
		_exit(1);
	__atomic_store_n(&b->share->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void fault_queue_two_processes_open_one_file(void **state)
{
	struct queue_fault_bed *b = *state;
	int64_t pid = 0;
	struct tkw_queues_config cfg = { .size = sizeof(cfg),
					 .owner_pid = &pid };
	struct tkw_queues *f = NULL;
	uint64_t sum;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		own(b);
	while (!__atomic_load_n(&b->share->ready, __ATOMIC_ACQUIRE))
		usleep(200);
	assert_int_equal(tkw_queues_open(&f, b->path, &cfg), -EBUSY);
	assert_null(f);
	assert_int_equal(pid, child);
	queue_fault_kill(child);
	assert_int_equal(look(b, &sum), 0);
}

/* --- a folder that cannot be written -------------------------------------- */

static void open_as_nobody(struct queue_fault_bed *b)
{
	struct tkw_queues *f;

	if (getuid() == 0 && setuid(NOBODY) != 0)
		_exit(2);
	_exit(tkw_queues_open(&f, b->path, NULL) == -EACCES ? 0 : 1);
}

static void expect_no_access(struct queue_fault_bed *b)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		open_as_nobody(b);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_int_equal(status, 0);
}

static void fault_queue_folder_that_cannot_be_written(void **state)
{
	struct queue_fault_bed *b = *state;
	uint64_t sum;

	assert_int_equal(chmod(b->dir, 0555), 0);
	expect_no_access(b);
	assert_int_equal(chmod(b->dir, 0755), 0);
	assert_int_equal(look(b, &sum), 0);
	assert_int_equal(chmod(b->path, 0444), 0);
	assert_int_equal(chmod(b->dir, 0555), 0);
	expect_no_access(b);
	assert_int_equal(chmod(b->dir, 0755), 0);
	assert_int_equal(chmod(b->path, 0644), 0);
	assert_int_equal(look(b, &sum), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		QUEUE_FAULT(fault_queue_log_cut_at_each_frame),
		QUEUE_FAULT(fault_queue_file_cut_at_each_page),
		QUEUE_FAULT(fault_queue_random_bytes_flipped),
		QUEUE_FAULT(fault_queue_file_of_a_newer_version),
		QUEUE_FAULT(fault_queue_file_of_another_program),
		QUEUE_FAULT(fault_queue_two_processes_open_one_file),
		QUEUE_FAULT(fault_queue_folder_that_cannot_be_written),
	};

	queue_fault_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
