/* SPDX-License-Identifier: MIT */
/*
 * timer_run.c - sends a request to all processes, one after the other, and
 * repeats that. Each time another process is the first, so that noise that
 * comes and goes hits all of them alike.
 */
#include "timer_run.h"

#include <string.h>

#include "harness/busy.h"
#include "harness/rival_process.h"

/* A process that takes part in this request. */
struct entrant {
	struct bench_process *process;
	const char *left_out; /* why it is not asked any more, or NULL */
	bool failed;
	bool wrong; /* a figure that must be 0 is not */
	char reason[BENCH_REASON_MAX];
};

struct timer_run {
	const struct bench_request *q;
	struct bench_progress *progress;
	bool good;
	double busy_cpus; /* the most that other processes used */
	size_t count;
	struct entrant entrants[BENCH_ENTRANTS_MAX];
	/* For each figure. The lines are in the order of the entrants. */
	struct bench_figures figures[BENCH_FIGURES_MAX];
	char names[BENCH_FIGURES_MAX][BENCH_NAME_MAX];
};

static void choose_processes(struct timer_run *t, const struct bench_options *o)
{
	struct bench_process *process;

	t->count = 0;
	for (size_t i = 0; (process = bench_processes_get(i)) != NULL; i++) {
		struct entrant *e = &t->entrants[t->count];

		if (!bench_options_want_entrant(o,
						bench_process_name(process)) ||
		    !bench_process_is_of(process, t->q->group, t->q->where))
			continue;
		e->process = process;
		e->left_out = bench_process_missing(process);
		e->failed = bench_process_lost(process);
		e->wrong = false;
		t->count++;
	}
}

static void begin_figures(struct timer_run *t)
{
	for (size_t k = 0; k < t->q->figure_count; k++) {
		const struct bench_figure *figure = &t->q->figures[k];
		struct bench_figures *f = &t->figures[k];

		memset(f, 0, sizeof(*f));
		bench_timer_rows_name(t->names[k], t->q, k);
		f->bench = t->names[k];
		f->unit = figure->unit;
		f->extra_key = figure->extra;
		f->extra_title = figure->extra;
		f->runs = t->q->runs;
		f->pairs = t->q->pairs;
		f->count = t->count;
		for (size_t i = 0; i < t->count; i++) {
			struct bench_line *l = &f->lines[i];

			l->entrant = bench_process_name(t->entrants[i].process);
			l->ours = bench_report_is_ours(l->entrant);
		}
	}
}

static void leave_out(struct timer_run *t, struct entrant *e,
		      const struct bench_answer *a)
{
	memcpy(e->reason, a->reason, sizeof(e->reason));
	e->left_out = e->reason;
	e->failed = a->verdict != BENCH_SKIP;
	if (!e->failed)
		return;
	bench_say("FAILED %s: %s: %s", t->q->name,
		  bench_process_name(e->process), e->reason);
	t->good = false;
}

/* Fails the run if a figure says that our timer is wrong. */
static void judge(struct timer_run *t, const struct bench_figures *f,
		  const struct bench_line *l, double value)
{
	if (!l->ours || value == 0)
		return;
	bench_say("FAILED %s: %s: %.0f instead of 0", f->bench, l->entrant,
		  value);
	t->good = false;
}

static void keep_answer(struct timer_run *t, size_t i,
			const struct bench_answer *a)
{
	for (size_t k = 0; k < t->q->figure_count; k++) {
		const struct bench_figure *figure = &t->q->figures[k];
		struct bench_line *l = &t->figures[k].lines[i];
		const double *value = bench_answer_find(a, figure->key);
		const double *extra = NULL;

		if (value == NULL)
			continue;
		if (figure->extra)
			extra = bench_answer_find(a, figure->extra);
		l->extras[l->runs] = extra ? *extra : 0;
		l->samples[l->runs++] = *value;
		if (figure->zero_for_ours) {
			judge(t, &t->figures[k], l, *value);
			t->entrants[i].wrong |= *value != 0;
		}
	}
}

/* Turns an answer that is done but lacks a figure into a failure. */
static void check_complete(const struct timer_run *t, struct bench_answer *a)
{
	for (size_t k = 0; k < t->q->figure_count; k++) {
		const char *key = t->q->figures[k].key;

		if (a->verdict == BENCH_DONE && !bench_answer_find(a, key) &&
		    !t->q->figures[k].optional) {
			a->verdict = BENCH_FAIL;
			(void)snprintf(a->reason, sizeof(a->reason),
				       "it gave no figure '%s'", key);
		}
	}
}

static void take_answer(struct timer_run *t, size_t i, bool counts)
{
	struct bench_answer a;

	bench_process_answer(t->entrants[i].process, &a);
	check_complete(t, &a);
	if (a.verdict != BENCH_DONE)
		leave_out(t, &t->entrants[i], &a);
	else if (counts)
		keep_answer(t, i, &a);
}

static void one_run(struct timer_run *t, uint32_t run, bool counts)
{
	t->progress->run = run;
	bench_progress_show(t->progress, NULL);
	for (size_t k = 0; k < t->count; k++) {
		size_t i = (k + run) % t->count;
		struct bench_process *process = t->entrants[i].process;

		if (t->entrants[i].left_out)
			continue;
		bench_progress_show(t->progress, bench_process_name(process));
		bench_process_ask(process, t->q->text);
		if (!t->q->together)
			take_answer(t, i, counts);
	}
	for (size_t i = 0; t->q->together && i < t->count; i++) {
		if (!t->entrants[i].left_out)
			take_answer(t, i, counts);
	}
}

/* Looks if other processes use the machine. No entrant runs now. */
static void look_around(struct timer_run *t)
{
	double cpus = bench_busy_cpus();

	if (cpus > t->busy_cpus)
		t->busy_cpus = cpus;
}

static void report(struct timer_run *t, FILE *json)
{
	if (t->busy_cpus > BENCH_BUSY_CPUS)
		bench_say("%s: other processes used %.1f CPUs, so its times "
			  "are not valid",
			  t->q->name, t->busy_cpus);
	for (size_t k = 0; k < t->q->figure_count; k++) {
		struct bench_figures *f = &t->figures[k];

		f->looked = t->q->look;
		f->busy_cpus = t->busy_cpus;
		for (size_t i = 0; i < t->count; i++) {
			const struct entrant *e = &t->entrants[i];

			f->lines[i].left_out = e->left_out;
			if (e->left_out == NULL && f->lines[i].runs == 0)
				f->lines[i].left_out = "has no such figure";
			f->lines[i].failed = e->failed;
			/* An entrant that fires early is not a rival in
			 * lateness. */
			f->lines[i].no_rival =
				bench_process_is_floor(e->process) ||
				(e->wrong && !t->q->figures[k].zero_for_ours);
		}
		bench_report_write(json, f);
	}
}

bool bench_timer_run(const struct bench_request *q,
		     const struct bench_options *o, struct bench_progress *p,
		     FILE *json)
{
	static struct timer_run t;
	uint32_t warm_up = q->warm_up ? 1 : 0;

	t.q = q;
	t.progress = p;
	t.good = true;
	p->name = q->name;
	p->runs = q->runs + warm_up;
	choose_processes(&t, o);
	if (t.count == 0)
		return true;
	begin_figures(&t);
	t.busy_cpus = 0;
	for (uint32_t run = 0; run < p->runs; run++) {
		if (q->look)
			look_around(&t);
		one_run(&t, run, run >= warm_up);
	}
	bench_progress_end();
	report(&t, json);
	return t.good;
}
