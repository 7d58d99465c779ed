/* SPDX-License-Identifier: MIT */
/*
 * cmd_queue.c - the command `tkw queue`: its commands, options and help.
 *
 * Everything on the command line is checked before the file is opened, so that
 * a wrong command line changes nothing.
 */
#include "cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_tool.h"
#include "tool.h"
#include "tool_options.h"

/* The options, in the order of the table. */
enum {
	OPT_HELP,
	OPT_JSON,
	OPT_QUEUE,
	OPT_DELAY,
	OPT_AT,
	OPT_KEY,
	OPT_REPLACE,
	OPT_KEEP,
	OPT_ATTEMPTS,
	OPT_BACKOFF,
	OPT_MAX_BACKOFF,
	OPT_COUNT,
	OPT_LEASE,
	OPT_WAIT,
	OPT_REASON,
	OPT_STATE,
	OPT_ALL,
	OPT_RAW,
	OPT_JOBS,
	OPT_MAX_ITEMS,
	OPT_MAX_BYTES,
	OPT_MAX_PAYLOAD,
	OPT_ZONE,
	OPT_MISFIRE,
	OPT_MAX_MISSED,
	OPT_GRACE,
	OPT_OVERLAP,
	OPT_NEXT,
	OPTIONS
};

#define LONG(option) (TOOL_OPTION_FIRST + (option))
#define BIT(option) (UINT32_C(1) << (option))

static const struct option options[] = {
	[OPT_HELP] = { "help", no_argument, NULL, TOOL_OPTION_HELP },
	[OPT_JSON] = { "json", no_argument, NULL, LONG(OPT_JSON) },
	[OPT_QUEUE] = { "queue", required_argument, NULL, 'q' },
	[OPT_DELAY] = { "delay", required_argument, NULL, 'd' },
	[OPT_AT] = { "at", required_argument, NULL, LONG(OPT_AT) },
	[OPT_KEY] = { "key", required_argument, NULL, 'k' },
	[OPT_REPLACE] = { "replace", no_argument, NULL, LONG(OPT_REPLACE) },
	[OPT_KEEP] = { "keep", no_argument, NULL, LONG(OPT_KEEP) },
	[OPT_ATTEMPTS] = { "attempts", required_argument, NULL,
			   LONG(OPT_ATTEMPTS) },
	[OPT_BACKOFF] = { "backoff", required_argument, NULL,
			  LONG(OPT_BACKOFF) },
	[OPT_MAX_BACKOFF] = { "max-backoff", required_argument, NULL,
			      LONG(OPT_MAX_BACKOFF) },
	[OPT_COUNT] = { "count", required_argument, NULL, 'n' },
	[OPT_LEASE] = { "lease", required_argument, NULL, LONG(OPT_LEASE) },
	[OPT_WAIT] = { "wait", required_argument, NULL, LONG(OPT_WAIT) },
	[OPT_REASON] = { "reason", required_argument, NULL, LONG(OPT_REASON) },
	[OPT_STATE] = { "state", required_argument, NULL, LONG(OPT_STATE) },
	[OPT_ALL] = { "all", no_argument, NULL, LONG(OPT_ALL) },
	[OPT_RAW] = { "raw", no_argument, NULL, LONG(OPT_RAW) },
	[OPT_JOBS] = { "jobs", required_argument, NULL, 'j' },
	[OPT_MAX_ITEMS] = { "max-items", required_argument, NULL,
			    LONG(OPT_MAX_ITEMS) },
	[OPT_MAX_BYTES] = { "max-bytes", required_argument, NULL,
			    LONG(OPT_MAX_BYTES) },
	[OPT_MAX_PAYLOAD] = { "max-payload", required_argument, NULL,
			      LONG(OPT_MAX_PAYLOAD) },
	[OPT_ZONE] = { "zone", required_argument, NULL, LONG(OPT_ZONE) },
	[OPT_MISFIRE] = { "misfire", required_argument, NULL,
			  LONG(OPT_MISFIRE) },
	[OPT_MAX_MISSED] = { "max-missed", required_argument, NULL,
			     LONG(OPT_MAX_MISSED) },
	[OPT_GRACE] = { "grace", required_argument, NULL, LONG(OPT_GRACE) },
	[OPT_OVERLAP] = { "overlap", required_argument, NULL,
			  LONG(OPT_OVERLAP) },
	[OPT_NEXT] = { "next", required_argument, NULL, LONG(OPT_NEXT) },
	[OPTIONS] = { NULL, 0, NULL, 0 },
};

