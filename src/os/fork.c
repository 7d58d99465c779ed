/* SPDX-License-Identifier: MIT */
/* fork.c - a page that every fork wipes. */
#define _GNU_SOURCE
#include "os/fork.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

struct tkw__process tkw__process;

/* Of this process or, in a child, of its parents: never used again. */
static uint32_t last_epoch;

static void wipe(void)
{
	tkw__process = (struct tkw__process){ .epoch = { 0 } };
}

/* Have the page wiped in each child. Under the lock. Return  0 or -ENOMEM. */
static int wipe_on_fork(void)
{
	static bool by_handler;

	/* In a child the advice still holds, and is given once more. */
	if (by_handler || madvise(&tkw__process, sizeof(tkw__process),
				  MADV_WIPEONFORK) == 0)
		return 0;
	if (pthread_atfork(NULL, NULL, wipe) != 0)
		return -ENOMEM;
	by_handler = true;
	return 0;
}

int tkw__epoch_get(uint32_t *epoch)
{
	int err = 0;

	tkw__lock_take(&tkw__process.lock);
	*epoch = TKW__LOAD(&tkw__process.epoch, RELAXED);
	if (*epoch == 0) {
		err = wipe_on_fork();
		if (err == 0) {
			*epoch = ++last_epoch;
			TKW__STORE(&tkw__process.epoch, *epoch, RELAXED);
		}
	}
	tkw__lock_drop(&tkw__process.lock);
	return err;
}
