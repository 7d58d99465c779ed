/* SPDX-License-Identifier: MIT */
/*
 * test_job_times.c - SPEC 12.3: what happens to each planned time: on time,
 * late, missed, left out; when the clock is set; over years.
 */
#include "job_bed.h"

#include <unistd.h>

/* Asserts the law: each planned time of a plan in (from, to] was decided
 * once. */
static void assert_law(struct diary *d, const char *plan, int64_t from_ms,
		       int64_t to_ms)
{
	struct tkw_job_info info = info_of(d);
	struct tkw_plan *p = make_plan(plan, NULL);
	int64_t at_ms = NOON_MS + from_ms;
	uint64_t times = 0;

	while (tkw_plan_next(p, at_ms, &at_ms) == 0 && at_ms <= NOON_MS + to_ms)
		times++;
	(void)tkw_plan_destroy(p);
	assert_int_equal(info.runs + info.missed + info.overlaps, times);
	assert_int_equal(d->early, 0);
	for (unsigned i = 1; i < d->runs; i++)
		assert_true(d->run[i].planned_ms > d->run[i - 1].planned_ms);
}

/* --- on time ------------------------------------------------------------- */

/* SPEC 12.3: a job calls its task at the times of its plan, and tells it what
 * it needs to know. */
static void test_12_3_job_runs_by_its_plan(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "*/10 * * * *", NO_RULES);
	assert_int_equal(info_of(&d).next_ms, NOON_MS + MINUTES(10));
	run_to(&l, MINUTES(10) - 1);
	assert_no_run(&d);
	run_to(&l, MINUTES(10));
	assert_runs(&d, MINUTES(10));
	run_to(&l, MINUTES(35));
	assert_runs(&d, MINUTES(20), MINUTES(30));
	for (unsigned i = 0; i < d.runs; i++) {
		assert_int_equal(d.run[i].now_ms, d.run[i].planned_ms);
		assert_int_equal(d.run[i].missed, 0);
		assert_int_equal(d.run[i].overlaps, 0);
		assert_int_equal(d.run[i].run_now, 0);
	}
	assert_counts(&d, 3, 0, 0);
	assert_int_equal(info_of(&d).last_ms, NOON_MS + MINUTES(30));
	assert_int_equal(tkw_timer_count(b->t), 1);
	job_bed_close(&l);
	assert_ended(&d, -ESHUTDOWN);
}
BED_TEST(test_12_3_job_runs_by_its_plan)

/* SPEC 12.3: three years of nights in Berlin, with six changes of the clock,
 * against the plan itself. */
static void test_12_3_job_runs_for_years(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = make_plan("30 2 * * *", "Europe/Berlin");
	struct tkw_job_config cfg = {
		.plan = p, .fn = note_run, .ctx = &d, .on_end = note_end
	};
	int64_t at_ms = NOON_MS;
	unsigned springs = 0;

	job_bed_open(&l, b);
	memset(&d, 0, sizeof(d));
	d.l = &l;
	assert_int_equal(tkw_jobs_add(l.set, &cfg, &d.id), 0);
	run_to(&l, HOURS(24) * 1096);
	assert_int_equal(d.runs, 1096);
	for (unsigned i = 0; i < d.runs; i++) {
		assert_int_equal(tkw_plan_next(p, at_ms, &at_ms), 0);
		assert_int_equal(d.run[i].planned_ms, at_ms - NOON_MS);
		assert_int_equal(d.run[i].now_ms, at_ms - NOON_MS);
		/* In spring, 02:30 is skipped: the run is at 03:00, 01:00
		 * UTC. */
		springs += at_ms % HOURS(24) == HOURS(1);
	}
	assert_int_equal(springs, 3);
	assert_counts(&d, 1096, 0, 0);
	(void)tkw_plan_destroy(p);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_runs_for_years)

