#!/bin/sh
# SPDX-License-Identifier: MIT
# ids.sh ROOT | --self-test - checks that no call accepts an id of another kind.
#
# For each public function that takes or writes an id, the gate compiles programs
# that pass an id of another kind, or a bare number. None of them may compile.
# It also compiles the same program with the right kind of id. That one must
# compile, which shows that the others fail only because of their id. The gate
# does this in C and in C++.
set -u
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CC=${CC:-cc}
CXX=${CXX:-g++}

kinds='timeout request retry lease job delayed item'

# Prints a table. Each line has the right kind of id, and an expression that
# uses an id of this kind. The gate complains about a call that is not in the
# table.
uses()
{
	cat <<-'END'
	timeout tkw_timer_schedule(timer, task, 0, &id)
	timeout tkw_timer_schedule_at(timer, task, 0, &id)
	timeout tkw_timer_schedule_batch(timer, items, 1, &id)
	timeout tkw_timer_schedule_batch_at(timer, items, 1, &id)
	timeout tkw_timer_cancel(timer, id)
	timeout tkw_timer_cancel_batch(timer, &id, 1, results)
	timeout tkw_timer_cancel_wait(timer, id)
	timeout tkw_timer_reschedule(timer, id, 0)
	timeout tkw_timer_reschedule_at(timer, id, 0)
	timeout tkw_timer_get(timer, id, info)
	timeout tkw_timer_print_timeout(timer, id, buf, 1)
	request tkw_requests_add(requests, on_request, data, 0, &id)
	request tkw_requests_complete(requests, id, data)
	request tkw_requests_cancel(requests, id)
	request tkw_requests_wait(requests, id, request_end)
	retry tkw_retries_add(retries, retry, 0, &id)
	retry tkw_retries_done(retries, id, 1, 0)
	retry tkw_retries_cancel(retries, id)
	lease tkw_leases_add(leases, data, 0, &id)
	lease tkw_leases_release(leases, id)
	job tkw_jobs_add(jobs, job, &id)
	job tkw_jobs_change(jobs, id, job)
	job tkw_jobs_pause(jobs, id)
	job tkw_jobs_resume(jobs, id)
	job tkw_jobs_run_now(jobs, id)
	job tkw_jobs_done(jobs, id, 1, 0)
	job tkw_jobs_remove(jobs, id)
	job tkw_jobs_remove_wait(jobs, id)
	job tkw_jobs_get(jobs, id, job_info)
	job tkw_jobs_print(jobs, id, buf, 1)
	delayed tkw_delayed_add(delayed, op, &id)
	delayed tkw_delayed_cancel(delayed, id)
	timeout tkw_group_schedule(group, task, 0, &id)
	timeout tkw_group_schedule_at(group, task, 0, &id)
	item tkw_queue_put(queue, put, 1, &id)
	item tkw_queue_revive(queue, &id, 1, results)
	item tkw_queue_purge(queue, &id, 1, results)
	timeout firing->id.bits == (id = firing->id).bits
	request request_end->id.bits == (id = request_end->id).bits
	retry attempt->id.bits == (id = attempt->id).bits
	lease lease->id.bits == (id = lease->id).bits
	job job_run->id.bits == (id = job_run->id).bits
	job job_end->id.bits == (id = job_end->id).bits
	delayed delayed_end->id.bits == (id = delayed_end->id).bits
	item claim->id.bits == (id = claim->id).bits
	item name->id.bits == (id = name->id).bits
	END
}

# Prints the declarations in one line, so that program N is in line N + 1.
prelude()
{
	tr '\n' ' ' <<-'END'
	extern struct tkw_timer *timer;
	extern struct tkw_requests *requests;
	extern struct tkw_retries *retries;
	extern struct tkw_leases *leases;
	extern struct tkw_delayed *delayed;
	extern const struct tkw_delayed_op *op;
	extern const struct tkw_delayed_end *delayed_end;
	extern struct tkw_group *group;
	extern const struct tkw_task *task;
	extern const struct tkw_batch_item *items;
	extern const struct tkw_firing *firing;
	extern struct tkw_timeout_info *info;
	extern tkw_request_fn *on_request;
	extern struct tkw_request_end *request_end;
	extern const struct tkw_retry *retry;
	extern const struct tkw_try *attempt;
	extern const struct tkw_lease *lease;
	extern struct tkw_jobs *jobs;
	extern const struct tkw_job_config *job;
	extern struct tkw_job_info *job_info;
	extern const struct tkw_job_run *job_run;
	extern const struct tkw_job_end *job_end;
	extern struct tkw_queue *queue;
	extern const struct tkw_put *put;
	extern const struct tkw_claim *claim;
	extern const struct tkw_item_name *name;
	extern int *results;
	extern char *buf;
	extern void *data;
	END
	echo
}

# program TYPE USE: prints a function that uses an id of TYPE.
program()
{
	n=$((n + 1))
	echo "int use_$n($1 id); int use_$n($1 id) { return $2; }"
}

# compile LANGUAGE FILE: In C, a wrong pointer is an error only with
# -pedantic-errors.
compile()
{
	case $1 in
	c*++*)
		$CXX -std="$1" -x c++ -I"$include" -include tickwheel.h \
			-include tickwheel/queue.h -fsyntax-only "$2"
		;;
	*)
		$CC -std="$1" -x c -I"$include" -include tickwheel.h \
			-include tickwheel/queue.h -pedantic-errors \
			-fsyntax-only "$2"
		;;
	esac
}

