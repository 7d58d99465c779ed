/* SPDX-License-Identifier: MIT */
/*
 * test_redis_describe.c - what the server says about the commands of the
 * module. Client libraries, proxies, clusters and ACLs rely on it.
 */
#include "redis_bed.h"

struct command {
	const char *name;
	int arity;
	const char *flags; /* that it has; of those below, it has no other */
	const char *line;  /* one that is right, with the key "k" */
};

static const struct command commands[] = {
	{ "TKW.PUT", -4, "write denyoom fast", "TKW.PUT k 0 a" },
	{ "TKW.MPUT", -4, "write denyoom", "TKW.MPUT k 0 a 0 b KEY c" },
	{ "TKW.TAKE", -2, "write blocking", "TKW.TAKE k BLOCK 5" },
	{ "TKW.ACK", -4, "write", "TKW.ACK k 1 1 2 2" },
	{ "TKW.NACK", -4, "write", "TKW.NACK k DELAY 5 1 1" },
	{ "TKW.EXTEND", -5, "write", "TKW.EXTEND k 5 1 1" },
	{ "TKW.CANCEL", -3, "write", "TKW.CANCEL k KEY a b" },
	{ "TKW.RESCHEDULE", -4, "write", "TKW.RESCHEDULE k KEY a AT 5" },
	{ "TKW.GET", -3, "readonly fast", "TKW.GET k KEY a" },
	{ "TKW.LIST", -4, "readonly", "TKW.LIST k STATE all" },
	{ "TKW.COUNT", 2, "readonly", "TKW.COUNT k" },
	{ "TKW.INFO", 2, "readonly", "TKW.INFO k" },
	{ "TKW.DIGEST", 2, "readonly", "TKW.DIGEST k" },
	{ "TKW.PAUSE", 2, "write", "TKW.PAUSE k" },
	{ "TKW.RESUME", 2, "write", "TKW.RESUME k" },
	{ "TKW.LIMIT", -4, "write", "TKW.LIMIT k ITEMS 5" },
	{ "TKW.DEAD", -3, "write", "TKW.DEAD k LIST" },
	{ "TKW.PLAN", -5, "write denyoom", "TKW.PLAN k p @daily a ZONE UTC" },
	{ "TKW.UNPLAN", 3, "write", "TKW.UNPLAN k p" },
	{ "TKW.PLANS", -2, "readonly", "TKW.PLANS k AFTER p COUNT 5" },
	{ "TKW.PLANPAUSE", 3, "write", "TKW.PLANPAUSE k p" },
	{ "TKW.PLANRESUME", 3, "write", "TKW.PLANRESUME k p" },
	{ "TKW.APPLY", 4, "write", "TKW.APPLY k RECORDS x" },
};

enum {
	COMMANDS = sizeof(commands) / sizeof(commands[0])
};

/* The list of flags is the first array inside: [["TKW.PUT", -4, [write, ...],
 */
static bool has_flag(const char *info, const char *flag)
{
	const char *begin = strchr(info + 2, '[');
	const char *end = begin ? strchr(begin, ']') : NULL;
	size_t len = strlen(flag);
	const char *at = begin;

	assert_non_null(end);
	while ((at = strstr(at + 1, flag)) != NULL && at < end) {
		if ((at[-1] == '[' || at[-1] == ' ') &&
		    (at[len] == ',' || at[len] == ']'))
			return true;
	}
	return false;
}

/* SPEC 11.30. */
static void test_command_info(void **state)
{
	static const char *const flags[] = { "write", "readonly", "denyoom",
					     "blocking" };
	struct redis_bed *b = *state;

	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];
		const char *info = resp_ask(b->c, "COMMAND INFO %s", c->name);
		char begin[64];

		snprintf(begin, sizeof(begin), "[[\"%s\", %d, [", c->name,
			 c->arity);
		if (strncasecmp(info, begin, strlen(begin)) != 0)
			fail_msg("%s: %s", c->name, info);
		for (size_t f = 0; f < 4; f++) {
			bool want = strstr(c->flags, flags[f]) != NULL;

			if (has_flag(info, flags[f]) != want)
				fail_msg("%s: %s: %s", c->name, flags[f], info);
		}
		if (strstr(c->flags, "fast") && !has_flag(info, "fast"))
			fail_msg("%s is not fast: %s", c->name, info);
		/* The first argument is the only key. */
		if (!strstr(info, "], 1, 1, 1, ["))
			fail_msg("%s: the keys: %s", c->name, info);
	}
}

