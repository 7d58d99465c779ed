/* SPDX-License-Identifier: MIT */
/* schema.h - the tables of a file of queues, and what marks it as one. */
#ifndef TKW_STORE_SCHEMA_H
#define TKW_STORE_SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>

enum {
	TKW__SCHEMA_ID = 0x746b7771, /* "tkwq" */
	TKW__SCHEMA_VERSION = 1,
	TKW__SCHEMA_PAGE = 2048
};

/*
 * Makes the tables if the file is empty; else checks that they are ours.
 *
 * Returns a code of SQLite, or one of these, with a sentence in `why`:
 *   SQLITE_NOTADB   not a file of queues, or of a newer version
 *   SQLITE_CORRUPT  the tables are not as we have made them
 */
int tkw__schema_open(sqlite3 *db, char *why, size_t why_size);

/* Runs a statement that gives one number. Returns a code of SQLite. */
int tkw__schema_number(sqlite3 *db, const char *sql, sqlite3_int64 *out);

#endif /* TKW_STORE_SCHEMA_H */