/* A plan far in the future does not overflow. */
static void test_12_3_job_waits_for_centuries(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "every 1s from 2500-01-01T00:00Z", NO_RULES);
	run_to(&l, HOURS(24) * 3650);
	assert_no_run(&d);
	set_wall(&l, INT64_C(16725225600000) - NOON_MS - 1);
	assert_no_run(&d);
	run_to(&l, wall_ms(&l) + 1);
	assert_int_equal(d.runs, 1);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_waits_for_centuries)

/* --- late ---------------------------------------------------------------- */

/* SPEC 12.3: the clock jumps over a planned time, to each point around it and
 * around the end of the grace. On time and within the grace it is started; the
 * misfire rule decides after that. */
static void test_12_3_job_late_and_missed(struct timer_bed *b)
{
	static const struct {
		int64_t at_ms;
		unsigned runs, skip_runs;
	} point[] = {
		{ -2, 0, 0 },
		{ -1, 0, 0 },
		{ 0, 1, 1 },
		{ 1, 1, 1 },
		{ 59999, 1, 1 },
		{ 60000, 1, 1 },
		{ 60001, 1, 0 },
		{ 3599999, 1, 0 },
		{ HOURS(1), 2, 1 },
		{ HOURS(1) + 60000, 2, 1 },
		{ HOURS(1) + 60001, 1, 0 },
	};
	static struct job_bed l;
	static struct diary once, skip;

	for (size_t i = 0; i < 2 * sizeof(point) / sizeof(point[0]); i++) {
		bool by_step = i % 2;
		int64_t to_ms = HOURS(1) + point[i / 2].at_ms;

		job_bed_open(&l, b);
		add_job(&once, &l, "0 * * * *", NO_RULES);
		add_job(&skip, &l, "0 * * * *",
			RULES(.misfire = TKW_MISFIRE_SKIP));
		if (by_step)
			set_wall(&l, to_ms);
		else
			stall_to(&l, to_ms);
		assert_int_equal(once.runs, point[i / 2].runs);
		assert_int_equal(skip.runs, point[i / 2].skip_runs);
		assert_law(&once, "0 * * * *", 0, to_ms);
		assert_law(&skip, "0 * * * *", 0, to_ms);
		/* It goes on as if nothing had happened. */
		run_to(&l, HOURS(4));
		assert_law(&once, "0 * * * *", 0, HOURS(4));
		assert_law(&skip, "0 * * * *", 0, HOURS(4));
		assert_int_equal(once.run[once.runs - 1].now_ms, HOURS(4));
		job_bed_close(&l);
	}
}
BED_TEST(test_12_3_job_late_and_missed)

/* SPEC 12.3: after a stall of ten hours: once, the latest n, all, none. The
 * task is told how many were missed. */
