# SPDX-License-Identifier: MIT
# figures.awk - writes a page with new figures to stdout:
# awk -v page=PAGE -v results=FILE -v check=1|"" -f figures.awk FILE PAGE
#
# scripts/figures describes the templates. Mistakes are reported on stderr, with
# page and line, and the exit status is 1. If the results cannot be used, the
# exit status is 2.

function complain(line, text) {
	printf "%s:%d: %s\n", page, line, text >"/dev/stderr"
	bad = 1
}

function no_results(line, text) {
	printf "%s:%d: %s\n", results, line, text >"/dev/stderr"
	no_good = 1
	exit 2
}

# --- the results ------------------------------------------------------------

# Reads one flat JSON object into value_of[].
function read_object(line,    key, text) {
	split("", value_of)
	if (line !~ /^[{].*[}]$/)
		no_results(FNR, "this is not a line of the benchmark")
	while (match(line, /"[a-z0-9_]+":("[^"]*"|[^",}]+)/)) {
		text = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		key = text
		sub(/^"/, "", key)
		sub(/":.*/, "", key)
		sub(/^"[a-z0-9_]+":/, "", text)
		gsub(/"/, "", text)
		value_of[key] = text
	}
}

# A file may consist of several runs, but of one commit on one machine.
function take_origin(    count) {
	count = split("date commit cpu cpus kernel compiler", keys, " ")
	for (i = 1; i <= count; i++) {
		key = keys[i]
		if (value_of[key] == "" || value_of[key] == "unknown")
			no_results(FNR, "the " key " is unknown")
		if (key != "date" && key in origin && \
		    origin[key] != value_of[key])
			no_results(FNR, "runs of two kinds: " key " was " \
				origin[key] ", and is " value_of[key])
		origin[key] = value_of[key]
	}
	if (origin["commit"] ~ /-dirty$/)
		no_results(FNR, "measured with changes that are in no commit: " \
			origin["commit"])
}

function take_row(    row, impl, key) {
	row = value_of["bench"]
	impl = value_of["impl"]
	if (row == "" || impl == "")
		no_results(FNR, "this is not a line of the benchmark")
	if (impl == "summary")
		return
	if ((row, impl) in there)
		no_results(FNR, row " of " impl " is there twice")
	if (value_of["median"] !~ /^-?[0-9.]+$/)
		no_results(FNR, "no median")
	there[row, impl] = 1
	best_first[row] = best_first[row] " " impl
	if (!(row in known_row)) {
		known_row[row] = 1
		row_list[++row_count] = row
	}
	if (!(impl in known_impl)) {
		known_impl[impl] = 1
		impl_list[++impl_count] = impl
	}
	for (key in value_of)
		value[row, impl, key] = value_of[key]
}

# --- numbers ----------------------------------------------------------------

# Returns x as text with three significant digits. A larger number keeps all its
# digits before the point.
function shown(x,    text) {
	x += 0
	if (x >= 99.95 || x <= -99.95)
		return sprintf("%.0f", x)
	text = sprintf("%.3g", x)
	if (text ~ /e/)
		text = sprintf("%.6f", x)
	return text + 0 == 0 ? "0" : text
}

function shown_ratio(x) {
	return x >= 9.95 ? sprintf("%.0f", x) : sprintf("%.2g", x)
}

# Converts x from one unit to another. A unit may be written as in "ns/op".
# Returns "" if the units do not fit.
function converted(x, from, to) {
	sub(/\/.*/, "", from)
	if (!(from in factor) || !(to in factor) || \
	    (from ~ /s$/ && from != "bytes") != (to ~ /s$/ && to != "bytes"))
		return ""
	return x * factor[from] / factor[to]
}

# --- placeholders -----------------------------------------------------------

function known(row, impl) {
	if ((row, impl) in there)
		return 1
	if (!(row in known_row))
		complain(at, "there is no row " row " in " results)
	else
		complain(at, "there is no " impl " in the row " row " of " results)
	return 0
}

# w[from..to] is ROW IMPL [UNIT or KEY], or ROW IMPL / ROW IMPL. Returns the text
# and sets `number`. If something is wrong, complains and returns "".
function expression(w, from, to,    row, impl, what, n) {
	row = w[from]
	impl = w[from + 1]
	what = w[from + 2]
	n = to - from + 1
	number = 0
	if (n == 5 && what == "/") {
		if (!known(row, impl) || !known(w[from + 3], w[from + 4]))
			return ""
		n = value[w[from + 3], w[from + 4], "median"]
		if (n + 0 == 0) {
			complain(at, "a ratio to 0: " w[from + 3] " " w[from + 4])
			return ""
		}
		number = value[row, impl, "median"] / n
		return shown_ratio(number)
	}
	if (n != 2 && n != 3) {
		complain(at, "this is no placeholder: {" inner "}")
		return ""
	}
	if (!known(row, impl))
		return ""
	if (n == 2)
		number = value[row, impl, "median"] + 0
	else if (what == "range")
		return shown(value[row, impl, "min"]) "–" \
			shown(value[row, impl, "max"])
	else if ((row, impl, what) in value)
		number = value[row, impl, what] + 0
	else {
		number = converted(value[row, impl, "median"], \
			value[row, impl, "unit"], what)
		if (number == "") {
			complain(at, "no " what " of " row ", which is in " \
				value[row, impl, "unit"])
			return ""
		}
	}
	return shown(number)
}

function goal(w, n,    limit, wanted) {
	wanted = w[n - 1]
	limit = w[n]
	if (n < 5 || (wanted != ">=" && wanted != "<=") || \
	    limit !~ /^[0-9.]+$/) {
		complain(at, "this is no placeholder: {" inner "}")
		return ""
	}
	if (expression(w, 2, n - 2) == "")
		return ""
	number = sprintf("%.3g", number) + 0
	if (wanted == ">=")
		return "at least " limit ": " \
			(number >= limit + 0 ? "reached" : "**not reached**")
	return "at most " limit ": " \
		(number <= limit + 0 ? "reached" : "**not reached**")
}

# Sets column[] to the columns of a table. These are the entrants in `given`. If
# that is empty, they are all entrants that have a figure in one of the rows, and
# tickwheel is the first.
function choose_columns(given, rows, row_total,    list, n, i, k) {
	n = split(given == "" ? usual : given, list, " ")
	for (i = 1; given == "" && i <= impl_count; i++) {
		if (index(" " usual " ", " " impl_list[i] " ") == 0)
			list[++n] = impl_list[i]
	}
	columns = 0
	for (i = 1; i <= n; i++) {
		for (k = 1; k <= row_total; k++) {
			if ((rows[k], list[i]) in there) {
				column[++columns] = list[i]
				break
			}
		}
		if (given != "" && k > row_total)
			complain(at, "there is no " list[i] " in the rows of this table")
	}
}

function rows_like(pattern, rows, n,    i, found) {
	gsub(/[.]/, "[.]", pattern)
	gsub(/[*]/, "[^/]*", pattern)
	for (i = 1; i <= row_count; i++) {
		if (row_list[i] ~ ("^" pattern "$")) {
			found = 1
			if (!(row_list[i] in taken))
				rows[++n] = row_list[i]
			taken[row_list[i]] = 1
		}
	}
	return found ? n : -1
}

# Writes the rows that the patterns in list[1..n] match to rows[], and returns how
# many they are.
function choose_rows(list, n, rows,    i, k, total) {
	split("", taken)
	total = 0
	for (i = 1; i <= n; i++) {
		k = rows_like(list[i], rows, total)
		if (k < 0)
			complain(at, "there is no row " list[i] " in " results)
		else
			total = k
	}
	return total
}

function table(text,    part, parts, list, n, rows, total, i, k, line, rule) {
	parts = split(text, part, /[ \t\n]*[|][ \t\n]*/)
	if (parts < 2 || parts > 3) {
		complain(at, "a table is {table TITLE | ROW... | IMPL...}")
		return ""
	}
	n = split(part[2], list, /[ \t\n]+/)
	total = choose_rows(list, n, rows)
	choose_columns(part[3], rows, total)
	line = "| " part[1] " |"
	rule = "|---|"
	for (k = 1; k <= columns; k++) {
		line = line " " column[k] " |"
		rule = rule "---:|"
	}
	text = line "\n" rule
	for (i = 1; i <= total; i++) {
		line = "| `" rows[i] "` |"
		for (k = 1; k <= columns; k++)
			line = line " " (((rows[i], column[k]) in there) ? \
				shown(value[rows[i], column[k], "median"]) : \
				"-") " |"
		text = text "\n" line
	}
	return text
}

# Returns whether the entrant fired early in some run of this row. An entrant
# that fires early looks less late than it is.
function was_early(row, impl) {
	return row ~ /\/lateness_/ && \
		sub(/\/lateness_[a-z0-9_]+/, "/lateness_early", row) && \
		value[row, impl, "max"] + 0 > 0
}

# Returns a table of the rows in which a rival is better, with all such rivals.
function losses(text,    list, n, rows, total, i, k, names, better, x) {
	n = split(text, list, /[ \t\n]+/)
	total = choose_rows(list, n, rows)
	text = "| row | unit | tickwheel | who is better |\n|---|---|---:|---|"
	for (i = 1; i <= total; i++) {
		better = ""
		n = split(best_first[rows[i]], names, " ")
		for (k = 1; k <= n; k++) {
			x = value[rows[i], names[k], "median"]
			if ((rows[i], "tickwheel") in there && \
			    names[k] !~ /^(tickwheel.*|null)$/ && \
			    x + 0 < value[rows[i], "tickwheel", "median"] + 0 && \
			    !was_early(rows[i], names[k]))
				better = better (better == "" ? "" : ", ") \
					names[k] " " shown(x)
		}
		if (better != "")
			text = text "\n| `" rows[i] "` | " \
				value[rows[i], "tickwheel", "unit"] " | " \
				shown(value[rows[i], "tickwheel", "median"]) \
				" | " better " |"
	}
	return text
}

# Returns the text that replaces {inner}.
function placeholder(    w, n, text) {
	text = inner
	gsub(/^[ \t\n]+|[ \t\n]+$/, "", text)
	n = split(text, w, /[ \t\n]+/)
	if (n == 1 && w[1] == "machine")
		return origin["cpu"] ", " origin["cpus"] " CPUs, " \
			origin["kernel"] ", " origin["compiler"]
	if (n == 1 && (w[1] == "date" || w[1] == "commit"))
		return origin[w[1]]
	if (w[1] == "table") {
		sub(/^table[ \t\n]*/, "", text)
		return table(text)
	}
	if (w[1] == "losses") {
		sub(/^losses[ \t\n]*/, "", text)
		return losses(text)
	}
	if (w[1] == "goal")
		return goal(w, n)
	return expression(w, 1, n)
}

# Returns the template with its placeholders replaced. Sets `bare` to the template
# without its placeholders, but with as many lines.
function rendered(text, line,    out, before) {
	out = ""
	bare = ""
	at = line
	while (match(text, /[{][^{}]*[}]/)) {
		before = substr(text, 1, RSTART - 1)
		inner = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, RSTART + RLENGTH)
		at += gsub(/\n/, "\n", before)
		out = out before placeholder()
		bare = bare before
		# The next one may be lines further down.
		before = inner
		gsub(/[^\n]+/, "", before)
		at += length(before)
		bare = bare before
	}
	if (text ~ /[{}]/ || bare ~ /[{}]/)
		complain(line, "a brace without its partner")
	bare = bare text
	return out text
}

# --- figures that were typed by hand ----------------------------------------

function is_figure(n, unit,    digits) {
	gsub(/,/, "", n)
	if (unit ~ /^(ns|us|µs|μs)/)
		return n != "1" && n != "10" && n != "100"
	if (unit ~ /^wake-ups/)
		return n + 0 != 0
	if (unit !~ /^ms/)
		return 1
	digits = n
	if (digits ~ /[.]/)
		sub(/[.]?0*$/, "", digits)
	sub(/[.]/, "", digits)
	sub(/^0+/, "", digits)
	sub(/0+$/, "", digits)
	return length(digits) > 1
}

function check_typed(text, line,    found, n, unit) {
	if (index(text, "<!-- not a figure -->"))
		return
	gsub(/`[^`]*`/, "`", text)
	while (match(text, typed)) {
		found = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH - 1)
		n = found
		match(n, /^[0-9][0-9.,]*/)
		unit = substr(n, RLENGTH + 1)
		n = substr(n, 1, RLENGTH)
		sub(/^[ *]+/, "", unit)
		if (is_figure(n, unit)) {
			sub(/[^a-z]$/, "", unit)
			complain(line, "a measured figure that was typed: " n \
				" " unit "; put it into a block of figures" \
				(page ~ /^docs\/internals\// ? \
				", or of what was measured once" : "") \
				", see scripts/figures")
		}
	}
}

