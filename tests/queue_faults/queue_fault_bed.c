/* SPDX-License-Identifier: MIT */
/* queue_fault_bed.c - see queue_fault_bed.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "queue_fault_bed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	/* Of the log: its header, the place of the page size and of the salts
	 * in it, and the header of a frame. */
	LOG_HEADER = 32,
	PAGE_SIZE = 8,
	SALTS = 16,
	FRAME_HEADER = 24
};

void queue_fault_choose(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
}

uint64_t queue_fault_number(const char *name, uint64_t otherwise)
{
	const char *given = getenv(name);

	return given ? strtoull(given, NULL, 0) : otherwise;
}

uint64_t queue_fault_seed(void)
{
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	seed = queue_fault_number("TKW_SEED", seed);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* --- the bed -------------------------------------------------------------- */

static void remove_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
}

int queue_fault_begin(void **state)
{
	struct queue_fault_bed *b = calloc(1, sizeof(*b));
	const char *tmp = getenv("TMPDIR");

	assert_non_null(b);
	snprintf(b->dir, sizeof(b->dir), "%s/tkw-fault-XXXXXX",
		 tmp && strlen(tmp) < 100 ? tmp : "/tmp");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/f.queue", b->dir);
	b->share = crew_share_make();
	b->share->serial = 1;
	truth_init(&b->truth);
	*state = b;
	return 0;
}

int queue_fault_end(void **state)
{
	struct queue_fault_bed *b = *state;

	remove_files(b->dir);
	assert_int_equal(rmdir(b->dir), 0);
	truth_fini(&b->truth);
	munmap(b->share, sizeof(*b->share));
	free(b);
	return 0;
}

void queue_fault_start_again(struct queue_fault_bed *b)
{
	remove_files(b->dir);
	truth_clear(&b->truth);
	crew_share_reset(b->share);
	b->share->serial = 1;
}

const char *queue_fault_path(const struct queue_fault_bed *b,
			     const char *suffix)
{
	static char path[192];

	snprintf(path, sizeof(path), "%s%s", b->path, suffix);
	return path;
}

/* --- faults --------------------------------------------------------------- */

bool queue_fault_run(struct queue_fault_bed *b, queue_fault_child_fn *fn,
		     const struct shim_plan *plan)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		fn(b, plan);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

void queue_fault_kill(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
}

uint32_t queue_fault_cut_power(struct queue_fault_bed *b,
			       enum queue_fault_cut cut, uint64_t seed)
{
	if (cut == QUEUE_FAULT_NO_CUT)
		return 0;
	unlink(queue_fault_path(b, "-shm"));
	return power_cut(&b->share->power, b->path, cut == QUEUE_FAULT_CUT_SOME,
			 seed);
}

/* One frame. Returns 1 if it ends a transaction, 0 if not, -1 if it is none of
 * this log. */
static int look_at_frame(int fd, int64_t at, int64_t len, const uint8_t *salts)
{
	uint8_t head[FRAME_HEADER] = { 0 };
	ssize_t n = pread(fd, head, sizeof(head), at);

	if (n <= 0 || memcmp(head + 8, salts, 8) != 0)
		return -1;
	return pread(fd, head + 8, 1, at + len - 1) == 1 &&
	       (head[4] | head[5] | head[6] | head[7]) != 0;
}

bool queue_fault_has_torn_tail(const struct queue_fault_bed *b)
{
	int fd = open(queue_fault_path(b, "-wal"), O_RDONLY | O_CLOEXEC);
	uint8_t header[LOG_HEADER];
	int64_t frame = FRAME_HEADER;
	int end = 1;
	int last = 1;

	if (fd < 0)
		return false;
	if (pread(fd, header, LOG_HEADER, 0) == LOG_HEADER) {
		for (int i = 0; i < 4; i++)
			frame += (int64_t)header[PAGE_SIZE + i] << (24 - 8 * i);
		for (int64_t at = LOG_HEADER; end >= 0; at += frame) {
			last = end;
			end = look_at_frame(fd, at, frame, header + SALTS);
		}
	}
	close(fd);
	return last == 0;
}

static void verify(struct queue_fault_bed *b, bool use, uint64_t place)
{
	unsigned long long at = place;
	struct tkw_queues *f;
	struct tkw_queue *q;
	char why[256] = "";
	int err = crew_open(&f, &q, b->path, why, sizeof(why));

	if (err)
		fail_msg("%llu: the open fails with %d: %s", at, err, why);
	if (!truth_check(&b->truth, f, q, why, sizeof(why)) ||
	    (use && !truth_use(&b->truth, b->share, q, why, sizeof(why))))
		fail_msg("%llu: %s", at, why);
	assert_int_equal(tkw_queues_close(f), 0);
}

void queue_fault_verify(struct queue_fault_bed *b, bool use)
{
	verify(b, use, 0);
}

void queue_fault_verify_at(struct queue_fault_bed *b, uint64_t place)
{
	verify(b, true, place);
}

/* --- a short life --------------------------------------------------------- */

int queue_fault_step(struct crew_worker *w, int step)
{
	static const enum crew_kind kinds[QUEUE_FAULT_STEPS] = {
		CREW_PUT,    CREW_PUT,  CREW_TAKE, CREW_PUT,    CREW_ACK,
		CREW_TAKE,   CREW_NACK, CREW_PUT,  CREW_CANCEL, CREW_TAKE,
		CREW_EXTEND, CREW_PUT,  CREW_ACK,  CREW_TAKE,   CREW_NACK,
		CREW_CANCEL, CREW_TAKE, CREW_ACK,
	};

	return crew_call(w, kinds[step]);
}

int queue_fault_play(struct crew_worker *w)
{
	for (int i = 0; i < QUEUE_FAULT_STEPS; i++) {
		int err = queue_fault_step(w, i);

		if (err < 0)
			return err;
	}
	return 0;
}