static void test_12_3_job_misfire(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary once, two, all, skip;
	const int64_t end_ms = HOURS(10) + MINUTES(30);

	job_bed_open(&l, b);
	add_job(&once, &l, "0 * * * *", NO_RULES);
	add_job(&two, &l, "0 * * * *",
		RULES(.misfire = TKW_MISFIRE_ALL, .max_missed = 2));
	add_job(&all, &l, "0 * * * *", RULES(.misfire = TKW_MISFIRE_ALL));
	add_job(&skip, &l, "0 * * * *", RULES(.misfire = TKW_MISFIRE_SKIP));
	stall_to(&l, end_ms);
	assert_runs(&once, HOURS(10));
	assert_int_equal(once.run[0].now_ms, end_ms);
	assert_int_equal(once.run[0].missed, 9);
	assert_counts(&once, 1, 9, 0);
	assert_runs(&two, HOURS(9), HOURS(10));
	assert_int_equal(two.run[0].missed, 8);
	assert_int_equal(two.run[1].missed, 0);
	assert_int_equal(all.runs, 10);
	assert_int_equal(all.run[0].missed, 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(all.run[i].planned_ms, HOURS(i + 1));
	assert_no_run(&skip);
	assert_counts(&skip, 0, 10, 0);
	run_to(&l, HOURS(11));
	assert_runs(&once, HOURS(11));
	assert_runs(&skip, HOURS(11));
	assert_int_equal(once.run[1].missed, 0);
	assert_int_equal(skip.run[0].missed, 10);
	assert_law(&once, "0 * * * *", 0, HOURS(11));
	assert_law(&two, "0 * * * *", 0, HOURS(11));
	assert_law(&all, "0 * * * *", 0, HOURS(11));
	assert_law(&skip, "0 * * * *", 0, HOURS(11));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_misfire)

/* Some are missed, and some are within the grace: those are started too, the
 * oldest first. */
static void test_12_3_job_misfire_and_grace(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary once, skip;

	job_bed_open(&l, b);
	add_job(&once, &l, "* * * * *", RULES(.grace_ms = MINUTES(3)));
	add_job(&skip, &l, "* * * * *",
		RULES(.grace_ms = MINUTES(3), .misfire = TKW_MISFIRE_SKIP));
	stall_to(&l, MINUTES(10) + 500);
	assert_runs(&once, MINUTES(7), MINUTES(8), MINUTES(9), MINUTES(10));
	assert_int_equal(once.run[0].missed, 6);
	assert_int_equal(once.run[1].missed, 0);
	assert_runs(&skip, MINUTES(8), MINUTES(9), MINUTES(10));
	assert_int_equal(skip.run[0].missed, 7);
	assert_law(&once, "* * * * *", 0, MINUTES(10));
	assert_law(&skip, "* * * * *", 0, MINUTES(10));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_misfire_and_grace)

/* Only one run is long. Without an end, allowed overlaps would pile up. */
static void be_short(struct diary *d, const struct tkw_job_run *run)
{
	(void)run;
	d->long_ms = 0;
}

/* SPEC 12.3: with skip, no run starts later than its grace, not even if it had
 * to wait for an earlier one. */
static void test_12_3_job_skip_while_it_waits(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *",
		RULES(.grace_ms = MINUTES(3), .misfire = TKW_MISFIRE_SKIP));
	d.in_run = be_short;
	d.long_ms = MINUTES(2);
	/* Minutes 8, 9 and 10 are late, but the first run takes so long that 9
	 * is missed. 11 and 12 come meanwhile. */
	stall_to(&l, MINUTES(10) + 500);
	assert_runs(&d, MINUTES(8), MINUTES(10));
	assert_counts(&d, 2, 8, 2);
	assert_int_equal(d.run[1].missed, 1);
	run_to(&l, MINUTES(14));
	assert_runs(&d, MINUTES(13), MINUTES(14));
	assert_law(&d, "* * * * *", 0, MINUTES(14));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_skip_while_it_waits)

/* A clock that begins in 1970 is set to today: the counting is bounded. */
static void test_12_3_job_counts_are_bounded(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	put_wall(&l, -NOON_MS + 1);
	add_job(&d, &l, "* * * * * *", NO_RULES);
	/* Half a second past, so that only the grace is left besides. */
	set_wall(&l, 500);
	assert_int_equal(d.run[0].missed, TKW_JOB_MAX_COUNTED - 1);
	assert_int_equal(d.runs, 61);
	assert_int_equal(d.run[0].planned_ms, SECONDS(-60));
	assert_counts(&d, 61, TKW_JOB_MAX_COUNTED - 1, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_counts_are_bounded)

/* A run takes longer than the grace, and a day of seconds has to wait for it.
 * These are missed at once: the counting is bounded here, too. */
static void test_12_3_job_late_counts_are_bounded(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * * *",
		RULES(.grace_ms = HOURS(24), .misfire = TKW_MISFIRE_SKIP));
	d.in_run = be_short;
	d.long_ms = HOURS(48);
	stall_to(&l, HOURS(24) + 500);
	assert_runs(&d, SECONDS(1));
	assert_counts(&d, 1, TKW_JOB_MAX_COUNTED, TKW_JOB_MAX_COUNTED);
	run_to(&l, HOURS(72) + SECONDS(2));
	assert_runs(&d, HOURS(72) + SECONDS(1), HOURS(72) + SECONDS(2));
	assert_int_equal(d.run[1].missed, TKW_JOB_MAX_COUNTED);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_late_counts_are_bounded)

