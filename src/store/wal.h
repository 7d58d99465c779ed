/* SPDX-License-Identifier: MIT */
/*
 * wal.h - tells a torn tail of SQLite's log from damage.
 *
 * When SQLite opens a file, it reads FILE-wal up to the first frame with a
 * wrong checksum, and forgets the rest. This is right if the rest is a
 * transaction that was being written when the power failed. But if a byte of an
 * older transaction was damaged, transactions that were acknowledged would be
 * lost, and nobody would notice.
 */
#ifndef TKW_STORE_WAL_H
#define TKW_STORE_WAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks at FILE-wal before SQLite does, and changes nothing. All its
 * transactions must have been synced, each before the next one.
 *
 * path      The real path of the file.
 * why       Receives a sentence on -EBADMSG.
 *
 * Returns 0 if all is well, or only the last transaction is not, or
 *   -EBADMSG  a transaction before the last one is damaged
 *   -ENOMEM, or the error of the system
 */
int tkw__wal_check(const char *path, char *why, size_t why_size);

/*
 * Cuts FILE-wal behind the last whole transaction that SQLite uses, and syncs
 * it. The caller holds SQLite's lock for writers. Readers see no change: they
 * use only what stays.
 *
 * A transaction that was killed or taken back leaves frames behind the end of
 * the log. When later transactions have overwritten the first of them, the rest
 * would look like a damaged log to tkw__wal_check().
 *
 * used   How many frames SQLite uses, by its index of the log. If another
 *        program has kept the index alive, it may lack a whole transaction:
 *        that of an owner who was killed before it was in the index.
 * again  If true, what stays is written once more, byte for byte. After a sync
 *        that has failed, Linux takes the data for written, although the disk
 *        may not have it. It can be read, but a loss of power would lose it.
 *
 * Returns 0, -ENOMEM, or the error of the system.
 */
int tkw__wal_mend(const char *path, uint64_t used, bool again);

#endif /* TKW_STORE_WAL_H */