static const char see[] = "tkw queue --help";

/* A line of the text is a line of the source. */
/* clang-format off */
static const char usage[] =
"usage: tkw queue FILE COMMAND [OPTION]... [WORD]...\n"
"\n"
"A delay queue in a file, which survives crashes. An item can be taken when its\n"
"delay is over. Who takes it has it for the time of a lease, and acks it when\n"
"the work is done. Otherwise it comes back. If another process has the file\n"
"open, tkw works through that process.\n"
"\n"
"commands:\n"
"  put PAYLOAD...     put items, all or none; - reads standard input. Prints ids\n"
"      -d, --delay T      not before T from now      --at MS  at this UNIX time\n"
"      -k, --key KEY      refused if an item has this key, unless with\n"
"          --replace      replace that item, or      --keep   keep it as it is\n"
"      --attempts N       dead after N attempts\n"
"      --backoff T        wait T after a failure, then 2T, 4T, ...\n"
"      --max-backoff T    but not longer than T\n"
"  take               take ready items. Prints a line for each: CLAIM PAYLOAD\n"
"      -n, --count N      at most N (default 1)      --lease T  (default 30s)\n"
"      --wait T           wait for the first; 'forever' is a time too\n"
"  ack CLAIM...       the work is done           extend CLAIM... [--lease T]\n"
"  nack CLAIM...      try again later            [-d T] [--reason TEXT]\n"
"  cancel ID... | -k KEY           end items that are not taken\n"
"  reschedule ID | -k KEY          -d T or --at MS\n"
"  get ID | -k KEY    show an item; --raw writes its payload only\n"
"  list               list items [--state waiting|ready|taken|dead] [-n N]\n"
"  dead               list dead items [-n N]\n"
"  revive ID... | --all            make dead items ready again\n"
"  purge ID... | --all             end dead items\n"
"  pause, resume      a paused queue gives nothing out\n"
"  limit              [--max-items N] [--max-bytes N] [--max-payload N];\n"
"                     0 means the default: no limit, and 1 MiB for a payload\n"
"  plan NAME PLAN PAYLOAD          put an item at each time of PLAN: '30 2 * * 1'\n"
"                     or 'every 90s'. Prints the next time. See 'tkw next'.\n"
"      --zone NAME        the time zone, like Europe/Berlin (default UTC)\n"
"      --misfire once|all|skip     if times were missed by more than --grace T\n"
"                         (default 1m): the latest, the latest --max-missed N\n"
"                         (default 100), or none\n"
"      --overlap skip|allow        if the last item has not ended (default skip)\n"
"      --next take|ack    when the next item is put (default take)\n"
"      --attempts, --backoff, --max-backoff    of each item, as for put\n"
"  unplan NAME...     end plans\n"
"  plan-pause NAME..., plan-resume NAME...\n"
"  plans [NAME]       list plans [-n N], or show one and its next times [-n N]\n"
"  stats              the facts of the queue, or with --all of all queues\n"
"  watch              show the queues every second [-n TIMES]\n"
"  work -- COMMAND    run COMMAND for each item, with the payload as its standard\n"
"                     input and TKW_ID, TKW_TOKEN, TKW_KEY, TKW_ATTEMPT,\n"
"                     TKW_PLANNED_MS (if a plan has put it) and TKW_QUEUE in its\n"
"                     environment. Exit status 0 acks the item. Others nack it.\n"
"                     The lease is extended meanwhile.\n"
"      -j, --jobs N       run up to N at once (default 1)\n"
"      --lease T, -d T    the lease; how long to wait after a failure\n"
"      -n N, --wait T     end after N items, or when there was none for T\n"
"\n"
"options of all commands:\n"
"  -q, --queue NAME   the queue in the file (default 'default')\n"
"  --json             print JSON, one object a line\n"
"  --help             print this text\n"
"\n"
"A time T is like 500ms, 5s, 10m, 2h, 1d, 1w or 1h30m. In text, control bytes of\n"
"a payload are written as printf %b reads them. A word that starts with '-' goes\n"
"behind '--'. put, plan, take, pause, limit and work make the file and the\n"
"queue.\n"
"\n"
"Exit status: 0 success; 1 it failed, or a claim is stale, or an item is not\n"
"there; 2 bad command line, nothing was changed; 3 nothing could be taken; 126 or\n"
"127 the command of work cannot be run. A signal ends take, work and watch.\n";
/* clang-format on */