/* A plan for 02:30 in a zone "Here", which has the rules of another zone. */
static struct tkw_plan *plan_here(const char *rules)
{
	char folder[] = "/tmp/test_job_times.XXXXXX";
	char file[64], path[64];
	struct tkw_plan *p;
	struct tkw_zone *z;

	must(mkdtemp(folder) != NULL);
	snprintf(file, sizeof(file), "/usr/share/zoneinfo/%s", rules);
	snprintf(path, sizeof(path), "%s/Here", folder);
	must(symlink(file, path) == 0);
	must(tkw_zone_open(&z, "Here", folder) == 0);
	must(tkw_plan_create(&p, "30 2 * * *", z, NULL) == 0);
	(void)tkw_zone_close(z);
	must(unlink(path) == 0 && rmdir(folder) == 0);
	return p;
}

static void read_zone_again(struct diary *d, const struct tkw_job_run *run)
{
	struct tkw_job_config cfg = { .plan = plan_here("Etc/GMT+1"),
				      .misfire = TKW_MISFIRE_ALL };

	d->in_run = NULL;
	must(tkw_jobs_change(run->jobs, run->id, &cfg) == 0);
	(void)tkw_plan_destroy((struct tkw_plan *)cfg.plan);
}

/* The zone gets new rules while late runs wait: 02:30 is two hours later from
 * then on. No run is early, and the job goes on. */
static void test_12_3_job_zone_is_read_again(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;
	struct tkw_plan *p = plan_here("Etc/GMT-1");
	struct tkw_job_config cfg = {
		.plan = p, .fn = note_run, .ctx = &d, .misfire = TKW_MISFIRE_ALL
	};

	job_bed_open(&l, b);
	memset(&d, 0, sizeof(d));
	d.l = &l;
	d.in_run = read_zone_again;
	assert_int_equal(tkw_jobs_add(l.set, &cfg, &d.id), 0);
	(void)tkw_plan_destroy(p);
	/* Three nights at 01:30 UTC are due, the third one just now. */
	stall_to(&l, HOURS(61) + MINUTES(30));
	assert_runs(&d, HOURS(13) + MINUTES(30), HOURS(15) + MINUTES(30),
		    HOURS(39) + MINUTES(30));
	run_to(&l, HOURS(96));
	assert_runs(&d, HOURS(63) + MINUTES(30), HOURS(87) + MINUTES(30));
	assert_int_equal(d.run[4].now_ms, d.run[4].planned_ms);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_zone_is_read_again)

/* A program that starts again tells which time was the last. */
static void test_12_3_job_since(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d, later;

	job_bed_open(&l, b);
	put_wall(&l, MINUTES(5));
	add_job(&d, &l, "0 * * * *", RULES(.since_ms = NOON_MS - HOURS(3)));
	add_job(&later, &l, "0 * * * *", RULES(.since_ms = NOON_MS + HOURS(2)));
	bed_pass(b, 0);
	assert_runs(&d, 0);
	assert_int_equal(d.run[0].missed, 2);
	run_to(&l, HOURS(3));
	assert_runs(&d, HOURS(1), HOURS(2), HOURS(3));
	assert_runs(&later, HOURS(3));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_since)

/* --- the clock is set ---------------------------------------------------- */

/* SPEC 12.3: the clock goes back, from and to each point around a planned time.
 * No time is started twice, and all later ones come. */
static void test_12_3_job_clock_goes_back(struct timer_bed *b)
{
	static const int64_t from_ms[] = { -1, 0, 1, 1000, 60001, 3600000 };
	static const int64_t to_ms[] = { -HOURS(2), -3600001, -3600000, -1000,
					 -1,        0,        1 };
	static struct job_bed l;
	static struct diary d;

	for (size_t i = 0; i < 6; i++) {
		for (size_t k = 0; k < 14; k++) {
			job_bed_open(&l, b);
			add_job(&d, &l, "0 * * * *", NO_RULES);
			run_to(&l, HOURS(4) + from_ms[i]);
			if (to_ms[k / 2] >= from_ms[i]) {
				job_bed_close(&l);
				continue;
			}
			/* With and without notice. */
			if (k % 2)
				set_wall(&l, HOURS(4) + to_ms[k / 2]);
			else
				put_wall(&l, HOURS(4) + to_ms[k / 2]);
			run_to(&l, HOURS(8));
			assert_counts(&d, 8, 0, 0);
			assert_law(&d, "0 * * * *", 0, HOURS(8));
			job_bed_close(&l);
		}
	}
}
BED_TEST(test_12_3_job_clock_goes_back)

