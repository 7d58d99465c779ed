#!/bin/sh
# SPDX-License-Identifier: MIT
# test_tkw_queue.sh TKW WAY - tests the commands of `tkw queue`. WAY is `direct`,
# where each command opens the file itself, or `socket`, where another process
# has it open.
# shellcheck disable=SC2317 # check() calls the functions
set -u
TKW=$1
way=$2
export TKW
# shellcheck source-path=SCRIPTDIR source=tool_checks.sh
. "$(dirname "$0")/tool_checks.sh"
# shellcheck source-path=SCRIPTDIR source=queue_checks.sh
. "$(dirname "$0")/queue_checks.sh"

[ "$way" = direct ] || start_owner

# The claim of the item that was taken.
claim()
{
	value | cut -d ' ' -f 1
}

# --- put, take, ack ----------------------------------------------------------

q put 'hello world'
check 'put: exit status 0' ended 0
id=$(value)
check 'put: prints an id' is_number "$id"
q get "$id"
check 'get: exit status 0' ended 0
check 'get: the id' grep -q -x "id  *$id" "$out"
check 'get: the state' grep -q -x 'state  *ready' "$out"
check 'get: the payload' grep -q -x 'payload  *hello world' "$out"
q get --raw "$id"
check 'get --raw: only the payload' outputs 'hello world'
q list
check 'list: a line' one_line "$out"
check 'list: the item' grep -q "^$id ready .* 0 - hello world\$" "$out"
q take
check 'take: exit status 0' ended 0
check 'take: CLAIM PAYLOAD' grep -q -x "$id:[0-9]* hello world" "$out"
claim=$(claim)
q get --json "$id"
check 'get --json of a taken item: JSON' valid_json
check 'get --json: its claim' says "\"claim\":\"$claim\""
q take
check 'take of nothing: exit status 3' ended 3
check 'take of nothing: says nothing' is_empty "$out"
check 'take of nothing: no complaint' is_empty "$err"
q extend "$claim" --lease 1h
check 'extend: exit status 0' ended 0
check 'extend: says nothing' is_empty "$out"
q cancel "$id"
check 'cancel of a taken item: exit status 1' ended 1
check 'cancel of a taken item: it says so' complains 'taken'
q ack "$claim"
check 'ack: exit status 0' ended 0
check 'ack: says nothing' is_empty "$out"
q ack "$claim"
check 'a second ack: exit status 1' ended 1
check 'a second ack: it says that the claim is stale' complains 'stale'
q ack --json "$claim"
check 'a stale ack with --json: JSON' valid_json
check 'a stale ack with --json: it says so' says '"acked":false'
q get "$id"
check 'get of what has ended: exit status 1' ended 1
check 'get of what has ended: it says so' complains 'no such item'

# --- payloads ----------------------------------------------------------------

printf 'a\nb\t"\\\001\377\303\244' >"$scratch/payload"
in=$scratch/payload
q put -
in=/dev/null
id=$(value)
q get --raw "$id"
check 'a payload from standard input: the same bytes' \
	cmp -s "$out" "$scratch/payload"
q get --json "$id"
check 'bytes that are not UTF-8: JSON' valid_json
check 'bytes that are not UTF-8: base64' \
	says "\"payload_base64\":\"$(base64 -w 0 "$scratch/payload")\""
q take
check 'take of control bytes: one line' one_line "$out"
# shellcheck disable=SC2059 # the payload is a format for %b
check 'take of control bytes: printf %b reads it' [ \
	"$(printf '%b' "$(cut -d ' ' -f 2- "$out")" | od -An -c)" = \
	"$(od -An -c "$scratch/payload")" ]
check 'take of control bytes: no control bytes' no_control_bytes
q nack "$(claim)" --reason "why \"not\""
check 'nack: exit status 0' ended 0
q list --json
check 'list --json: JSON' valid_json
check 'list --json: the reason' says '"reason":"why \"not\""'
q cancel "$id"
check 'cancel: exit status 0' ended 0

head -c 1000000 /dev/zero >"$scratch/large"
in=$scratch/large
q put -
id=$(value)
q get --raw "$id"
check 'a payload of 1,000,000 bytes' cmp -s "$out" "$scratch/large"
q cancel "$id"
head -c 2000000 /dev/zero >"$scratch/large"
q put -
in=/dev/null
check 'a payload that is too large: exit status 1' ended 1
check 'a payload that is too large: it says so' complains 'larger'
q put ''
id=$(value)
q get --raw "$id"
check 'an empty payload' is_empty "$out"
q cancel "$id"
q put -- -x --json
check 'payloads that look like options: exit status 0' ended 0
check 'two payloads: two ids' [ "$(wc -l <"$out")" -eq 2 ]
q take -n 9
check 'take -n: both, in order' [ "$(cut -d ' ' -f 2 "$out" | tr '\n' ,)" = \
	'-x,--json,' ]
