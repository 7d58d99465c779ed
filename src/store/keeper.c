/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - who leads, who sleeps, and the keeper's thread.
 *
 * Idea:   a caller pushes its request into the inbox. If nobody leads, it
 *         leads. At the end of its turns a leader looks for more work: if a
 *         request that waits has a thread that sleeps, the lead goes to that
 *         thread; it has to wake up for its answer anyway. Otherwise the keeper
 *         leads. The lead is passed on before the answered callers are woken,
 *         so that the disk does not wait for them.
 * Gather: callers that have just got their answers often come back at once. A
 *         leader that began without them would need two writes where one is
 *         enough. So it waits for them, for a quarter of the time that a turn
 *         takes, but not for long if the disk has stalled. If that did not
 *         help, the next leaders do not wait.
 * Sleep:  each caller sleeps at a word of its own. It is a futex, because the
 *         word is gone when its thread has seen DONE: a wake may use only its
 *         address.
 * Never:  the keeper must not be needed for an answer to a thread that sleeps.
 *         A callback on its own thread may look at the queue, and then it
 *         sleeps like any caller.
 */
#define _GNU_SOURCE
#include "store/keeper.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "home/planner.h"
#include "os/atomic.h"
#include "store/quiet_thread.h"

/* The word of a caller. */
enum {
	AWAKE,
	ASLEEP,
	LEAD, /* the lead was passed to it */
	DONE  /* its request has ended */
};

enum {
	BELL,
	WALL,
	MONO,
	OWN_FDS
};

enum {
	/* How often the keeper looks at a clock that is not the system's. */
	HOOK_LOOK_US = 10000,
	/* A leader that gathers yields for so long, and then sleeps. */
	YIELD_NS = 100000,
	/* It waits for this part of a turn. */
	GATHER_PART = 4,
	MAX_GATHER_NS = 2000000,
	MAX_SHY = 255,
	/* How many requests are looked at to find one whose thread sleeps. */
	MAX_SEARCH = 64
};

struct requests {
	struct tkw__request *first;
	struct tkw__request *last;
};

/* A thread that waits for its request. */
struct sleeper {
	struct tkw_queues *f;
	struct tkw__a32 word;
	bool of_keeper;
};

struct tkw_queues {
	pthread_mutex_t mutex;
	/* Under the mutex. */
	struct requests inbox;
	struct requests to_call; /* by the keeper */
	bool leading;
	bool more;  /* the desk has more to do */
	bool asked; /* the time asks for a turn */
	bool rung;
	bool closing;
	bool stop;
	uint64_t inside; /* calls, requests and callbacks */
	pthread_cond_t empty;
	struct tkw__watch watch;
	/* The keeper's own thread, if it waits in a call of a callback. */
	struct sleeper *keeper;

	/* Only the leader. */
	struct tkw__desk *desk;
	struct tkw__planner planner; /* used by the desk */
	struct requests ended;       /* whose threads sleep */
	struct requests to_tell;     /* whose callbacks the keeper calls */
	struct tkw__desk_next armed;
	bool ending; /* the file is being closed */
	bool has_fds;
	int64_t turn_ns;   /* how long a turn takes */
	int64_t passed_ns; /* when the lead was passed on */
	uint32_t shy;      /* how many leaders do not gather after a failure */
	uint32_t skip;     /* so many are left */
	/* Callers that were answered and have not come back. Changed under the
	 * mutex; the leader reads it without. */
	struct tkw__a32 away;
	struct tkw__a32 gathering; /* the leader sleeps at `away` */

	/* These do not change. */
	struct tkw__home home;
	struct tkw_exec exec;
	pthread_t thread;
	pid_t pid;
	int fd[OWN_FDS];

	/* Only the keeper. */
	struct tkw__watch watching; /* a copy of watch */
	struct pollfd *polled;
	size_t room;
};

static _Thread_local struct tkw__inside *insides;
/* Set in a keeper's thread: its file. */
static _Thread_local const struct tkw_queues *kept;

