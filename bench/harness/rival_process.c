/* SPDX-License-Identifier: MIT */
/* rival_process.c - starts processes and asks them; see rival_process.h. */
#include "rival_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rival_command.h"

struct bench_process {
	const char *name;
	/* The groups of its rows, with a space between them. NULL means
	 * timer. */
	const char *groups;
	const char *loop; /* how names of its rows end, or NULL */
	bool floor;       /* not a rival, but what nobody can do without */
	pid_t pid;        /* 0 if it is not running */
	int to, from;
	size_t len; /* bytes that were read and not used yet */
	char buffer[512];
	char lost[BENCH_REASON_MAX]; /* why it was lost, or empty */
	const char *hindered;        /* why it was not started, or NULL */
};

/* In the order of the first run. The queue has a program of its own, and so has
 * the queue in Redis, so tickwheel is there three times. */
static struct bench_process processes[] = {
	{ .name = "tickwheel", .groups = "timer patterns loop" },
	{ .name = "netty_1ms" },
	{ .name = "netty_100ms" },
	{ .name = "stpe" },
	{ .name = "go" },
	{ .name = "mutex_libuv" },
	{ .name = "mutex_libev" },
	{ .name = "mutex_libevent" },
	{ .name = "timerfd" },
	{ .name = "mutex_wheel" },
	{ .name = "mutex_wheel_malloc" },
	{ .name = "mutex_hash", .groups = "patterns" },
	{ .name = "sharded_hash", .groups = "patterns" },
	{ .name = "mutex_lists", .groups = "patterns" },
	{ .name = "tickwheel_clock", .groups = "loop" },
	{ .name = "libuv", .groups = "loop", .loop = "/libuv" },
	{ .name = "libevent", .groups = "loop", .loop = "/libevent" },
	{ .name = "libevent_common",
	  .groups = "loop",
	  .loop = "/libevent_same" },
	{ .name = "libev", .groups = "loop", .loop = "/libev" },
	{ .name = "tickwheel", .groups = "queue" },
	{ .name = "beanstalkd", .groups = "queue" },
	{ .name = "sqlite_polled", .groups = "queue" },
	{ .name = "floor", .groups = "queue", .floor = true },
	{ .name = "floor_in_place", .groups = "queue", .floor = true },
	{ .name = "tickwheel_ram", .groups = "queue" },
	{ .name = "tickwheel", .groups = "redis" },
	{ .name = "lua", .groups = "redis" },
	{ .name = "lua_loop", .groups = "redis" },
	{ .name = "bullmq", .groups = "redis" },
	{ .name = "set", .groups = "redis", .floor = true },
};

enum {
	PROCESSES = sizeof(processes) / sizeof(processes[0])
};

static uint32_t patience_s;
static const char *programs_dir;

struct bench_process *bench_processes_get(size_t i)
{
	return i < PROCESSES ? &processes[i] : NULL;
}

const char *bench_process_name(const struct bench_process *p)
{
	return p->name;
}

bool bench_process_lost(const struct bench_process *p)
{
	return p->lost[0] != '\0';
}

bool bench_process_is_floor(const struct bench_process *p)
{
	return p->floor;
}

static bool is_in_group(const struct bench_process *p, const char *group)
{
	const char *at = p->groups ? p->groups : "timer";
	size_t len = strlen(group);

	for (size_t word; *at; at += word + (at[word] == ' ')) {
		word = strcspn(at, " ");
		if (word == len && memcmp(at, group, len) == 0)
			return true;
	}
	return false;
}

bool bench_process_is_of(const struct bench_process *p, const char *group,
			 const char *where)
{
	const char *end = strrchr(where, '/');

	if (p->loop && (end == NULL || strcmp(end, p->loop) != 0))
		return false;
	return is_in_group(p, group);
}

static struct bench_rival_who who(const struct bench_process *p)
{
	return (struct bench_rival_who){ .entrant = p->name,
					 .queue = is_in_group(p, "queue"),
					 .redis = is_in_group(p, "redis"),
					 .dir = programs_dir };
}

const char *bench_process_missing(const struct bench_process *p)
{
	if (bench_process_lost(p))
		return p->lost;
	return bench_rival_command_missing(who(p));
}