/* --- the commands -------------------------------------------------------- */

enum words {
	WORDS_NONE,
	WORDS_PAYLOADS,
	WORDS_CLAIMS,
	WORDS_NAMES,    /* ids, or --key */
	WORDS_NAME,     /* one id, or --key */
	WORDS_IDS,      /* ids, or --all */
	WORDS_PLAN,     /* name, plan and payload */
	WORDS_PLANS,    /* names of plans */
	WORDS_ONE_PLAN, /* the name of a plan, or none */
	WORDS_COMMAND
};

struct queue_command {
	const char *name;
	queue_command_fn *run;
	enum words words;
	uint32_t options; /* besides those of all commands */
	bool make;        /* make the file and the queue */
	bool signals;     /* it waits */
};

#define WHEN (BIT(OPT_DELAY) | BIT(OPT_AT))
#define PUT_OPTIONS                                                            \
	(WHEN | BIT(OPT_KEY) | BIT(OPT_REPLACE) | BIT(OPT_KEEP) |              \
	 BIT(OPT_ATTEMPTS) | BIT(OPT_BACKOFF) | BIT(OPT_MAX_BACKOFF))
#define TAKE_OPTIONS (BIT(OPT_COUNT) | BIT(OPT_LEASE) | BIT(OPT_WAIT))
#define LIMIT_OPTIONS                                                          \
	(BIT(OPT_MAX_ITEMS) | BIT(OPT_MAX_BYTES) | BIT(OPT_MAX_PAYLOAD))
#define WORK_OPTIONS (TAKE_OPTIONS | BIT(OPT_JOBS) | BIT(OPT_DELAY))

#define RETRY_OPTIONS                                                          \
	(BIT(OPT_ATTEMPTS) | BIT(OPT_BACKOFF) | BIT(OPT_MAX_BACKOFF))
#define PLAN_OPTIONS                                                           \
	(BIT(OPT_ZONE) | BIT(OPT_MISFIRE) | BIT(OPT_MAX_MISSED) |              \
	 BIT(OPT_GRACE) | BIT(OPT_OVERLAP) | BIT(OPT_NEXT) | RETRY_OPTIONS)