# --- the page ---------------------------------------------------------------

function end_template(    line, n, i) {
	made = rendered(template, begin + 1)
	if (check) {
		n = split(bare, line, "\n")
		for (i = 1; i <= n; i++)
			check_typed(line[i], begin + i)
	}
	print "-->"
	if (made != "")
		print made
	made_lines = made == "" ? 0 : split(made, made_line, "\n")
	old_lines = 0
	differs = 0
	state = "old"
}

function end_block() {
	if (!differs && old_lines != made_lines)
		differs = FNR
	if (check && differs)
		complain(differs, "this is not what " results \
			" says; run ./dev figures")
	state = ""
	print
}

BEGIN {
	usual = "tickwheel tickwheel_clock tickwheel_hashed netty_1ms " \
		"netty_100ms stpe go mutex_wheel mutex_libev mutex_libuv " \
		"mutex_libevent timerfd mutex_hash sharded_hash"
	factor["ns"] = 1
	factor["us"] = factor["µs"] = 1000
	factor["ms"] = 1000000
	factor["s"] = 1000000000
	factor["bytes"] = 1
	factor["KiB"] = 1024
	factor["MiB"] = 1048576
	# No multi-byte letter is in brackets, because some awks know only
	# bytes.
	typed = "[0-9][0-9.,]*[ *]*((ns|us|µs|μs|ms|wake-ups)([^a-zA-Z0-9_]|$)|×" \
		"|times (as|faster|slower|less|more)([^a-z]|$))"
}

