# SPDX-License-Identifier: MIT
# progress.awk - reads the output of ninja or ctest and shows the progress: on a
# terminal (terminal=1) in one line that changes, otherwise in a line for each
# quarter. Of a failed test it shows the last 60 lines of output.

function show(done, all, name)
{
	failures = failed ? ", " failed " failed" : ""
	if (terminal)
		printf "\r\033[K%s: %d of %d%s  %.40s", what, done, all, failures, name
	else if (int(4 * done / all) > quarter)
		printf "%s: %d of %d%s\n", what, done, all, failures
	quarter = int(4 * done / all)
	fflush()
}

function end_of_output(    i)
{
	if (!inside)
		return
	inside = 0
	if (terminal)
		printf "\r\033[K"
	print head
	if (lines > 60)
		print "... (" lines - 60 " lines before these)"
	for (i = lines > 60 ? lines - 59 : 1; i <= lines; i++)
		print line[i]
	fflush()
}

# ninja
!inside && /^\[[0-9]+\/[0-9]+\] / {
	split(substr($1, 2), part, /[\/\]]/)
	show(part[1], part[2], $NF)
	next
}
# ctest
/^ *Start +[0-9]+: / {
	end_of_output()
	if (terminal && part[2])
		show(part[1], part[2], $NF)
	next
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
	end_of_output()
	split($1, part, "/")
	name = $0
	sub(/^[^:]*: /, "", name)
	sub(/ .*/, "", name)
	if (/\*\*\*/ && !/\*\*\*Skipped/) {
		failed++
		inside = 1
		lines = 0
		head = "FAILED: " name
	}
	show(part[1], part[2], name)
	next
}
/tests passed, [0-9]+ tests failed out of|^The following tests FAILED:/ {
	end_of_output()
}
inside {
	line[++lines] = $0
}
END {
	end_of_output()
	if (terminal)
		printf "\r\033[K"
}