static const struct queue_command commands[] = {
	{ "put", queue_put, WORDS_PAYLOADS, PUT_OPTIONS, true, false },
	{ "take", queue_take, WORDS_NONE, TAKE_OPTIONS, true, true },
	{ "ack", queue_ack, WORDS_CLAIMS, 0, false, false },
	{ "nack", queue_nack, WORDS_CLAIMS, BIT(OPT_DELAY) | BIT(OPT_REASON),
	  false, false },
	{ "extend", queue_extend, WORDS_CLAIMS, BIT(OPT_LEASE), false, false },
	{ "cancel", queue_cancel, WORDS_NAMES, BIT(OPT_KEY), false, false },
	{ "reschedule", queue_reschedule, WORDS_NAME, WHEN | BIT(OPT_KEY),
	  false, false },
	{ "get", queue_get, WORDS_NAME, BIT(OPT_KEY) | BIT(OPT_RAW), false,
	  false },
	{ "list", queue_list, WORDS_NONE, BIT(OPT_STATE) | BIT(OPT_COUNT),
	  false, false },
	{ "dead", queue_list, WORDS_NONE, BIT(OPT_COUNT), false, false },
	{ "revive", queue_revive, WORDS_IDS, BIT(OPT_ALL), false, false },
	{ "purge", queue_purge, WORDS_IDS, BIT(OPT_ALL), false, false },
	{ "pause", queue_pause, WORDS_NONE, 0, true, false },
	{ "resume", queue_resume, WORDS_NONE, 0, false, false },
	{ "limit", queue_limit, WORDS_NONE, LIMIT_OPTIONS, true, false },
	{ "plan", queue_plan, WORDS_PLAN, PLAN_OPTIONS, true, false },
	{ "unplan", queue_unplan, WORDS_PLANS, 0, false, false },
	{ "plans", queue_plans, WORDS_ONE_PLAN, BIT(OPT_COUNT), false, false },
	{ "plan-pause", queue_plan_pause, WORDS_PLANS, 0, false, false },
	{ "plan-resume", queue_plan_resume, WORDS_PLANS, 0, false, false },
	{ "stats", queue_stats, WORDS_NONE, BIT(OPT_ALL), false, false },
	{ "watch", queue_watch, WORDS_NONE, BIT(OPT_COUNT), false, true },
	{ "work", queue_work, WORDS_COMMAND, WORK_OPTIONS, true, true },
	{ NULL, NULL, WORDS_NONE, 0, false, false },
};

static const struct queue_command *find(const char *name)
{
	const struct queue_command *c = commands;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	if (c->name)
		return c;
	tool_complain("unknown command '%.60s' of a queue; see '%s'", name,
		      see);
	return NULL;
}

/* --- options ------------------------------------------------------------- */

/* A command line, as far as it was read. */
struct line {
	struct queue_options o;
	const struct queue_command *command;
	uint32_t given; /* options, by bit */
	bool help;
};

static int find_option(int val)
{
	for (int i = 0; i < OPTIONS; i++) {
		if (options[i].val == val)
			return i;
	}
	return OPT_HELP;
}

static int read_lease(int64_t *lease_ms)
{
	if (queue_read_time("--lease", optarg, QUEUE_MAX_MS, lease_ms))
		return -1;
	if (*lease_ms > 0)
		return 0;
	tool_complain("--lease: it must be longer than 0");
	return -1;
}

static int read_wait(int64_t *wait_ms)
{
	if (strcmp(optarg, "forever") != 0)
		return queue_read_time("--wait", optarg, QUEUE_MAX_MS, wait_ms);
	*wait_ms = INT64_MAX;
	return 0;
}

static int read_at(int64_t *at_ms)
{
	uint64_t ms = 0;

	if (tool_read_number("--at", optarg, 1, (uint64_t)INT64_MAX / 1000,
			     &ms))
		return -1;
	*at_ms = (int64_t)ms;
	return 0;
}

static int read_grace(int64_t *grace_ms)
{
	if (queue_read_time("--grace", optarg, QUEUE_MAX_MS, grace_ms))
		return -1;
	/* For the library, 0 is the default. */
	if (*grace_ms == 0)
		*grace_ms = -1;
	return 0;
}

static int read_max_missed(uint32_t *max_missed)
{
	uint64_t n;

	if (tool_read_number("--max-missed", optarg, 1, TKW_QUEUE_MAX_MISSED,
			     &n))
		return -1;
	*max_missed = (uint32_t)n;
	return 0;
}