right_ones()
{
	prelude
	n=0
	while read -r kind use; do
		program "struct tkw_${kind}_id" "$use"
	done <"$scratch/uses"
}

# wrong_ones KIND USE: prints a program for each other kind of id, and one for a
# bare number.
wrong_ones()
{
	prelude
	n=0
	for other in $kinds; do
		[ "$other" = "$1" ] || program "struct tkw_${other}_id" "$2"
	done
	program uint64_t "$2"
}

# check_wrong LANGUAGE: the compiler must report an error in each line but the
# first.
check_wrong()
{
	compile "$1" "$scratch/wrong.c" 2>"$scratch/errors"
	tail -n +2 "$scratch/wrong.c" >"$scratch/lines"
	line=1
	while read -r text; do
		line=$((line + 1))
		programs=$((programs + 1))
		grep -q "wrong\.c:$line:[0-9]*: error" "$scratch/errors" ||
			complain "compiles as $1: $text"
	done <"$scratch/lines"
}

check_language()
{
	right_ones >"$scratch/right.c"
	compile "$1" "$scratch/right.c" ||
		complain "the right ones do not compile as $1"
	while read -r kind use; do
		wrong_ones "$kind" "$use" >"$scratch/wrong.c"
		check_wrong "$1"
	done <"$scratch/uses"
}

# Prints the public functions that have an id among their parameters.
functions()
{
	printf '#include <%s>\n' tickwheel.h tickwheel/queue.h |
		$CC -std=c11 -E -P -I"$include" - |
		tr '\n' ' ' | sed 's/[;{}]/\n/g' |
		grep -E "\(.*struct tkw_($(echo "$kinds" | tr ' ' '|'))_id " |
		grep -Ev '^ *typedef' |
		sed -n 's/^[^(]*\b\(tkw_[a-z0-9_]*\) *(.*/\1/p' | sort -u
}

check_ids()
{
	make_scratch
	include=$1/include
	programs=0
	uses >"$scratch/uses"
	functions >"$scratch/functions"
	[ -s "$scratch/functions" ] || complain "no function takes an id in $1"
	while read -r name; do
		grep -q " $name(" "$scratch/uses" ||
			complain "no program here calls $name()" \
				"(add one to tests/gates/ids.sh)"
	done <"$scratch/functions"
	for language in c11 c++11; do
		check_language "$language"
	done
	verdict "$programs programs that must not compile, and do not"
}

# broken WORD FILE SED-SCRIPT: changes FILE in a copy of the headers. The gate
# must reject the copy, and say WORD.
broken()
{
	rm -rf "$scratch/tree"
	mkdir "$scratch/tree"
	cp -r "$headers" "$scratch/tree/include"
	sed -i "$3" "$scratch/tree/include/tickwheel/$2"
	must_reject "$1" sh "$self" "$scratch/tree"
}

self_test()
{
	make_scratch
	must_accept 'the headers of the tree' sh "$self" "$headers/.."
	# Two names for one type do not tell the kinds apart.
	broken 'compiles as c11: int use_1(struct tkw_timeout_id id)' request.h \
		'/^struct tkw_request_id {/,/^};/c\
#define tkw_request_id tkw_timeout_id'
	broken 'compiles as c++11: int use_3(struct tkw_lease_id id)' retry.h \
		'/^struct tkw_retry_id {/,/^};/c\
#define tkw_retry_id tkw_lease_id\
struct tkw_lease_id { uint64_t bits; };'
	# A call that takes a number does not compile with an id, and compiles
	# with a bare number.
	broken 'the right ones do not compile as c11' timer.h \
		's/^int tkw_timer_cancel(.*/int tkw_timer_cancel(struct tkw_timer *t, uint64_t id);/'
	broken '{ return tkw_timer_cancel(timer, id)' timer.h \
		's/^int tkw_timer_cancel(.*/int tkw_timer_cancel(struct tkw_timer *t, uint64_t id);/'
	# A call that writes through a void pointer accepts each kind.
	broken 'compiles as c11: int use_7(uint64_t id); int use_7(uint64_t id)' \
		lease.h 's/^\t\t   struct tkw_lease_id \*id);/\t\t   void *id);/'
	# In C++ a constructor turns a number into an id.
	broken 'compiles as c++11: int use_7(uint64_t id); int use_7(uint64_t id)' \
		lease.h '/^struct tkw_lease_id {/,/^};/s/^};/\
#ifdef __cplusplus\
tkw_lease_id(uint64_t b = 0) : bits(b) {}\
#endif\
};/'
	broken 'no program here calls tkw_timer_touch()' timer.h \
		'/^int tkw_timer_cancel(/i\
int tkw_timer_touch(struct tkw_timer *t, int n,\
		    struct tkw_timeout_id id);'
	broken 'the right ones do not compile as c++11' timer.h \
		's/tkw_timer_cancel_wait/tkw_timer_cancel_and_wait/'
	self_verdict
}

if ! command -v "$CXX" >/dev/null 2>&1; then
	echo "skipped: no $CXX"
	exit 77
fi
self=$0
headers=$(dirname "$0")/../../include
case ${1:-} in
--self-test)
	self_test
	;;
*)
	check_ids "${1:?the root of the tree}"
	;;
esac
