#!/bin/sh
# SPDX-License-Identifier: MIT
# simulate_options.sh SIMULATION - a bad option or value gets one line and exit
# status 2, and a seed gives the same life each time.
set -u
program=${1:?the simulation}
# shellcheck source=../model/refused.sh
. "$(dirname "$0")/../model/refused.sh"

refused --seedz 3
refused --seeds
refused --seeds 3
refused --seeds 3:
refused --seeds :3
refused --seeds 3:2
refused --seeds 3:4x
refused --seeds 99999999999999999999:1
refused --crashes 0
refused --crashes -1
refused --crashes ''
refused --seed x
refused --sweep x
TKW_QUEUE_CRASHES=many refused --seeds 1:1
TKW_QUEUE_CRASHES=0 refused --seeds 1:1

once=$("$program" --seeds 1:3) || failed=1
again=$("$program" --seeds 1:3) || failed=1
if [ "$once" != "$again" ]; then
	echo 'the same seeds did not give the same lives'
	failed=1
fi
exit $failed