/* The options of a plan. */
static int read_plan_option(int option, struct tkw_queue_plan_spec *p)
{
	static const char *const overlaps[] = { "skip", "allow" };
	static const char *const nexts[] = { "take", "ack" };
	int allow = 0;
	int r;

	switch (option) {
	case OPT_ZONE:
		p->zone = optarg;
		return 0;
	case OPT_MISFIRE:
		return queue_read_misfire(optarg, &p->misfire);
	case OPT_MAX_MISSED:
		return read_max_missed(&p->max_missed);
	case OPT_GRACE:
		return read_grace(&p->grace_ms);
	case OPT_OVERLAP:
		r = queue_read_choice("--overlap", optarg, overlaps, &allow);
		p->overlap = allow ? TKW_OVERLAP_ALLOW : TKW_OVERLAP_SKIP;
		return r;
	default:
		return queue_read_choice("--next", optarg, nexts,
					 &p->next_on_ack);
	}
}

/* The options with a number. */
static int read_count_option(int option, struct queue_options *o)
{
	switch (option) {
	case OPT_ATTEMPTS:
		return tool_read_number("--attempts", optarg, 1, UINT32_MAX,
					&o->attempts);
	case OPT_COUNT:
		return tool_read_number("--count", optarg, 1, UINT32_MAX,
					&o->count);
	case OPT_JOBS:
		return tool_read_number("--jobs", optarg, 1, QUEUE_JOBS_MAX,
					&o->jobs);
	case OPT_MAX_ITEMS:
		return tool_read_number("--max-items", optarg, 0, INT64_MAX,
					&o->max_items);
	case OPT_MAX_BYTES:
		return tool_read_number("--max-bytes", optarg, 0, INT64_MAX,
					&o->max_bytes);
	case OPT_MAX_PAYLOAD:
		return tool_read_number("--max-payload", optarg, 0, 1 << 29,
					&o->max_payload);
	default:
		return read_plan_option(option, &o->plan);
	}
}

/* The options with a text. */
static int read_text_option(int option, struct queue_options *o)
{
	switch (option) {
	case OPT_QUEUE:
		o->queue = optarg;
		return queue_read_name(optarg);
	case OPT_KEY:
		o->key = optarg;
		return queue_read_text("--key", optarg, TKW_QUEUE_MAX_KEY);
	case OPT_REASON:
		o->reason = optarg;
		return queue_read_text("--reason", optarg,
				       TKW_QUEUE_MAX_REASON);
	case OPT_STATE:
		return queue_read_state(optarg, &o->state);
	default:
		return read_count_option(option, o);
	}
}

/* Returns 0, or -1 after telling the user what is wrong. */
static int read_option(int option, struct queue_options *o)
{
	switch (option) {
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_REPLACE:
		o->held = TKW_KEY_REPLACE;
		return 0;
	case OPT_KEEP:
		o->held = TKW_KEY_KEEP;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_RAW:
		o->raw = true;
		return 0;
	case OPT_DELAY:
		o->has_delay = true;
		return queue_read_time("--delay", optarg, QUEUE_MAX_MS,
				       &o->delay_ms);
	case OPT_AT:
		return read_at(&o->at_ms);
	case OPT_BACKOFF:
		return queue_read_time("--backoff", optarg, UINT32_MAX,
				       &o->backoff_ms);
	case OPT_MAX_BACKOFF:
		return queue_read_time("--max-backoff", optarg, UINT32_MAX,
				       &o->max_backoff_ms);
	case OPT_LEASE:
		return read_lease(&o->lease_ms);
	case OPT_WAIT:
		return read_wait(&o->wait_ms);
	default:
		return read_text_option(option, o);
	}
}

/* --- words --------------------------------------------------------------- */

/* The first word is the file, the second the command. */
static int add_word(struct line *l, char *word)
{
	if (!l->o.file) {
		l->o.file = word;
		if (*word)
			return 0;
		tool_complain("the name of the file is empty; see '%s'", see);
		return -1;
	}
	if (!l->command) {
		l->command = find(word);
		return l->command ? 0 : -1;
	}
	l->o.words[l->o.word_count++] = word;
	return 0;
}

