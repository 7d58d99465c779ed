#!/bin/sh
# SPDX-License-Identifier: MIT
# queue_options.sh MODEL - a bad option or value gets one line and exit status 2.
set -u
model=${1:?the model test}
failed=0

refused()
{
	said=$("$model" "$@" 2>&1)
	status=$?
	lines=$(printf '%s\n' "$said" | wc -l)
	if [ "$status" -ne 2 ] || [ "$lines" -ne 1 ] || [ -z "$said" ]; then
		echo "$*: exit status $status, said: $said"
		failed=1
	fi
}

refused --seedz 3
refused --seeds
refused --seeds 0
refused --seeds -1
refused --seeds 1x
refused --seeds ''
refused --seeds 99999999999999999999
refused --jobs 0
refused --jobs 1000
refused --ops x
refused --seed x
refused --first-seed x
TKW_QUEUE_SEEDS=many refused --jobs 1
TKW_QUEUE_SEEDS=0 refused --jobs 1
"$model" --seed 1 --ops 10 >/dev/null || failed=1
exit $failed
