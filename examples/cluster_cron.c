/* SPDX-License-Identifier: MIT */
/*
 * cluster_cron.c [PORT] - three processes run the jobs of one plan, with a
 * queue in Redis. Each planned time runs once, although one process is killed
 * in the middle of a run.
 *
 * The server must have loaded tickwheel.so. The processes may as well be on
 * three machines. None of them is the leader: each waits for the next item of
 * the plan, and the one that gets it runs it.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum {
	PROCESSES = 3,
	TIMES = 8,
	PERIOD_MS = 200,
	LEASE_MS = 1000,
	KILLED_AT = 4 /* the time at which a process is killed */
};

/* Sends a command. Ends the program if this fails, or if the reply is an
 * error. */
static redisReply *ask(redisContext *redis, const char *format, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, format);
	reply = redisvCommand(redis, format, args);
	va_end(args);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
		fprintf(stderr, "cluster_cron: %s\n",
			reply ? reply->str : redis->errstr);
		if (reply && strstr(reply->str, "unknown command"))
			fprintf(stderr, "cluster_cron: start the server with "
					"--loadmodule tickwheel.so\n");
		exit(1);
	}
	return reply;
}

static int read_port(const char *text)
{
	char *end;
	const long port = strtol(text, &end, 10);

	if (*end != '\0' || port < 1 || port > 65535) {
		fprintf(stderr, "cluster_cron: '%s' is not a port\n", text);
		exit(1);
	}
	return (int)port;
}

static redisContext *open_server(int port)
{
	redisContext *redis = redisConnect("127.0.0.1", port);

	if (redis == NULL || redis->err != 0) {
		fprintf(stderr, "cluster_cron: no server on port %d\n", port);
		exit(1);
	}
	return redis;
}

/* Returns the first planned time. OVERLAP allow: a time also runs while another
 * process is still busy with an earlier one. MISFIRE and GRACE: no time is left
 * out if this machine is slow. */
static long long make_plan(redisContext *redis)
{
	redisReply *next = ask(redis,
			       "TKW.PLAN {cron}:jobs report %s tick OVERLAP "
			       "allow MISFIRE all 100 GRACE 60000",
			       "every 200ms");
	const long long first_ms = next->integer;

	freeReplyObject(next);
	return first_ms;
}

/* Ends the item and notes what was done, both or none. If another process has
 * taken the item since then, nothing is noted. */
static const char finish[] =
	"if redis.call('TKW.ACK', KEYS[1], ARGV[1], ARGV[2])[1] == 1 then "
	"redis.call('RPUSH', KEYS[2], ARGV[3] .. ' ' .. ARGV[4]) end";

static void run_next(redisContext *redis, long long first_ms, int tell)
{
	redisReply *items =
		ask(redis, "TKW.TAKE {cron}:jobs BLOCK 0 LEASE %d", LEASE_MS);
	redisReply **item = items->element[0]->element;
	const long long attempt = item[3]->integer;
	const long long planned_ms = item[6]->integer;
	const long long time = (planned_ms - first_ms) / PERIOD_MS + 1;
	const pid_t me = getpid();

	if (time == KILLED_AT && attempt == 1 &&
	    write(tell, &me, sizeof(me)) == sizeof(me))
		pause(); /* until the parent kills this process */
	freeReplyObject(ask(redis,
			    "EVAL %s 2 {cron}:jobs {cron}:done %lld %lld %lld "
			    "%lld",
			    finish, item[0]->integer, item[2]->integer, time,
			    attempt));
	freeReplyObject(items);
}

/* One of the processes. It runs until it is ended, or the parent has ended. */
static pid_t start(int port, long long first_ms, int tell)
{
	const pid_t pid = fork();
	redisContext *redis;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	redis = open_server(port);
	for (;;)
		run_next(redis, first_ms, tell);
}

/* Counts the runs of each time, and their attempts. */
static void read_runs(redisContext *redis, int *runs, long *attempts)
{
	for (int n = 0; n < TIMES; n++) {
		redisReply *done = ask(redis, "BLPOP {cron}:done 0");
		char *end;
		const long time = strtol(done->element[1]->str, &end, 10);

		if (time <= TIMES) {
			runs[time]++;
			attempts[time] = strtol(end, NULL, 10);
		} else {
			n--; /* the others go on meanwhile */
		}
		freeReplyObject(done);
	}
}

int main(int argc, char **argv)
{
	const int port = argc > 1 ? read_port(argv[1]) : 6379;
	redisContext *redis = open_server(port);
	long attempts[TIMES + 1] = { 0 };
	int runs[TIMES + 1] = { 0 };
	pid_t process[PROCESSES];
	long long first_ms;
	int ends[2];
	int status = 0;
	pid_t victim;

	if (pipe(ends) != 0)
		return 1;
	freeReplyObject(ask(redis, "DEL {cron}:jobs {cron}:done"));
	first_ms = make_plan(redis);
	for (int i = 0; i < PROCESSES; i++)
		process[i] = start(port, first_ms, ends[1]);
	printf("%d processes wait for the times of one plan\n", PROCESSES);
	if (read(ends[0], &victim, sizeof(victim)) != sizeof(victim))
		return 1;
	kill(victim, SIGKILL);
	printf("one is killed while it runs time %d\n", KILLED_AT);
	read_runs(redis, runs, attempts);
	for (int time = 1; time <= TIMES; time++) {
		printf("time %d: ran %d time, by attempt %ld\n", time,
		       runs[time], attempts[time]);
		if (runs[time] != 1)
			status = 1;
	}
	for (int i = 0; i < PROCESSES; i++) {
		kill(process[i], SIGKILL);
		waitpid(process[i], NULL, 0);
	}
	freeReplyObject(ask(redis, "DEL {cron}:jobs {cron}:done"));
	redisFree(redis);
	return status;
}
