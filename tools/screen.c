/* SPDX-License-Identifier: MIT */
/*
 * screen.c - standard output as a screen.
 *
 * A picture is made in memory and written at once, so that it does not flicker.
 * Then the cursor stays on the line below it. If the program ends at that
 * moment, the picture is complete and the shell's prompt has its own line. The
 * next picture first moves the cursor up by the height of the last one.
 */
#include "screen.h"

#include <langinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

#define ESC "\033["
#define HIDE_CURSOR ESC "?25l"
#define SHOW_CURSOR ESC "0m" ESC "?25h"

static const struct screen_glyphs blocks = {
	{ u8"\u00b7", u8"\u2581", u8"\u2582", u8"\u2583", u8"\u2584",
	  u8"\u2585", u8"\u2586", u8"\u2587", u8"\u2588" },
	u8"\u25b2",
	u8"\u2502",
	u8"\u2588",
	u8"\u2591",
};

static const struct screen_glyphs ascii = {
	{ " ", ".", ":", "-", "=", "+", "*", "#", "@" }, "^", "|", "#", ".",
};

static const char *const codes[] = {
	[SCREEN_PLAIN] = ESC "0m",      [SCREEN_BOLD] = ESC "0;1m",
	[SCREEN_DIM] = ESC "0;2m",      [SCREEN_RED] = ESC "0;1;31m",
	[SCREEN_GREEN] = ESC "0;32m",   [SCREEN_YELLOW] = ESC "0;1;33m",
	[SCREEN_MAGENTA] = ESC "0;35m", [SCREEN_CYAN] = ESC "0;36m",
};

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
enum {
	SIGNALS = sizeof(signals) / sizeof(signals[0])
};

/* The program was suspended, and the shell has written to the terminal since
 * the last picture. */
static volatile sig_atomic_t suspended;

static void say(const char *text, size_t len)
{
	/* A failure cannot be handled here. The next flush reports it. */
	ssize_t done = write(STDOUT_FILENO, text, len);

	(void)done;
}

static void on_signal(int sig);

static void set_action(int sig, void (*handler)(int))
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = SA_NODEFER | SA_RESTART;
	sigemptyset(&act.sa_mask);
	(void)sigaction(sig, &act, NULL);
}

/* Shows the cursor, then lets the signal do what it does by default. */
static void on_signal(int sig)
{
	say(SHOW_CURSOR, sizeof(SHOW_CURSOR) - 1);
	set_action(sig, SIG_DFL);
	(void)kill(getpid(), sig); /* delivered before kill() returns */
	if (sig != SIGTSTP)
		return;
	/* The program was suspended here, and now continues. */
	set_action(sig, on_signal);
	suspended = 1;
	say(HIDE_CURSOR, sizeof(HIDE_CURSOR) - 1);
}

static void catch_signals(void)
{
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* A signal that the parent ignores for us stays ignored. */
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN)
			set_action(signals[i], on_signal);
	}
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static bool can_redraw(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void screen_measure(struct screen *s)
{
	struct winsize size;

	s->cols = 80;
	s->rows = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	if (size.ws_col > 0)
		s->cols = size.ws_col;
	if (size.ws_row > 0)
		s->rows = size.ws_row;
}

void screen_open(struct screen *s)
{
	memset(s, 0, sizeof(*s));
	screen_measure(s);
	s->live = can_redraw();
	s->colour = s->live && !is_set("NO_COLOR");
	s->glyphs = strcmp(nl_langinfo(CODESET), "UTF-8") ? &ascii : &blocks;
	if (!s->live)
		return;
	(void)setvbuf(stdout, NULL, _IOFBF, sizeof(s->text));
	catch_signals();
	(void)fputs(HIDE_CURSOR, stdout);
}

void screen_close(struct screen *s)
{
	if (!s->live)
		return;
	(void)fputs(SHOW_CURSOR, stdout);
	(void)tool_flush();
}

static void append(struct screen *s, const char *text, size_t len)
{
	/* There is room for 40 lines of 400 columns. No picture is larger. */
	if (len > sizeof(s->text) - s->len)
		return;
	memcpy(s->text + s->len, text, len);
	s->len += len;
}

static void set_style(struct screen *s, enum screen_style style)
{
	if (!s->colour || s->style == style)
		return;
	append(s, codes[style], strlen(codes[style]));
	s->style = style;
}

/* The last column stays free, because some terminals wrap when it is written.
 */
static bool fits(const struct screen *s)
{
	return !s->live || s->scrolling ||
	       (s->col < s->cols - 1 && s->lines < s->rows - 1);
}

void screen_put(struct screen *s, enum screen_style style, const char *text)
{
	size_t len;

	if (!*text || !fits(s))
		return;
	set_style(s, style);
	for (; *text && fits(s); text += len) {
		/* In UTF-8 a character is one byte, followed by bytes of the
		 * form 10xxxxxx. */
		len = 1;
		while (((unsigned char)text[len] & 0xC0) == 0x80)
			len++;
		append(s, text, len);
		s->col++;
	}
}

void screen_putf(struct screen *s, enum screen_style style, const char *fmt,
		 ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	screen_put(s, style, text);
}

void screen_end_line(struct screen *s)
{
	/* A picture that is higher than the terminal would scroll. */
	if (s->live && !s->scrolling && s->lines >= s->rows - 1)
		return;
	set_style(s, SCREEN_PLAIN);
	if (s->live)
		append(s, ESC "K", sizeof(ESC "K") - 1);
	append(s, "\n", 1);
	s->lines++;
	s->col = 0;
}

int screen_show(struct screen *s)
{
	if (suspended) {
		suspended = 0;
		s->shown = 0;
	}
	/* Go to the first column too, because the terminal may have echoed
	 * input. */
	if (s->shown > 0)
		(void)printf("\r" ESC "%dA", s->shown);
	(void)fwrite(s->text, 1, s->len, stdout);
	if (s->shown > 0)
		(void)fputs(ESC "J", stdout);
	s->shown = s->live ? s->lines : 0;
	s->lines = 0;
	s->len = 0;
	return tool_flush();
}

int screen_print(struct screen *s)
{
	int r = screen_show(s);

	s->shown = 0;
	s->scrolling = true;
	return r;
}
