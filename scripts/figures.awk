# SPDX-License-Identifier: MIT
# figures.awk - writes a page with new figures to stdout:
# awk -v page=PAGE -v results=FILE -v queue=FILE -v redis=FILE -v check=1|""
#     -f figures.awk FILE... PAGE
#
# scripts/figures describes the templates. Mistakes are reported on stderr, with
# page and line, and the exit status is 1. If the results cannot be used, the
# exit status is 2.

function complain(line, text) {
	printf "%s:%d: %s\n", page, line, text >"/dev/stderr"
	bad = 1
}

function no_results(line, text) {
	printf "%s:%d: %s\n", FILENAME, line, text >"/dev/stderr"
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
		if (key != "date" && (FILENAME, key) in origin && \
		    origin[FILENAME, key] != value_of[key])
			no_results(FNR, "runs of two kinds: " key " was " \
				origin[FILENAME, key] ", and is " value_of[key])
		origin[FILENAME, key] = value_of[key]
	}
	if (value_of["commit"] ~ /-dirty$/)
		no_results(FNR, "measured with changes that are in no commit: " \
			value_of["commit"])
}

# Returns the file of results that has a row, or all rows of a kind: "queue/".
function file_of(row) {
	return row ~ /^queue\// ? queue : row ~ /^redis\// ? redis : results
}

function take_row(    row, impl, key) {
	row = value_of["bench"]
	impl = value_of["impl"]
	if (row == "" || impl == "")
		no_results(FNR, "this is not a line of the benchmark")
	if (FILENAME != file_of(row))
		no_results(FNR, row " is not a row of this file")
	if (impl == "summary")
		return
	if ((row, impl) in there)
		no_results(FNR, row " of " impl " is there twice")
	if (!is_number(value_of["median"]))
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

function is_number(text) {
	return text ~ /^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$/
}

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

# Returns x as text, like shown(). If a goal of the block is about this
# expression, and the rounded text would contradict the verdict, more digits are
# shown.
function shown_beside_goal(x, about,    text, digits) {
	text = shown(x)
	digits = text ~ /[.]/ ? length(text) - index(text, ".") : 0
	while (contradicts(text + 0, x, about) && digits < 12)
		text = sprintf("%." ++digits "f", x)
	return text
}

function contradicts(text, x, about,    part, n, i) {
	n = split(goals_of[about], part, " ")
	for (i = 1; i < n; i += 2) {
		if (meets(text, part[i], part[i + 1]) != \
		    meets(x, part[i], part[i + 1]))
			return 1
	}
	return 0
}

# Returns whether x reaches a goal. Only the first nine digits count. The results
# have fewer, and later digits are an error of the division: 0.3 / 0.1 is less
# than 3.
function meets(x, wanted, limit) {
	x = sprintf("%.9g", x) + 0
	return wanted == ">=" ? x >= limit + 0 : x <= limit + 0
}

# Returns the unit as the results name it: "us" for "µs" and "microseconds".
function unit_name(text) {
	sub(/\/.*/, "", text)
	return text in same_unit ? same_unit[text] : text
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
		complain(at, "there is no row " row " in " file_of(row))
	else
		complain(at, "there is no " impl " in the row " row " of " \
			file_of(row))
	return 0
}

function joined(w, from, to,    text) {
	text = w[from]
	while (++from <= to)
		text = text " " w[from]
	return text
}

# Returns whether the value of that key is a number. Complains if it is not.
function has_number(row, impl, key) {
	if (is_number(value[row, impl, key]))
		return 1
	complain(at, "the " key " of " row " " impl " is no number")
	return 0
}

# Returns whether a rival is better than tickwheel. A rival that fired early is
# not. tickwheel itself in another form is no rival; "null" does nothing, and a
# floor, such as "set", is a part of what each entrant has to do.
function is_better(row, impl) {
	return (row, "tickwheel") in there && \
		impl !~ /^(tickwheel.*|null|floor.*|set)$/ && \
		value[row, impl, "median"] + 0 < \
		value[row, "tickwheel", "median"] + 0 && !was_early(row, impl)
}

# w[from..to] is ROW IMPL [UNIT or KEY], or ROW IMPL / ROW IMPL. Returns the text,
# and sets `number` and `unit`. If something is wrong, complains and returns "".
# `number` is "" if the text is not one number.
function expression(w, from, to,    row, impl, what, n) {
	row = w[from]
	impl = w[from + 1]
	what = w[from + 2]
	n = to - from + 1
	number = unit = ""
	if (n == 5 && what == "/") {
		if (!known(row, impl) || !known(w[from + 3], w[from + 4]))
			return ""
		n = value[w[from + 3], w[from + 4], "median"]
		if (n + 0 == 0) {
			complain(at, "a ratio to 0: " w[from + 3] " " w[from + 4])
			return ""
		}
		number = value[row, impl, "median"] / n
		unit = "×"
		return shown_beside_goal(number, joined(w, from, to))
	}
	if (n != 2 && n != 3) {
		complain(at, "this is no placeholder: {" inner "}")
		return ""
	}
	if (!known(row, impl))
		return ""
	unit = unit_name(value[row, impl, "unit"])
	if (n == 2) {
		number = value[row, impl, "median"] + 0
	} else if (what == "range") {
		if (!has_number(row, impl, "min") || !has_number(row, impl, "max"))
			return ""
		return shown(value[row, impl, "min"]) "–" \
			shown(value[row, impl, "max"])
	} else if (what == "wins") {
		if (!is_better(row, impl)) {
			complain(at, impl " is not better than tickwheel in " row \
				"; change the sentence")
			return ""
		}
		number = value[row, impl, "median"] + 0
	} else if ((row, impl, what) in value) {
		if (!has_number(row, impl, what))
			return ""
		number = value[row, impl, what] + 0
		# The others count something.
		if (what !~ /^(median|min|max)$/)
			unit = ""
	} else {
		number = converted(value[row, impl, "median"], \
			value[row, impl, "unit"], what)
		if (number == "") {
			complain(at, "no " what " of " row ", which is in " \
				value[row, impl, "unit"])
			return ""
		}
		unit = unit_name(what)
	}
	return shown_beside_goal(number, joined(w, from, to))
}

# Notes the goals of a template in goals_of[]: operators and limits. The figures
# that they are about may come first.
function note_goals(text,    w, n, about) {
	split("", goals_of)
	while (match(text, /[{][ \t\n]*goal[ \t\n][^{}]*[}]/)) {
		n = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, RSTART + RLENGTH)
		gsub(/^[ \t\n]+|[ \t\n]+$/, "", n)
		n = split(n, w, /[ \t\n]+/)
		if (!is_goal(w, n))
			continue
		about = joined(w, 2, n - 2)
		goals_of[about] = goals_of[about] " " w[n - 1] " " w[n]
	}
}