/* SPEC 11.30: clusters find the key by this. */
static void test_command_info_has_one_key(void **state)
{
	struct redis_bed *b = *state;

	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];
		const char *info = resp_ask(b->c, "COMMAND INFO %s", c->name);
		/* LIST, COUNT, INFO and PLANS may replicate. */
		const char *access =
			!strcmp(c->name, "TKW.GET") ||
					!strcmp(c->name, "TKW.DIGEST")
				? "[RO, "
				: "[RW, ";

		if (!strstr(info, "\"spec\", [\"index\", 1]") ||
		    !strstr(info, "[\"lastkey\", 0, \"keystep\", 1, "
				  "\"limit\", 0]") ||
		    !strstr(info, access))
			fail_msg("%s: %s", c->name, info);
	}
}

static void test_command_getkeys(void **state)
{
	struct redis_bed *b = *state;

	for (size_t i = 0; i < COMMANDS; i++)
		EXPECT(b->c, "[\"k\"]", "COMMAND GETKEYS %s", commands[i].line);
}

/* SPEC 11.30: since Redis 7.2, an argument is also said to be shown by its
 * name. */
static void test_command_docs(void **state)
{
	struct redis_bed *b = *state;

	for (size_t i = 0; i < COMMANDS; i++) {
		const char *docs =
			resp_ask(b->c, "COMMAND DOCS %s", commands[i].name);

		if (!strstr(docs, "\"summary\", \"") ||
		    !strstr(docs, "\"since\", \"") ||
		    !strstr(docs, "\"complexity\", \"O(") ||
		    !strstr(docs, "\"group\", \"module\"") ||
		    !strstr(docs, "\"module\", \"tickwheel\"") ||
		    !(strstr(docs, "\"key\", \"key_spec_index\", 0") ||
		      strstr(docs, "\"key\", \"display_text\", \"queue\", "
				   "\"key_spec_index\", 0")))
			fail_msg("%s: %s", commands[i].name, docs);
	}
}

/* Each option of the contract is in the documents. */
static void test_command_docs_have_all_options(void **state)
{
	static const struct {
		const char *name;
		const char *tokens;
	} wanted[] = {
		{ "TKW.PUT", "AT KEY REPLACE KEEP ATTEMPTS BACKOFF MAX" },
		{ "TKW.MPUT", "AT KEY REPLACE KEEP ATTEMPTS BACKOFF MAX" },
		{ "TKW.TAKE", "COUNT LEASE BLOCK" },
		{ "TKW.NACK", "DELAY REASON" },
		{ "TKW.CANCEL", "KEY" },
		{ "TKW.RESCHEDULE", "KEY AT" },
		{ "TKW.GET", "KEY" },
		{ "TKW.LIST", "STATE CURSOR COUNT" },
		{ "TKW.LIMIT", "ITEMS BYTES PAYLOAD" },
		{ "TKW.DEAD", "LIST CURSOR COUNT REVIVE PURGE ALL" },
		{ "TKW.PLAN",
		  "ZONE MISFIRE once all skip GRACE OVERLAP skip allow NEXT "
		  "take ack ATTEMPTS BACKOFF MAX" },
		{ "TKW.PLANS", "NAME TIMES AFTER COUNT" },
	};
	struct redis_bed *b = *state;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *docs =
			resp_ask(b->c, "COMMAND DOCS %s", wanted[i].name);
		struct words w = { .count = 0 };

		assert_true(words_read(&w, wanted[i].tokens));
		for (size_t k = 0; k < w.count; k++) {
			char token[64];

			snprintf(token, sizeof(token), "\"token\", \"%s\"",
				 w.word[k].at);
			if (!strstr(docs, token))
				fail_msg("%s has no %s", wanted[i].name, token);
		}
		words_free(&w);
	}
}

static void test_module_is_listed(void **state)
{
	struct redis_bed *b = *state;
	const char *list = resp_ask(b->c, "MODULE LIST");

	assert_non_null(strstr(list, "\"name\", \"tickwheel\""));
}

