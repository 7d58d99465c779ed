/* SPDX-License-Identifier: MIT */
/*
 * delay_queue.c - a queue whose items can be taken when their delay is over.
 *
 * Each item in the queue is a pending timeout. When the timeout fires, the item
 * goes to a list, and consumers take it from there. Withdrawing an item cancels
 * its timeout. Closing the queue stops the timer, which hands back the items
 * that still wait.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <tickwheel.h>
#include <unistd.h>

#define HOUR (3600 * TKW_SEC)

/* --- the queue ----------------------------------------------------------- */

struct queue {
	struct tkw_timer *timer;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t changed;
	struct item *first; /* visible items, in the order of their firing */
	struct item **end;
	bool closed;
};

/* The user allocates the item. The caller that takes an item, withdraws it or
 * gets it back owns it from then on. */
struct item {
	struct queue *queue;
	struct item *next;
	int64_t visible_ns; /* on the timer's clock */
	/* Counters of this program, to check that each item ended once. */
	atomic_int taken, withdrawn, handed_back;
};

static int queue_open(struct queue *q)
{
	*q = (struct queue){ .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	q->end = &q->first;
	return tkw_timer_create(&q->timer, NULL);
}

/* Runs on the timer's thread. It holds the lock for two stores only. */
static void show(const struct tkw_firing *firing, void *ctx)
{
	struct item *item = ctx;
	struct queue *q = item->queue;

	(void)firing;
	pthread_mutex_lock(&q->lock);
	*q->end = item;
	q->end = &item->next;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_signal(&q->changed);
}

/* The id goes to the caller and not into the item, because a consumer may take
 * and free the item before this call returns. */
static int queue_put(struct queue *q, struct item *item, int64_t delay_ns,
		     struct tkw_timeout_id *id)
{
	const struct tkw_task task = { .fn = show, .ctx = item };

	item->queue = q;
	item->next = NULL;
	item->visible_ns = tkw_timer_now_ns(q->timer) + delay_ns;
	return tkw_timer_schedule_at(q->timer, &task, item->visible_ns, id);
}

/* Returns true if the item was withdrawn, and false if it is already visible or
 * taken. */
static bool queue_withdraw(struct queue *q, struct tkw_timeout_id id)
{
	return tkw_timer_cancel(q->timer, id) == 0;
}

/* Waits for an item. Returns NULL if the queue is closed and empty. */
static struct item *queue_take(struct queue *q)
{
	struct item *item;

	pthread_mutex_lock(&q->lock);
	while (q->first == NULL && !q->closed)
		pthread_cond_wait(&q->changed, &q->lock);
	item = q->first;
	if (item != NULL)
		q->first = item->next;
	if (q->first == NULL)
		q->end = &q->first;
	pthread_mutex_unlock(&q->lock);
	return item;
}

/* Stops the timer first, so that no item becomes visible after the queue is
 * closed. Items that are not visible yet are passed to visit. */
static int queue_close(struct queue *q, tkw_visit_fn *visit)
{
	int err = tkw_timer_stop(q->timer, visit, NULL);

	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_mutex_unlock(&q->lock);
	pthread_cond_broadcast(&q->changed);
	return err;
}

/* --- four producers, four consumers -------------------------------------- */

enum {
	PRODUCERS = 4,
	CONSUMERS = 4,
	EACH = 1000,
	ITEMS = PRODUCERS * EACH,
	WITHDRAWN = ITEMS / 10,
	LEFT = ITEMS / 20,
	TAKEN = ITEMS - WITHDRAWN - LEFT
};

static struct queue queue;
static struct item items[ITEMS];
static atomic_int next_producer, refused, early;
static sem_t taken;

/* Of each twenty items, two are withdrawn, and one is still waiting when the
 * queue is closed. */
static bool is_withdrawn(int i)
{
	return i % 10 == 3;
}

static bool is_left(int i)
{
	return i % 20 == 7;
}

static void *produce(void *arg)
{
	int first = atomic_fetch_add(&next_producer, 1) * EACH;

	(void)arg;
	for (int i = first; i < first + EACH; i++) {
		bool far = is_withdrawn(i) || is_left(i);
		int64_t delay_ns = far ? HOUR : i % 200 * TKW_MSEC;
		struct tkw_timeout_id id;

		if (queue_put(&queue, &items[i], delay_ns, &id) != 0)
			atomic_fetch_add(&refused, 1);
		else if (is_withdrawn(i) && queue_withdraw(&queue, id))
			atomic_fetch_add(&items[i].withdrawn, 1);
	}
	return NULL;
}

static void *consume(void *arg)
{
	struct item *item;

	(void)arg;
	while ((item = queue_take(&queue)) != NULL) {
		if (tkw_timer_now_ns(queue.timer) < item->visible_ns)
			atomic_fetch_add(&early, 1);
		atomic_fetch_add(&item->taken, 1);
		sem_post(&taken);
	}
	return NULL;
}

static void hand_back(const struct tkw_timeout_info *info, void *ctx)
{
	struct item *item = info->task.ctx;

	(void)ctx;
	atomic_fetch_add(&item->handed_back, 1);
}

/* Checks that each item has ended once, and in the expected way. */
static bool is_sound(void)
{
	int sums[3] = { 0 };
	bool sound = atomic_load(&refused) == 0 && atomic_load(&early) == 0;

	for (int i = 0; i < ITEMS; i++) {
		const int ends[3] = { atomic_load(&items[i].taken),
				      atomic_load(&items[i].withdrawn),
				      atomic_load(&items[i].handed_back) };

		sound &= ends[1] == is_withdrawn(i) && ends[2] == is_left(i) &&
			 ends[0] + ends[1] + ends[2] == 1;
		for (int k = 0; k < 3; k++)
			sums[k] += ends[k];
	}
	printf("put: %d\n", ITEMS);
	printf("taken: %d, too early: %d\n", sums[0], atomic_load(&early));
	printf("withdrawn, and never seen: %d\n", sums[1]);
	printf("still waiting, and handed back: %d\n", sums[2]);
	return sound;
}

int main(void)
{
	pthread_t threads[PRODUCERS + CONSUMERS];
	int err;

	alarm(300); /* ends the program if an item is lost */
	sem_init(&taken, 0, 0);
	if (queue_open(&queue) != 0)
		return 1;
	for (int i = 0; i < PRODUCERS + CONSUMERS; i++) {
		if (pthread_create(&threads[i], NULL,
				   i < PRODUCERS ? produce : consume,
				   NULL) != 0)
			return 1;
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	for (int n = 0; n < TAKEN;)
		n += sem_wait(&taken) == 0;
	err = queue_close(&queue, hand_back);
	for (int i = PRODUCERS; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	return !is_sound() || err != 0 || tkw_timer_destroy(queue.timer) != 0;
}
