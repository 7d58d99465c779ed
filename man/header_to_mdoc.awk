# SPDX-License-Identifier: MIT
# header_to_mdoc.awk - turns a public header into a manual page, in mdoc(7).
#
#   awk -v page=tkw_leases -v date='November 16, 2026' \
#       -v pages='tkw_leases tkw_timer' -f header_to_mdoc.awk \
#       include/tickwheel/lease.h [EXAMPLE.c EXAMPLE.txt]...
#
# The headers are the only place that states the contract. This script copies
# their comments and declarations; it adds no sentence of its own about them.
# The first file is the header. Each EXAMPLE.c becomes a program of EXAMPLES,
# introduced by the comment below its licence line; EXAMPLE.txt is its output.
#
# A header is a row of chunks with blank lines between them. A chunk is one
# comment and the declarations below it. A comment is made of
#
#   text           paragraphs, with blank lines between them
#   name  text     a parameter or field, at least two spaces, its description
#   <2>tag  text   two spaces, a tag such as -EINVAL, at least two spaces, text
#   <4>text        four spaces or more: a display, such as a line of code
#
# Further lines of a description are indented to the column of its text. Nothing
# is guessed: a comment that has another form is reported, one line each with
# file and line, and the exit status is 1.
#
# It is written for any POSIX awk. mawk has no {2} in regular expressions, awks
# differ about backslashes in gsub(), and not all know "%*s": none is used.

BEGIN {
	failed = chunks = nodes = 0
	# Columns for displays: the terminal's 80, less the page's indentation.
	WIDTH = 73
}

