/* SPDX-License-Identifier: MIT */
/* sqlite.h - inside the store on SQLite; for sqlite*.c and tests. */
#ifndef TKW_STORE_SQLITE_H
#define TKW_STORE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/crc32c.h"
#include "store/feed.h"
#include "store/row.h"
#include "store/store.h"

enum {
	/* How long to wait for another program that writes to the file. */
	TKW__SQLITE_BUSY_MS = 5000
};

enum tkw__stmt {
	TKW__STMT_BEGIN,
	TKW__STMT_COMMIT,
	TKW__STMT_ROLLBACK,
	TKW__STMT_INSERT,
	TKW__STMT_INSERT_AGAIN,
	TKW__STMT_NAME,
	TKW__STMT_SET_BASE,
	TKW__STMT_SET_MODE,
	TKW__STMT_DELETE,
	TKW__STMT_EMPTY,
	TKW__STMTS
};

/* The check of all pages: see sqlite_check.c. */
struct tkw__sqlite_check {
	pthread_t thread;
	sqlite3 *db;
	int rc; /* what it found, when it has ended */
	char why[256];
	bool is_running;
	atomic_bool is_unwanted; /* it may end early */
};

struct tkw__sqlite {
	struct tkw__store store;
	sqlite3 *db;
	sqlite3_stmt *stmt[TKW__STMTS];
	char *path;
	struct tkw__crc32c crc;
	struct tkw__feed feed;
	struct tkw__row_room room;
	struct tkw__base base;
	struct tkw__sqlite_check check;
	uint64_t lowest; /* rows before this one are deleted */
	uint64_t last;   /* 0: there was none */
	/* How many rows a compaction deletes at once if it may choose. */
	uint64_t piece;
	/* The first row that stays, if too much stays to be kept in memory. */
	uint64_t too_much;
	bool to_system;
	bool has_threads; /* other threads may use SQLite, too */
	/* The file says that its log was not synced. */
	bool loose;
	bool relaxed;   /* SQLite does not sync */
	bool dead;      /* after an error that leaves doubt */
	bool inherited; /* the log is that of the last owner */
	bool stale;     /* the log has frames of a batch that was undone */
	bool foreign;   /* a row that somebody else wrote was found */
	bool logs;      /* SQLite uses a log */
	bool tidy;      /* a close removes the log: nothing is in it */
	int frames;     /* of the log */
	int limit;      /* after how many frames a checkpoint comes, usually */
	int next;       /* after how many frames the next checkpoint comes */
	int tight;      /* how many more checkpoints come early: the disk was
			 * full */
	char why[256];
};

static inline struct tkw__sqlite *tkw__sqlite_of(struct tkw__store *s)
{
	return (struct tkw__sqlite *)s;
}

/* Opens the file; the caller frees s after an error. */
int tkw__sqlite_open_file(struct tkw__sqlite *s, char *why, size_t why_size);

/* Closes it; the log stays as it is, unless `tidy` is set. */
void tkw__sqlite_close_file(struct tkw__sqlite *s);

/* Begins to check all pages of the file. Returns a code of SQLite. */
int tkw__sqlite_check_begin(struct tkw__sqlite *s);

/* Waits for the end of the check; the second call returns at once. Returns what
 * was found: a code of SQLite. check.why says more. */
int tkw__sqlite_check_end(struct tkw__sqlite *s);

/* Ends the check early. What it would find does not matter any more. */
void tkw__sqlite_check_drop(struct tkw__sqlite *s);

/* Measures how many bytes the journal takes in the file, and how many are free
 * there. Returns a code of SQLite. */
int tkw__sqlite_measure(struct tkw__sqlite *s);

/* The checksums of a row of `base` and of a row of `queue`. */
uint32_t tkw__sqlite_base_sum(const struct tkw__sqlite *s,
			      const struct tkw__base *base);
uint32_t tkw__sqlite_name_sum(const struct tkw__sqlite *s, uint32_t number,
			      const void *name, size_t len);

/* Row 2 of the table `base`: tells if the log was written without syncs. */
struct tkw__base tkw__sqlite_mode(bool loose);

/* The sentence of a store that cannot work. */
extern const char tkw__sqlite_no_log[];

/* The -errno of a code of SQLite. */
int tkw__sqlite_errno(sqlite3 *db, int rc);

/* Notes what went wrong, for store.why. Returns -errno. */
int tkw__sqlite_note(struct tkw__sqlite *s, int rc);

/* Reads the rows from a number on, in order, up to an error of fn. The numbers
 * must follow each other. Returns 0, -errno or the error of fn. */
int tkw__sqlite_read_rows(struct tkw__sqlite *s, uint64_t seq, tkw__row_fn *fn,
			  void *ctx);

/* The call of store.h. */
int tkw__sqlite_replay(struct tkw__store *store, tkw__row_fn *fn,
		       struct tkw__base *base, void *ctx);

/* Steps and resets the statement. Returns SQLITE_OK or an error. */
int tkw__sqlite_run(struct tkw__sqlite *s, enum tkw__stmt which);

#endif /* TKW_STORE_SQLITE_H */
