/* SPDX-License-Identifier: MIT */
/*
 * ram_store.h - a store in memory, for tests of the desk and of its threads.
 *
 * The disk outlives the stores that are opened on it. An append can be told to
 * fail, or to wait at a gate.
 */
#ifndef TKW_TESTS_RAM_STORE_H
#define TKW_TESTS_RAM_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

enum {
	RAM_QUEUES = 256,
	RAM_NAME = 256,
	RAM_ROWS = 1 << 18,
	RAM_BYTES = 1 << 24
};

struct ram_row {
	uint64_t seq;
	uint32_t queue;
	size_t at; /* in the bytes of the disk */
	size_t len;
};

struct ram_disk {
	struct ram_row *rows;
	size_t count;
	uint64_t last;
	uint8_t *records;
	size_t bytes;
	size_t peak; /* of bytes: what is free below is spare */
	char names[RAM_QUEUES][RAM_NAME]; /* by number, from 1 */
	uint32_t queues;
	struct tkw__base base;

	/* The next `fails` appends return `error`. */
	int fails;
	int error;
	/* How many bytes there is room for; 0: no limit. More: -ENOSPC. */
	uint64_t room_bytes;
	int compact_error;

	uint64_t appends;
	uint64_t compactions;

	/* Appends wait while the gate is shut. */
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	bool shut;
	int at_gate; /* appends that have come to a shut gate */
};

void ram_disk_init(struct ram_disk *d);
void ram_disk_fini(struct ram_disk *d);

/* Opens a store on a disk. It must succeed. */
struct tkw__store *ram_store_open(struct ram_disk *d);

void ram_gate_shut(struct ram_disk *d);
void ram_gate_open(struct ram_disk *d);
/* Waits until an append waits at the gate. */
void ram_gate_wait(struct ram_disk *d);

extern const struct tkw__store_ops ram_store_ops;

#endif /* TKW_TESTS_RAM_STORE_H */