static void push(struct requests *l, struct tkw__request *r)
{
	r->next = NULL;
	if (l->last)
		l->last->next = r;
	else
		l->first = r;
	l->last = r;
}

/* Appends all of a list to another one. */
static void push_all(struct requests *to, struct requests *from)
{
	if (!from->first)
		return;
	if (to->last)
		to->last->next = from->first;
	else
		to->first = from->first;
	to->last = from->last;
	*from = (struct requests){ NULL, NULL };
}

static uint64_t system_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t now_us(const struct tkw_queues *f)
{
	int64_t now;

	if (!f->home.now_us)
		return system_us(CLOCK_REALTIME);
	now = f->home.now_us(f->home.now_ctx);
	return now > 0 ? (uint64_t)now : 0;
}

/* Wakes the keeper. The mutex is held: without it the file could be closed
 * before the bell is rung. */
static void need_keeper(struct tkw_queues *f)
{
	uint64_t one = 1;

	if (f->rung)
		return;
	f->rung = true;
	while (write(f->fd[BELL], &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* --- leading -------------------------------------------------------------- */

static void wake(struct sleeper *s, uint32_t word)
{
	/* RELEASE pairs with the ACQUIRE of sleep_until_done(). From here on
	 * only the address is used. */
	if (TKW__EXCHANGE(&s->word, word, RELEASE) == ASLEEP)
		tkw__unpark_one(&s->word);
}

/* done of a request whose thread sleeps. */
static void end_sleeper(struct tkw__request *r)
{
	struct sleeper *s = r->ctx;

	push(&s->f->ended, r);
}

/* done of a request that nobody waits for. */
static void end_free(struct tkw__request *r)
{
	push(&r->home->to_tell, r);
}

/* Returns true if the clock was set meanwhile. Then the timer is armed all the
 * same, but nobody else will be told. */
static bool arm(int fd, uint64_t us, int flags)
{
	struct itimerspec t = { .it_value = { 0, 0 } };
	/* A time_t may have 32 bits. */
	uint64_t most = UINT64_C(1000000) *
			(sizeof(time_t) > 4 ? UINT64_C(1) << 40 : INT32_MAX);

	if (us > most)
		us = most;
	t.it_value.tv_sec = (time_t)(us / 1000000);
	t.it_value.tv_nsec = (long)(us % 1000000) * 1000;
	if (us == 0)
		t.it_value.tv_nsec = 1; /* 0 would mean never */
	return timerfd_settime(fd, flags, &t, NULL) != 0 && errno == ECANCELED;
}

/* With a clock of the user's, nothing tells when it has moved. So the keeper
 * looks at it now and then, while somebody could be interested. */
static uint64_t look_again_us(struct tkw_queues *f, uint64_t next_us)
{
	uint64_t now = now_us(f);
	uint64_t wait = HOOK_LOOK_US;

	if (next_us == UINT64_MAX && !f->has_fds)
		return UINT64_MAX;
	if (next_us <= now)
		wait = 0;
	else if (next_us - now < wait)
		wait = next_us - now;
	return system_us(CLOCK_MONOTONIC) + wait;
}

/* Returns true if the clock was set, and a turn must look at it. */
static bool arm_timers(struct tkw_queues *f)
{
	struct tkw__desk_next next = { UINT64_MAX, UINT64_MAX };
	bool was_set = false;

	/* A close waits for callbacks only. Time must not wake the keeper: it
	 * would do no turn, and be woken again at once. */
	if (!f->ending)
		tkw__desk_next(f->desk, &next);
	if (f->home.now_us && !f->ending) {
		uint64_t look = look_again_us(f, next.now_us);

		next.now_us = UINT64_MAX;
		if (look < next.mono_us)
			next.mono_us = look;
	}
	/* It is always armed, so that a step of the clock is noticed. */
	if (next.now_us != f->armed.now_us)
		was_set = arm(f->fd[WALL], next.now_us,
			      TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET);
	if (next.mono_us != f->armed.mono_us)
		(void)arm(f->fd[MONO], next.mono_us, TFD_TIMER_ABSTIME);
	f->armed = next;
	return was_set && !f->ending;
}

static void show_fd(const struct tkw_queue *q)
{
	uint64_t word = 1;
	ssize_t n;

	do {
		n = q->can_take ? write(q->fd, &word, sizeof(word))
				: read(q->fd, &word, sizeof(word));
	} while (n < 0 && errno == EINTR);
}

/* Gives what has come to the desk. Returns true if the file is being closed. */
static bool take_inbox(struct tkw_queues *f)
{
	struct requests in;
	bool closing;

	pthread_mutex_lock(&f->mutex);
	in = f->inbox;
	f->inbox = (struct requests){ NULL, NULL };
	closing = f->closing;
	if (f->asked)
		f->armed = (struct tkw__desk_next){ 0, 0 };
	f->asked = false;
	pthread_mutex_unlock(&f->mutex);
	while (in.first) {
		struct tkw__request *r = in.first;

		in.first = r->next;
		tkw__desk_submit(f->desk, r);
	}
	return closing;
}

static int64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Waits until those who were answered last have come back, or until a time. */
static void wait_for_away(struct tkw_queues *f, int64_t now_ns,
			  int64_t until_ns)
{
	int64_t yield_ns = now_ns + YIELD_NS;
	uint32_t away = TKW__LOAD(&f->away, RELAXED);

	while (away > 0 && now_ns < until_ns) {
		/* They need a processor, and perhaps this one. */
		if (now_ns < yield_ns) {
			sched_yield();
		} else {
			TKW__STORE(&f->gathering, 1, SEQ_CST);
			tkw__park_for(&f->away, away, until_ns - now_ns);
		}
		away = TKW__LOAD(&f->away, RELAXED);
		now_ns = mono_ns();
	}
	TKW__STORE(&f->gathering, 0, RELAXED);
}

static void gather(struct tkw_queues *f)
{
	uint32_t before = TKW__LOAD(&f->away, RELAXED);
	int64_t part_ns = f->turn_ns / GATHER_PART;
	int64_t until_ns = f->passed_ns +
			   (part_ns < MAX_GATHER_NS ? part_ns : MAX_GATHER_NS);
	int64_t now_ns;

	if (before == 0)
		return;
	if (f->skip > 0) {
		f->skip--;
		return;
	}
	now_ns = mono_ns();
	if (now_ns >= until_ns)
		return;
	wait_for_away(f, now_ns, until_ns);
	if (TKW__LOAD(&f->away, RELAXED) > before / 2)
		f->shy = f->shy < MAX_SHY ? f->shy * 2 + 1 : MAX_SHY;
	else
		f->shy = 0;
	f->skip = f->shy;
}

static int turn(struct tkw_queues *f)
{
	struct tkw_queue *q;
	int more = 0;

	f->ending = take_inbox(f);
	if (f->ending)
		tkw__desk_shutdown(f->desk);
	else
		more = tkw__desk_turn(f->desk, now_us(f),
				      system_us(CLOCK_MONOTONIC));
	while ((q = tkw__desk_changed(f->desk)) != NULL)
		show_fd(q);
	return more;
}

/* Finds a request whose thread sleeps, among the first ones. */
static struct sleeper *find_sleeper(struct tkw__request *r)
{
	for (int i = 0; r && i < MAX_SEARCH; i++) {
		if (r->done == end_sleeper)
			return r->ctx;
		r = r->next;
	}
	return NULL;
}

static bool has_work(const struct tkw_queues *f)
{
	return f->inbox.first || f->more || f->asked;
}

/* Chooses who leads next. Returns NULL if it is the keeper, or nobody. */
static struct sleeper *choose_heir(struct tkw_queues *f)
{
	struct sleeper *heir = find_sleeper(f->inbox.first);

	if (!heir)
		heir = find_sleeper(tkw__desk_first(f->desk));
	return heir ? heir : f->keeper;
}

/* Ends the lead: passes it on, and wakes those who have their answers. */
static void pass_on(struct tkw_queues *f, int more)
{
	struct requests ended = f->ended;
	struct sleeper *heir = NULL;
	uint32_t away = 0;
	bool of_keeper = false;
	bool was_set;

	f->ended = (struct requests){ NULL, NULL };
	for (const struct tkw__request *r = ended.first; r; r = r->next) {
		const struct sleeper *s = r->ctx;

		of_keeper = of_keeper || s->of_keeper;
		away++;
	}
	was_set = arm_timers(f);
	f->passed_ns = mono_ns();
	pthread_mutex_lock(&f->mutex);
	TKW__STORE(&f->away, away, RELAXED);
	if (of_keeper)
		f->keeper = NULL;
	f->more = more != 0;
	f->asked = f->asked || was_set;
	if (has_work(f))
		heir = choose_heir(f);
	if (f->to_tell.first || (has_work(f) && !heir))
		need_keeper(f);
	push_all(&f->to_call, &f->to_tell);
	f->leading = heir != NULL;
	pthread_mutex_unlock(&f->mutex);
	if (heir)
		wake(heir, LEAD);
	while (ended.first) {
		struct tkw__request *r = ended.first;

		ended.first = r->next;
		wake(r->ctx, DONE);
	}
}

/* Does a turn, and more while an own request has not been looked at. */
static void lead(struct tkw_queues *f, const struct tkw__request *own)
{
	int64_t start_ns;
	int more;

	gather(f);
	start_ns = mono_ns();
	do {
		more = turn(f);
	} while (own && own->state == TKW__REQUEST_WAITS);
	if (f->ended.first)
		f->turn_ns = mono_ns() - start_ns;
	pass_on(f, more);
}

static void sleep_until_done(struct tkw_queues *f, struct sleeper *s,
			     const struct tkw__request *r)
{
	for (;;) {
		/* ACQUIRE pairs with the RELEASE of wake(). */
		uint32_t word = TKW__LOAD(&s->word, ACQUIRE);

		if (word == DONE)
			return;
		if (word == LEAD) {
			TKW__STORE(&s->word, AWAKE, RELAXED);
			lead(f, r);
		} else if (word == ASLEEP ||
			   TKW__CAS(&s->word, &word, ASLEEP, RELAXED)) {
			tkw__park(&s->word, ASLEEP);
		}
	}
}

/* A leader may wait for this. */
static void come_back(struct tkw_queues *f)
{
	uint32_t away = TKW__LOAD(&f->away, RELAXED);

	if (away == 0)
		return;
	/* If the leader says too late that it sleeps, it sees the new number
	 * and does not. */
	TKW__STORE(&f->away, away - 1, SEQ_CST);
	if (away == 1 && TKW__LOAD(&f->gathering, SEQ_CST))
		tkw__unpark_one(&f->away);
}

/* Puts a request into the inbox.
 *
 * leads  Not NULL: the caller can lead. Receives true if it must.
 */
static int enter(struct tkw_queues *f, struct tkw__request *r, bool *leads)
{
	/* What it waits for a turn counts, too. */
	if (r->kind == TKW__REQUEST_TAKE && r->take.wait_us > 0)
		r->take.asked_us = system_us(CLOCK_MONOTONIC);
	pthread_mutex_lock(&f->mutex);
	if (f->closing) {
		pthread_mutex_unlock(&f->mutex);
		return -ESHUTDOWN;
	}
	f->inside++;
	push(&f->inbox, r);
	if (leads) {
		if (kept == f)
			f->keeper = r->ctx;
		come_back(f);
		*leads = !f->leading;
		f->leading = true;
	} else if (!f->leading) {
		need_keeper(f);
	}
	pthread_mutex_unlock(&f->mutex);
	return 0;
}

int64_t tkw__keeper_call(struct tkw_queues *f, struct tkw__request *r)
{
	struct sleeper s = { .f = f, .of_keeper = kept == f };
	bool leads;
	int was;
	int err;

	r->state = TKW__REQUEST_WAITS;
	r->done = end_sleeper;
	r->ctx = &s;
	/* A cancelled leader would leave the file without one. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	err = enter(f, r, &leads);
	if (!err) {
		if (leads)
			lead(f, r);
		sleep_until_done(f, &s, r);
		tkw__keeper_release(f);
	}
	pthread_setcancelstate(was, NULL);
	r->ctx = NULL;
	return err ? err : r->result;
}

int tkw__keeper_submit(struct tkw_queues *f, struct tkw__request *r)
{
	int err;

	r->state = TKW__REQUEST_WAITS;
	r->home = f;
	r->then = r->done;
	r->done = end_free;
	err = enter(f, r, NULL);
	if (err)
		r->done = r->then;
	return err;
}

uint64_t tkw__keeper_count_inbox(struct tkw_queues *f)
{
	uint64_t n = 0;

	pthread_mutex_lock(&f->mutex);
	for (const struct tkw__request *r = f->inbox.first; r; r = r->next)
		n++;
	pthread_mutex_unlock(&f->mutex);
	return n;
}

/* --- callbacks ------------------------------------------------------------ */

int tkw__keeper_admit(const struct tkw_queues *f)
{
	return f->pid == getpid() ? 0 : -EPERM;
}

int tkw__keeper_admit_wait(const struct tkw_queues *f)
{
	int err = tkw__keeper_admit(f);

	if (!err && kept == f)
		err = -EDEADLK;
	return err;
}

const struct tkw_exec *tkw__keeper_exec(const struct tkw_queues *f)
{
	return f->home.exec;
}

void tkw__keeper_hold(struct tkw_queues *f)
{
	pthread_mutex_lock(&f->mutex);
	f->inside++;
	pthread_mutex_unlock(&f->mutex);
}

void tkw__keeper_release(struct tkw_queues *f)
{
	pthread_mutex_lock(&f->mutex);
	if (--f->inside == 0 && f->closing)
		pthread_cond_signal(&f->empty);
	pthread_mutex_unlock(&f->mutex);
}

void tkw__keeper_call_later(struct tkw_queues *f, struct tkw__request *r)
{
	r->then = r->done;
	pthread_mutex_lock(&f->mutex);
	push(&f->to_call, r);
	need_keeper(f);
	pthread_mutex_unlock(&f->mutex);
}

void tkw__inside_enter(struct tkw__inside *in, const struct tkw_queues *f)
{
	*in = (struct tkw__inside){ f, insides };
	insides = in;
}

void tkw__inside_leave(const struct tkw__inside *in)
{
	insides = in->up;
}

bool tkw__inside_any(const struct tkw_queues *f)
{
	const struct tkw__inside *in = insides;

	while (in && in->f != f)
		in = in->up;
	return in != NULL;
}

/* --- the keeper's thread -------------------------------------------------- */

static void call_all(struct tkw_queues *f, struct requests l)
{
	while (l.first) {
		struct tkw__request *r = l.first;

		l.first = r->next;
		r->done = r->then; /* so that it can be submitted again */
		if (r->done)
			r->done(r);
		tkw__keeper_release(f);
	}
}

/* Writes down all that is to be watched. Returns how many. */
static size_t list_fds(struct tkw_queues *f)
{
	size_t n = 0;

	for (int i = 0; i < OWN_FDS; i++)
		f->polled[i] =
			(struct pollfd){ .fd = f->fd[i], .events = POLLIN };
	while (f->watching.list) {
		struct pollfd *more;
		size_t room = f->room - OWN_FDS;

		n = f->watching.list(f->polled + OWN_FDS, room,
				     f->watching.ctx);
		if (n <= room)
			break;
		more = realloc(f->polled, (OWN_FDS + n) * sizeof(*more));
		if (!more) {
			n = room; /* the others have to wait */
			break;
		}
		f->polled = more;
		f->room = OWN_FDS + n;
	}
	return OWN_FDS + n;
}

/* Empties a descriptor that was readable. */
static bool drain(const struct tkw_queues *f, int i)
{
	uint64_t word;

	if (f->polled[i].revents == 0)
		return false;
	/* -1 is right too: the clock was set. */
	(void)!read(f->fd[i], &word, sizeof(word));
	return true;
}

static void watch_fds(struct tkw_queues *f, int timeout_ms)
{
	size_t n = list_fds(f);
	bool wall, mono;

	if (poll(f->polled, n, timeout_ms) < 0)
		return; /* a signal, or no memory: it comes again */
	wall = drain(f, WALL);
	mono = drain(f, MONO);
	pthread_mutex_lock(&f->mutex);
	if (drain(f, BELL))
		f->rung = false;
	f->asked = f->asked || wall || mono;
	pthread_mutex_unlock(&f->mutex);
	if (n > OWN_FDS)
		f->watching.ready(f->polled + OWN_FDS, n - OWN_FDS,
				  f->watching.ctx);
}

static void *keep(void *arg)
{
	struct tkw_queues *f = arg;
	bool stop = false;
	int was;

	kept = f;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	pthread_setname_np(pthread_self(), "tkw-queue");
	while (!stop) {
		struct requests l;
		bool leads;

		pthread_mutex_lock(&f->mutex);
		l = f->to_call;
		f->to_call = (struct requests){ NULL, NULL };
		leads = !f->leading && has_work(f);
		f->leading = f->leading || leads;
		f->watching = f->watch;
		stop = f->stop;
		pthread_mutex_unlock(&f->mutex);
		if (leads)
			lead(f, NULL);
		call_all(f, l);
		if (!stop)
			watch_fds(f, leads || l.first ? 0 : -1);
	}
	return NULL;
}

void tkw__keeper_watch(struct tkw_queues *f, const struct tkw__watch *watch)
{
	pthread_mutex_lock(&f->mutex);
	f->watch = *watch;
	need_keeper(f);
	pthread_mutex_unlock(&f->mutex);
}

/* --- the descriptor of a queue -------------------------------------------- */

static int64_t look_at_fd(struct tkw__desk *d, struct tkw__request *r)
{
	struct tkw_queue *q = r->queue;
	struct tkw_queues *f = r->look.arg;

	(void)d;
	if (q->fd < 0) {
		q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (q->fd < 0)
			return -errno;
		q->watched = true;
		f->has_fds = true;
	}
	return q->fd;
}

int tkw__keeper_fd(struct tkw_queues *f, struct tkw_queue *q)
{
	struct tkw__request r = { .kind = TKW__REQUEST_LOOK,
				  .queue = q,
				  .look = { .fn = look_at_fd, .arg = f } };

	return (int)tkw__keeper_call(f, &r);
}

/* --- open and close ------------------------------------------------------- */

static int make_fds(struct tkw_queues *f)
{
	f->fd[BELL] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (f->fd[BELL] >= 0)
		f->fd[WALL] = timerfd_create(CLOCK_REALTIME,
					     TFD_NONBLOCK | TFD_CLOEXEC);
	if (f->fd[WALL] >= 0)
		f->fd[MONO] = timerfd_create(CLOCK_MONOTONIC,
					     TFD_NONBLOCK | TFD_CLOEXEC);
	return f->fd[MONO] >= 0 ? 0 : -errno;
}

static int make_desk(struct tkw_queues *f)
{
	struct tkw__desk_config cfg = f->home.desk;

	cfg.store = f->home.store;
	cfg.reserve = f->home.reserve;
	cfg.owner = f;
	if (!cfg.calendar)
		cfg.calendar = &f->planner.calendar;
	cfg.now_us = now_us(f);
	cfg.mono_us = system_us(CLOCK_MONOTONIC);
	while (getrandom(cfg.seed, sizeof(cfg.seed), 0) < 0 && errno == EINTR)
		;
	return tkw__desk_create(&f->desk, &cfg);
}

static void close_fds(struct tkw_queues *f, bool of_queues)
{
	struct tkw_queue *q = NULL;

	while (of_queues && (q = tkw__desk_queue(f->desk, q)) != NULL) {
		if (q->fd >= 0)
			close(q->fd);
	}
	for (int i = 0; i < OWN_FDS; i++) {
		if (f->fd[i] >= 0)
			close(f->fd[i]);
	}
}

static void free_file(struct tkw_queues *f)
{
	free(f->polled);
	free(f);
}

int tkw__keeper_open(struct tkw_queues **out, const struct tkw__home *home)
{
	struct tkw_queues *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->home = *home;
	if (home->exec) {
		f->exec = *home->exec;
		f->home.exec = &f->exec;
	}
	f->pid = getpid();
	tkw__planner_init(&f->planner, NULL);
	for (int i = 0; i < OWN_FDS; i++)
		f->fd[i] = -1;
	pthread_mutex_init(&f->mutex, NULL);
	pthread_cond_init(&f->empty, NULL);
	f->room = OWN_FDS;
	f->polled = calloc(f->room, sizeof(*f->polled));
	err = f->polled ? make_fds(f) : -ENOMEM;
	if (!err)
		err = make_desk(f);
	f->asked = true; /* the first turn arms the timers */
	if (!err)
		err = tkw__quiet_thread(&f->thread, keep, f) ? 0 : -ENOMEM;
	if (err) {
		tkw__desk_destroy(f->desk);
		tkw__planner_fini(&f->planner);
		close_fds(f, false);
		free_file(f);
		return err;
	}
	*out = f;
	return 0;
}

/* In a forked child nobody else uses the memory any more. If a thread of the
 * parent led at the moment of the fork, the desk may be half changed: then its
 * memory is left alone. The store is the parent's. */
static int close_in_child(struct tkw_queues *f)
{
	close_fds(f, !f->leading);
	if (!f->leading) {
		tkw__desk_destroy(f->desk);
		tkw__planner_fini(&f->planner);
	}
	if (f->home.in_child)
		f->home.in_child(f->home.ctx);
	free_file(f);
	return 0;
}

/* Lets everybody go, and waits for them. */
static void send_all_away(struct tkw_queues *f)
{
	pthread_mutex_lock(&f->mutex);
	f->closing = true;
	f->asked = true;
	need_keeper(f);
	while (f->inside > 0)
		pthread_cond_wait(&f->empty, &f->mutex);
	f->stop = true;
	need_keeper(f);
	pthread_mutex_unlock(&f->mutex);
	pthread_join(f->thread, NULL);
}

int tkw__keeper_close(struct tkw_queues *f)
{
	const struct tkw__home *h = &f->home;

	if (f->pid != getpid())
		return close_in_child(f);
	if (tkw__inside_any(f) || kept == f)
		return -EDEADLK;
	send_all_away(f);
	if (h->before_close)
		h->before_close(h->ctx);
	tkw__desk_shutdown(f->desk);
	while (tkw__desk_is_untidy(f->desk))
		(void)tkw__desk_turn(f->desk, now_us(f),
				     system_us(CLOCK_MONOTONIC));
	close_fds(f, true);
	tkw__desk_destroy(f->desk);
	tkw__planner_fini(&f->planner);
	h->store->ops->close(h->store);
	if (h->after_close)
		h->after_close(h->ctx);
	pthread_cond_destroy(&f->empty);
	pthread_mutex_destroy(&f->mutex);
	free_file(f);
	return 0;
}