/* SPEC 12.3: it goes forward and back again: the times that were decided
 * meanwhile do not come again. */
static void test_12_3_job_clock_forth_and_back(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 * * * *", NO_RULES);
	set_wall(&l, HOURS(5) + MINUTES(30));
	assert_runs(&d, HOURS(5));
	assert_counts(&d, 1, 4, 0);
	set_wall(&l, MINUTES(10));
	assert_int_equal(info_of(&d).next_ms, NOON_MS + HOURS(6));
	run_to(&l, HOURS(6) - 1);
	assert_no_run(&d);
	run_to(&l, HOURS(7));
	assert_runs(&d, HOURS(6), HOURS(7));
	assert_law(&d, "0 * * * *", 0, HOURS(7));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_clock_forth_and_back)

/* Nobody is told. */
static void step_back(struct diary *d, const struct tkw_job_run *run)
{
	(void)run;
	d->in_run = NULL;
	put_wall(d->l, MINUTES(10));
}

/* Times 1 to 4 are late, and the run of `stepper` sets the clock back before
 * the second one. */
static void assert_late_runs_wait(struct timer_bed *b, struct diary *d,
				  struct diary *stepper)
{
	static struct job_bed l;
	static struct diary other;

	job_bed_open(&l, b);
	add_job(d, &l, "0 * * * *", RULES(.misfire = TKW_MISFIRE_ALL));
	add_job(&other, &l, "0 * * * *", NO_RULES);
	(stepper ? stepper : &other)->in_run = step_back;
	set_wall(&l, HOURS(4) + MINUTES(30));
	assert_runs(d, HOURS(1));
	assert_int_equal(info_of(d).next_ms, NOON_MS + HOURS(2));
	run_to(&l, HOURS(2) - 1);
	assert_no_run(d);
	run_to(&l, HOURS(6));
	assert_runs(d, HOURS(2), HOURS(3), HOURS(4), HOURS(5), HOURS(6));
	for (unsigned i = 1; i < d->runs; i++)
		assert_int_equal(d->run[i].now_ms, d->run[i].planned_ms);
	assert_law(d, "0 * * * *", 0, HOURS(6));
	job_bed_close(&l);
}

/* SPEC 12.3: the clock goes forward, and back again while the first of the late
 * runs is made. The others wait for their planned times: none is early, and
 * none is lost. */
static void test_12_3_job_late_runs_wait(struct timer_bed *b)
{
	static struct diary d;

	assert_late_runs_wait(b, &d, &d);
}
BED_TEST(test_12_3_job_late_runs_wait)

/* SPEC 12.3: the same if the second is about to begin. */
static void test_12_3_job_late_run_is_about_to_begin(struct timer_bed *b)
{
	static struct diary d;

	assert_late_runs_wait(b, &d, NULL);
}
BED_TEST(test_12_3_job_late_run_is_about_to_begin)

/* The clock was ahead when the job was added. Nothing was decided, so the times
 * between come. */
static void test_12_3_job_clock_goes_back_after_add(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	put_wall(&l, HOURS(1000));
	add_job(&d, &l, "0 * * * *", NO_RULES);
	set_wall(&l, MINUTES(1));
	run_to(&l, HOURS(2));
	assert_runs(&d, HOURS(1), HOURS(2));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_clock_goes_back_after_add)

/* SPEC 12.3: a step is noticed at once: without it, the run would come an hour
 * late. */