/* Returns 0, or -1 after telling the user what is wrong. */
static int read_line(struct line *l, int argc, char **argv)
{
	int val;

	while ((val = tool_next_word(argc, argv, options, see)) > 0) {
		int option;

		if (val == TOOL_OPTION_WORD) {
			if (add_word(l, optarg))
				return -1;
			continue;
		}
		option = find_option(val);
		if (option == OPT_HELP) {
			l->help = true;
			return 0;
		}
		if (read_option(option, &l->o))
			return -1;
		l->given |= BIT(option);
	}
	if (val == TOOL_OPTION_BAD)
		return -1;
	/* What is behind "--". */
	for (; optind < argc; optind++) {
		if (add_word(l, argv[optind]))
			return -1;
	}
	return 0;
}

/* --- what does not fit together ------------------------------------------ */

static int refuse(const char *name, const char *why)
{
	tool_complain("%s: %s; see '%s'", name, why, see);
	return -1;
}

static int check_options(const struct line *l)
{
	uint32_t always = BIT(OPT_JSON) | BIT(OPT_QUEUE);
	uint32_t wrong = l->given & ~(l->command->options | always);

	for (int i = 0; i < OPTIONS; i++) {
		if (wrong & BIT(i)) {
			tool_complain("--%s: not with %s", options[i].name,
				      l->command->name);
			return -1;
		}
	}
	return 0;
}

static int check_words(const struct line *l)
{
	const char *name = l->command->name;
	const struct queue_options *o = &l->o;
	size_t n = o->word_count;

	switch (l->command->words) {
	case WORDS_NONE:
		return n ? refuse(name, "takes no words") : 0;
	case WORDS_PAYLOADS:
		return n ? 0 : refuse(name, "the payload is missing");
	case WORDS_CLAIMS:
		return n ? 0 : refuse(name, "the claim is missing");
	case WORDS_COMMAND:
		return n ? 0 : refuse(name, "the command is missing");
	case WORDS_IDS:
		return !n == o->all ? 0 : refuse(name, "needs ids or --all");
	case WORDS_PLAN:
		return n == 3 ? 0
			      : refuse(name, "needs a name, a plan and a "
					     "payload");
	case WORDS_PLANS:
		return n ? 0 : refuse(name, "the name of the plan is missing");
	case WORDS_ONE_PLAN:
		return n < 2 ? 0 : refuse(name, "takes one name");
	case WORDS_NAMES:
		return !n == !!o->key ? 0 : refuse(name, "needs ids or --key");
	default:
		return n + !!o->key == 1
			       ? 0
			       : refuse(name, "needs one id or --key");
	}
}

static bool has(const struct line *l, int option)
{
	return l->given & BIT(option);
}

static int check_put(const struct line *l)
{
	if (has(l, OPT_REPLACE) && has(l, OPT_KEEP))
		return refuse("put", "--replace and --keep exclude each other");
	if ((has(l, OPT_REPLACE) || has(l, OPT_KEEP)) && !has(l, OPT_KEY))
		return refuse("put", "--replace and --keep need --key");
	if (has(l, OPT_KEY) && l->o.word_count > 1)
		return refuse("put", "a key is for one payload only");
	return 0;
}

static int check_fit(const struct line *l)
{
	const char *name = l->command->name;

	if (has(l, OPT_DELAY) && has(l, OPT_AT))
		return refuse(name, "--delay and --at exclude each other");
	if (has(l, OPT_MAX_BACKOFF) && !has(l, OPT_BACKOFF))
		return refuse(name, "--max-backoff needs --backoff");
	if (has(l, OPT_MAX_MISSED) && l->o.plan.misfire != TKW_MISFIRE_ALL)
		return refuse(name, "--max-missed needs --misfire all");
	if (l->command->run == queue_put)
		return check_put(l);
	if (l->command->run == queue_reschedule && !has(l, OPT_DELAY) &&
	    !has(l, OPT_AT))
		return refuse(name, "needs --delay or --at");
	if (l->command->run == queue_limit && !(l->given & LIMIT_OPTIONS))
		return refuse(name, "needs --max-items, --max-bytes or "
				    "--max-payload");
	if (l->command->run == queue_stats && l->o.all && has(l, OPT_QUEUE))
		return refuse(name, "--all and --queue exclude each other");
	if (l->command->run == queue_get && l->o.raw && l->o.json)
		return refuse(name, "--raw and --json exclude each other");
	if (l->command->words != WORDS_COMMAND &&
	    l->o.word_count > QUEUE_COUNT_MAX)
		return refuse(name, "takes at most 4096 words");
	return 0;
}

