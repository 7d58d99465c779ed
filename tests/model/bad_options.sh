#!/bin/sh
# SPDX-License-Identifier: MIT
# bad_options.sh MODEL VARIABLE [OPTION VALUE] - a bad option or value gets one
# line and exit status 2. VARIABLE may hold the number of seeds; OPTION and VALUE
# are one more that is bad.
set -u
program=${1:?the model test}
variable=${2:?the variable}
shift 2
# shellcheck source=refused.sh
. "$(dirname "$0")/refused.sh"

refused --seedz 3
refused --seeds
refused --seeds 0
refused --seeds -1
refused --seeds 1x
refused --seeds ''
refused --seeds 99999999999999999999
refused --jobs 0
refused --jobs 1000
[ $# -eq 0 ] || refused "$@"
refused --ops x
refused --seed x
refused --first-seed x
export "$variable=many"
refused --jobs 1
export "$variable=0"
refused --jobs 1
unset "$variable"
"$program" --seed 1 --ops 10 >/dev/null || failed=1
exit $failed