FNR == 1 {
	kind = FILENAME
	sub(/.*\./, "", kind)
	if (kind == "h") {
		header = FILENAME
		short = header
		sub(/.*\//, "", short)
	} else if (kind == "c") {
		examples++
	}
}

kind == "h" {
	line[++lines] = expand($0)
}

kind == "c" {
	program[examples, ++program_lines[examples]] = expand($0)
}

kind == "txt" {
	result[examples, ++result_lines[examples]] = expand($0)
}

END {
	read_header()
	write_page()
	close("/dev/stderr")
	if (failed)
		exit 1
	printf "%s", head_part
	printf "%s", body_part
}

# bad(AT, WHAT): reports a mistake in a line of the header.
function bad(at, what)
{
	print header ":" at ": " what >"/dev/stderr"
	failed = 1
}

# --- strings -----------------------------------------------------------------

function trim(s)
{
	sub(/^[ \t]+/, "", s)
	sub(/[ \t]+$/, "", s)
	return s
}

# Tabs become spaces, with a stop every eight columns.
function expand(s,   at)
{
	while ((at = index(s, "\t")) > 0)
		s = substr(s, 1, at - 1) \
			substr("        ", 1, 8 - (at - 1) % 8) substr(s, at + 1)
	return s
}

function indent_of(s)
{
	match(s, /^ */)
	return RLENGTH
}

# replace(S, OLD, NEW): all occurrences, without regular expressions.
function replace(s, old, new,   done, at)
{
	done = ""
	while ((at = index(s, old)) > 0) {
		done = done substr(s, 1, at - 1) new
		s = substr(s, at + length(old))
	}
	return done s
}

# What roff would take for something else.
function escape(s)
{
	s = replace(s, "\\", "\\e")
	s = replace(s, "^", "\\(ha")
	s = replace(s, "~", "\\(ti")
	s = replace(s, "`", "\\(ga")
	return s
}

# The same where each character is to be copied as it is.
function escape_literal(s)
{
	s = escape(s)
	s = replace(s, "-", "\\-")
	s = replace(s, "'", "\\(aq")
	if (s ~ /^\./)
		s = "\\&" s
	return s
}

# --- reading -----------------------------------------------------------------

# without_comments(S): the code of a line. in_note tells whether a comment goes
# on in the next line.
function without_comments(s,   code, at)
{
	code = ""
	for (;;) {
		if (in_note) {
			if ((at = index(s, "*/")) == 0)
				return code
			s = substr(s, at + 2)
			in_note = 0
		} else {
			if ((at = index(s, "/*")) == 0)
				return code s
			code = code substr(s, 1, at - 1) " "
			s = substr(s, at + 2)
			in_note = 1
		}
	}
}

function count(s, ch,   n, at)
{
	n = 0
	while ((at = index(s, ch)) > 0) {
		n++
		s = substr(s, at + 1)
	}
	return n
}

# The text of a line of a comment.
function comment_text(s)
{
	sub(/[ ]*\*\/[ ]*$/, "", s)
	sub(/^ *\/?\*/, "", s)
	sub(/^ /, "", s)
	sub(/ +$/, "", s)
	return s
}

function new_chunk()
{
	if (chunk_comments[chunks] || chunk_codes[chunks])
		chunks++
	chunk_comments[chunks] = chunk_codes[chunks] = 0
	depth = 0
}

# Splits the header into chunks: the comment of each, and its code.
function read_header(   i, s, code, in_comment, skip, macro)
{
	chunks = 1
	new_chunk()
	in_comment = skip = macro = in_note = 0
	for (i = 1; i <= lines; i++) {
		s = line[i]
		if (skip) {
			skip = s !~ /^#endif/
		} else if (in_comment) {
			in_comment = index(s, "*/") == 0
			add_comment(i, s)
		} else if (s ~ /^#ifdef __cplusplus/) {
			skip = 1
			new_chunk()
		} else if (s ~ /^ *$/ && depth == 0) {
			new_chunk()
		} else if (s ~ /^\/\*/ && depth == 0) {
			if (s ~ /SPDX-License-Identifier/)
				continue
			if (chunk_comments[chunks] || chunk_codes[chunks])
				new_chunk()
			in_comment = index(s, "*/") == 0
			add_comment(i, s)
		} else if (s ~ /^#/ && s !~ /^#define/ || s ~ /^#define [A-Z_]*_H$/) {
			continue
		} else {
			code = without_comments(s)
			if (code ~ /^#define/)
				macro = 1
			if (!macro)
				depth += count(code, "{") - count(code, "}")
			add_code(i, s, code, macro)
			macro = macro && code ~ /\\$/
		}
	}
	new_chunk()
	chunks--
}

function add_comment(at, s)
{
	s = comment_text(s)
	# The lines of the marks alone.
	if (s == "" && (line[at] ~ /^\/\*$/ || line[at] ~ /^ *\*\/$/))
		return
	chunk_comments[chunks]++
	comment[chunks, chunk_comments[chunks]] = s
	comment_at[chunks, chunk_comments[chunks]] = at
}

function add_code(at, s, code, macro,   n, i, word)
{
	chunk_codes[chunks]++
	source[chunks, chunk_codes[chunks]] = s
	source_at[chunks, chunk_codes[chunks]] = at
	if (code ~ /^#define/)
		chunk_macros[chunks] = chunk_macros[chunks] ", " macro_name(code)
	if (!macro)
		chunk_code[chunks] = chunk_code[chunks] " " trim(code)
	gsub(/[^A-Za-z0-9_]+/, " ", code)
	n = split(code, word, " ")
	for (i = 1; i <= n; i++) {
		identifier[word[i]] = 1
		is_word_of[chunks, word[i]] = 1
	}
}

function macro_name(s)
{
	sub(/^#define +/, "", s)
	sub(/[^A-Za-z0-9_].*/, "", s)
	return s
}

# --- declarations ------------------------------------------------------------

# statements(CHUNK): splits the code of a chunk at the semicolons outside of
# braces, into statement[1] ...; returns how many there are. The body of a
# function ends a statement too, and so does the end of the chunk.
function statements(c,   s, i, ch, deep, n, one)
{
	s = chunk_code[c]
	n = deep = 0
	one = ""
	for (i = 1; i <= length(s); i++) {
		ch = substr(s, i, 1)
		if (ch == "{")
			deep++
		if (ch == "}")
			deep--
		if (ch != ";" || deep > 0)
			one = one ch
		if (deep == 0 && (ch == ";" || ch == "}" && has_body(one) ||
		    i == length(s)) && trim(one) != "") {
			statement[++n] = trim(one)
			gsub(/[ \t]+/, " ", statement[n])
			one = ""
		}
	}
	return n
}

# A function with its body? Of "int f(void) { ... }" a parenthesis ends what is
# left of the brace.
function has_body(s)
{
	return s ~ /^[^{]*\)[^({]*[{]/
}

# parse_prototype(S): sets proto_type, proto_name and proto_arg[1 ... proto_args].
# Returns 0 if S declares no function.
function parse_prototype(s,   i, ch, deep, one)
{
	if (s ~ /^(struct|enum|union)[^(]*[{]/ ||
	    !match(s, /tkw_[A-Za-z0-9_]+ *\(/))
		return 0
	proto_type = trim(substr(s, 1, RSTART - 1))
	proto_name = substr(s, RSTART, RLENGTH)
	sub(/ *\($/, "", proto_name)
	s = substr(s, RSTART + RLENGTH)
	proto_args = deep = 0
	one = ""
	for (i = 1; i <= length(s) && deep >= 0; i++) {
		ch = substr(s, i, 1)
		if (ch == "(")
			deep++
		if (ch == ")")
			deep--
		if (deep < 0 || ch == "," && deep == 0) {
			proto_arg[++proto_args] = trim(one)
			one = ""
		} else {
			one = one ch
		}
	}
	return 1
}

# The name of a parameter: of "int (*fn)(void *)" it is fn.
function argument_name(s)
{
	if (match(s, /\(\* *[A-Za-z0-9_]+/)) {
		s = substr(s, RSTART, RLENGTH)
	} else {
		sub(/ *\[.*/, "", s)
	}
	sub(/.*[^A-Za-z0-9_]/, "", s)
	return s
}

# The prototype as code, in lines that are not too long.
function prototype_text(   s, i, arg, lines_done)
{
	s = proto_type
	if (s !~ /\*$/)
		s = s " "
	s = s proto_name "("
	lines_done = ""
	for (i = 1; i <= proto_args; i++) {
		arg = proto_arg[i] (i < proto_args ? "," : ");")
		if (i > 1 && length(s) + 1 + length(arg) > WIDTH) {
			lines_done = lines_done escape_literal(s) "\n"
			s = "    " arg
		} else {
			s = s (i > 1 ? " " : "") arg
		}
	}
	return lines_done escape_literal(s)
}

# --- comments ----------------------------------------------------------------

function node(what, tag, text)
{
	node_kind[++nodes] = what
	node_tag[nodes] = tag
	node_text[nodes] = text
}

# Names of parameters or fields, such as "buf, size"?
function is_names(s)
{
	return s ~ /^[A-Za-z_][A-Za-z0-9_]*(, [A-Za-z_][A-Za-z0-9_]*)*$/
}

# unknown_name(CHUNK, S): the first of the names that is neither a parameter of
# the chunk's functions nor, in a type, a word of its source; "" if all are.
function unknown_name(c, s,   n, i, name)
{
	n = split(s, name, /, */)
	for (i = 1; i <= n; i++)
		if (chunk_kind[c] == "type" ? !((c, name[i]) in is_word_of) : \
		    !((c, name[i]) in is_parameter_of))
			return name[i]
	return ""
}

# parse_comment(CHUNK, FIRST): from line FIRST on, into nodes:
#   P paragraph   D display   A parameter or field   T tag and text
#   p, d          a further paragraph, or a display, inside of A or T
function parse_comment(c, first,   i, s, at, blank, indent, column, tag, \
		       next_indent)
{
	nodes = 0
	column = 0 # of the text of the item that is open; 0: there is none
	blank = 1
	for (i = first; i <= chunk_comments[c]; i++) {
		s = comment[c, i]
		at = comment_at[c, i]
		if (s == "") {
			blank = 1
			continue
		}
		indent = indent_of(s)
		next_indent = i < chunk_comments[c] ? \
			indent_of(comment[c, i + 1]) : 0
		if (column && indent >= column) {
			continue_item(blank, indent - column, s)
		} else if (indent == 0) {
			column = 0
			tag = s
			sub(/   *[^ ].*/, "", tag)
			if (is_names(tag) && (tag != s || next_indent >= 4 &&
			    unknown_name(c, tag) == "")) {
				check_names(c, at, tag)
				column = add_item("A", at, s, tag, next_indent)
			} else if (blank || node_kind[nodes] != "P") {
				node("P", "", s)
			} else {
				node_text[nodes] = node_text[nodes] " " s
			}
		} else if (indent == 2) {
			s = substr(s, 3)
			tag = s
			sub(/   *[^ ].*/, "", tag)
			if (tag ~ /,$/ && tag == s && next_indent == 2) {
				# More tags follow in the next line.
				comment[c, i + 1] = "  " tag " " \
					substr(comment[c, i + 1], 3)
				continue
			}
			column = add_item("T", at, s, tag, next_indent)
			if (column)
				column += tag == s ? 0 : 2
		} else if (indent >= 4 && (blank || !column)) {
			column = 0
			if (node_kind[nodes] == "D" && !blank)
				node_text[nodes] = node_text[nodes] "\n" \
					substr(s, 5)
			else
				node("D", "", substr(s, 5))
		} else if (column) {
			bad(at, "indent this line to the text above it, by " \
				column - indent " more")
		} else {
			bad(at, "do not indent this line, or by two for a list, " \
				"or by four for a display")
		}
		blank = 0
	}
}

function check_names(c, at, tag,   name)
{
	name = unknown_name(c, tag)
	if (name != "")
		bad(at, "\"" name "\" is no parameter or field of what is " \
			"declared below; correct the name, or write one space " \
			"behind it if it begins a sentence")
}

# Adds an item; returns the column of its text.
function add_item(what, at, s, tag, next_indent,   text)
{
	text = trim(substr(s, length(tag) + 1))
	if (text == "" && next_indent < 4) {
		bad(at, "\"" tag "\" has no text; write at least two spaces " \
			"behind it, and then what it means")
		return 0
	}
	node(what, tag, text)
	return text == "" ? next_indent : length(s) - length(text)
}

function continue_item(blank, deeper, s)
{
	s = substr(s, indent_of(s) - (deeper >= 2 ? deeper - 2 : 0) + 1)
	if (deeper >= 2) {
		if (node_kind[nodes] == "d" && !blank)
			node_text[nodes] = node_text[nodes] "\n" s
		else
			node("d", "", s)
	} else if (blank || node_kind[nodes] == "d") {
		node("p", "", s)
	} else {
		node_text[nodes] = trim(node_text[nodes] " " s)
	}
}

# --- writing -----------------------------------------------------------------

function out(s)
{
	body_part = body_part s "\n"
}

# Paragraphs need .Pp between them, but not below a heading.
function paragraph()
{
	if (!fresh)
		out(".Pp")
	fresh = 0
}

# heading(MACRO, TEXT)
function heading(macro, text)
{
	out("." macro " " text)
	fresh = 1
}

function display(text, options,   n, i, row)
{
	out(".Bd -literal" options)
	n = split(text, row, "\n")
	for (i = 1; i <= n; i++)
		out(escape_literal(row[i]))
	out(".Ed")
	fresh = 0
}

# macro_for(NAME): the mdoc macro for a word of the text, or "". Words that are
# English too, such as id and count, are left alone.
function macro_for(name)
{
	if (name ~ /^-E[A-Z0-9]+$/)
		return "Er \\" name
	if (name == "NULL" || name ~ /^[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]$/)
		return "Dv " name
	if (name == "errno")
		return "Va " name
	if (name ~ /^(u?int[0-9]+_t|size_t)$/ || name in is_type)
		return "Vt " name
	if (name in identifier && (name ~ /^[a-z]+_[a-z_]*[a-z]$/ ||
	    name ~ /^(ctx|cfg|fn|buf)$/) && name !~ /^tkw_/)
		return "Fa " name
	return ""
}

# mark_up(WORD, NEXT): sets marked to a line of mdoc, and returns how many of
# the two words it stands for; 0 if the word is plain.
function mark_up(word, after,   open, name, close_, macro, used)
{
	used = 1
	open = ""
	if (word ~ /^\(/) {
		open = "Pf ( "
		word = substr(word, 2)
	}
	if (word ~ /^(struct|enum)$/ && after ~ /^tkw_[a-z_]+[.,:;)?!]*$/) {
		match(after, /^tkw_[a-z_]+/)
		name = substr(after, 1, RLENGTH)
		close_ = substr(after, RLENGTH + 1)
		macro = "Vt " word " " name
		used = 2
	} else if (match(word, /^[a-z_][A-Za-z0-9_]*\(\)/)) {
		name = substr(word, 1, RLENGTH - 2)
		close_ = substr(word, RLENGTH + 1)
		if (name ~ /^tkw_/ && !(name in is_function))
			macro = "Xr " name " 3"
		else
			macro = "Fn " name
	} else if (match(word, /^`[A-Za-z0-9_]+`/)) {
		macro = "Fa " substr(word, 2, RLENGTH - 2)
		close_ = substr(word, RLENGTH + 1)
	} else if (match(word, /^-?[A-Za-z_][A-Za-z0-9_]*/)) {
		name = substr(word, 1, RLENGTH)
		close_ = substr(word, RLENGTH + 1)
		macro = macro_for(name)
	}
	if (macro == "" || close_ !~ /^[.,:;)?!]*$/)
		return 0
	gsub(/./, " &", close_)
	marked = "." open macro close_
	return used
}

# Running text: a sentence begins a line, and so does a macro.
function write_text(s,   n, i, used, word, now)
{
	# In the page that list is at the bottom.
	s = replace(s, "as listed at the top", "as listed under ERRORS")
	n = split(s, word, " ")
	now = ""
	for (i = 1; i <= n; i += used) {
		used = mark_up(word[i], i < n ? word[i + 1] : "")
		if (used) {
			flush_text(now)
			now = ""
			out(marked)
			continue
		}
		used = 1
		if (now != "" && length(now) + length(word[i]) > 70) {
			flush_text(now)
			now = ""
		}
		now = now (now == "" ? "" : " ") plain(word[i])
		if (word[i] ~ /[.?!][")]*$/ && word[i] !~ /\.\.\.$/) {
			flush_text(now)
			now = ""
		}
	}
	flush_text(now)
}

function flush_text(s)
{
	if (s ~ /^[.']/)
		s = "\\&" s
	if (s != "")
		out(s)
}

function plain(word)
{
	if (word ~ /^-./)
		word = "\\-" escape(substr(word, 2))
	else
		word = escape(word)
	if (word ~ /\.\.\.$/)
		word = word "\\&" # does not end a sentence
	return word
}

# The tag of an item: names or errors with commas between, or words.
function item_tag(what, tag,   n, i, part, s)
{
	if (what == "A" || tag ~ /^-E/) {
		n = split(tag, part, /, */)
		s = ""
		for (i = 1; i <= n; i++)
			s = s (i > 1 ? " , " : "") (what == "A" ? "Fa " \
				part[i] : "Er " escape_literal(part[i]))
		return s
	}
	return (tag ~ /^-?[0-9]/ ? "" : "Sy ") escape_literal(tag)
}

# The nodes FROM ... TO, the lists with their items close together or not.
function write_nodes(from, to, compact,   i, what, open)
{
	open = ""
	for (i = from; i <= to; i++) {
		what = node_kind[i]
		if (open != "" && what != open && what !~ /[pd]/) {
			out(".El")
			open = ""
		}
		if (what == "P") {
			paragraph()
			write_text(node_text[i])
		} else if (what == "p") {
			out(".Pp")
			write_text(node_text[i])
		} else if (what == "D") {
			display(node_text[i], " -offset indent")
		} else if (what == "d") {
			display(node_text[i], "")
		} else {
			if (open == "") {
				# A list of returns stands close to its sentence.
				if (compact && what == "A")
					paragraph()
				out(".Bl -tag -width " widest(i, to) (compact ? \
					" -compact" (what == "T" ? \
					" -offset 2n" : "") : ""))
				fresh = 0
				open = what
			}
			out(".It " item_tag(what, node_tag[i]))
			write_text(node_text[i])
		}
	}
	if (open != "")
		out(".El")
}

# The longest tag of the list that begins with node I, if it is not too long.
function widest(i, to,   what, most, wide)
{
	what = node_kind[i]
	most = 0
	wide = "Ds"
	for (; i <= to && (node_kind[i] == what || node_kind[i] ~ /[pd]/); i++)
		if (node_kind[i] == what && length(node_tag[i]) > most &&
		    length(node_tag[i]) <= 14) {
			wide = escape_literal(node_tag[i])
			most = length(node_tag[i])
		}
	return replace(wide, " ", "_")
}

function write_page(   c, first)
{
	for (c = 1; c <= chunks; c++)
		classify(c)
	first = 0
	for (c = 1; c <= chunks; c++) {
		if (!first && chunk_comments[c]) {
			first = c
			write_head(c)
		} else if (c in chunk_kind) {
			write_chunk(c)
		}
	}
	if (!first)
		bad(1, "no comment at the top; write \"" short " - what it is\"")
	write_examples()
	body_part = body_part errors_part
	write_see_also()
	write_top()
}

# Is S a declaration that gets into the page? A plain typedef, one of a pointer to
# a function, a variable and a function with a body do not.
function is_known_form(s)
{
	if (s ~ /^(struct|enum|union) tkw_[a-z0-9_]+( [{].*[}])?$/)
		return 1
	return s !~ /^static / && !has_body(s) && s ~ /\)$/ && \
		parse_prototype(s) && proto_type !~ /\( *\*/
}

# What a chunk declares: chunk_kind is "function", "type" or not set at all.
function classify(c,   n, i, j, names, s)
{
	n = statements(c)
	names = ""
	for (i = 1; i <= n; i++) {
		s = statement[i]
		if (!is_known_form(s)) {
			sub(/ *[{].*[}]/, " {...}", s)
			bad(source_at[c, 1], "the page would lack \"" s "\"; declare " \
				"functions, functions with a typedef, and structs, " \
				"enums and unions with a name")
			continue
		}
		if (parse_prototype(s)) {
			for (j = 1; j <= proto_args; j++)
				is_parameter_of[c, argument_name(proto_arg[j])] = 1
			if (proto_type ~ /^typedef/) {
				names = names ", " proto_name
				is_type[proto_name] = 1
				chunk_kind[c] = "callback"
				continue
			}
			if (!chunk_comments[c])
				bad(source_at[c, 1], proto_name "() has no comment; " \
					"write one right above it")
			chunk_kind[c] = "function"
			function_of[++functions] = proto_name
			is_function[proto_name] = 1
			prototype[functions] = s
			names = names ", " proto_name "()"
			continue
		}
		if (match(s, /^(struct|enum|union) tkw_[a-z0-9_]+/)) {
			# An opaque type needs no word, but may have one.
			if (s !~ /[{]/ && !chunk_comments[c])
				continue
			names = names ", " substr(s, RSTART, RLENGTH)
		}
	}
	names = names chunk_macros[c]
	sub(/^, /, "", names)
	chunk_names[c] = names
	if (!(c in chunk_kind) && names != "")
		chunk_kind[c] = "type"
	if (c in chunk_kind && chunk_kind[c] != "type" &&
	    index(chunk_code[c], "{") > 0)
		bad(source_at[c, 1], "a " chunk_kind[c] " and a type share a " \
			"comment; put a blank line and a comment between them")
	# Only the source of a type is shown as it is.
	if (!(c in chunk_kind) || chunk_kind[c] != "type")
		for (i = 1; i <= chunk_codes[c]; i++)
			if (source[c, i] ~ /\/[*\/]/)
				bad(source_at[c, i], "the page would lack the comment " \
					"behind this; move it into the comment above")
	if (!(c in chunk_kind) && c > 1 && chunk_comments[c] &&
	    !chunk_codes[c] && comment[c, 1] !~ /^---/)
		bad(comment_at[c, 1], "nothing is declared below this comment; " \
			"join it to the declaration that it is about")
}

# The comment at the top: "x.h - what it is", and the description.
function write_head(c,   i, s, about, from, to)
{
	about = comment[c, 1]
	s = short " - "
	if (index(about, s) != 1) {
		bad(comment_at[c, 1], "the first line of the header is not \"" s \
			"what it is\"")
		return
	}
	for (i = 2; i <= chunk_comments[c] && comment[c, i] != ""; i++)
		about = about " " comment[c, i]
	about = trim(substr(about, length(s) + 1))
	sub(/\.$/, "", about)
	described = about
	parse_comment(c, i)
	for (from = 1; from <= nodes; from++)
		if (node_kind[from] == "P" && node_text[from] ~ /^Errors/ &&
		    from < nodes && node_kind[from + 1] == "T")
			break
	to = from
	while (to < nodes && node_kind[to + 1] ~ /[Tpd]/)
		to++
	heading("Sh", "DESCRIPTION")
	write_nodes(1, from - 1, 0)
	if (to < nodes)
		write_nodes(to + 1, nodes, 0)
	if (from > nodes)
		return
	s = body_part
	body_part = ""
	heading("Sh", "ERRORS")
	write_nodes(from, to, 1)
	errors_part = body_part
	body_part = s
}

function write_chunk(c,   n, i)
{
	heading("Ss", chunk_names[c])
	if (chunk_kind[c] == "type") {
		parse_comment(c, 1)
		write_nodes(1, nodes, 1)
		write_source(c)
		return
	}
	out(".Bd -literal")
	n = statements(c)
	for (i = 1; i <= n; i++)
		if (parse_prototype(statement[i]))
			out(prototype_text())
	out(".Ed")
	fresh = 0
	parse_comment(c, 1)
	if (chunk_kind[c] == "function" && proto_type != "void" && !says_returns())
		bad(source_at[c, 1], "nothing is said about what " proto_name \
			"() returns; write \"Returns ...\"")
	write_nodes(1, nodes, 1)
}

function says_returns(   i)
{
	for (i = 1; i <= nodes; i++)
		if (node_kind[i] == "P" && node_text[i] ~ /^Returns /)
			return 1
	return 0
}

# The source of a type, with its comments, and less indented.
function write_source(c,   i, s)
{
	out(".Bd -literal")
	for (i = 1; i <= chunk_codes[c]; i++) {
		s = source[c, i]
		if (s ~ /^        /)
			s = substr(s, 7)
		sub(/  +\\$/, " \\", s)
		out(escape_literal(s))
	}
	out(".Ed")
	fresh = 0
}

# The licence line and the comment below it are not shown as code.
function write_examples(   e, i, about, code)
{
	if (!examples)
		return
	heading("Sh", "EXAMPLES")
	for (e = 1; e <= examples; e++) {
		about = ""
		for (i = 2; i <= program_lines[e]; i++) {
			about = about " " comment_text(program[e, i])
			if (program[e, i] ~ /\*\/$/)
				break
		}
		paragraph()
		write_text(trim(about))
		code = ""
		while (++i <= program_lines[e])
			code = code (code == "" ? "" : "\n") program[e, i]
		display(code, "")
		if (!result_lines[e])
			continue
		out(".Pp")
		out("It prints")
		code = ""
		for (i = 1; i <= result_lines[e]; i++)
			code = code (i > 1 ? "\n" : "") result[e, i]
		display(code, "")
	}
}

function write_see_also(   n, i, other)
{
	heading("Sh", "SEE ALSO")
	out(".Xr tkw 1 ,")
	n = split(pages, other, " ")
	for (i = 1; i <= n; i++)
		if (other[i] != page)
			out(".Xr " other[i] " 3 ,")
	out(".Xr tickwheel 7")
}

# NAME and SYNOPSIS, once all is known that goes into them.
function write_top(   body, i, j, n, name)
{
	body = body_part
	body_part = ""
	out(".\\\" SPDX-License-Identifier: MIT")
	out(".\\\" Generated by header_to_mdoc.awk: edit " short ".")
	out(".Dd " date)
	out(".Dt " toupper(page) " 3")
	out(".Os tickwheel")
	heading("Sh", "NAME")
	n = 0
	name[++n] = page
	for (i = 1; i <= functions; i++)
		if (function_of[i] != page)
			name[++n] = function_of[i]
	for (i = 1; i <= n; i++)
		out(".Nm " name[i] (i < n ? " ," : ""))
	out(".Nd " described)
	heading("Sh", "SYNOPSIS")
	out(".In tickwheel/" short)
	for (i = 1; i <= functions; i++) {
		parse_prototype(prototype[i])
		out(".Ft " proto_type)
		out(".Fo " proto_name)
		for (j = 1; j <= proto_args; j++)
			out(".Fa \"" proto_arg[j] "\"")
		out(".Fc")
	}
	head_part = body_part
	body_part = body
}