static int check_line(const struct line *l)
{
	if (!l->o.file || !l->command) {
		tool_complain("%s is missing; see '%s'",
			      l->o.file ? "the command" : "the file", see);
		return -1;
	}
	if (check_options(l) || check_words(l) || check_fit(l))
		return -1;
	return 0;
}

/* What was not given. */
static void set_defaults(struct line *l)
{
	struct queue_options *o = &l->o;
	bool all = l->command->run == queue_watch || o->all;

	if (!o->queue && !(all && l->command->words == WORDS_NONE))
		o->queue = "default";
	if (!strcmp(l->command->name, "dead"))
		o->state = TKW_ITEM_DEAD;
	if (!o->count && l->command->run == queue_take)
		o->count = 1;
	if (!has(l, OPT_WAIT) && l->command->run == queue_work)
		o->wait_ms = INT64_MAX;
}

static int read_words(const struct line *l, struct queue_words *w)
{
	switch (l->command->words) {
	case WORDS_PAYLOADS:
		return queue_read_payloads(&l->o, w);
	case WORDS_CLAIMS:
		return queue_read_claims(&l->o, w);
	case WORDS_NAMES:
	case WORDS_NAME:
		return queue_read_names(&l->o, w);
	case WORDS_IDS:
		return queue_read_ids(&l->o, w);
	case WORDS_PLAN:
		return queue_read_plan(&l->o, w);
	case WORDS_PLANS:
	case WORDS_ONE_PLAN:
		return queue_check_plan_names(&l->o);
	default:
		return 0;
	}
}

/* --- running ------------------------------------------------------------- */

static int open_and_run(struct line *l, struct queue_words *w)
{
	struct queue_place place = { .file = l->o.file,
				     .queue = l->o.queue,
				     .make = l->command->make };
	struct queue_session s;
	int r = 0, status;

	if (l->command->signals)
		r = tool_signals_open(l->command->run == queue_work
					      ? TOOL_SIGNALS_CHILDREN
					      : TOOL_SIGNALS_END);
	if (r) {
		tool_complain("signals: %s", strerror(-r));
		return TOOL_EXIT_FAILURE;
	}
	r = queue_session_open(&s, &place);
	if (r)
		return queue_session_fail(&s, "open", r);
	status = l->command->run(&s, &l->o, w);
	queue_session_close(&s);
	return status;
}

static int run(struct line *l)
{
	struct queue_words w = { NULL, NULL, NULL, NULL, NULL };
	int status = TOOL_EXIT_USAGE;

	set_defaults(l);
	if (l->command->words == WORDS_COMMAND)
		status = queue_work_check(&l->o);
	else if (!read_words(l, &w))
		status = TOOL_EXIT_OK;
	if (status == TOOL_EXIT_OK)
		status = open_and_run(l, &w);
	queue_words_free(&l->o, &w);
	return status;
}

int cmd_queue(int argc, char **argv)
{
	struct line l = { .o = { .state = TKW_ITEM_STATES,
				 .jobs = 1,
				 .max_items = UINT64_MAX,
				 .max_bytes = UINT64_MAX,
				 .max_payload = UINT64_MAX } };
	int status = TOOL_EXIT_USAGE;

	l.o.words = calloc((size_t)argc + 1, sizeof(*l.o.words));
	if (!l.o.words) {
		tool_complain("%s", strerror(ENOMEM));
		return TOOL_EXIT_FAILURE;
	}
	if (!read_line(&l, argc, argv)) {
		if (l.help) {
			(void)fputs(usage, stdout);
			status = TOOL_EXIT_OK;
		} else if (!check_line(&l)) {
			status = run(&l);
		}
	}
	free(l.o.words);
	return status;
}