# shellcheck disable=SC2046 # words
q ack --json $(cut -d ' ' -f 1 "$out")
check 'ack of two: JSON' valid_json
check 'ack of two: two lines' [ "$(grep -c '"acked":true' "$out")" -eq 2 ]

# --- delays ------------------------------------------------------------------

q put --delay 1h later
id=$(value)
q take
check 'an item that is not due: not taken' ended 3
q list --state waiting
check 'list --state waiting: it is there' says "$id waiting"
q list --state ready
check 'list --state ready: it is not there' is_empty "$out"
q reschedule "$id" --at 1000
check 'reschedule: exit status 0' ended 0
q take --json
check 'take --json after reschedule: JSON' valid_json
check 'take --json: the due time' says '"due_ms":1000,'
check 'take --json: the token' grep -q '"token":[0-9]' "$out"
held=$(field claim)
q reschedule "$id" -d 5s
check 'reschedule of a taken item: exit status 1' ended 1
q nack "$held" -d 1d
q list --state waiting --json
check 'nack with a delay: it waits' says "\"id\":$id,\"state\":\"waiting\""
q cancel "$id"
q put --at 4102444800000 'in the year 2100' --json
check 'put --json: JSON' valid_json
q cancel --json "$(field id)"
check 'cancel --json: JSON' valid_json
check 'cancel --json: it was there' says '"cancelled":true'

# --- keys --------------------------------------------------------------------

q put -k 'the key' first -d 1h
id=$(value)
q put --key 'the key' second
check 'a key that is held: exit status 1' ended 1
check 'a key that is held: it says so' complains 'key'
q put --key 'the key' --keep second
check '--keep: the same id' outputs "$id"
q get -k 'the key' --raw
check '--keep: the old payload' outputs first
q put --key 'the key' --replace second -d 2h
check '--replace: the same id' outputs "$id"
q get --key 'the key' --json
check 'get --key: the new payload' says '"payload":"second"'
check 'get --key: the key' says '"key":"the key"'
q reschedule -k 'the key' -d 0
check 'reschedule --key: exit status 0' ended 0
q take
held=$(claim)
q put --key 'the key' --replace third
check '--replace of a taken item: exit status 1' ended 1
check '--replace of a taken item: it says so' complains 'taken'
q nack "$held"
q cancel -k 'the key'
check 'cancel --key: exit status 0' ended 0
q cancel -k 'the key'
check 'cancel --key again: exit status 1' ended 1
key=$(printf 'a\377')
q put -k "$key" x
q cancel --json -k "$key"
check 'cancel --json of a key that is not UTF-8: JSON' valid_json
check 'cancel --json of a key that is not UTF-8: base64' \
	says '{"item_base64":"Yf8="'

# --- attempts, dead items ----------------------------------------------------

q put --attempts 2 --backoff 1h --max-backoff 2h doomed
id=$(value)
q take
q nack "$(claim)" --reason first
q get "$id"
check 'back-off: it waits' grep -q -x 'state  *waiting' "$out"
q reschedule "$id" -d 0
q take
check 'the second attempt' grep -q "^$id:" "$out"
q nack "$(claim)" --reason second
q dead
check 'dead: it is there' says "$id dead"
check 'dead: its reason' says 'second'
q dead --json
check 'dead --json: JSON' valid_json
check 'dead --json: when it died' grep -q '"died_ms":[1-9]' "$out"
q reschedule "$id" -d 0
check 'reschedule of a dead item: exit status 1' ended 1
check 'reschedule of a dead item: it says so' complains 'the item is dead'
q revive 1 "$id"
check 'revive: one is not there: exit status 1' ended 1
check 'revive: it says which' complains "'1': no such dead item"
q get "$id"
check 'revive: it is ready' grep -q -x 'state  *ready' "$out"
check 'revive: no attempts' grep -q -x 'attempts  *0' "$out"
for word in first second; do
	q reschedule "$id" -d 0
	q take
	q nack "$(claim)" --reason $word
done
q revive --all
check 'revive --all: how many' outputs 'revived 1'
for word in first second; do
	q reschedule "$id" -d 0
	q take
	q nack "$(claim)" --reason $word
done
q purge --all --json
check 'purge --all --json: how many' outputs '{"purged":1}'
q purge "$id"
check 'purge of what is not there: exit status 1' ended 1

# --- plans -------------------------------------------------------------------