/* Keeps the reason one line, whatever the process has written. */
static void set_reason(char reason[BENCH_REASON_MAX], const char *text)
{
	(void)snprintf(reason, BENCH_REASON_MAX, "%.*s", BENCH_REASON_MAX - 1,
		       *text ? text : "no reason given");
	for (char *c = reason; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
}

/* --- starting and ending ------------------------------------------------- */

static void end_process(struct bench_process *p)
{
	if (p->pid == 0)
		return;
	(void)close(p->to);
	(void)close(p->from);
	(void)kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	p->len = 0;
}

static void end_all(void)
{
	for (size_t i = 0; i < PROCESSES; i++)
		end_process(&processes[i]);
}

static void lose(struct bench_process *p, const char *why)
{
	set_reason(p->lost, why);
	end_process(p);
}

void bench_processes_init(uint32_t seconds, const char *dir)
{
	patience_s = seconds;
	programs_dir = dir;
	/* A write to a process that has ended fails instead. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)atexit(end_all);
}

/* Runs in the child. Does not return. */
static void become_process(const struct bench_process *p, int in, int out,
			   pid_t parent)
{
	struct bench_rival_command c;

	/* The child ends with us, even if it hangs and we are killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	/* The kernel must round up the sleeps of all entrants alike. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	(void)signal(SIGPIPE, SIG_DFL);
	bench_rival_command(&c, who(p));
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		(void)execv(c.argv[0], c.argv);
	_exit(127);
}

/* Returns true if the process runs. */
static bool start(struct bench_process *p)
{
	pid_t parent = getpid();
	int to[2];
	int from[2];

	if (pipe2(to, O_CLOEXEC) != 0)
		return false;
	if (pipe2(from, O_CLOEXEC) != 0) {
		(void)close(to[0]);
		(void)close(to[1]);
		return false;
	}
	/* Otherwise the child would write the buffers once more. */
	(void)fflush(NULL);
	p->pid = fork();
	if (p->pid == 0)
		become_process(p, to[0], from[1], parent);
	(void)close(to[0]);
	(void)close(from[1]);
	p->to = to[1];
	p->from = from[0];
	if (p->pid > 0)
		return true;
	(void)close(p->to);
	(void)close(p->from);
	p->pid = 0;
	return false;
}

/* Has the process written something that nobody asked for? */
static bool spoke_unasked(const struct bench_process *p)
{
	struct pollfd fd = { .fd = p->from, .events = POLLIN };

	if (p->len > 0)
		return true;
	return poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN);
}

void bench_process_ask(struct bench_process *p, const char *request)
{
	char line[160];
	int len = snprintf(line, sizeof(line), "%s\n", request);

	if (p->pid == 0) {
		p->hindered = bench_rival_command_hindered(who(p));
		if (p->hindered)
			return;
		if (!start(p)) {
			lose(p, "cannot be started");
			return;
		}
	}
	if (spoke_unasked(p)) {
		lose(p, "it spoke unasked");
		return;
	}
	/* A line is shorter than PIPE_BUF, so it is written as a whole or not
	 * at all. */
	if (write(p->to, line, (size_t)len) != len)
		lose(p, "has ended");
}

/* --- its answer ---------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits for more output and reads it. Returns false if the process is lost. */
static bool read_more(struct bench_process *p, int64_t deadline_ms)
{
	struct pollfd fd = { .fd = p->from, .events = POLLIN };
	char text[64];
	int64_t left;
	ssize_t got;
	int ready;

	do {
		left = deadline_ms - now_ms();
		ready = poll(&fd, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0) {
		(void)snprintf(text, sizeof(text), "no answer within %u s",
			       (unsigned)patience_s);
		lose(p, text);
		return false;
	}
	got = read(p->from, p->buffer + p->len, sizeof(p->buffer) - p->len);
	if (got <= 0) {
		lose(p, "ended instead of answering");
		return false;
	}
	p->len += (size_t)got;
	return true;
}

/* Reads the next line, without its end. Returns false if the process is
 * lost. */
static bool read_line(struct bench_process *p, char line[sizeof(p->buffer)],
		      int64_t deadline_ms)
{
	const char *end;
	size_t len;

	while ((end = memchr(p->buffer, '\n', p->len)) == NULL) {
		if (p->len == sizeof(p->buffer)) {
			lose(p, "its answer is a line without an end");
			return false;
		}
		if (!read_more(p, deadline_ms))
			return false;
	}
	len = (size_t)(end - p->buffer);
	memcpy(line, p->buffer, len);
	line[len] = '\0';
	p->len -= len + 1;
	memmove(p->buffer, end + 1, p->len);
	return true;
}

/* Reads "NAME VALUE". */
static bool add_figure(struct bench_answer *a, const char *text)
{
	size_t len = strcspn(text, " ");
	char *end;
	double value;

	if (a->count == BENCH_ANSWER_MAX || len == 0 || text[len] == '\0' ||
	    len >= sizeof(a->figures[0].name))
		return false;
	value = strtod(text + len + 1, &end);
	if (end == text + len + 1 || *end != '\0' || !isfinite(value))
		return false;
	memcpy(a->figures[a->count].name, text, len);
	a->figures[a->count].name[len] = '\0';
	a->figures[a->count].value = value;
	a->count++;
	return true;
}

/* Returns what follows the word, or NULL if the line does not begin with it. */
static const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0)
		return NULL;
	if (line[len] == ' ')
		return line + len + 1;
	return line[len] == '\0' ? line + len : NULL;
}

/* Returns true if the answer has more lines. */
static bool read_answer_line(struct bench_process *p, struct bench_answer *a,
			     const char *line)
{
	char text[BENCH_REASON_MAX];
	const char *rest;

	rest = after(line, "figure");
	if (rest && add_figure(a, rest))
		return true;
	if (strcmp(line, "done") == 0) {
		a->verdict = BENCH_DONE;
		return false;
	}
	if ((rest = after(line, "skip")) != NULL) {
		a->verdict = BENCH_SKIP;
		set_reason(a->reason, rest);
		return false;
	}
	if ((rest = after(line, "fail")) != NULL) {
		a->verdict = BENCH_FAIL;
		set_reason(a->reason, rest);
		return false;
	}
	(void)snprintf(text, sizeof(text), "its answer makes no sense: '%.80s'",
		       line);
	lose(p, text);
	return false;
}

void bench_process_answer(struct bench_process *p, struct bench_answer *a)
{
	int64_t deadline_ms = now_ms() + (int64_t)patience_s * 1000;
	char line[sizeof(p->buffer)];
	bool more = !bench_process_lost(p);

	a->count = 0;
	a->verdict = BENCH_LOST;
	if (p->hindered) {
		a->verdict = BENCH_SKIP;
		set_reason(a->reason, p->hindered);
		return;
	}
	while (more && read_line(p, line, deadline_ms))
		more = read_answer_line(p, a, line);
	if (bench_process_lost(p)) {
		a->verdict = BENCH_LOST;
		set_reason(a->reason, p->lost);
	}
}

const double *bench_answer_find(const struct bench_answer *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->figures[i].name, name) == 0)
			return &a->figures[i].value;
	}
	return NULL;
}
