/* SPDX-License-Identifier: MIT */
/* queue_print.c - items and facts of a queue, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "queue_tool.h"
#include "store/name.h"

const char *queue_state_word(enum tkw_item_state state)
{
	static const char *const words[] = {
		[TKW_ITEM_WAITING] = "waiting",
		[TKW_ITEM_READY] = "ready",
		[TKW_ITEM_TAKEN] = "taken",
		[TKW_ITEM_DEAD] = "dead",
	};

	return (unsigned)state < TKW_ITEM_STATES ? words[state] : "unknown";
}

/* --- bytes --------------------------------------------------------------- */

static void print_escaped(uint8_t byte)
{
	switch (byte) {
	case '\n':
		(void)fputs("\\n", stdout);
		break;
	case '\t':
		(void)fputs("\\t", stdout);
		break;
	case '\\':
		(void)fputs("\\\\", stdout);
		break;
	default:
		(void)printf("\\0%03o", byte);
		break;
	}
}

void queue_print_text(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len > 0) {
		uint32_t c = 0;
		size_t n = tkw__utf8_read(at, len, &c);

		if (n == 0 || c == '\\' || tkw__utf8_is_control(c)) {
			/* A control character of two bytes: both. */
			n = n ? n : 1;
			for (size_t i = 0; i < n; i++)
				print_escaped(at[i]);
		} else {
			(void)fwrite(at, 1, n, stdout);
		}
		at += n;
		len -= n;
	}
}

static bool is_utf8(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint32_t c;
	size_t n;

	for (; len > 0; at += n, len -= n) {
		n = tkw__utf8_read(at, len, &c);
		if (n == 0)
			return false;
	}
	return true;
}

void queue_print_json_text(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	(void)putchar('"');
	for (size_t i = 0; i < len; i++) {
		if (at[i] == '"' || at[i] == '\\')
			(void)printf("\\%c", at[i]);
		else if (at[i] < 0x20 || at[i] == 0x7F)
			(void)printf("\\u%04x", at[i]);
		else
			(void)putchar(at[i]);
	}
	(void)putchar('"');
}

static void print_base64(const void *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = bytes;

	(void)putchar('"');
	for (; len > 0; at += 3) {
		uint32_t v = (uint32_t)at[0] << 16;

		if (len > 1)
			v |= (uint32_t)at[1] << 8;
		if (len > 2)
			v |= at[2];
		(void)putchar(digits[v >> 18]);
		(void)putchar(digits[v >> 12 & 63]);
		(void)putchar(len > 1 ? digits[v >> 6 & 63] : '=');
		(void)putchar(len > 2 ? digits[v & 63] : '=');
		len -= len < 3 ? len : 3;
	}
	(void)putchar('"');
}

void queue_print_json_bytes(const char *name, const void *bytes, size_t len)
{
	if (is_utf8(bytes, len)) {
		(void)printf("\"%s\":", name);
		queue_print_json_text(bytes, len);
	} else {
		(void)printf("\"%s_base64\":", name);
		print_base64(bytes, len);
	}
}

/* --- an item ------------------------------------------------------------- */

void queue_print_taken(const struct tkw_item *item)
{
	(void)printf("%" PRIu64 ":%" PRIu64 " ", item->claim.id.bits,
		     item->claim.token);
	queue_print_text(item->payload, item->payload_len);
	(void)putchar('\n');
}