# 2100-01-01 is a Friday.
q plan --zone Europe/Berlin party '0 0 1 1 *' 'ring the\tbell' --attempts 3 \
	--backoff 1m --max-backoff 1h --misfire all --max-missed 7 --grace 5s \
	--overlap allow --next ack
check 'plan: exit status 0' ended 0
check 'plan: prints the next time' grep -q -x '20[0-9-]*-12-31T23:00:00.000Z' "$out"
next=$(value)
q plans
check 'plans: one line' \
	outputs "party $next '0 0 1 1 *' Europe/Berlin ring the\\\\tbell"
q plans --json
check 'plans --json: JSON' valid_json
check 'plans --json: the rules' says '"misfire":"all","max_missed":7,'\
'"grace_ms":5000,"overlap":"allow","next_on":"ack","max_attempts":3,'\
'"backoff_ms":60000,"max_backoff_ms":3600000,"paused":false,"error":""'
q plans party -n 3
check 'plans NAME: the name' grep -q -x 'name  *party' "$out"
check 'plans NAME: the next times' \
	[ "$(grep -c -x '[next]*  *20[0-9]*-12-31T23:00:00.000Z' "$out")" = 3 ]
q plans party -n 1001
check 'plans NAME: too many times' ended 2
q plans party --json -n 2
check 'plans NAME --json: JSON' valid_json
check 'plans NAME --json: its times' \
	grep -q '"times_ms":\[[0-9]*,[0-9]*\]}$' "$out"
q list --json
check 'the item of a plan: its key' says '"key":"party@'
check 'the item of a plan: its planned time' grep -q '"planned_ms":[1-9]' "$out"
q plan --json party '0 0 1 1 *' x --zone Europe/Berlin
check 'plan --json: JSON' valid_json
check 'plan --json: the next time' grep -q '^{"next_ms":[1-9]' "$out"
q plan-pause party
check 'plan-pause: exit status 0' ended 0
q plans
check 'plan-pause: it is paused' says 'party paused '
check 'plan-pause: no item' [ "$(fact waiting)$(fact plans)" = 01 ]
q plan-resume party nobody --json
check 'plan-resume: one is not there: exit status 1' ended 1
check 'plan-resume: it says which' complains "'nobody': no such plan"
check 'plan-resume --json: JSON' valid_json
check 'plan-resume --json: what was done' says '{"plan":"party","resumed":true}'
check 'plan-resume: an item' fact_is waiting 1
q plan never '0 0 30 2 *' x
check 'a plan that never comes: exit status 1' ended 1
check 'a plan that never comes: it says so' complains 'no time after now'
q plans never
check 'a plan that is not there: exit status 1' ended 1
check 'a plan that is not there: it says so' complains 'no such plan'
q unplan party
check 'unplan: exit status 0' ended 0
q plans
check 'unplan: no plan' is_empty "$out"
q unplan party
check 'unplan again: exit status 1' ended 1
q plan tick 'every 10ms' tock
q take --wait 10s
check 'the item of a plan is taken' says ':'
held=$(claim)
q get "${held%:*}"
check 'get: the planned time' grep -q -x 'planned  *20.*Z' "$out"
q ack "$held"
check 'the item of a plan is acked' ended 0
q unplan tick
# The only time of this plan is moved to now. While its item is running, the
# plan does not wait for its end: it has no more times.
q plan last 'every 1d from 9999-12-31T00:00Z' bye
q reschedule -k last@253402214400000 -d 0s
q take
held=$(claim)
q plans
check 'a plan without more times: it has stopped' says 'last stopped '
check 'a plan without more times: it says why' \
	says '# the plan has no more times'
q plans last --json
check 'plans NAME --json, no times: JSON' valid_json
check 'plans NAME --json, no times: an empty list' says '"times_ms":[]}'
q ack "$held"
q unplan last

# --- the queue ---------------------------------------------------------------

q put a
q pause
check 'pause: exit status 0' ended 0
q take
check 'a paused queue gives nothing out' ended 3
q stats
check 'stats: paused' grep -q -x 'paused  *yes' "$out"
q resume --json
check 'resume --json: JSON' valid_json
q take
check 'a resumed queue gives out' ended 0
q ack "$(claim)"
q limit --max-items 1
check 'limit: exit status 0' ended 0
q put a b
check 'a full queue: exit status 1' ended 1
check 'a full queue: it says so' complains 'full'
check 'a full queue: all or none' fact_is ready 0
q limit --max-items 0 --json
check 'limit --json: JSON' valid_json
q limit --max-payload 3
q put four
check 'a large payload: exit status 1' ended 1
check 'a large payload: it says so' \
	complains 'the payload is larger than the queue allows'