FILENAME == results {
	read_object($0)
	if ("date" in value_of)
		take_origin()
	else
		take_row()
	next
}

FNR == 1 && !("date" in origin) {
	no_results(1, "no line with the date, the commit and the machine")
}

state == "template" {
	if ($0 == "-->") {
		end_template()
		next
	}
	if (index($0, "-->"))
		complain(FNR, "--> must stand alone on its line, to end a template")
	template = template (FNR == begin + 1 ? "" : "\n") $0
	print
	next
}

state == "old" {
	if ($0 == "<!-- /figures -->") {
		end_block()
		next
	}
	if ($0 ~ /^<!-- figures/) {
		complain(begin, "a block of figures without <!-- /figures -->")
		begin = 0
		exit
	}
	old_lines++
	if (!differs && (old_lines > made_lines || $0 != made_line[old_lines]))
		differs = FNR
	next
}

/^(```|~~~)/ { fence = fence ? 0 : FNR }
fence { print; next }

$0 == "<!-- figures" {
	state = "template"
	template = ""
	begin = FNR
	print
	next
}

/^[ \t]*<!-- *\/?figures/ {
	complain(FNR, "a block of figures does not begin or end like this: " $0)
}

$0 == "<!-- measured once -->" {
	if (page !~ /^docs\/internals\//)
		complain(FNR, "measured once: only in docs/internals")
	once = FNR
}

$0 == "<!-- /measured once -->" {
	if (!once)
		complain(FNR, "nothing that was measured once begins before this")
	once = 0
}

check && !once { check_typed($0, FNR) }
{ print }

END {
	if (no_good)
		exit 2
	if (state != "" && begin)
		complain(begin, "a block of figures without <!-- /figures -->")
	if (once)
		complain(once, "measured once: without an end")
	exit bad
}
