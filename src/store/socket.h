/* SPDX-License-Identifier: MIT */
/*
 * socket.h - the socket beside an open file of queues, for `tkw queue`
 *
 * The owner of the file serves it on the keeper's thread. Nothing here blocks.
 * wire.h describes what is spoken.
 *
 *   Trust    The socket has mode 0600, and a client must have the owner's user
 *            id, or be root. What it sends is checked nevertheless.
 *   Bounds   At most TKW__SOCKET_CLIENTS connections. Each has one request at a
 *            time, of at most TKW__WIRE_MAX_REQUEST bytes, and one answer. The
 *            memory of a request grows only as its bytes come.
 *   Gone     If a client goes away while its take waits, the take is withdrawn.
 *            If items were taken for it and not all of their answer could be
 *            sent, they are nacked at once, with the reason "client gone". This
 *            counts as an attempt, as a lost lease does, but nobody has to wait
 *            for the end of the lease. If the answer was sent and the client
 *            died before it read it, the items can be taken again when their
 *            leases end. If there is no memory for the answer, the connection
 *            is closed, and the items are nacked in the same way. At a close of
 *            the file nothing is nacked any more: if the answer could not be
 *            sent in half a second, the items come back when their leases end.
 *   Threads  All functions are called on the keeper's thread, or when it does
 *            not run.
 */
#ifndef TKW_STORE_SOCKET_H
#define TKW_STORE_SOCKET_H

#include <stdbool.h>

#include "tickwheel/queue.h"

struct tkw__socket;

enum {
	TKW__SOCKET_CLIENTS = 256
};

/*
 * Makes the socket and lets the keeper of the file watch it. The caller holds
 * the lock of the file, so a socket that is there is left over, and is
 * replaced.
 *
 * path  The name of the file of queues.
 *
 * Returns 0, or
 *   -ENAMETOOLONG  the name of the file has more than about 80 bytes
 *   -ENOMEM, or an error of the system
 */
int tkw__socket_open(struct tkw__socket **out, struct tkw_queues *f,
		     const char *path);

/*
 * Closes the socket and all connections, and removes it. The keeper must have
 * stopped, so that all requests have ended. What was answered is sent, for at
 * most half a second. All clients are told that the file is being closed.
 *
 * s  May be NULL.
 */
void tkw__socket_close(struct tkw__socket *s);

/* The same in a child of a fork: it frees the memory and closes its copies of
 * the descriptors. The socket of the parent stays as it is. */
void tkw__socket_abandon(struct tkw__socket *s);

#endif /* TKW_STORE_SOCKET_H */
