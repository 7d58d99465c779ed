/* SPDX-License-Identifier: MIT */
/* resp.c - see resp.h. */
/* cmocka.h wants the first four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 180 * 1000,
	NAP_MS = 2,
	DEEPEST = 16, /* nesting of a reply */
	LONGEST_LINE = 1 << 16,
	READ_AT_ONCE = 1 << 14
};

struct resp {
	int fd;
	int version;
	bool ended;
	struct reply_text in; /* what the server has sent */
	size_t at;            /* what was read of it */
	struct reply_text text;
	struct reply_text raw;
	struct reply_text found; /* the last field of an INFO */
};

/* --- waiting -------------------------------------------------------------- */

int64_t patience_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void patience_step(struct patience *p, struct resp_place at, const char *what)
{
	int64_t now = patience_now_ms();

	if (p->until_ms == 0)
		p->until_ms = now + PATIENCE_MS;
	if (now > p->until_ms) {
		print_error("waited in vain for: %s\n", what);
		_fail(at.file, at.line);
	}
	poll(NULL, 0, NAP_MS);
}

/* --- the connection ------------------------------------------------------- */

struct resp *resp_try_open(int port, int version)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;
	struct resp *c;

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return NULL;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c = calloc(1, sizeof(*c));
	assert_non_null(c);
	c->fd = fd;
	c->version = version;
	if (version == 3 && !resp_try_ask(c, "HELLO 3")) {
		resp_close(c);
		return NULL;
	}
	return c;
}

struct resp *resp_open(int port, int version)
{
	struct resp *c = resp_try_open(port, version);

	if (!c)
		fail_msg("no server at port %d", port);
	return c;
}

void resp_close(struct resp *c)
{
	if (!c)
		return;
	close(c->fd);
	reply_text_free(&c->in);
	reply_text_free(&c->text);
	reply_text_free(&c->raw);
	reply_text_free(&c->found);
	free(c);
}