static void test_12_3_job_clock_goes_forward(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "0 2 * * *", NO_RULES);
	run_to(&l, HOURS(13));
	set_wall(&l, HOURS(14));
	assert_runs(&d, HOURS(14));
	assert_int_equal(d.run[0].now_ms, HOURS(14));
	run_to(&l, HOURS(14 + 24));
	assert_runs(&d, HOURS(14 + 24));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_clock_goes_forward)

/* The wall clock runs slower than the timer's: no run is early. */
static void test_12_3_job_clock_runs_slower(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "*/30 * * * *", NO_RULES);
	for (int minute = 1; minute <= 120; minute++) {
		bed_pass(b, 61 * TKW_SEC);
		put_wall(&l, MINUTES(minute));
		bed_pass(b, 0);
	}
	assert_int_equal(d.early, 0);
	assert_int_equal(d.runs, 4);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_clock_runs_slower)

/* A dice, and the latest time that the wall clock has shown. */
static uint32_t dice;
static int64_t highest_ms;

static uint32_t roll(void)
{
	dice = dice * 1664525 + 1013904223;
	return dice >> 8;
}

/* Where the clock is set to: not before the time when the job was added. */
static int64_t some_time(struct job_bed *l)
{
	int64_t ms = wall_ms(l) + roll() % MINUTES(60) - MINUTES(30);

	return ms > 0 ? ms : 0;
}

static void look_at_wall(struct job_bed *l)
{
	if (wall_ms(l) > highest_ms)
		highest_ms = wall_ms(l);
}

/* Some runs set the clock, and half of these tell the set. */
static void be_short_and_step(struct diary *d, const struct tkw_job_run *run)
{
	d->long_ms = 0;
	look_at_wall(d->l);
	if (roll() % 4)
		return;
	put_wall(d->l, some_time(d->l));
	look_at_wall(d->l);
	if (roll() % 2)
		must(tkw_jobs_reread_clock(run->jobs) == 0);
}

/* SPEC 12.3: random steps, also inside of runs, stalls, runs of random length,
 * and changes of the rules. Each planned time is decided once, and no run is
 * early. */
static void test_12_3_job_law_holds(struct timer_bed *b)
{
	static const char *const text = "*/7 * * * *";
	static struct job_bed l;
	static struct diary d;

	dice = 20261119;
	highest_ms = 0;
	job_bed_open(&l, b);
	add_job(&d, &l, text, NO_RULES);
	d.in_run = be_short_and_step;
	for (int i = 0; i < 400; i++) {
		struct tkw_job_config rules = { 0 };
		int64_t by_ms = roll() % MINUTES(30);

		d.long_ms = roll() % 4 ? by_ms : 0;
		rules.misfire = (int)(roll() % 3);
		rules.overlap = (int)(roll() % 2);
		switch (roll() % 4) {
		case 0:
			set_wall(&l, some_time(&l));
			break;
		case 1:
			stall_to(&l, wall_ms(&l) + by_ms);
			break;
		case 2:
			assert_int_equal(change_job(&d, text, &rules), 0);
			break;
		default:
			run_to(&l, wall_ms(&l) + by_ms);
			break;
		}
		look_at_wall(&l);
	}
	d.long_ms = 0;
	d.in_run = NULL;
	/* A run may have set the clock back without telling. */
	assert_int_equal(tkw_jobs_reread_clock(l.set), 0);
	run_to(&l, highest_ms + MINUTES(30));
	assert_true(d.runs > 100);
	assert_law(&d, text, 0, wall_ms(&l));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_law_holds)

/* --- overlap ------------------------------------------------------------- */

/* SPEC 12.3: the times that come during a run are left out. One at its end is
 * not. */
static void test_12_3_job_overlap_skip(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *", NO_RULES);
	d.long_ms = SECONDS(150);
	run_to(&l, MINUTES(10) - 1);
	assert_runs(&d, MINUTES(1), MINUTES(4), MINUTES(7));
	assert_int_equal(d.run[0].overlaps, 0);
	assert_int_equal(d.run[1].overlaps, 2);
	assert_int_equal(d.run[2].overlaps, 2);
	assert_counts(&d, 3, 0, 6);
	d.in_run = be_short;
	d.long_ms = MINUTES(3);
	run_to(&l, MINUTES(14));
	assert_runs(&d, MINUTES(10), MINUTES(13), MINUTES(14));
	assert_counts(&d, 6, 0, 8);
	assert_law(&d, "* * * * *", 0, MINUTES(14));
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_overlap_skip)

