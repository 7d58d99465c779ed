/* SPDX-License-Identifier: MIT */
/* fork.c - a page that every fork clears. */
#define _GNU_SOURCE
#include "os/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct tkw__process_at tkw__process_at;

/* The last epoch given out in this process or, before the fork, in its parents.
 * An epoch is never used again. */
static uint32_t last_epoch;

static void wipe(void)
{
	if (tkw__process_at.v)
		*tkw__process_at.v = (struct tkw__process){ .epoch = { 0 } };
}

/* Maps a page that each child finds cleared. Returns NULL if that is not
 * possible. */
static struct tkw__process *map_page(size_t bytes)
{
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool wiped;

	if (page == MAP_FAILED)
		return NULL;
	wiped = madvise(page, bytes, MADV_WIPEONFORK) == 0;
	/* Do both, because qemu-user accepts the advice and ignores it. */
	if (pthread_atfork(NULL, NULL, wipe) != 0 && !wiped) {
		munmap(page, bytes);
		return NULL;
	}
	return page;
}

/* Returns the page. The first caller makes it. There is no lock, because a
 * child that was forked in here would find it held. */
static struct tkw__process *get_page(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	/* ACQUIRE pairs with the RELEASE below. */
	struct tkw__process *page = TKW__LOAD(&tkw__process_at, ACQUIRE);
	struct tkw__process *was = NULL;

	if (page)
		return page;
	page = map_page(bytes);
	if (page == NULL || TKW__CAS(&tkw__process_at, &was, page, RELEASE))
		return page;
	munmap(page, bytes);
	return was;
}

int tkw__epoch_get(uint32_t *epoch)
{
	struct tkw__process *page = get_page();

	if (page == NULL)
		return -ENOMEM;
	tkw__lock_take(&page->lock);
	if (TKW__LOAD(&page->epoch, RELAXED) == 0)
		TKW__STORE(&page->epoch, ++last_epoch, RELAXED);
	*epoch = TKW__LOAD(&page->epoch, RELAXED);
	tkw__lock_drop(&page->lock);
	return 0;
}