/* The server cannot read its own files without the module. */
static void test_module_cannot_be_unloaded(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "-ERR ...", "MODULE UNLOAD tickwheel");
	EXPECT(b->c, "1700000000000000", "TKW.PUT q 0 a");
	EXPECT(b->c, "-ERR ...", "MODULE UNLOAD tickwheel");
	EXPECT(b->c, "[[1700000000000000, ...", "TKW.TAKE q");
}

static void test_module_is_not_loaded_twice(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "-ERR ...", "MODULE LOAD %s",
	       server_module_path(SERVER_REAL_MODULE));
	EXPECT(b->c, "1700000000000000", "TKW.PUT q 0 a");
}

/* --- the arguments of the module ------------------------------------------ */

static const char wrong_argument[] = "the only argument of the module is "
				     "allow-eviction, with yes or no";

/* The server would have to run with the sanitizer's memory, which a server
 * without the module does not. */
static bool has_sanitizer(void)
{
	const char *preload = getenv("TKW_REDIS_PRELOAD");

	return preload && preload[0];
}

/* Starts a server without the module, and tells it to load the module with
 * these arguments. Returns true if it did. */
static bool loads_with(const char *arguments)
{
	struct server s;
	struct resp *c;
	bool loaded;

	server_begin(&s, SERVER_NO_MODULE, "");
	c = server_connect(&s, 2);
	loaded = strcmp(resp_ask(c, "MODULE LOAD %s %s",
				 server_module_path(SERVER_REAL_MODULE),
				 arguments),
			"OK") == 0;
	if (loaded)
		EXPECT(c, "OK", "TKW.PAUSE q");
	else
		EXPECT(c, "-ERR unknown command...", "TKW.PAUSE q");
	assert_int_equal(server_has_said(&s, wrong_argument), !loaded);
	resp_close(c);
	assert_true(server_end(&s));
	return loaded;
}

static void test_module_reads_its_arguments(void **state)
{
	(void)state;
	if (has_sanitizer())
		return;
	assert_true(loads_with(""));
	assert_true(loads_with("allow-eviction yes"));
	assert_true(loads_with("allow-eviction no"));
	assert_false(loads_with("allow-eviction"));
	assert_false(loads_with("allow-eviction maybe"));
	assert_false(loads_with("nosuch yes"));
}

/* A server with a wrong line in its configuration does not start. */
static void test_server_with_a_wrong_argument_does_not_start(void **state)
{
	static const char *const wrong[] = { "allow-eviction",
					     "allow-eviction maybe",
					     "nosuch yes" };
	struct server s;
	char lines[512];

	(void)state;
	if (has_sanitizer())
		return;
	server_begin(&s, SERVER_NO_MODULE, "");
	server_stop(&s);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(remove(server_path(&s, "log")), 0);
		snprintf(lines, sizeof(lines), "loadmodule %s %s",
			 server_module_path(SERVER_REAL_MODULE), wrong[i]);
		server_change(&s, SERVER_NO_MODULE, lines);
		assert_false(server_try_start(&s));
		assert_true(server_has_said(&s, wrong_argument));
	}
	assert_true(server_end(&s));
}

static void test_module_config(void **state)
{
	struct redis_bed *b = *state;

	EXPECT(b->c, "[\"tickwheel.allow-eviction\", \"no\"]",
	       "CONFIG GET tickwheel.allow-eviction");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction yes");
	EXPECT(b->c, "[\"tickwheel.allow-eviction\", \"yes\"]",
	       "CONFIG GET tickwheel.allow-eviction");
	EXPECT(b->c, "-ERR ...", "CONFIG SET tickwheel.allow-eviction 5");
	EXPECT(b->c, "OK", "CONFIG SET tickwheel.allow-eviction no");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		REDIS_TEST(test_command_info),
		REDIS_TEST(test_command_info_has_one_key),
		REDIS_TEST_BOTH(test_command_getkeys),
		REDIS_TEST(test_command_docs),
		REDIS_TEST(test_command_docs_have_all_options),
		REDIS_TEST(test_module_is_listed),
		REDIS_TEST(test_module_cannot_be_unloaded),
		REDIS_TEST(test_module_is_not_loaded_twice),
		REDIS_TEST(test_module_reads_its_arguments),
		REDIS_TEST(test_server_with_a_wrong_argument_does_not_start),
		REDIS_TEST(test_module_config),
	};

	server_need(argc, argv);
	return cmocka_run_group_tests(tests, redis_bed_begin_all,
				      redis_bed_end_all);
}
