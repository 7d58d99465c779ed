/* SPDX-License-Identifier: MIT */
/* own_server.c - see own_server.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "own_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SKIPPED = 77,
	/* Below the ports that the system gives to connections. The bus of a
	 * cluster uses the port plus 10000. */
	FIRST_PORT = 10000,
	PORTS = 12000,
	BUS = 10000,
	TRIES = 100,
	LOG_SHOWN = 6000, /* bytes of the log of a server that crashed */
	MOST_FILES = 16,  /* open at once, when a folder is removed */
	MOST_SERVERS = 1024
};

/* All servers of this program. A test that fails leaves its own ones behind,
 * and its variables are gone. */
static struct left {
	pid_t pid;
	char dir[128]; /* "": it was ended */
} left[MOST_SERVERS];
static int left_count;

static const char *program(void)
{
	const char *given = getenv("TKW_REDIS_SERVER");

	return given && given[0] ? given : "redis-server";
}

static bool is_installed(const char *name)
{
	const char *path = getenv("PATH");
	char file[512];

	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	while (path && *path) {
		int len = (int)strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", len, path, name);
		if (access(file, X_OK) == 0)
			return true;
		path += len;
		path += *path == ':';
	}
	return false;
}

void server_need(int argc, char **argv)
{
	if (!is_installed(program())) {
		printf("skipped: no %s\n", program());
		exit(SKIPPED);
	}
	/* A server that is gone must not end the test by a signal. */
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
}

uint64_t server_number(const char *name, uint64_t otherwise)
{
	const char *given = getenv(name);

	return given && given[0] ? strtoull(given, NULL, 0) : otherwise;
}

uint64_t server_seed(void)
{
	struct timespec ts;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &ts);
	seed = (uint64_t)ts.tv_sec * 1000000007 + (uint64_t)ts.tv_nsec;
	seed = server_number("TKW_SEED", seed);
	print_message("TKW_SEED=%" PRIu64 "\n", seed);
	return seed;
}

uint64_t server_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t server_below(uint64_t *state, uint64_t bound)
{
	return server_random(state) % bound;
}

const char *server_module_path(enum server_module module)
{
	const char *given =
		getenv(module == SERVER_REAL_MODULE ? "TKW_REDIS_MODULE"
						    : "TKW_REDIS_TEST_MODULE");

	if (given)
		return given;
	return module == SERVER_REAL_MODULE ? TKW_MODULE_PATH
					    : TKW_TEST_MODULE_PATH;
}

/* --- ports and files ------------------------------------------------------ */

static bool is_free(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	bool free;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	free = bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return free;
}

/* Several tests run at the same time, so each begins somewhere else. */
static int choose_port(void)
{
	static unsigned next;

	if (next == 0)
		next = (unsigned)getpid() * 37;
	for (int i = 0; i < PORTS; i++) {
		int port = FIRST_PORT + (int)(next++ % PORTS);

		if (is_free(port) && is_free(port + BUS))
			return port;
	}
	fail_msg("no free port");
	return -1;
}

const char *server_path(const struct server *s, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return path;
}