q limit --max-payload 0
q stats --json
check 'stats --json: one flat object' is_json
check 'stats --json: the queue' says '"queue":"default"'
check 'the law' law_holds

if [ "$way" = socket ]; then
	# Nine items are taken at once, and one is years late. The owner counts
	# them as long as it has the file open.
	queue=late
	q put -q late 1 2 3 4 5 6 7 8 9
	q put -q late --at 1000 10
	q take -q late -n 10
	check 'half of the items are not late' \
		[ "$(fact late_p50_ms)" -lt 1000000000 ]
	check 'one of ten is late' [ "$(fact late_p99_ms)" -gt 1000000000 ]
	queue=default

	q limit -q large --max-payload 100000000
	head -c 70000000 /dev/zero >"$scratch/large"
	in=$scratch/large
	q put -q large -
	in=/dev/null
	check '70 MB through the socket: exit status 1' ended 1
	check '70 MB through the socket: it says so' complains '64 MiB'
	rm "$scratch/large"
fi

# --- many queues, many items -------------------------------------------------

q put -q other x
check 'another queue: exit status 0' ended 0
q take -q nobody
check 'take makes a queue' ended 3
q stats --all --json
check 'stats --all --json: JSON' valid_json
check 'stats --all: the queues' [ "$(grep -c -e '"queue":"default"' \
	-e '"queue":"other"' -e '"queue":"nobody"' "$out")" -eq 3 ]
q stats --all
check 'stats --all as text' grep -q -x 'queue  *other' "$out"
q list -q unknown
check 'an unknown queue: exit status 1' ended 1
check 'an unknown queue: it says so' complains "no queue 'unknown'"
# shellcheck disable=SC2046 # words
q put $(seq 600)
check 'put of 600: 600 ids' [ "$(wc -l <"$out")" -eq 600 ]
q list
check 'list: 600 items' [ "$(wc -l <"$out")" -ge 600 ]
q list -n 300
check 'list -n 300: 300 items' [ "$(wc -l <"$out")" -eq 300 ]
q take -n 1000
check 'take -n 1000: all 600, in order' \
	[ "$(cut -d ' ' -f 2 "$out" | tr '\n' ' ')" = "$(seq 600 | tr '\n' ' ')" ]
# shellcheck disable=SC2046 # words
q ack $(cut -d ' ' -f 1 "$out")
check 'ack of 600: exit status 0' ended 0
check 'ack of 600: all have ended' fact_is taken 0
check 'the law, with many items' law_holds

# --- waiting -----------------------------------------------------------------

q take --wait 10ms
check 'take --wait of nothing: exit status 3' ended 3

takes_wait()
{
	[ "$(fact waiting_takes)" != 0 ] || grep -q . "$scratch/taken"
}

# The taker may be the owner of the file, whose own take is not counted.
: >"$scratch/taken"
"$TKW" queue "$file" take --wait forever >"$scratch/taken" &
[ "$way" = direct ] && until_true socket_is_there
[ "$way" = socket ] && until_true takes_wait
q put 'for who waits'
check 'put while a take waits: exit status 0' ended 0
wait $!
check 'take --wait: gets the item' grep -q ' for who waits$' "$scratch/taken"
q ack "$(cut -d ' ' -f 1 "$scratch/taken")"
check 'take --wait: the claim is valid' ended 0

waiting_or_owning()
{
	if [ "$way" = direct ]; then
		socket_is_there
	else
		[ "$(fact waiting_takes)" = 1 ]
	fi
}

args="queue $file take --wait forever"
signalled INT waiting_or_owning
check 'Ctrl-C ends a take that waits' ended 130
check 'Ctrl-C: no complaint' is_empty "$err"
no_take_waits()
{
	[ "$(fact waiting_takes)" = 0 ]
}
check 'a take whose client has gone is given up' until_true no_take_waits
q put 'after that'
q take
check 'nothing was taken for a client that has gone' says 'after that'
q ack "$(claim)"

# --- many at once ------------------------------------------------------------

for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	"$TKW" queue "$file" put -q crowd "$i" >"$scratch/crowd.$i" 2>&1 ||
		echo "failed $i" >>"$scratch/crowd.failed" &
	crowd="${crowd:-} $!"
done
# shellcheck disable=SC2086 # words
wait $crowd
check '16 puts at once: all succeed' [ ! -e "$scratch/crowd.failed" ]
queue=crowd
check '16 puts at once: 16 items' fact_is ready 16
queue=default

# --- the end -----------------------------------------------------------------

stop_owner
check 'the socket is gone' until_true socket_is_gone
check 'the law, at the end' law_holds
check 'nothing is left but the file' [ "$(ls "$file"*)" = "$file" ]
finish