function is_goal(w, n) {
	return n >= 5 && (w[n - 1] == ">=" || w[n - 1] == "<=") && \
		is_number(w[n])
}

function goal(w, n,    text) {
	if (!is_goal(w, n)) {
		complain(at, "this is no placeholder: {" inner "}")
		return ""
	}
	text = expression(w, 2, n - 2)
	unit = ""
	if (text == "")
		return ""
	if (number == "") {
		complain(at, "a goal needs one number: {" inner "}")
		return ""
	}
	return (w[n - 1] == ">=" ? "at least " : "at most ") w[n] ": " \
		(meets(number, w[n - 1], w[n]) ? "reached" : "**not reached**")
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
			complain(at, "there is no row " list[i] " in " \
				file_of(list[i]))
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
			if (is_better(rows[i], names[k]))
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

# Returns the text that replaces {inner}, and sets `unit` to its unit.
function placeholder(    w, n, text, file) {
	text = inner
	unit = ""
	gsub(/^[ \t\n]+|[ \t\n]+$/, "", text)
	n = split(text, w, /[ \t\n]+/)
	file = n == 2 ? file_of(w[2] "/") : results
	if (n == 1 || file != results) {
		if (w[1] == "machine")
			return origin[file, "cpu"] ", " origin[file, "cpus"] \
				" CPUs, " origin[file, "kernel"] ", " \
				origin[file, "compiler"]
		if (w[1] == "date" || w[1] == "commit")
			return origin[file, w[1]]
	}
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

# Complains if the text behind a placeholder begins with another unit than that of
# the figure.
function check_unit(behind,    word, name) {
	behind = with_plain_spaces(substr(behind, 1, 80))
	if (!match(behind, "^[ \t\n*]*(" unit_words ")"))
		return
	word = substr(behind, 1, RLENGTH)
	if (word !~ /×$/ && substr(behind, RLENGTH + 1, 1) ~ /[a-zA-Z0-9_]/)
		return
	sub(/^[ \t\n*]+/, "", word)
	if (unit_name(word) == unit)
		return
	name = inner
	gsub(/[ \t\n]+/, " ", name)
	if (unit == "")
		complain(at, "{" name "} has no unit, but " word " follows")
	else
		complain(at, "{" name "} is in " unit ", but " word " follows")
}

# Returns the template with its placeholders replaced. Sets `bare` to the template
# without its placeholders, but with as many lines.
function rendered(text, line,    out, before, made) {
	note_goals(text)
	out = ""
	bare = ""
	at = line
	while (match(text, /[{][^{}]*[}]/)) {
		before = substr(text, 1, RSTART - 1)
		inner = substr(text, RSTART + 1, RLENGTH - 2)
		text = substr(text, RSTART + RLENGTH)
		at += gsub(/\n/, "\n", before)
		made = placeholder()
		if (made != "")
			check_unit(text)
		out = out before made
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

# Returns the text with a plain space for each space that does not break a line,
# in HTML or in UTF-8, and for each thin one.
function with_plain_spaces(text) {
	gsub(/&nbsp;|&#160;|&#xA0;|&#xa0;|&thinsp;/, " ", text)
	gsub("\302\240|\342\200\257|\342\200\211", " ", text)
	return text
}

function is_figure(n, unit,    digits) {
	gsub(/,/, "", n)
	unit = unit_name(unit)
	if (unit ~ /^[nu]s$/)
		return n != "1" && n != "10" && n != "100"
	if (unit == "wakeups")
		return n + 0 != 0
	if (unit != "ms")
		return 1
	digits = n
	if (digits ~ /[.]/)
		sub(/[.]?0*$/, "", digits)
	sub(/[.]/, "", digits)
	sub(/^0+/, "", digits)
	sub(/0+$/, "", digits)
	return length(digits) > 1
}

# Complains about the measured figures in a line of text. If the line before ended
# with a number, `carry` is that number, and it belongs to this line too.
function check_typed(text, line,    found, n, unit, carried) {
	if (index(text, "<!-- not a figure -->"))
		return
	text = with_plain_spaces(text)
	gsub(/`[^`]*`/, "`", text)
	carried = 0
	# A blank line ends a sentence.
	if (carry_line == line - 1 && carry != "" && text !~ /^[ \t>]*$/) {
		sub(/^[ \t>]+/, "", text)
		carried = length(carry)
		text = carry " " text
	}
	while (match(text, typed)) {
		found = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH - 1)
		carried -= RSTART - 1
		n = found
		match(n, /^[0-9][0-9.,]*/)
		unit = substr(n, RLENGTH + 1)
		n = substr(n, 1, RLENGTH)
		sub(/^[ *]+/, "", unit)
		if (unit !~ /×$/)
			sub(/[^a-z]$/, "", unit)
		if (is_figure(n, unit))
			complain(carried > 0 ? line - 1 : line, \
				"a measured figure that was typed: " n \
				" " unit "; put it into a block of figures" \
				(page ~ /^docs\/internals\// ? \
				", or of what was measured once" : "") \
				", see scripts/figures")
		carried = 0
	}
	carry = ""
	if (match(text, /[0-9]([0-9.,]*[0-9])?[ *]*((times|x) *)?$/)) {
		carry = substr(text, RSTART)
		carry_line = line
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
	usual = "tickwheel tickwheel_inline tickwheel_clock " \
		"tickwheel_hashed netty_1ms netty_100ms stpe go mutex_wheel " \
		"mutex_wheel_malloc mutex_libev mutex_libuv mutex_libevent " \
		"timerfd mutex_hash sharded_hash mutex_lists"
	factor["ns"] = 1
	factor["us"] = factor["µs"] = 1000
	factor["ms"] = 1000000
	factor["s"] = 1000000000
	factor["bytes"] = 1
	factor["KiB"] = 1024
	factor["MiB"] = 1048576
	same_unit["µs"] = same_unit["μs"] = "us"
	same_unit["nanosecond"] = same_unit["nanoseconds"] = "ns"
	same_unit["microsecond"] = same_unit["microseconds"] = "us"
	same_unit["millisecond"] = same_unit["milliseconds"] = "ms"
	same_unit["second"] = same_unit["seconds"] = "s"
	same_unit["byte"] = "bytes"
	same_unit["wake-up"] = same_unit["wake-ups"] = "wakeups"
	same_unit["x"] = "×"
	small = "ns|us|µs|μs|ms|(nano|micro|milli)seconds?|wake-ups"
	unit_words = small "|wake-up|s|seconds?|bytes?|[KMG]iB|[kKMG]B|×|x"
	compared = "(as|faster|slower|less|more)([^a-z]|$)"
	# No multi-byte letter is in brackets, because some awks know only
	# bytes.
	typed = "[0-9][0-9.,]*[ *]*((" small ")([^a-zA-Z0-9_]|$)|×" \
		"|(times|x) +" compared ")" \
		"|[0-9]([0-9.,]*[0-9])?x([^a-zA-Z0-9_]|$)"
}

FILENAME == results || FILENAME == queue || FILENAME == redis {
	if (FNR == 1 && $0 !~ /"date":/)
		no_results(1, "no line with the date, the commit and the machine")
	read_object($0)
	if ("date" in value_of)
		take_origin()
	else
		take_row()
	next
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
	if (fence)
		complain(fence, "a block of code without its end")
	if (once)
		complain(once, "measured once: without an end")
	exit bad
}