const char *queue_word_time(char buf[QUEUE_TIME], int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;
	size_t n;

	if (ms < 0 || !gmtime_r(&s, &tm))
		return "-";
	n = strftime(buf, QUEUE_TIME, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(buf + n, QUEUE_TIME - n, ".%03dZ", (int)(ms % 1000));
	return buf;
}

void queue_print_listed(const struct tkw_item *item)
{
	char buf[QUEUE_TIME];

	(void)printf("%" PRIu64 " %-7s %s %" PRIu32 " ", item->claim.id.bits,
		     queue_state_word(item->state),
		     queue_word_time(buf, item->due_ms), item->attempts);
	if (item->key && item->key_len > 0)
		queue_print_text(item->key, item->key_len);
	else
		(void)putchar('-');
	(void)putchar(' ');
	queue_print_text(item->payload, item->payload_len);
	if (*item->reason) {
		(void)fputs("  # ", stdout);
		queue_print_text(item->reason, strlen(item->reason));
	}
	(void)putchar('\n');
}

static void print_limit(const char *name, uint64_t n, const char *unit)
{
	if (n)
		(void)printf("%-13s %" PRIu64 "%s\n", name, n, unit);
	else
		(void)printf("%-13s none\n", name);
}

void queue_print_item(const struct tkw_item *item)
{
	char buf[QUEUE_TIME];

	(void)printf("id            %" PRIu64 "\n", item->claim.id.bits);
	(void)printf("state         %s\n", queue_state_word(item->state));
	(void)printf("due           %s\n", queue_word_time(buf, item->due_ms));
	(void)printf("attempts      %" PRIu32 "\n", item->attempts);
	print_limit("max attempts", item->max_attempts, "");
	print_limit("back-off", item->backoff_ms, " ms");
	print_limit("max back-off", item->max_backoff_ms, " ms");
	if (item->state == TKW_ITEM_TAKEN) {
		(void)printf("token         %" PRIu64 "\n", item->claim.token);
		(void)printf("lease ends    %s\n",
			     queue_word_time(buf, item->expires_ms));
	}
	if (item->planned_ms)
		(void)printf("planned       %s\n",
			     queue_word_time(buf, item->planned_ms));
	if (item->state == TKW_ITEM_DEAD)
		(void)printf("died          %s\n",
			     queue_word_time(buf, item->died_ms));
	if (item->key) {
		(void)fputs("key           ", stdout);
		queue_print_text(item->key, item->key_len);
		(void)putchar('\n');
	}
	if (*item->reason) {
		(void)fputs("reason        ", stdout);
		queue_print_text(item->reason, strlen(item->reason));
		(void)putchar('\n');
	}
	(void)fputs("payload       ", stdout);
	queue_print_text(item->payload, item->payload_len);
	(void)putchar('\n');
}

void queue_print_json_item(const struct tkw_item *item)
{
	(void)printf("{\"id\":%" PRIu64 ",\"state\":\"%s\",\"due_ms\":%" PRId64
		     ",\"attempts\":%" PRIu32 ",\"max_attempts\":%" PRIu32
		     ",\"backoff_ms\":%" PRIu32 ",\"max_backoff_ms\":%" PRIu32,
		     item->claim.id.bits, queue_state_word(item->state),
		     item->due_ms, item->attempts, item->max_attempts,
		     item->backoff_ms, item->max_backoff_ms);
	if (item->state == TKW_ITEM_TAKEN)
		(void)printf(",\"token\":%" PRIu64 ",\"claim\":\"%" PRIu64
			     ":%" PRIu64 "\",\"expires_ms\":%" PRId64,
			     item->claim.token, item->claim.id.bits,
			     item->claim.token, item->expires_ms);
	if (item->state == TKW_ITEM_DEAD)
		(void)printf(",\"died_ms\":%" PRId64, item->died_ms);
	if (item->planned_ms)
		(void)printf(",\"planned_ms\":%" PRId64, item->planned_ms);
	(void)putchar(',');
	if (item->key) {
		queue_print_json_bytes("key", item->key, item->key_len);
		(void)putchar(',');
	}
	if (*item->reason) {
		queue_print_json_bytes("reason", item->reason,
				       strlen(item->reason));
		(void)putchar(',');
	}
	queue_print_json_bytes("payload", item->payload, item->payload_len);
	(void)fputs("}\n", stdout);
}

/* --- the facts of a queue ------------------------------------------------ */

int64_t queue_lateness_ms(const struct tkw_queue_stats *st, unsigned permille)
{
	uint64_t all = 0, seen = 0, want;

	for (uint32_t i = 0; i < TKW_QUEUE_LATENESS_BUCKETS; i++)
		all += st->lateness[i];
	if (all == 0)
		return 0;
	/* Rounded up, and without an overflow. */
	want = all / 1000 * permille + (all % 1000 * permille + 999) / 1000;
	for (uint32_t i = 0; i < TKW_QUEUE_LATENESS_BUCKETS; i++) {
		seen += st->lateness[i];
		if (seen >= want)
			return tkw_queue_lateness_ms(i + 1) - 1;
	}
	return 0;
}

/* One fact. */
struct fact {
	const char *name; /* in JSON; the text has spaces instead of _ */
	uint64_t value;
};

enum {
	FACTS = 28
};

static size_t list_facts(const struct tkw_queue_stats *st,
			 struct fact facts[FACTS])
{
	const struct fact list[] = {
		{ "waiting", st->waiting },
		{ "ready", st->ready },
		{ "taken", st->taken },
		{ "dead", st->dead },
		{ "plans", st->plans },
		{ "waiting_takes", st->waiting_takes },
		{ "oldest_age_ms", (uint64_t)st->oldest_age_ms },
		{ "late_p50_ms", (uint64_t)queue_lateness_ms(st, 500) },
		{ "late_p99_ms", (uint64_t)queue_lateness_ms(st, 990) },
		{ "bytes", st->bytes },
		{ "memory_bytes", st->memory_bytes },
		{ "puts", st->all_puts },
		{ "takes", st->all_takes },
		{ "acks", st->all_acks },
		{ "nacks", st->all_nacks },
		{ "losses", st->all_losses },
		{ "deaths", st->all_deaths },
		{ "revivals", st->all_revivals },
		{ "cancels", st->all_cancels },
		{ "purges", st->all_purges },
		{ "replaces", st->all_replaces },
		{ "max_items", st->limits.max_items },
		{ "max_bytes", st->limits.max_bytes },
		{ "max_payload_bytes", st->limits.max_payload_bytes },
		{ "commits", st->commits },
		{ "commit_calls", st->commit_calls },
		{ "commit_bytes", st->commit_bytes },
	};

	memcpy(facts, list, sizeof(list));
	return sizeof(list) / sizeof(list[0]);
}

void queue_print_stats(const char *queue, const struct tkw_queue_stats *st)
{
	struct fact facts[FACTS];
	size_t n = list_facts(st, facts);

	(void)printf("%-18s %s\n", "queue", queue);
	(void)printf("%-18s %s\n", "paused", st->paused ? "yes" : "no");
	for (size_t i = 0; i < n; i++) {
		char name[24];

		(void)snprintf(name, sizeof(name), "%s", facts[i].name);
		for (char *p = name; *p; p++)
			*p = *p == '_' ? ' ' : *p;
		(void)printf("%-18s %" PRIu64 "\n", name, facts[i].value);
	}
}

void queue_print_json_stats(const char *queue, const struct tkw_queue_stats *st)
{
	struct fact facts[FACTS];
	size_t n = list_facts(st, facts);

	(void)fputs("{\"queue\":", stdout);
	queue_print_json_text(queue, strlen(queue));
	(void)printf(",\"paused\":%s", st->paused ? "true" : "false");
	for (size_t i = 0; i < n; i++)
		(void)printf(",\"%s\":%" PRIu64, facts[i].name, facts[i].value);
	(void)fputs("}\n", stdout);
}