static void send_all(struct resp *c, const char *at, size_t len)
{
	while (len > 0 && !c->ended) {
		ssize_t n = send(c->fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			c->ended = true;
		else
			len -= (size_t)n;
		at += n;
	}
}

void resp_send_words(struct resp *c, const struct words *w)
{
	struct reply_text out = { 0 };

	reply_text_add(&out, "*%zu\r\n", w->count);
	for (size_t i = 0; i < w->count; i++) {
		reply_text_add(&out, "$%zu\r\n", w->word[i].len);
		reply_text_raw(&out, w->word[i].at, w->word[i].len);
		reply_text_add(&out, "\r\n");
	}
	send_all(c, out.at, out.len);
	reply_text_free(&out);
}

static void send_line(struct resp *c, const char *format, va_list args)
{
	struct words w = { .count = 0 };
	char *line = NULL;
	bool good;

	assert_true(vasprintf(&line, format, args) >= 0);
	good = words_read(&w, line) && w.count > 0;
	if (good)
		resp_send_words(c, &w);
	else
		print_error("no command: %s\n", line);
	words_free(&w);
	free(line);
	assert_true(good);
}

void resp_send(struct resp *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(c, format, args);
	va_end(args);
}

/* --- replies -------------------------------------------------------------- */

static _Noreturn void malformed(const struct resp *c, const char *what)
{
	print_error("malformed reply, %s: %s\n", what,
		    c->in.at ? c->in.at : "");
	fail();
	abort();
}

/* Reads more of the socket. Returns false if the connection has ended. */
static bool fill(struct resp *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char some[READ_AT_ONCE];
	ssize_t n;

	if (c->ended)
		return false;
	n = poll(&p, 1, PATIENCE_MS);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		fail_msg("no reply");
	n = recv(c->fd, some, sizeof(some), 0);
	if (n <= 0) {
		c->ended = true;
		return false;
	}
	reply_text_raw(&c->in, some, (size_t)n);
	return true;
}

/* Reads a line without its end. Returns NULL if the connection has ended. The
 * line is valid until more is read. */
static const char *read_line(struct resp *c, size_t *len)
{
	for (;;) {
		const char *from = c->in.at ? c->in.at + c->at : "";
		const char *end = memchr(from, '\n', c->in.len - c->at);

		if (end) {
			*len = (size_t)(end - from);
			if (*len == 0 || from[*len - 1] != '\r')
				malformed(c,
					  "a line without a carriage return");
			c->at += *len + 1;
			--*len;
			return from;
		}
		if (c->in.len - c->at > LONGEST_LINE)
			malformed(c, "a line without an end");
		if (!fill(c))
			return NULL;
	}
}

/* Reads so many bytes and the end of the line. */
static bool read_bytes(struct resp *c, size_t len)
{
	const char *from;

	while (c->in.len - c->at < len + 2) {
		if (!fill(c))
			return false;
	}
	from = c->in.at + c->at;
	if (from[len] != '\r' || from[len + 1] != '\n')
		malformed(c, "a string of another length");
	c->at += len + 2;
	return true;
}

static int64_t number_of(const struct resp *c, const char *from, size_t len)
{
	char *end;
	int64_t n;

	errno = 0;
	n = strtoll(from, &end, 10);
	if (errno || len == 0 || end != from + len)
		malformed(c, "no number");
	return n;
}

static bool read_reply(struct resp *c, int depth);

/* Reads the members of an array, a set, a push or a map. */
static bool read_members(struct resp *c, int64_t count, char kind, int depth)
{
	bool map = kind == '%';

	if (count < 0 || depth == DEEPEST)
		malformed(c, "the number of members");
	reply_text_add(&c->text, "%s", map ? "{" : kind == '>' ? ">[" : "[");
	for (int64_t i = 0; i < count; i++) {
		if (i)
			reply_text_add(&c->text, ", ");
		if (!read_reply(c, depth + 1))
			return false;
		if (!map)
			continue;
		reply_text_add(&c->text, ": ");
		if (!read_reply(c, depth + 1))
			return false;
	}
	reply_text_add(&c->text, map ? "}" : "]");
	return true;
}

static bool read_string(struct resp *c, int64_t len)
{
	if (len < 0)
		malformed(c, "the length of a string");
	if (!read_bytes(c, (size_t)len))
		return false;
	reply_text_quote(&c->text, c->in.at + c->at - len - 2, (size_t)len);
	return true;
}

/* Verbatim strings begin with three letters and a colon. */
static bool read_verbatim(struct resp *c, int64_t len)
{
	if (len < 4)
		malformed(c, "a verbatim string");
	if (!read_bytes(c, (size_t)len))
		return false;
	reply_text_quote(&c->text, c->in.at + c->at - len + 2, (size_t)len - 4);
	return true;
}

/* The kinds that only RESP3 has. */
static bool read_resp3(struct resp *c, const char *line, size_t len, int depth)
{
	char kind = line[0];

	if (c->version < 3)
		malformed(c, "a type of RESP3");
	switch (kind) {
	case '_':
		if (len != 1)
			malformed(c, "null");
		reply_text_add(&c->text, "nil");
		return true;
	case '#':
		reply_text_add(&c->text, line[1] == 't' ? "true" : "false");
		return true;
	case ',':
	case '(':
		reply_text_raw(&c->text, line + 1, len - 1);
		return true;
	case '=':
		return read_verbatim(c, number_of(c, line + 1, len - 1));
	case '%':
	case '~':
	case '>':
		return read_members(c, number_of(c, line + 1, len - 1), kind,
				    depth);
	default:
		malformed(c, "an unknown type");
	}
}

/* Reads a reply and adds it to the text. Returns false if the connection has
 * ended. */
static bool read_reply(struct resp *c, int depth)
{
	size_t len;
	const char *line = read_line(c, &len);
	int64_t n;

	if (!line)
		return false;
	if (len == 0)
		malformed(c, "an empty line");
	switch (line[0]) {
	case '+':
		reply_text_raw(&c->text, line + 1, len - 1);
		return true;
	case '-':
		reply_text_raw(&c->text, line, len);
		return true;
	case ':':
		n = number_of(c, line + 1, len - 1);
		reply_text_add(&c->text, "%" PRId64, n);
		return true;
	case '$':
	case '*':
		n = number_of(c, line + 1, len - 1);
		if (n == -1 && c->version == 2) {
			reply_text_add(&c->text, "nil");
			return true;
		}
		return line[0] == '$' ? read_string(c, n)
				      : read_members(c, n, '*', depth);
	default:
		return read_resp3(c, line, len, depth);
	}
}

/* Forgets what was read, so that the buffer does not grow for ever. */
static void forget(struct resp *c)
{
	size_t left = c->in.len - c->at;

	if (c->at == 0)
		return;
	memmove(c->in.at, c->in.at + c->at, left);
	c->in.len = left;
	c->in.at[left] = 0;
	c->at = 0;
}

const char *resp_try_read(struct resp *c)
{
	forget(c);
	reply_text_clear(&c->text);
	reply_text_clear(&c->raw);
	if (!read_reply(c, 0))
		return NULL;
	reply_text_raw(&c->raw, c->in.at, c->at);
	return c->text.at ? c->text.at : "";
}

const char *resp_read(struct resp *c)
{
	const char *text = resp_try_read(c);

	if (!text)
		fail_msg("the server has closed the connection");
	return text;
}

bool resp_has_reply(struct resp *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return c->at < c->in.len || poll(&p, 1, 0) > 0;
}

const char *resp_ask(struct resp *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(c, format, args);
	va_end(args);
	return resp_read(c);
}

const char *resp_try_ask(struct resp *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(c, format, args);
	va_end(args);
	return resp_try_read(c);
}

int64_t resp_number(struct resp *c, const char *format, ...)
{
	const char *text;
	char *end;
	int64_t n;
	va_list args;

	va_start(args, format);
	send_line(c, format, args);
	va_end(args);
	text = resp_read(c);
	n = strtoll(text, &end, 10);
	if (end == text || *end)
		fail_msg("%s: not a number: %s", format, text);
	return n;
}

const char *resp_raw(const struct resp *c)
{
	return c->raw.at ? c->raw.at : "";
}

/* --- facts ---------------------------------------------------------------- */

const char *resp_info(struct resp *c, const char *section, const char *field)
{
	size_t len = strlen(field);
	const char *at;

	resp_ask(c, "INFO %s", section);
	reply_text_clear(&c->found);
	reply_text_add(&c->found, "%s", "");
	/* The raw reply has real ends of lines. */
	for (at = strstr(resp_raw(c), field); at; at = strstr(at + 1, field)) {
		if (at[-1] == '\n' && at[len] == ':') {
			at += len + 1;
			reply_text_raw(&c->found, at, strcspn(at, "\r\n"));
			break;
		}
	}
	return c->found.at;
}

int64_t resp_info_number(struct resp *c, const char *section, const char *field)
{
	return strtoll(resp_info(c, section, field), NULL, 10);
}

const char *resp_value(const char *reply, const char *field)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", field);
	at = strstr(reply, quoted);
	if (!at)
		fail_msg("no %s in %s", field, reply);
	return at + strlen(quoted) + 2;
}

int64_t resp_fact(struct resp *c, const char *queue, const char *field)
{
	return strtoll(resp_value(resp_ask(c, "TKW.INFO %s", queue), field),
		       NULL, 10);
}

/* --- comparing ------------------------------------------------------------ */

/* Turns the maps of a text into arrays, as RESP2 has them. */
static void flatten(char *text)
{
	bool quoted = false;

	for (char *at = text; *at; at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && *at == ':' && at[1] == ' ')
			*at = ',';
		else if (!quoted && (*at == '{' || *at == '}'))
			*at = *at == '{' ? '[' : ']';
	}
}

void resp_compare(struct resp *c, struct resp_place at, const char *want,
		  const char *got)
{
	char *text = strdup(want);
	size_t len;
	bool same;

	assert_non_null(text);
	if (c->version == 2 && text[0] != '-')
		flatten(text);
	len = strlen(text);
	if (len >= 3 && strcmp(text + len - 3, "...") == 0)
		same = strncmp(text, got, len - 3) == 0;
	else
		same = strcmp(text, got) == 0;
	if (!same)
		print_error("wanted: %s\ngot:    %s\n", text, got);
	free(text);
	if (!same)
		_fail(at.file, at.line);
}