/* The lines of the user come last, because the last line counts. */
static void write_config(const struct server *s)
{
	FILE *f = fopen(server_path(s, "server.conf"), "w");

	assert_non_null(f);
	fprintf(f, "port %d\nbind 127.0.0.1\ndir %s\n", s->port, s->dir);
	fprintf(f, "daemonize no\nprotected-mode no\n");
	if (!s->sentinel) {
		fprintf(f, "save \"\"\nappendonly no\n");
		fprintf(f, "enable-debug-command yes\n");
		fprintf(f, "enable-module-command yes\n");
		/* A test does not wait for what is only polite. */
		fprintf(f, "repl-diskless-sync-delay 0\nshutdown-timeout 0\n");
	}
	if (s->module != SERVER_NO_MODULE)
		fprintf(f, "loadmodule %s\n", server_module_path(s->module));
	fprintf(f, "%s\n", s->lines);
	fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_folder(const char *dir)
{
	nftw(dir, remove_one, MOST_FILES, FTW_DEPTH | FTW_PHYS);
}

/* --- start and end -------------------------------------------------------- */

/* Notes the process of a server, for end_left(). */
static void set_pid(struct server *s, pid_t pid)
{
	s->pid = pid;
	left[s->place].pid = pid;
}

/* Ends what tests have left behind. */
static void end_left(void)
{
	for (int i = 0; i < left_count; i++) {
		if (!left[i].dir[0])
			continue;
		if (left[i].pid > 0) {
			kill(left[i].pid, SIGKILL);
			waitpid(left[i].pid, NULL, 0);
		}
		remove_folder(left[i].dir);
	}
}

static void note_server(struct server *s)
{
	if (left_count == 0)
		atexit(end_left);
	assert_true(left_count < MOST_SERVERS);
	s->place = left_count++;
	snprintf(left[s->place].dir, sizeof(left[0].dir), "%s", s->dir);
}

static _Noreturn void run_program(const struct server *s)
{
	int log = open(server_path(s, "log"), O_WRONLY | O_CREAT | O_APPEND,
		       0600);
	const char *preload = getenv("TKW_REDIS_PRELOAD");
	char config[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
		_exit(1);
	/* The runtime of a sanitizer, if the module was built with one. */
	if (preload && preload[0] && s->module != SERVER_NO_MODULE) {
		setenv("LD_PRELOAD", preload, 1);
		/* The server leaves memory behind when it ends. */
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	}
	snprintf(config, sizeof(config), "%s/server.conf", s->dir);
	if (s->sentinel)
		execlp(program(), program(), config, "--sentinel",
		       (char *)NULL);
	else
		execlp(program(), program(), config, (char *)NULL);
	_exit(1);
}

bool server_is_alive(struct server *s)
{
	if (s->pid != 0 && waitpid(s->pid, NULL, WNOHANG) != 0)
		set_pid(s, 0);
	return s->pid != 0;
}

/* True if this very server answers and has loaded its data. Another one could
 * have the port. */
static bool answers(const struct server *s)
{
	struct resp *c = resp_try_open(s->port, 2);
	char mine[64];
	bool good;

	if (!c)
		return false;
	snprintf(mine, sizeof(mine), "process_id:%d\r\n", (int)s->pid);
	good = resp_try_ask(c, "INFO") && strstr(resp_raw(c), mine) &&
	       (s->sentinel || strstr(resp_raw(c), "\nloading:0\r\n"));
	resp_close(c);
	return good;
}

bool server_try_start(struct server *s)
{
	struct patience p = { 0 };
	pid_t pid;

	assert_int_equal(s->pid, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_program(s);
	set_pid(s, pid);
	while (!answers(s)) {
		if (!server_is_alive(s))
			return false;
		patience_step(&p, RESP_HERE, "the server answers");
	}
	return true;
}

static void show_log(const struct server *s)
{
	FILE *f = fopen(server_path(s, "log"), "r");
	char some[LOG_SHOWN + 1];
	size_t len;

	if (!f)
		return;
	if (fseek(f, -LOG_SHOWN, SEEK_END) != 0)
		rewind(f);
	len = fread(some, 1, LOG_SHOWN, f);
	some[len] = 0;
	print_error("the end of %s/log:\n%s\n", s->dir, some);
	fclose(f);
}

void server_start(struct server *s)
{
	if (server_try_start(s))
		return;
	show_log(s);
	fail_msg("the server at port %d does not start", s->port);
}

/* A port may be taken between the choice and the start. */
static void begin(struct server *s)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(s->dir, sizeof(s->dir), "%s/tkw-redis-XXXXXX",
		 tmp && strlen(tmp) < 100 ? tmp : "/tmp");
	assert_non_null(mkdtemp(s->dir));
	note_server(s);
	for (int i = 0; i < TRIES; i++) {
		s->port = choose_port();
		write_config(s);
		if (server_try_start(s))
			return;
		if (!server_has_said(s, "Address already in use"))
			break;
	}
	show_log(s);
	fail_msg("the server does not start");
}

void server_begin(struct server *s, enum server_module module,
		  const char *lines)
{
	*s = (struct server){ .module = module };
	snprintf(s->lines, sizeof(s->lines), "%s", lines);
	begin(s);
}

void server_begin_sentinel(struct server *s, const char *lines)
{
	*s = (struct server){ .module = SERVER_NO_MODULE, .sentinel = true };
	snprintf(s->lines, sizeof(s->lines), "%s", lines);
	begin(s);
}

void server_change(struct server *s, enum server_module module,
		   const char *lines)
{
	assert_int_equal(s->pid, 0);
	s->module = module;
	snprintf(s->lines, sizeof(s->lines), "%s", lines);
	write_config(s);
}

/* Waits for the end of the process. Returns its status. */
static int reap(struct server *s)
{
	int status;

	while (waitpid(s->pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	set_pid(s, 0);
	return status;
}

void server_stop(struct server *s)
{
	int status;

	assert_true(s->pid > 0);
	kill(s->pid, SIGTERM);
	status = reap(s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	show_log(s);
	fail_msg("the server at port %d has not ended well", s->port);
}

void server_kill(struct server *s)
{
	assert_true(s->pid > 0);
	kill(s->pid, SIGKILL);
	reap(s);
}

void server_freeze(const struct server *s)
{
	int status;

	kill(s->pid, SIGSTOP);
	waitpid(s->pid, &status, WUNTRACED);
}

void server_thaw(const struct server *s)
{
	kill(s->pid, SIGCONT);
}

static bool has_crashed(const struct server *s)
{
	return server_has_said(s, "BUG REPORT") ||
	       server_has_said(s, "ASSERTION FAILED") ||
	       server_has_said(s, "ERROR: AddressSanitizer") ||
	       server_has_said(s, "runtime error:");
}

/* A server that is killed leaves no record of what was covered. One that ends
 * by itself takes longer. */
static void put_an_end_to(struct server *s)
{
	if (!getenv("TKW_REDIS_COVER")) {
		server_kill(s);
		return;
	}
	kill(s->pid, SIGTERM);
	kill(s->pid, SIGCONT);
	reap(s);
}

bool server_end(struct server *s)
{
	bool ran = s->pid != 0;
	bool good;

	if (!s->dir[0])
		return true;
	good = server_is_alive(s) == ran && !has_crashed(s);
	if (!good) {
		print_error("the server at port %d has crashed\n", s->port);
		show_log(s);
	}
	if (s->pid != 0)
		put_an_end_to(s);
	remove_folder(s->dir);
	s->dir[0] = 0;
	left[s->place].dir[0] = 0;
	return good;
}

bool server_has_said(const struct server *s, const char *text)
{
	FILE *f = fopen(server_path(s, "log"), "r");
	char line[1024];
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, text) != NULL;
	fclose(f);
	return found;
}

/* --- clients and replicas ------------------------------------------------- */

struct resp *server_connect(const struct server *s, int version)
{
	return resp_open(s->port, version);
}

/* True if the master counts the replica as online. */
static bool is_online(const struct server *replica, struct resp *master)
{
	char online[64];

	snprintf(online, sizeof(online), "port=%d,state=online", replica->port);
	resp_ask(master, "INFO replication");
	return strstr(resp_raw(master), online) != NULL;
}

static bool has_caught_up(struct resp *replica, struct resp *master)
{
	int64_t to =
		resp_info_number(master, "replication", "master_repl_offset");

	return strcmp(resp_info(replica, "replication", "master_link_status"),
		      "up") == 0 &&
	       resp_info_number(replica, "replication", "slave_repl_offset") >=
		       to;
}

void server_catch_up(const struct server *replica, const struct server *master)
{
	struct resp *r = server_connect(replica, 2);
	struct resp *m = server_connect(master, 2);

	WAIT_UNTIL(is_online(replica, m) && has_caught_up(r, m));
	resp_close(r);
	resp_close(m);
}

void server_follow(const struct server *replica, const struct server *master)
{
	struct resp *r = server_connect(replica, 2);

	EXPECT(r, "OK", "REPLICAOF 127.0.0.1 %d", master->port);
	resp_close(r);
	server_catch_up(replica, master);
}