/* SPEC 12.3: with allow they are started when the worker is free. */
static void test_12_3_job_overlap_allow(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	job_bed_open(&l, b);
	add_job(&d, &l, "* * * * *",
		RULES(.overlap = TKW_OVERLAP_ALLOW, .grace_ms = MINUTES(5)));
	d.in_run = be_short;
	d.long_ms = SECONDS(90);
	stall_to(&l, MINUTES(1));
	run_to(&l, MINUTES(4));
	assert_int_equal(d.run[1].planned_ms, MINUTES(2));
	assert_law(&d, "* * * * *", 0, MINUTES(4));
	assert_int_equal(info_of(&d).overlaps, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_overlap_allow)

/* SPEC 12.3: the rules together. A run of two and a half hours meets a stall:
 * make-up runs wait for each other, what comes meanwhile is left out or
 * late. */
static void test_12_3_job_misfire_and_overlap(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary d;

	for (int overlap = 0; overlap < 2; overlap++) {
		for (int misfire = 0; misfire < 3; misfire++) {
			job_bed_open(&l, b);
			add_job(&d, &l, "0 * * * *",
				RULES(.misfire = misfire, .overlap = overlap));
			d.in_run = be_short;
			d.long_ms = MINUTES(150);
			stall_to(&l, HOURS(5) + MINUTES(30));
			assert_law(&d, "0 * * * *", 0,
				   info_of(&d).next_ms - NOON_MS - 1);
			if (misfire == TKW_MISFIRE_ONCE)
				assert_int_equal(d.run[0].planned_ms, HOURS(5));
			if (misfire == TKW_MISFIRE_ALL)
				for (int64_t i = 0; i < 5; i++)
					assert_int_equal(d.run[i].planned_ms,
							 HOURS(i + 1));
			if (overlap == TKW_OVERLAP_ALLOW)
				assert_int_equal(info_of(&d).overlaps, 0);
			run_to(&l, HOURS(30));
			assert_law(&d, "0 * * * *", 0, HOURS(30));
			job_bed_close(&l);
		}
	}
}
BED_TEST(test_12_3_job_misfire_and_overlap)

/* SPEC 12.3: a run that answers later overlaps too. With allow there are
 * several. */
static void test_12_3_job_runs_that_answer_later(struct timer_bed *b)
{
	static struct job_bed l;
	static struct diary skip, allow;

	job_bed_open(&l, b);
	add_job(&skip, &l, "* * * * *", NO_RULES);
	add_job(&allow, &l, "* * * * *", RULES(.overlap = TKW_OVERLAP_ALLOW));
	skip.answer = TKW_JOB_LATER;
	allow.answer = TKW_JOB_LATER;
	run_to(&l, MINUTES(3) + 1);
	assert_runs(&skip, MINUTES(1));
	assert_runs(&allow, MINUTES(1), MINUTES(2), MINUTES(3));
	assert_int_equal(info_of(&skip).running, 1);
	assert_int_equal(info_of(&skip).next_ms, NOON_MS + MINUTES(4));
	assert_int_equal(info_of(&allow).running, 3);
	assert_int_equal(tkw_jobs_done(l.set, skip.id, 2, 0), -ENOENT);
	assert_int_equal(tkw_jobs_done(l.set, skip.id, 1, 0), 0);
	assert_int_equal(tkw_jobs_done(l.set, skip.id, 1, 0), -ENOENT);
	assert_int_equal(tkw_jobs_done(l.set, allow.id, 2, -EIO), 0);
	assert_counts(&skip, 1, 0, 2);
	assert_int_equal(info_of(&allow).running, 2);
	assert_int_equal(info_of(&allow).failed, 1);
	assert_int_equal(info_of(&allow).last_result, -EIO);
	assert_int_equal(tkw_jobs_done(l.set, allow.id, 2, 0), -ENOENT);
	run_to(&l, MINUTES(4));
	assert_runs(&skip, MINUTES(4));
	assert_int_equal(skip.run[1].overlaps, 2);
	assert_int_equal(tkw_jobs_done(l.set, allow.id, 1, 0), 0);
	assert_int_equal(tkw_jobs_done(l.set, allow.id, 3, 0), 0);
	assert_int_equal(tkw_jobs_done(l.set, allow.id, 4, 0), 0);
	assert_int_equal(info_of(&allow).running, 0);
	job_bed_close(&l);
	assert_ended(&skip, -ESHUTDOWN);
}
BED_TEST(test_12_3_job_runs_that_answer_later)

/* --- spread -------------------------------------------------------------- */

/* SPEC 12.3: each job has a shift of its own, the same for all runs. The
 * planned times stay those of the plan. */
static void test_12_3_job_spread(struct timer_bed *b)
{
	enum {
		JOBS = 16
	};
	static struct job_bed l;
	static struct diary d[JOBS];
	uint64_t shifts = 0;

	job_bed_open(&l, b);
	for (int i = 0; i < JOBS; i++)
		add_job(&d[i], &l, "*/10 * * * *",
			RULES(.spread_ms = MINUTES(1), .grace_ms = 1));
	run_to(&l, MINUTES(35));
	for (int i = 0; i < JOBS; i++) {
		int64_t shift_ms = info_of(&d[i]).shift_ms;

		assert_true(shift_ms >= 0 && shift_ms < MINUTES(1));
		shifts |= UINT64_C(1) << shift_ms / SECONDS(1);
		assert_runs(&d[i], MINUTES(10), MINUTES(20), MINUTES(30));
		for (int k = 0; k < 3; k++)
			assert_int_equal(d[i].run[k].now_ms,
					 d[i].run[k].planned_ms + shift_ms);
	}
	assert_true(__builtin_popcountll(shifts) > JOBS / 2);
	/* A change of other rules keeps the shift. */
	assert_int_equal(
		change_job(&d[0], "*/10 * * * *", RULES(.spread_ms = 0)), 0);
	assert_int_equal(info_of(&d[0]).shift_ms, 0);
	job_bed_close(&l);
}
BED_TEST(test_12_3_job_spread)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BED_TESTS(test_12_3_job_runs_by_its_plan),
		BED_TESTS(test_12_3_job_runs_for_years),
		BED_TESTS_BY_HAND(test_12_3_job_waits_for_centuries),
		BED_TESTS(test_12_3_job_late_and_missed),
		BED_TESTS(test_12_3_job_misfire),
		BED_TESTS(test_12_3_job_misfire_and_grace),
		BED_TESTS(test_12_3_job_skip_while_it_waits),
		BED_TESTS(test_12_3_job_counts_are_bounded),
		BED_TESTS(test_12_3_job_late_counts_are_bounded),
		BED_TESTS(test_12_3_job_zone_is_read_again),
		BED_TESTS(test_12_3_job_since),
		BED_TESTS(test_12_3_job_clock_goes_back),
		BED_TESTS(test_12_3_job_clock_forth_and_back),
		BED_TESTS(test_12_3_job_late_runs_wait),
		BED_TESTS_BY_HAND(test_12_3_job_late_run_is_about_to_begin),
		BED_TESTS(test_12_3_job_clock_goes_back_after_add),
		BED_TESTS(test_12_3_job_clock_goes_forward),
		BED_TESTS(test_12_3_job_clock_runs_slower),
		BED_TESTS(test_12_3_job_law_holds),
		BED_TESTS(test_12_3_job_overlap_skip),
		BED_TESTS(test_12_3_job_overlap_allow),
		BED_TESTS(test_12_3_job_misfire_and_overlap),
		BED_TESTS(test_12_3_job_runs_that_answer_later),
		BED_TESTS(test_12_3_job_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
